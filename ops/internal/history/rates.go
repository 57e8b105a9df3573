package history

import (
	"context"
	"time"

	"github.com/godwitmq/godwit/driver"
)

const (
	// ratesOver is the time over which a rate is the average. CloudWatch publishes whole minutes, sometimes two at
	// once.
	ratesOver = 5 * time.Minute
	// ratesFor is how long activity is counted from the same time on. A longer time would be counted less exactly.
	ratesFor = time.Hour
)

// Rates are how many messages a second are sent to and finished in channels. They come from the growth of counts since
// a fixed time, so that counts that are published late are late, and not lost.
type Rates struct {
	Activity func(context.Context, []driver.Channel, time.Time) ([]driver.Activity, error)
	since    time.Time // zero: nothing was counted yet
	asked    []asked   // oldest first
	// Oldest are ages that the service counts, by channel, as far as they are known.
	Oldest map[driver.Channel]time.Duration
}

// asked is what was counted at a time.
type asked struct {
	at     time.Time
	counts map[driver.Channel]counted
}

// counted is what was sent and deleted since a fixed time; negative: unknown.
type counted struct{ sent, done int64 }

// Update counts again.
func (r *Rates) Update(ctx context.Context, cs []driver.Channel, now time.Time) error {
	if r.since.IsZero() {
		r.since = now.Add(-time.Minute) // a time in the past
	}
	latest, err := r.count(ctx, cs, now)
	if err != nil {
		return err
	}
	r.asked = append(r.asked, latest)
	for len(r.asked) > 2 && now.Sub(r.asked[1].at) >= ratesOver {
		r.asked = r.asked[1:]
	}
	if now.Sub(r.since) < ratesFor {
		return nil
	}
	old := r.since
	r.since = now.Add(-time.Minute)
	again, err := r.count(ctx, cs, now)
	if err != nil {
		r.since = old
		return err
	}
	for _, a := range r.asked { // as if they had been counted from the new time on
		for ch, c := range a.counts {
			from, ok := latest.counts[ch]
			to, there := again.counts[ch]
			if !ok || !there {
				delete(a.counts, ch)
				continue
			}
			a.counts[ch] = counted{moved(c.sent, from.sent, to.sent), moved(c.done, from.done, to.done)}
		}
	}
	return nil
}

// moved moves a count by the difference between two counts of the same moment. The result may be less than zero, so
// that unknown is a number of its own.
func moved(c, from, to int64) int64 {
	if c == unknownCount || from == unknownCount || to == unknownCount {
		return unknownCount
	}
	return c - from + to
}

const unknownCount = -1 << 62

func (r *Rates) count(ctx context.Context, cs []driver.Channel, now time.Time) (asked, error) {
	all, err := r.Activity(ctx, cs, r.since)
	a := asked{now, make(map[driver.Channel]counted, len(all))}
	r.Oldest = make(map[driver.Channel]time.Duration, len(all))
	for i := range all {
		if age := all[i].Oldest; age.Known() {
			r.Oldest[all[i].Channel] = age.Value
		}
		a.counts[all[i].Channel] = counted{valueOf(all[i].Sent), valueOf(all[i].Deleted)}
	}
	return a, err
}

func valueOf(r driver.Reading[int64]) int64 {
	if !r.Known() {
		return unknownCount
	}
	return r.Value
}

// Of returns the rates of a channel; negative: unknown.
func (r *Rates) Of(ch driver.Channel) (sent, done float64) {
	if len(r.asked) == 0 {
		return -1, -1
	}
	last := r.asked[len(r.asked)-1]
	b, ok := last.counts[ch]
	for _, first := range r.asked[:len(r.asked)-1] {
		if a, there := first.counts[ch]; ok && there { // otherwise the channel is new
			took := last.at.Sub(first.at).Seconds()
			return growth(a.sent, b.sent, took), growth(a.done, b.done, took)
		}
	}
	return -1, -1
}

func growth(from, to int64, seconds float64) float64 {
	if from == unknownCount || to == unknownCount || to < from { // less: the channel was created again
		return -1
	}
	return float64(to-from) / seconds
}
