package sim

import (
	"errors"
	"time"

	"github.com/godwitmq/godwit"
)

// expiry is what a plan decides about the age at which messages are not handled any more.
type expiry struct {
	share  float64       // of messages with an expiry of their own
	maxAge time.Duration // of the consumers; 0: none
	dead   bool          // expired messages become dead letters, and are not discarded
}

func (p *plan) expiring() (e expiry) {
	r := p.about("expiry")
	if !r.chance(0.3) {
		return expiry{}
	}
	e.share, e.dead = pick(r, 0, 0.5, 1), r.chance(0.5)
	if e.share == 0 || r.chance(0.3) {
		e.maxAge = r.between(time.Second, pick(r, 5*time.Second, time.Minute))
	}
	return e
}

// expires is the expiry of one message; 0: it never does.
func (p *plan) expires(label string) time.Duration {
	r := p.about("expires", label)
	if !r.chance(p.expiry.share) {
		return 0
	}
	return r.between(time.Second, pick(r, 3*time.Second, 30*time.Second)).Truncate(time.Millisecond)
}

// expiresAt is when a receive of a message expires. It counts from the time at which the service accepted the copy.
func (c *checker) expiresAt(h *delivery) (at time.Time, ever bool) {
	life := h.m.expires
	if most := c.plan.expiry.maxAge; most > 0 && (life == 0 || most < life) {
		life = most
	}
	return h.sent.Add(life), life > 0
}

// expired reports whether a message will have expired after a wait.
func (c *checker) expired(h *delivery, wait time.Duration) bool {
	at, ever := c.expiresAt(h)
	return ever && !time.Now().Add(wait).Before(at)
}

// startsInTime checks that a message which a handler gets has not expired. Its body is read from the store after the
// consumer has looked at its age, and the caller of an iterator may handle the messages of a batch one after another.
func (c *checker) startsInTime(p *consumer, h *delivery) {
	if c.expired(h, 0) && !c.w.plan.store && p.inc.pull != pullBatch {
		at, _ := c.expiresAt(h)
		c.violated([]string{h.m.label}, "%s starts %s, which expired %v ago", p.name, h.m.label, time.Since(at))
	}
}

// endsInTime checks a verdict: a retry does not begin after the expiry, and only messages that expire before their
// retry are discarded. A message whose body cannot be read is held, whatever its age, until the store may work again.
// The caller holds c.mu.
func (c *checker) endsInTime(p *consumer, h *delivery, v godwit.Verdict, err error) {
	at, ever := c.expiresAt(h)
	switch {
	case v.Action == godwit.ActionRetry && c.expired(h, v.After) && !c.w.plan.store:
		c.violated([]string{h.m.label}, "%s retries %s in %v, and it expires in %v", p.name, h.m.label, v.After,
			time.Until(at))
	case v.Action != godwit.ActionDrop || errors.Is(err, errDropMe):
	case !ever || c.plan.expiry.dead || !c.expired(h, max(h.would, c.plan.backoff)):
		c.violated([]string{h.m.label}, "%s discards %s, which expires in %v", p.name, h.m.label, time.Until(at))
	}
}

// tellsExpired records that a consumer says that a message has expired.
func (c *checker) tellsExpired(p *consumer, h *delivery) {
	c.w.trace.note("%s says that %s has expired", p.name, h.m.label)
	p.leaves(h)
	if !h.ended.Equal(time.Now()) { // a worker has taken it
		c.took(p, h)
	}
	if at, _ := c.expiresAt(h); !c.expired(h, max(h.would, c.plan.backoff)) {
		c.violated([]string{h.m.label}, "%s says that %s has expired, and it expires in %v", p.name, h.m.label,
			time.Until(at))
	}
	if c.plan.expiry.dead {
		c.w.tally.add(countExpiredDead, 1)
	} else {
		c.w.tally.add(countDiscarded, 1)
	}
	c.ages(h.m)
}

// ages records that a message has ended because it has expired.
func (c *checker) ages(m *message) {
	if c.plan.expiry.dead {
		m.rejected = true
	} else {
		m.dropped = true
	}
}

// expiredUntold records that a message has expired, or would before its retry, of which the consumer has not told its
// hooks yet: by then its request, or the next handler of its key, may have begun. The caller holds c.mu.
func (c *checker) expiredUntold(p *consumer, m *message) {
	if m == nil || m.finished() {
		return
	}
	for _, h := range p.handles {
		if h.m == m && !h.running && !h.lost && c.expired(h, max(h.would, c.plan.backoff)) {
			c.ages(m)
			return
		}
	}
}

// wouldWait records the wait of a retry that a handler may ask for.
func (c *checker) wouldWait(h *delivery, wait time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	h.would = wait
}
