package sns

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/godwitmq/godwit/localaws/wire"
)

const (
	// attemptsAtOnce bounds the open connections: a process may have as few as 256 files.
	attemptsAtOnce = 64
	// attemptsPerEndpoint keeps silent endpoints, each attempt at which takes 15 s, from using all connections.
	attemptsPerEndpoint = 8
	// maxOutbox bounds the bytes of deliveries that wait for an attempt.
	maxOutbox = 256 << 20
)

// outbox holds deliveries over HTTP until they have succeeded or failed. It lets few attempts run at the same time; the
// others wait, in order of arrival for each endpoint. The zero value is usable.
type outbox struct {
	mu      sync.Mutex
	held    int              // bytes of all deliveries
	running int              // attempts
	lines   map[string]*line // by endpoint
	ready   []*line          // lines that may start an attempt, in turn
}

// line holds the deliveries of one endpoint that wait for an attempt.
type line struct {
	endpoint string
	running  int
	waiting  []*post
	queued   bool // it is in ready
}

// admit counts a new delivery, or returns the reason why it fails at once.
func (o *outbox) admit(p *post) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.held+len(p.body) > maxOutbox {
		return fmt.Errorf("deliveries of %d bytes wait for endpoints already", o.held)
	}
	o.held += len(p.body)
	return nil
}

// leave forgets a delivery that has succeeded or failed.
func (o *outbox) leave(p *post) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.held -= len(p.body)
}

// add adds a delivery whose next attempt is due, and returns the deliveries whose attempts the caller starts.
func (o *outbox) add(p *post) []*post {
	o.mu.Lock()
	defer o.mu.Unlock()
	l := o.lines[p.endpoint]
	if l == nil {
		l = &line{endpoint: p.endpoint}
		if o.lines == nil {
			o.lines = map[string]*line{}
		}
		o.lines[p.endpoint] = l
	}
	l.waiting = append(l.waiting, p)
	o.queue(l)
	return o.next()
}

// ended counts the end of an attempt, and returns the deliveries whose attempts the caller starts.
func (o *outbox) ended(p *post) []*post {
	o.mu.Lock()
	defer o.mu.Unlock()
	l := o.lines[p.endpoint]
	o.running--
	l.running--
	o.queue(l)
	if l.running == 0 && len(l.waiting) == 0 {
		delete(o.lines, l.endpoint)
	}
	return o.next()
}

// drop forgets the deliveries that wait, of the places that of selects. Attempts that run continue.
func (o *outbox) drop(of func(wire.Place) bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for endpoint, l := range o.lines {
		l.waiting = slices.DeleteFunc(l.waiting, func(p *post) bool {
			dropped := of(p.owner)
			if dropped {
				o.held -= len(p.body)
			}
			return dropped
		})
		l.queued = l.queued && len(l.waiting) > 0
		if l.running == 0 && len(l.waiting) == 0 {
			delete(o.lines, endpoint)
		}
	}
	o.ready = slices.DeleteFunc(o.ready, func(l *line) bool { return !l.queued })
}

// queue adds a line to those that may start an attempt.
func (o *outbox) queue(l *line) {
	if !l.queued && len(l.waiting) > 0 && l.running < attemptsPerEndpoint {
		l.queued = true
		o.ready = append(o.ready, l)
	}
}

// next takes deliveries from the lines in turn, as many as may run.
func (o *outbox) next() []*post {
	var due []*post
	for o.running < attemptsAtOnce && len(o.ready) > 0 {
		l := o.ready[0]
		o.ready = o.ready[1:]
		l.queued = false
		due = append(due, l.waiting[0])
		l.waiting[0] = nil
		l.waiting = l.waiting[1:]
		o.running++
		l.running++
		o.queue(l)
	}
	return due
}

