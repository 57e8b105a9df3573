package godwit

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/godwitmq/godwit/driver"
)

// stage is a kind of call to the service. Each can stall while the others go well.
type stage uint8

const (
	stageOpen stage = iota
	stagePoll
	stageProvision
	stageRenew
	stageSettle // of driver.Done; those of the other actions follow, in their order
	stageSend   = stageSettle + stage(driver.Reject) + 1
	stages      = stageSend + 1
)

// String is what the stage does, as health tells it.
func (s stage) String() string {
	return [stages]string{"opening the channel", "receiving", "making what is missing", "renewing leases",
		"settling what is done", "settling releases", "settling retries", "settling rejects", "sending"}[s]
}

// stalledAfter is how long a stage may go without one success, while it is tried, until health tells: a throttled or
// broken call or two are normal. A poll has its wait besides.
const stalledAfter = 15 * time.Second

// callLog is how calls to the service go, by stage.
type callLog struct {
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

// begin notes that n calls begin.
func (l *callLog) begin(s stage, n int) {
	now := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	c := &l.by[s]
	if c.open == 0 && (c.since.IsZero() || c.over(now)) {
		c.since, c.err = now, nil
	}
	c.open += n
}

// end notes that a call has ended, and how.
func (l *callLog) end(s stage, err error) {
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

// beginSettling notes that a batch of verdicts begins, which is one call for each of its actions.
func (l *callLog) beginSettling(vs []verdict) {
	for a := driver.Done; a <= driver.Reject; a++ {
		if slices.ContainsFunc(vs, func(v verdict) bool { return v.action == a }) {
			l.begin(stageSettle+stage(a), 1)
		}
	}
}

// endSettling notes how the service has answered a batch of verdicts: an action has stalled if all of its entries have.
func (l *callLog) endSettling(vs []verdict, err error) {
	var entries *driver.BatchError
	partial := errors.As(err, &entries)
	for a := driver.Done; a <= driver.Reject; a++ {
		tried, stalled := false, error(nil)
		for i := range vs {
			if vs[i].action != a || tried && stalled == nil {
				continue
			}
			if tried, stalled = true, stall(err); partial {
				stalled = stall(entries.Errs[i])
			}
		}
		if tried {
			l.end(stageSettle+stage(a), stalled)
		}
	}
}

// stall is err if it tells of the service, and not of what was asked of it.
func stall(err error) error {
	if c := driver.ClassOf(err); c == driver.Permanent || c == driver.TooLarge {
		return nil
	}
	return err
}

// stallOf is why a batch of n has stalled; nil: it has not, since the service has answered for some of it.
func stallOf(err error, n int) error {
	var entries *driver.BatchError
	if !errors.As(err, &entries) {
		return stall(err)
	}
	if len(entries.Errs) < n {
		return nil
	}
	var stalled error
	for _, err := range entries.Errs {
		if stalled = stall(err); stalled == nil {
			return nil
		}
	}
	return stalled
}

// answered is when a call of a stage succeeded last.
func (l *callLog) answered(s stage) time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.by[s].answered
}

// complaints are about the stages that stall, where a poll waits for so long.
func (l *callLog) complaints(now time.Time, wait time.Duration) (all []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for s := range stages {
		limit := stalledAfter
		if s == stagePoll {
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
func (c *calls) over(now time.Time) bool { return now.Sub(c.failed) > unhealthyFor }
