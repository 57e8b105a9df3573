package memdriver

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/godwitmq/godwit/driver"
)

// sender sends to one channel.
type sender struct {
	b      *Backend
	to     driver.Channel
	e      *exchange
	closed atomic.Bool
}

func (s *sender) Limits() driver.SendLimits { return driver.SendLimits{Batch: s.b.o.Batch} }

// outgoing is a message in wire form.
type outgoing struct {
	driver.Message
	died   []string       // the ids of earlier rejections, of a message that is forwarded
	origin *driver.Origin // of a dead letter that is forwarded to dead letters
}

// Prepare checks a message and copies it, because the caller may modify its own.
func (s *sender) Prepare(_ context.Context, m *driver.Message) (driver.Prepared, error) {
	size := len(m.OrderKey) + len(m.RoutingKey) + len(m.ContentType) + len(m.Type) + len(m.Body)
	for _, h := range m.Header {
		if !utf8.ValidString(h.Name) || !utf8.ValidString(h.Value) {
			return driver.Prepared{}, permanent("channel %s: header %q is not UTF-8: encode it, for example in base64",
				s.to, h.Name)
		}
		size += len(h.Name) + len(h.Value)
	}
	switch {
	case size > s.b.o.MaxBytes:
		err := fmt.Errorf("the message has %d bytes with its headers; channel %s accepts %d: raise "+
			"memdriver.Options.MaxBytes",
			size, s.to, s.b.o.MaxBytes)
		return driver.Prepared{}, &driver.Error{Class: driver.TooLarge, Err: err}
	case (m.Delay > 0 || !m.At.IsZero()) && s.to.Ordered:
		return driver.Prepared{}, permanent("channel %s: a delay would hold back all later messages of its order key: "+
			"send without a delay, or without order", s.to)
	}
	own := &outgoing{Message: *m}
	own.Body, own.Header = bytes.Clone(m.Body), slices.Clone(m.Header)
	return driver.Prepared{Wire: own, OrderKey: m.OrderKey, Size: size}, nil
}

// Send puts messages into the queues. It fails only as a whole.
func (s *sender) Send(_ context.Context, batch []driver.Prepared) error {
	s.b.mu.Lock()
	defer s.b.mu.Unlock()
	if s.closed.Load() || s.b.closed {
		return fmt.Errorf("memdriver: the sender to %s is %w", s.to, driver.ErrClosed)
	}
	if s.e.gone {
		return missing(s.to)
	}
	now := time.Now()
	for i := range batch {
		m := batch[i].Wire.(*outgoing)
		s.b.sent++
		id := strconv.FormatUint(s.b.sent, 10)
		var again bool
		if s.e.ordered || m.Tick {
			id, again = s.e.accepted.note(&m.Message, id, now)
		}
		if r := batch[i].Receipt; r != nil {
			*r = driver.Receipt{ID: id, Duplicate: again}
			if m.Cancellable {
				r.CancelID = s.to.String() + "/" + id
			}
		}
		if !again {
			s.e.publish(m, id, now)
		}
	}
	return nil
}

func (s *sender) Close(context.Context) error {
	s.closed.Store(true)
	return nil
}

// publish puts a message into every queue whose filter lets it pass.
func (e *exchange) publish(m *outgoing, id string, now time.Time) {
	first := m.First
	if first.IsZero() {
		first = now
	}
	copies := []copied{}
	for _, q := range e.queues {
		if e.direct || passes(q.spec.Filter, m.RoutingKey) {
			due := now.Add(cmp.Or(m.Delay, q.spec.Delay))
			if m.At.After(now) {
				due = m.At
			}
			one := &message{
				Message: &m.Message, id: id, first: first, sent: now, due: due,
				died: m.died, origin: m.origin,
			}
			q.put(one)
			copies = append(copies, copied{q, one})
		}
	}
	if m.Cancellable && e.cancellable == nil {
		e.cancellable = map[string][]copied{}
	}
	if m.Cancellable {
		e.cancellable[id] = copies
	}
}

// cancel removes a message from its queues, unless one of them has delivered it.
func (e *exchange) cancel(to driver.Channel, id string) (cancelled bool, err error) {
	copies, known := e.cancellable[strings.TrimPrefix(id, to.String()+"/")]
	if !known {
		return false, permanent("channel %s has sent no message %q that can be cancelled", to, id)
	}
	for _, c := range copies {
		if c.received > 0 {
			return false, nil
		}
	}
	for _, c := range copies {
		if l := c.lane; l != nil { // otherwise it was cancelled or purged before
			c.in.remove(c.message)
			c.in.fix(l)
		}
	}
	return true, nil
}

// dedupFor is how long an ordered channel recognizes a duplicate.
const dedupFor = 5 * time.Minute

// accepted records the messages that an ordered channel has accepted within dedupFor.
type accepted struct {
	perKey bool // recognize duplicates only within an order key
	ids    map[sameness]string
	order  []acceptance // the oldest first
}

type acceptance struct {
	what sameness
	at   time.Time
}

// sameness is what two equal messages have in common: the DedupID or, without one, everything except the headers.
type sameness struct {
	dedupID, orderKey, routingKey, kind string
	version                             int
	body                                [sha256.Size]byte
}

// note records a message. It returns the id of the first equal message, and whether there was one.
func (a *accepted) note(m *driver.Message, id string, now time.Time) (known string, again bool) {
	for len(a.order) > 0 && now.Sub(a.order[0].at) >= dedupFor {
		delete(a.ids, a.order[0].what)
		a.order = a.order[1:]
	}
	what := sameness{dedupID: m.DedupID}
	if m.DedupID == "" {
		what = sameness{"", m.OrderKey, m.RoutingKey, m.Type, m.Version, sha256.Sum256(m.Body)}
	} else if a.perKey {
		what.orderKey = m.OrderKey
	}
	if known, again = a.ids[what]; again {
		return known, true
	}
	if a.ids == nil {
		a.ids = map[sameness]string{}
	}
	a.ids[what] = id
	a.order = append(a.order, acceptance{what, now})
	return id, false
}
