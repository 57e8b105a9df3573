package calls

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/godwitmq/godwit/driver"
)

// Stage is a kind of call to the service. One stage can stall while the others succeed.
type Stage uint8

const (
	Open Stage = iota
	Poll
	Provision
	Renew
	Settle // for driver.Done; the stages of the other actions follow in their order
	Send   = Settle + Stage(driver.Reject) + 1
	Store  = Send + 1 // reads and writes of bodies in a store
	// Discard is the backend's own deletes of messages that no handler gets. They are tried again when the messages are
	// delivered again.
	Discard = Store + 1
	stages  = Discard + 1
)

// String is what the stage does, in the words of a health report.
func (s Stage) String() string {
	return [stages]string{
		"opening the channel", "receiving", "provisioning", "renewing leases",
		"settling done deliveries", "settling releases", "settling retries", "settling rejects", "sending",
		"reading or writing bodies in the store", "deleting discarded messages",
	}[s]
}

// stalledAfter is how long calls of a stage may be made without one success before health reports it, since one or two
// throttled or failed calls are normal. For a poll, its wait is added.
const stalledAfter = 15 * time.Second

// FailureLasts is how long a failure is remembered if no more calls are made.
const FailureLasts = time.Minute

// Log records how calls to the service go, by stage. Its zero value is ready to use. It is safe for concurrent use.
type Log struct {
	mu sync.Mutex
	by [stages]calls
}

// calls is the state of one stage.
type calls struct {
	open     int
	since    time.Time     // since when no call succeeds; zero: the last one has succeeded, and none is open
	answered time.Time     // last success
	failed   time.Time     // last failure
	lasts    time.Duration // how long a failure is remembered; 0: FailureLasts
	err      error         // of the last failure; nil: a call has succeeded since
}

// Remember sets how long a failure of a stage is remembered, if its calls are made more rarely than once in
// FailureLasts.
func (l *Log) Remember(s Stage, lasts time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.by[s].lasts = max(lasts, FailureLasts)
}

// Begin records that n calls begin.
func (l *Log) Begin(s Stage, n int) {
	now := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	c := &l.by[s]
	if c.open == 0 && (c.since.IsZero() || c.over(now)) {
		c.since, c.err = now, nil
	}
	c.open += n
}

// End records that a call has ended with err, nil for success.
func (l *Log) End(s Stage, err error) {
	now := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	c := &l.by[s]
	c.open--
	if c.err = err; err != nil {
		c.failed = now
		return
	}
	c.answered, c.since = now, time.Time{}
	if c.open > 0 {
		c.since = now
	}
}

// BeginSettling records that a batch of settlements begins. The service gets one call for each action in the batch.
func (l *Log) BeginSettling(ss []driver.Settlement) {
	for a := driver.Done; a <= driver.Reject; a++ {
		if slices.ContainsFunc(ss, func(st driver.Settlement) bool { return st.Action == a }) {
			l.Begin(Settle+Stage(a), 1)
		}
	}
}

// EndSettling records the service's answer to a batch of settlements. An action has failed only if all of its
// settlements have, for a reason that Stall returns.
func (l *Log) EndSettling(ss []driver.Settlement, err error) {
	var entries *driver.BatchError
	partial := errors.As(err, &entries)
	for a := driver.Done; a <= driver.Reject; a++ {
		tried, stalled := false, error(nil)
		for i := range ss {
			if ss[i].Action != a || tried && stalled == nil {
				continue
			}
			if tried, stalled = true, Stall(err); partial {
				stalled = Stall(entries.Errs[i])
			}
		}
		if tried {
			l.End(Settle+Stage(a), stalled)
		}
	}
}

// Stall returns err if it is about the service, and nil if it is about the request.
func Stall(err error) error {
	if c := driver.ClassOf(err); c == driver.Permanent || c == driver.TooLarge {
		return nil
	}
	return err
}

// StallOf returns the reason why a batch of n has failed as a whole. It returns nil if the service has answered for at
// least one entry.
func StallOf(err error, n int) error {
	var entries *driver.BatchError
	if !errors.As(err, &entries) {
		return Stall(err)
	}
	if len(entries.Errs) < n {
		return nil
	}
	var stalled error
	for _, err := range entries.Errs {
		if stalled = Stall(err); stalled == nil {
			return nil
		}
	}
	return stalled
}

// Answered is when a call of a stage succeeded last.
func (l *Log) Answered(s Stage) time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.by[s].answered
}

// Complaints are one sentence for each stage that stalls. A poll may wait for wait, which is added to its limit.
func (l *Log) Complaints(now time.Time, wait time.Duration) (all []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for s := range stages {
		c := &l.by[s]
		lasts := now.Sub(c.since)
		switch {
		case !c.stalls(s, now, wait):
		case c.err != nil:
			all = append(all, fmt.Sprintf("%v has failed for %v: %v", s, lasts.Round(time.Second), c.err))
		default:
			all = append(all, fmt.Sprintf("%v has not been answered for %v", s, lasts.Round(time.Second)))
		}
	}
	return all
}

// Hangs reports whether calls of a stage are not answered, neither with success nor with an error.
func (l *Log) Hangs(s Stage, now time.Time, wait time.Duration) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := &l.by[s]
	return c.stalls(s, now, wait) && c.err == nil
}

// stalls reports whether calls of the stage have been made for too long without a success.
func (c *calls) stalls(s Stage, now time.Time, wait time.Duration) bool {
	limit := stalledAfter
	if s == Poll {
		limit += wait
	}
	return !c.since.IsZero() && now.Sub(c.since) > limit && (c.open > 0 || !c.over(now))
}

// over reports whether the last failure is too old to say something about now.
func (c *calls) over(now time.Time) bool { return now.Sub(c.failed) > cmp.Or(c.lasts, FailureLasts) }
