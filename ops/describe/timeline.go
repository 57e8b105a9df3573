package describe

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/ops/internal/calling"
	"github.com/godwitmq/godwit/ops/internal/history"
)

const (
	// Step is the length of a step of a [Timeline].
	Step = 5 * time.Minute
	// steps are how many a Timeline has.
	steps = int(window / Step)
)

// Timeline is the last hour of a channel in steps, the oldest first. NaN is unknown. A list that is nil is one of which
// nothing is known.
type Timeline struct {
	Sent, Done []float64 // messages a second
	Waiting    []float64 // messages
}

// newTimeline makes a timeline of which nothing is known.
func newTimeline() *Timeline {
	t := &Timeline{}
	for _, list := range []*[]float64{&t.Sent, &t.Done, &t.Waiting} {
		*list = make([]float64, steps)
		for i := range *list {
			(*list)[i] = math.NaN()
		}
	}
	return t
}

// known is the timeline without the lists of which nothing is known; nil: it has no others.
func (t *Timeline) known() *Timeline {
	some := false
	for _, list := range []*[]float64{&t.Sent, &t.Done, &t.Waiting} {
		has := false
		for _, v := range *list {
			has = has || !math.IsNaN(v)
		}
		if !has {
			*list = nil
		}
		some = some || has
	}
	if !some {
		return nil
	}
	return t
}

// readHistory reads the timeline from the file of a sampler.
func (c *Channel) readHistory(file string, now time.Time) {
	h, err := history.Load(file)
	if err != nil {
		c.problem(err)
		return
	}
	t := newTimeline()
	var sums, counts [3][steps]float64
	for _, m := range h.Of(c.Channel) {
		step := steps - 1 - int(now.Sub(m.At)/Step)
		if step < 0 || step >= steps || now.Before(m.At) {
			continue
		}
		for i, v := range []float32{m.Sent, m.Done, m.Waiting} {
			if !math.IsNaN(float64(v)) {
				sums[i][step] += float64(v)
				counts[i][step]++
			}
		}
	}
	for i, list := range [][]float64{t.Sent, t.Done, t.Waiting} {
		for step, n := range counts[i] {
			if n > 0 {
				list[step] = sums[i][step] / n
			}
		}
	}
	if c.Timeline = t.known(); c.Timeline == nil {
		c.problem(fmt.Errorf("the last hour: %s has nothing of the channel", file))
	}
}

// readCounts reads the timeline from the counts of the service: what was counted since the begin of a step, without
// what was counted since the begin of the next.
func (c *Channel) readCounts(ctx context.Context, do driver.Operations, now time.Time) {
	if do.Activity == nil {
		c.problem(errors.New("the last hour: this backend does not count"))
		return
	}
	end := now.Truncate(time.Minute)
	since := make([]driver.Activity, steps)
	errs := make([]error, steps)
	calling.InParallel(steps, func(i int) {
		begin := end.Add(-time.Duration(steps-i) * Step)
		all, err := do.Activity(ctx, []driver.Channel{c.Channel}, begin)
		if errs[i] = err; err == nil && len(all) == 1 {
			since[i] = all[0]
		} else {
			unknown := driver.Reading[int64]{Err: errors.New("not counted")}
			since[i] = driver.Activity{Sent: unknown, Deleted: unknown}
		}
	})
	if errs[0] != nil {
		c.problem(errs[0])
		return
	}
	c.Activity = &since[0]
	t := newTimeline()
	for i := range since {
		took := now.Sub(end) + Step
		from, to := since[i], driver.Activity{}
		if i+1 < steps {
			took, to = Step, since[i+1]
		}
		t.Sent[i] = rate(from.Sent, to.Sent, took)
		t.Done[i] = rate(from.Deleted, to.Deleted, took)
	}
	if c.Timeline = t.known(); c.Timeline == nil {
		c.problem(fmt.Errorf("the last hour: %w", c.Activity.Sent.Err))
	}
}

// rate is what was counted between two times, a second. The second count may be later than the first, and larger.
func rate(from, to driver.Reading[int64], took time.Duration) float64 {
	if !from.Known() || !to.Known() {
		return math.NaN()
	}
	return float64(max(0, from.Value-to.Value)) / took.Seconds()
}
