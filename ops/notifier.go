package ops

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
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/backoff"
)

// Notifier tells people what [Alerts] has found. It is safe for concurrent use. An error of class [driver.Transient] or
// [driver.Throttled] is tried again, and [driver.Error].After says when; all others are not, until the next look.
type Notifier interface {
	Notify(ctx context.Context, n *driver.Notice) error
}

// Route says which channels a notifier is told of.
type Route struct {
	// Name distinguishes the routes, also in the state: two programs with one state use the same names.
	Name string
	To   Notifier
	// Owners and Environments are the values of the tags of that name. Empty: all channels, also those without a tag.
	// What is not about a single channel goes to all routes.
	Owners, Environments []string
}

// takes reports whether a route is for an alert.
func (r *Route) takes(a *alert) bool {
	if a.Channel == "" {
		return true
	}
	return (len(r.Owners) == 0 || slices.Contains(r.Owners, a.Owner)) &&
		(len(r.Environments) == 0 || slices.Contains(r.Environments, a.Environment))
}

// WriterNotifier writes notices as plain text.
type WriterNotifier struct {
	to   io.Writer
	turn chan struct{} // of capacity one: a mutex is never held while something is written
}

// NewWriterNotifier returns a notifier that writes to a writer, such as os.Stdout.
func NewWriterNotifier(to io.Writer) *WriterNotifier {
	return &WriterNotifier{to: to, turn: make(chan struct{}, 1)}
}

// Notify writes the text of a notice.
func (w *WriterNotifier) Notify(_ context.Context, n *driver.Notice) error {
	w.turn <- struct{}{}
	defer func() { <-w.turn }()
	if _, err := fmt.Fprintln(w.to, n.Text); err != nil {
		return fmt.Errorf("write the notice: %w", err)
	}
	return nil
}

const (
	// notifyFor is how long a notifier is tried.
	notifyFor = 15 * time.Minute
	// oneNotify bounds one try, so that a receiver that does not answer is a failure.
	oneNotify = 30 * time.Second
)

// tell notifies with backoff for 15 minutes. After an error, after is how long the service wants nothing more.
func tell(ctx context.Context, to Notifier, n *driver.Notice) (after time.Duration, err error) {
	ends := time.Now().Add(notifyFor)
	pause := backoff.Curve{First: 2 * time.Second, Max: 2 * time.Minute}
	for try := 1; ; try++ {
		err = tellOnce(ctx, to, n)
		if err == nil || ctx.Err() != nil {
			return 0, err
		}
		class := driver.ClassOf(err)
		if !class.Passing() {
			return 0, fmt.Errorf("%w (it is not repeated before the next look, because it is %v)", err, class)
		}
		wait := pause.Jittered(try)
		known, _ := errors.AsType[*driver.Error](err)
		if known != nil {
			wait = max(wait, known.After)
		}
		if left := time.Until(ends); wait > left {
			if known == nil || known.After == 0 {
				wait = 0 // only the service's own wish lasts beyond the next look
			}
			return wait, fmt.Errorf("it was tried %d times: %w", try, err)
		}
		if backoff.Sleep(ctx, wait) != nil {
			return 0, errors.Join(err, ctx.Err())
		}
	}
}

// tellOnce notifies once. A panic of somebody's notifier is its error, so that it does not stop the others.
func tellOnce(ctx context.Context, to Notifier, n *driver.Notice) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the notifier panics: %v", r)
		}
	}()
	one, cancel := context.WithTimeout(ctx, oneNotify)
	defer cancel()
	err = to.Notify(one, n)
	if err != nil && ctx.Err() == nil && one.Err() != nil {
		return &driver.Error{Class: driver.Transient, Err: fmt.Errorf("it did not answer within %v", oneNotify)}
	}
	return err
}

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

// Slack's limits.
const (
	slackBlocks = 50  // of a message
	slackHeader = 150 // characters of a header
	// slackItem is the length of a section. Slack takes 3,000 characters, and an error of AWS needs fewer.
	slackItem = 1000
	// slackAll bounds all texts of a message: Slack refuses messages whose blocks have about 12,000 characters together
	// with what surrounds them.
	slackAll = 9000
)

// SlackOptions are the options of NewSlack. URL is required.
type SlackOptions struct {
	// URL is the address of an incoming webhook of Slack. Set it from a secret: who knows it can write to the channel.
	URL string
	// Transport carries the requests. Set it for a proxy. nil: http.DefaultTransport.
	Transport http.RoundTripper
}

// Slack is a [Notifier] that posts to an incoming webhook of Slack, with Block Kit.
type Slack struct{ to *poster }

// NewSlack makes no request.
func NewSlack(o SlackOptions) (*Slack, error) {
	to, err := newPoster("SlackOptions.URL", o.URL, "https://hooks.slack.com/services/…", o.Transport)
	if err != nil {
		return nil, err
	}
	return &Slack{to: to}, nil
}

// Notify posts a notice. A notice that has no room in one message is cut: the last block counts the items that are
// left out, which are those that are not critical, as far as possible.
func (s *Slack) Notify(ctx context.Context, n *driver.Notice) error {
	body, err := json.Marshal(slackMessageOf(n))
	if err != nil {
		return fmt.Errorf("slack: %w", err)
	}
	if err := s.to.post(ctx, body, nil); err != nil {
		return fmt.Errorf("slack: %w", err)
	}
	return nil
}

// slackMessage is the body of a request.
type slackMessage struct {
	Text   string       `json:"text"` // for notifications of the system
	Blocks []slackBlock `json:"blocks"`
}

type slackBlock struct {
	Type     string      `json:"type"`
	Text     *slackText  `json:"text,omitempty"`
	Elements []slackText `json:"elements,omitempty"`
}

type slackText struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

func slackMessageOf(n *driver.Notice) slackMessage {
	title := cut(n.Title, slackHeader)
	m := slackMessage{Text: slackEscape(title), Blocks: []slackBlock{
		{Type: "header", Text: &slackText{"plain_text", title}},
	}}
	used := utf8.RuneCountInString(title)
	for i := range n.Items {
		text := slackLine(&n.Items[i])
		used += utf8.RuneCountInString(text)
		if last := len(m.Blocks) == slackBlocks-1; last && i < len(n.Items)-1 || used > slackAll {
			rest := fmt.Sprintf("and %d more, which have no room here: see `godwit alerts --once`", len(n.Items)-i)
			m.Blocks = append(m.Blocks, slackBlock{Type: "context", Elements: []slackText{{"mrkdwn", rest}}})
			break
		}
		m.Blocks = append(m.Blocks, slackBlock{Type: "section", Text: &slackText{"mrkdwn", text}})
	}
	return m
}

// slackLine is an item in the markup of Slack.
func slackLine(i *driver.NoticeItem) string {
	lines := []string{"*" + itemMark(i) + "* " + slackEscape(cut(itemText(i), slackItem))}
	if whose := itemOwner(i); whose != "" {
		lines = append(lines, slackEscape(cut(whose, slackItem)))
	}
	for _, c := range i.Commands {
		lines = append(lines, "`"+slackEscape(strings.ReplaceAll(c, "`", "'"))+"`")
	}
	return strings.Join(lines, "\n")
}

// slackEscape escapes what is a link or a mention in the markup of Slack.
func slackEscape(text string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(text)
}

// cut shortens a text to a number of characters.
func cut(text string, most int) string {
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	return string([]rune(text)[:most-1]) + "…"
}
