package schemaregistry

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/sr"

	"github.com/godwitmq/godwit/internal/backoff"
)

const (
	// unknownWait is how long a message waits whose schema the registry does not know, and how long that answer is
	// kept.
	unknownWait = 10 * time.Second
	// probeWait is how long to wait if another caller asks right now whether the registry works again.
	probeWait = 2 * time.Second
)

// again is the pause between requests while the registry does not answer.
var again = backoff.Curve{First: 2 * time.Second, Max: 30 * time.Second}

// lookups keeps schemas of the registry, and asks for each of them once. While the registry does not answer, only one
// caller at a time asks it, after a pause.
type lookups struct {
	size int
	// received: the schemas are those of received messages. An answer that a schema is unknown is then kept for a
	// while, and a refusal is an outage, since the message has not caused it. A sender gets both as errors.
	received bool

	mu     sync.Mutex
	by     map[int]*list.Element
	order  *list.List            // of *entry, the one that was used last in front
	asking map[int]chan struct{} // closed when the answer is there
	outage outage
}

// entry is the registry's answer about one schema.
type entry struct {
	id      int
	schema  Schema
	unknown error     // the registry does not know it; nil: it does
	until   time.Time // when the answer that it does not is forgotten
}

// outage is what is known about a registry that does not answer.
type outage struct {
	failures int // since the last answer
	err      error
	until    time.Time // when to ask again
	probing  bool      // a caller asks now
}

// outageError is the error of a registry that does not answer, or refuses all requests.
type outageError struct {
	err  error
	wait time.Duration // until the next try
}

func (e *outageError) Error() string {
	return fmt.Sprintf("the schema registry does not answer as it should (check its address and credentials, and whether "+
		"it runs): %v", e.err)
}
func (e *outageError) Unwrap() error { return e.err }

func newLookups(size int, received bool) *lookups {
	return &lookups{
		size: size, received: received,
		by: map[int]*list.Element{}, order: list.New(), asking: map[int]chan struct{}{},
	}
}

// get returns a schema. If it is not known, ask asks the registry for it, within the timeout and a part of the rest of
// ctx.
func (l *lookups) get(ctx context.Context, id int, timeout time.Duration,
	ask func(ctx context.Context, id int) (Schema, error),
) (s Schema, err error) {
	if deadline, ok := ctx.Deadline(); ok {
		timeout = min(timeout, time.Until(deadline)/timeoutPart)
	}
	bounded, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	for {
		var others chan struct{}
		var found bool
		switch s, others, found, err = l.begin(id); {
		case found || err != nil:
			return s, err
		case others == nil:
			return l.ask(ctx, bounded, id, ask)
		}
		select {
		case <-others:
		case <-bounded.Done():
			return Schema{}, l.impatient(ctx)
		}
	}
}

// ask asks the registry, within bounded, for a caller with ctx.
func (l *lookups) ask(ctx, bounded context.Context, id int,
	ask func(ctx context.Context, id int) (Schema, error),
) (s Schema, err error) {
	err = errors.New("the request has panicked") // unless it returns
	defer func() { s, err = l.end(ctx, id, s, err) }()
	s, err = ask(bounded, id)
	return s, err
}

// begin returns the schema, or the channel that is closed when another caller has asked for it, or neither if the
// caller is to ask.
func (l *lookups) begin(id int) (s Schema, others chan struct{}, found bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if e := l.by[id]; e != nil {
		known := e.Value.(*entry)
		if known.unknown == nil || now.Before(known.until) {
			l.order.MoveToFront(e)
			return known.schema, nil, true, known.unknown
		}
	}
	if err := l.outage.wait(now); err != nil {
		return s, nil, false, err
	}
	if others := l.asking[id]; others != nil {
		return s, others, false, nil
	}
	l.asking[id] = make(chan struct{})
	l.outage.probing = l.outage.failures > 0
	return s, nil, false, nil
}

// wait is the error of a caller that may not ask now; nil: it may.
func (o *outage) wait(now time.Time) error {
	switch {
	case o.failures == 0:
		return nil
	case now.Before(o.until):
		return &outageError{o.err, o.until.Sub(now)}
	case o.probing:
		return &outageError{o.err, probeWait}
	}
	return nil
}

// begin notes a failure. Several requests that fail at the same time are one.
func (o *outage) begin(now time.Time, err error) error {
	if !now.Before(o.until) {
		o.failures++
		o.err, o.until = err, now.Add(again.Jittered(o.failures))
	}
	return &outageError{err, o.until.Sub(now)}
}

// end notes the registry's answer, and wakes the callers that wait for it.
func (l *lookups) end(ctx context.Context, id int, s Schema, err error) (Schema, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	close(l.asking[id])
	delete(l.asking, id)
	l.outage.probing = false
	switch {
	case err == nil:
		l.outage = outage{}
		l.keep(&entry{id: id, schema: s})
	case missing(err):
		l.outage = outage{}
		if l.received {
			l.keep(&entry{id: id, unknown: err, until: time.Now().Add(unknownWait)})
		}
	case context.Cause(ctx) != nil: // the caller has ended the request
	case !l.received && refused(err):
		l.outage = outage{}
	default:
		err = l.outage.begin(time.Now(), err)
	}
	return s, err
}

// keep stores an answer. The caller holds l.mu.
func (l *lookups) keep(e *entry) {
	if old := l.by[e.id]; old != nil {
		l.order.Remove(old)
	}
	l.by[e.id] = l.order.PushFront(e)
	for l.order.Len() > l.size {
		oldest := l.order.Back()
		delete(l.by, oldest.Value.(*entry).id)
		l.order.Remove(oldest)
	}
}

// impatient is the error of a caller that has waited for another one's request.
func (l *lookups) impatient(ctx context.Context) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	return &outageError{errors.New("a request takes longer than its timeout"), probeWait}
}

// refused reports whether the registry has answered, with an error that a repetition does not change. It is not an
// outage for the sender, who gets the error.
func refused(err error) bool {
	var answer *sr.ResponseError
	return errors.As(err, &answer) && answer.StatusCode < http.StatusInternalServerError &&
		answer.StatusCode != http.StatusTooManyRequests && answer.StatusCode != http.StatusRequestTimeout
}
