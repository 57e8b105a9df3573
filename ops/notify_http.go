package ops

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/godwitmq/godwit/driver"
)

// mostAnswer is how much of an answer is in an error.
const mostAnswer = 200

// poster posts notices to an address that may be a secret, so that it is in no error.
type poster struct {
	url     string
	secrets []string // must not be in an error
	client  *http.Client
}

// newPoster checks an address. The error does not contain it.
func newPoster(option, address, form string, through http.RoundTripper, secrets ...string) (*poster, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "" || u.Fragment != "" {
		return nil, fmt.Errorf("ops: %s is no address of a webhook (it is not shown, because it is a secret): it has "+
			"the form %s", option, form)
	}
	p := &poster{url: address, client: &http.Client{Transport: through}}
	// A redirect would send the notice, and perhaps the secret path, to another server.
	p.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	password, _ := u.User.Password()
	for _, s := range append(secrets, address, password, u.RequestURI(), u.EscapedPath(), u.RawQuery) {
		if len(s) > 1 {
			p.secrets = append(p.secrets, s)
		}
	}
	return p, nil
}

// post posts a body, and classifies the answer.
func (p *poster) post(ctx context.Context, body []byte, more http.Header) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.url, bytes.NewReader(body))
	if err != nil {
		return errors.New(p.hide(err.Error()))
	}
	req.Header.Set("Content-Type", "application/json; charset=utf-8")
	req.Header.Set("User-Agent", "godwit-alerts")
	maps.Copy(req.Header, more)
	answer, err := p.client.Do(req)
	if err != nil {
		if u, ok := errors.AsType[*url.Error](err); ok {
			err = u.Err // without the address
		}
		return &driver.Error{Class: driver.Transient, Err: errors.New("no answer: " + p.hide(err.Error()))}
	}
	text, _ := io.ReadAll(io.LimitReader(answer.Body, mostAnswer)) // only for the error
	_ = answer.Body.Close()
	if answer.StatusCode >= 200 && answer.StatusCode < 300 {
		return nil
	}
	failed := &driver.Error{
		Class: classOfStatus(answer.StatusCode), After: retryAfter(answer.Header.Get("Retry-After"), time.Now()),
		Err: fmt.Errorf("the answer is %s: %s", answer.Status, p.hide(oneLine(string(text)))),
	}
	return failed
}

// hide removes what is secret from a text.
func (p *poster) hide(text string) string {
	for _, s := range p.secrets {
		text = strings.ReplaceAll(text, s, "(secret)")
	}
	return text
}

func classOfStatus(status int) driver.Class {
	switch {
	case status == http.StatusTooManyRequests:
		return driver.Throttled
	case status >= 500, status == http.StatusRequestTimeout, status == http.StatusTooEarly:
		return driver.Transient
	case status == http.StatusNotFound, status == http.StatusGone:
		return driver.NotFound
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return driver.Denied
	case status == http.StatusRequestEntityTooLarge:
		return driver.TooLarge
	}
	return driver.Permanent
}

// retryAfter reads the header Retry-After: seconds, or a time. 0: it does not say.
func retryAfter(text string, now time.Time) time.Duration {
	if seconds, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64); err == nil && seconds > 0 {
		return time.Duration(min(seconds, int64(longestWait/time.Second))) * time.Second
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(0, min(at.Sub(now), longestWait))
	}
	return 0
}
