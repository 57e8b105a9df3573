package calls

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/godwitmq/godwit/driver"
)

// Stage is a kind of call to the service. Each can stall while the others go well.
type Stage uint8

const (
	Open Stage = iota
	Poll
	Provision
	Renew
	Settle // of driver.Done; those of the other actions follow, in their order
	Send   = Settle + Stage(driver.Reject) + 1
	stages = Send + 1
)

// String is what the stage does, as health tells it.
func (s Stage) String() string {
	return [stages]string{"opening the channel", "receiving", "making what is missing", "renewing leases",
		"settling what is done", "settling releases", "settling retries", "settling rejects", "sending"}[s]
}

// stalledAfter is how long a stage may go without one success, while it is tried, until health tells: a throttled or
// broken call or two are normal. A poll has its wait besides.
const stalledAfter = 15 * time.Second

// FailureLasts is how long a failure is remembered when nothing is tried any more.
const FailureLasts = time.Minute

// Log is how calls to the service go, by stage. Its zero value is ready; safe for concurrent use.
type Log struct {
	mu sync.Mutex
	by [stages]calls
}

// calls are those of one stage.
type calls struct {
	open     int
	since    time.Time // since when calls are made and none has succeeded; zero: the last one did, and none is open
	answered time.Time // when one succeeded last
	failed   time.Time // when one failed last
	err      error     // of that one; nil: none has failed since one succeeded
}

// Begin notes that n calls begin.
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

// End notes that a call has ended, and how.
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

// BeginSettling notes that a batch of settlements begins, which is one call for each of its actions.
func (l *Log) BeginSettling(ss []driver.Settlement) {
	for a := driver.Done; a <= driver.Reject; a++ {
		if slices.ContainsFunc(ss, func(st driver.Settlement) bool { return st.Action == a }) {
			l.Begin(Settle+Stage(a), 1)
		}
	}
}

// EndSettling notes how the service has answered a batch of settlements: an action has stalled if all of its entries
// have.
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

// Stall is err if it tells of the service, and not of what was asked of it.
func Stall(err error) error {
	if c := driver.ClassOf(err); c == driver.Permanent || c == driver.TooLarge {
		return nil
	}
	return err
}

// StallOf is why a batch of n has stalled; nil: it has not, since the service has answered for some of it.
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

// Complaints are about the stages that stall, where a poll waits for so long.
func (l *Log) Complaints(now time.Time, wait time.Duration) (all []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for s := range stages {
		limit := stalledAfter
		if s == Poll {
			limit += wait
		}
		c := &l.by[s]
		lasts := now.Sub(c.since)
		switch {
		case c.since.IsZero(), lasts <= limit, c.open == 0 && c.over(now):
		case c.err != nil:
			all = append(all, fmt.Sprintf("%v has failed for %v: %v", s, lasts.Round(time.Second), c.err))
		default:
			all = append(all, fmt.Sprintf("%v has not been answered for %v", s, lasts.Round(time.Second)))
		}
	}
	return all
}

// over says whether failures are so old that they tell nothing of now: nothing has been tried since.
func (c *calls) over(now time.Time) bool { return now.Sub(c.failed) > FailureLasts }
