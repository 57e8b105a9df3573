package ops

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/godwitmq/godwit/driver"
)

// The headers of a webhook's requests.
const (
	// WebhookTimestamp has the time of the request, in seconds since 1970.
	WebhookTimestamp = "Godwit-Timestamp"
	// WebhookSignature has v1= and HMAC-SHA256 over the timestamp, a point and the body, in hexadecimal.
	WebhookSignature = "Godwit-Signature"
	// WebhookNotice has the id of the notice, which is the same when a request is repeated.
	WebhookNotice = "Godwit-Notice"
)

// leastSecret is the shortest secret, in bytes.
const leastSecret = 16

// WebhookOptions are the options of NewWebhook. URL and Secret are required.
type WebhookOptions struct {
	// URL is the address to post to. Set it from a secret if its path or query is one.
	URL string
	// Secret is the key of the signatures, of at least 16 bytes. Set it to what the receiver knows.
	Secret []byte
	// Transport carries the requests. Set it for a proxy. nil: http.DefaultTransport.
	Transport http.RoundTripper
}

// Webhook is a [Notifier] that posts notices as JSON ([driver.Notice]), with a signature that [VerifyWebhook] checks.
type Webhook struct {
	to     *poster
	secret []byte
}

// NewWebhook makes no request.
func NewWebhook(o WebhookOptions) (*Webhook, error) {
	if len(o.Secret) < leastSecret {
		return nil, fmt.Errorf("ops: WebhookOptions.Secret has %d bytes: use %d or more, from a generator of random "+
			"numbers", len(o.Secret), leastSecret)
	}
	to, err := newPoster("WebhookOptions.URL", o.URL, "https://host/path", o.Transport, string(o.Secret))
	if err != nil {
		return nil, err
	}
	return &Webhook{to: to, secret: o.Secret}, nil
}

// Notify posts a notice.
func (w *Webhook) Notify(ctx context.Context, n *driver.Notice) error {
	body, err := json.Marshal(n)
	if err != nil {
		return fmt.Errorf("webhook: %w", err)
	}
	at := strconv.FormatInt(time.Now().Unix(), 10)
	more := http.Header{}
	more.Set(WebhookTimestamp, at)
	more.Set(WebhookSignature, signature(w.secret, at, body))
	more.Set(WebhookNotice, n.ID)
	if err := w.to.post(ctx, body, more); err != nil {
		return fmt.Errorf("webhook: %w", err)
	}
	return nil
}

func signature(secret []byte, at string, body []byte) string {
	h := hmac.New(sha256.New, secret)
	_, _ = h.Write([]byte(at + "."))
	_, _ = h.Write(body)
	return "v1=" + hex.EncodeToString(h.Sum(nil))
}

// VerifyWebhook checks the signature and the time of a request that a [Webhook] has sent, for its receiver. A request
// that differs from now by more than tolerance may be a repetition by somebody else, and is an error.
func VerifyWebhook(secret []byte, headers http.Header, body []byte, tolerance time.Duration) error {
	at := headers.Get(WebhookTimestamp)
	seconds, err := strconv.ParseInt(at, 10, 64)
	if err != nil {
		return fmt.Errorf("the header %s is %q, which is no time", WebhookTimestamp, at)
	}
	if d := time.Since(time.Unix(seconds, 0)).Abs(); d > tolerance {
		return fmt.Errorf("the request is %v old, and %v is tolerated", d.Round(time.Second), tolerance)
	}
	got := strings.TrimSpace(headers.Get(WebhookSignature))
	if !hmac.Equal([]byte(got), []byte(signature(secret, at, body))) {
		return fmt.Errorf("the header %s does not fit the body: the secrets differ, or somebody has changed it",
			WebhookSignature)
	}
	return nil
}
