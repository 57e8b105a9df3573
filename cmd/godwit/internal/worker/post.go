package worker

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/godwitmq/godwit"
)

// Post handles each message with a request to an address. The request has the body of the message.
type Post struct {
	URL     string
	Secret  []byte         // signs the requests; nil: they are not signed
	Backoff godwit.Backoff // after 429 and 503 without Retry-After
	Client  *http.Client
}

// CheckURL returns an error for an address that cannot be posted to.
func CheckURL(address string) error {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return fmt.Errorf("%q is no address: use one such as http://127.0.0.1:8080/orders", address)
	}
	return nil
}

// NewClient returns a client with a connection for each of so many handlers. It does not follow redirects, because a
// redirected POST may lose its body and still be answered with success.
func NewClient(handlers int) *http.Client {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConns, t.MaxIdleConnsPerHost = handlers, handlers
	return &http.Client{
		Transport:     t,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// Handle posts a message.
func (p *Post) Handle(ctx context.Context, d *godwit.Delivery) error {
	body, err := wholeBody(ctx, d)
	if err != nil {
		return err
	}
	r, err := p.request(ctx, d, body)
	if err != nil {
		return godwit.Permanent(err)
	}
	answer, err := p.Client.Do(r)
	if err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, reasonBytes))
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	reason := errors.New(strings.TrimSpace(answer.Status + " " + strings.ToValidUTF8(string(text), "�")))
	switch status := answer.StatusCode; {
	case status/100 == 2 && err == nil:
		_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, reasonBytes)) // so that the connection is used again
		return nil
	case status/100 == 2:
		return fmt.Errorf("%w: read the answer: %w", reason, err)
	case status == http.StatusTooManyRequests, status == http.StatusServiceUnavailable:
		return d.Retry(p.after(answer.Header.Get("Retry-After"), d.Attempt))
	case status == http.StatusRequestTimeout: // the server says that it has not got the whole request
		return reason
	case status/100 == 4:
		return godwit.Permanent(reason)
	}
	return reason
}

// after is how long a message waits that the server cannot take now.
func (p *Post) after(header string, attempt int) time.Duration {
	if seconds, err := strconv.Atoi(header); err == nil && seconds > 0 {
		return min(time.Duration(min(seconds, 1<<31))*time.Second, longestAfter)
	}
	if at, err := http.ParseTime(header); err == nil {
		return max(0, min(time.Until(at), longestAfter))
	}
	return p.Backoff(attempt)
}

// request describes the message in headers. What is not ASCII, and would be another text on the other side, is in
// X-Godwit-Headers only, which is JSON.
func (p *Post) request(ctx context.Context, d *godwit.Delivery, body []byte) (*http.Request, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, p.URL, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	set := func(name, value string) {
		if value != "" {
			r.Header.Set(name, url.PathEscape(value))
		}
	}
	r.Header.Set("Content-Type", "application/octet-stream")
	if d.ContentType != "" && !strings.ContainsFunc(d.ContentType, notPrintable) {
		r.Header.Set("Content-Type", d.ContentType)
	}
	set("X-Godwit-Channel", d.Channel)
	set("X-Godwit-Id", d.ID)
	set("X-Godwit-Attempt", strconv.Itoa(d.Attempt))
	set("X-Godwit-Order-Key", keyOf(d))
	set("X-Godwit-Routing-Key", d.RoutingKey)
	set("X-Godwit-Type", d.Type)
	if d.Version != 0 {
		set("X-Godwit-Version", strconv.Itoa(d.Version))
	}
	if !d.SentAt.IsZero() {
		r.Header.Set("X-Godwit-Sent", d.SentAt.UTC().Format(time.RFC3339Nano))
	}
	if at, ok := ctx.Deadline(); ok {
		r.Header.Set("X-Godwit-Deadline", at.UTC().Format(time.RFC3339Nano))
	}
	if len(d.Headers) > 0 {
		all, err := json.Marshal(headersOf(d))
		if err != nil {
			return nil, err
		}
		r.Header.Set("X-Godwit-Headers", ascii(all))
	}
	if p.Secret != nil {
		now := strconv.FormatInt(time.Now().Unix(), 10)
		r.Header.Set("X-Godwit-Signature", "t="+now+",v1="+Sign(p.Secret, now, d.ID, body))
	}
	return r, nil
}

// Sign returns the signature of a message: the HMAC-SHA256, in hexadecimal, of the time in seconds, a dot, the id, a
// dot and the body.
func Sign(secret []byte, at, id string, body []byte) string {
	h := hmac.New(sha256.New, secret)
	h.Write([]byte(at + "." + id + "."))
	h.Write(body)
	return hex.EncodeToString(h.Sum(nil))
}

func notPrintable(r rune) bool { return r < ' ' || r > '~' }

// ascii is JSON with all other characters escaped.
func ascii(text []byte) string {
	var b strings.Builder
	for _, r := range string(text) {
		switch {
		case r < 0x7f:
			b.WriteRune(r)
		case r < 0x10000:
			fmt.Fprintf(&b, "\\u%04x", r)
		default: // a pair of surrogates
			r -= 0x10000
			fmt.Fprintf(&b, "\\u%04x\\u%04x", 0xd800+(r>>10), 0xdc00+(r&0x3ff))
		}
	}
	return b.String()
}