// post is one delivery to an http or https endpoint, with all its attempts. One goroutine owns it.
type post struct {
	owner    wire.Place
	endpoint string
	headers  map[string]string
	body     string
	delays   []time.Duration     // before each remaining retry
	accepted func()              // called once, if an attempt succeeded; nil: nobody wants to know
	failed   func(reason string) // called once, if no attempt succeeded
}

// attemptTimeout is how long SNS waits for an endpoint's answer.
const attemptTimeout = 15 * time.Second

const agent = "Amazon Simple Notification Service Agent"

// deliverOverHTTP starts a delivery and returns at once.
func (s *sender) deliverOverHTTP(n *notification, to recipient, policy subscriptionDelivery) {
	own := n.alone() // because the delivery outlives the publish
	p := &post{
		owner: s.place(), endpoint: to.sub.endpoint,
		headers: map[string]string{
			"Content-Type":               policy.Request.HeaderContentType,
			"X-Amz-Sns-Message-Type":     "Notification",
			"X-Amz-Sns-Message-Id":       n.message.id,
			"X-Amz-Sns-Topic-Arn":        n.topic.arn,
			"X-Amz-Sns-Subscription-Arn": to.sub.arn,
		},
		delays:   policy.Retry.delays(),
		accepted: own.topic.meter.countDelivery,
		failed:   func(reason string) { s.carrier.record([]Failure{s.deadLetter(own, to, reason)}) },
	}
	if to.settings.raw {
		p.headers["X-Amz-Sns-Rawdelivery"] = "true"
		p.body = n.message.textFor(to.sub.protocol)
	} else {
		p.body = n.envelope(to)
	}
	s.carrier.start(s.throttled(to.sub, policy.Throttle), p)
}

// throttled returns how long the next delivery has to wait for the endpoint's rate limit.
func (r *registry) throttled(sub *subscription, t *throttlePolicy) time.Duration {
	if t == nil {
		return 0
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.opts.Clock.Now()
	if sub.free.Before(now) {
		sub.free = now
	}
	wait := sub.free.Sub(now)
	sub.free = sub.free.Add(time.Second / time.Duration(t.MaxReceivesPerSecond))
	return wait
}

// try makes one attempt. reason is "" if the endpoint accepted it; again reports whether another attempt may help:
// after a server error or a broken connection, but not after a client error.
func (c *Carrier) try(p *post) (reason string, again bool) {
	ctx, cancel := context.WithTimeout(c.life, attemptTimeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, p.endpoint, strings.NewReader(p.body))
	if err != nil {
		return withoutURL(err).Error(), false
	}
	for name, value := range p.headers {
		r.Header.Set(name, value)
	}
	r.Header.Set("User-Agent", agent)
	r.Header.Set("Accept-Encoding", "gzip,deflate")
	answer, err := c.client.Do(r)
	if err != nil {
		return withoutURL(err).Error(), !refused(err)
	}
	// The answer's body is read so that the connection can be reused; its content does not matter.
	_, _ = io.CopyN(io.Discard, answer.Body, maxAnswer)
	_ = answer.Body.Close()
	switch code := answer.StatusCode; {
	case code >= 200 && code < 300:
		return "", false
	default:
		return fmt.Sprintf("the endpoint answered %s", answer.Status), code < 200 || code >= 500 ||
			code == http.StatusTooManyRequests
	}
}

// maxAnswer is how much of an endpoint's answer is read.
const maxAnswer = 64 << 10

// withoutURL returns an error of package net/http without the endpoint's URL, which may have a password or a token.
func withoutURL(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		return e.Err
	}
	return err
}

// loggable returns an endpoint without what authorizes a sender to use it: user, password and parameters.
func loggable(endpoint string) string {
	u, err := url.Parse(endpoint)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" {
		return endpoint
	}
	if u.User != nil {
		u.User = url.User("...")
	}
	if u.RawQuery != "" {
		u.RawQuery = "..."
	}
	u.Fragment, u.RawFragment = "", ""
	return u.String()
}
