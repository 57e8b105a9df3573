package history

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/godwitmq/godwit/driver"
)

// lateMeter counts one message a second in orders, and learns of each minute two minutes late.
type lateMeter struct {
	begun, now time.Time
	err        error
}

func (m *lateMeter) Activity(_ context.Context, cs []driver.Channel, since time.Time) ([]driver.Activity, error) {
	since = since.Truncate(time.Minute)
	if since.Before(m.begun) {
		since = m.begun
	}
	all := make([]driver.Activity, len(cs))
	for i, ch := range cs {
		n := max(0, int64(m.now.Add(-2*time.Minute).Truncate(time.Minute).Sub(since)/time.Second))
		all[i] = driver.Activity{
			Channel: ch, Sent: driver.Reading[int64]{Value: n},
			Deleted: driver.Reading[int64]{Err: driver.ErrNotCounted},
			Oldest:  driver.Reading[time.Duration]{Value: time.Minute},
		}
	}
	return all, m.err
}

// A rate is right although its counts come late, also after the time from which it is counted has moved. What is not
// counted is unknown, and so is a new channel.
func TestRates(t *testing.T) {
	orders, added := driver.Channel{Queue: "orders"}, driver.Channel{Queue: "new"}
	m := &lateMeter{begun: time.Unix(0, 0).Add(-24 * time.Hour), now: time.Unix(7, 0)}
	r := &Rates{Activity: m.Activity}
	cs := []driver.Channel{orders}
	for i := range 200 {
		if i == 100 {
			cs = append(cs, added)
		}
		if err := r.Update(t.Context(), cs, m.now); err != nil {
			t.Fatal(err)
		}
		sent, done := r.Of(orders)
		switch {
		case i == 0 && sent >= 0:
			t.Errorf("at once, the rate is %v", sent)
		case i > 8 && (sent < 0.75 || sent > 1.25) || done >= 0:
			t.Errorf("after %d minutes, the rates are %v and %v, want 1 and unknown", i, sent, done)
		}
		if sent, _ := r.Of(added); (sent >= 0) != (i > 100) {
			t.Errorf("after %d minutes, the rate of the new channel is %v", i, sent)
		}
		m.now = m.now.Add(time.Minute)
	}
	if m.now.Sub(r.since) > ratesFor+2*time.Minute || len(r.asked) > 7 {
		t.Errorf("counted since %v, %d times", m.now.Sub(r.since), len(r.asked))
	}
	m.err = errors.New("no")
	if err := r.Update(t.Context(), cs, m.now); err == nil {
		t.Error("an error was ignored")
	}
}

// A channel with less than before was created again, and its rate is unknown.
func TestGrowth(t *testing.T) {
	for _, c := range []struct {
		from, to int64
		want     float64
	}{{0, 20, 2}, {5, 5, 0}, {5, 4, -1}, {unknownCount, 4, -1}, {4, unknownCount, -1}, {-100, -80, 2}} {
		if got := growth(c.from, c.to, 10); got != c.want {
			t.Errorf("from %d to %d: %v, want %v", c.from, c.to, got, c.want)
		}
	}
}
