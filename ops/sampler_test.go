package ops_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/driver/memdriver"
	"github.com/godwitmq/godwit/local"
	"github.com/godwitmq/godwit/localaws"
	"github.com/godwitmq/godwit/localaws/wire"
	"github.com/godwitmq/godwit/ops"
)

// looked is a backend that counts looks, and fails if it is told to.
type looked struct {
	*memdriver.Backend
	catalogs, inspects atomic.Int64
	fail               atomic.Bool
}

func (l *looked) Operations() driver.Operations {
	do := l.Backend.Operations()
	do.Catalog, do.Inspect = l.Catalog, l.Inspect
	return do
}

func (l *looked) Catalog(ctx context.Context) ([]driver.ChannelInfo, error) {
	l.catalogs.Add(1)
	if l.fail.Load() {
		return nil, errors.New("no catalog")
	}
	return l.Backend.Catalog(ctx)
}

func (l *looked) Inspect(ctx context.Context, c driver.Channel) (driver.Depth, error) {
	l.inspects.Add(1)
	if l.fail.Load() && c.DeadLetter {
		return driver.Depth{}, &driver.Error{Class: driver.Denied, Err: errors.New("denied")}
	}
	return l.Backend.Inspect(ctx, c)
}

func sampler(t *testing.T, b driver.Backend, o *ops.SamplerOptions) *ops.Sampler {
	t.Helper()
	s, err := ops.NewSampler(b, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// one returns the current view.
func one(ctx context.Context, s *ops.Sampler) (v ops.View) {
	for v = range s.Watch(ctx) {
		break
	}
	return v
}

// of returns a channel of a view.
func of(t *testing.T, v *ops.View, name string) ops.Watched {
	t.Helper()
	for _, c := range v.Channels {
		if c.Channel.String() == name {
			return c
		}
	}
	t.Fatalf("there is no %s in %+v", name, v)
	return ops.Watched{}
}

// All who watch share one sampler, which looks at every channel each 10 s, and stops when nobody watches any more.
func TestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &looked{Backend: shop(t)}
		s := sampler(t, b, nil)
		time.Sleep(time.Hour)
		if n := b.catalogs.Load() + b.inspects.Load(); n != 0 {
			t.Errorf("%d looks before anybody watches", n)
		}
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), 95*time.Second)
				defer cancel()
				views := 0
				for v := range s.Watch(ctx) {
					views++
					w := of(t, &v, "orders")
					if w.Waiting != 3 || w.DeadLetters != 0 || w.Sent >= 0 || len(v.Channels) != 5 {
						t.Errorf("%+v", w)
					}
					if w := of(t, &v, "events.*"); w.Oldest >= 0 || w.DeadLetters >= 0 {
						t.Errorf("%+v", w)
					}
				}
				if views != 10 {
					t.Errorf("%d views in 95 s", views)
				}
			})
		}
		wg.Wait()
		if b.catalogs.Load() != 2 || b.inspects.Load() != 40 {
			t.Errorf("%d catalogs, %d looks at channels", b.catalogs.Load(), b.inspects.Load())
		}
		time.Sleep(time.Hour)
		if b.inspects.Load() != 40 {
			t.Errorf("%d looks although nobody watches", b.inspects.Load())
		}
		if v := one(t.Context(), s); time.Since(v.At) != 0 {
			t.Errorf("the first view after a break is %v old", time.Since(v.At))
		}
		if v := one(t.Context(), s); time.Since(v.At) != 0 || b.inspects.Load() > 48 {
			t.Errorf("%d looks for the same view again", b.inspects.Load())
		}
		if h := s.History(driver.Channel{Queue: "orders"}); len(h) != 11 || h[10].At.Sub(h[9].At) < time.Hour ||
			h[0].DeadLetters != 0 || h[0].Waiting != 3 {
			t.Errorf("the history is %+v", h)
		}
		if h := s.History(driver.Channel{Queue: "none"}); h != nil {
			t.Errorf("a channel that does not exist has the history %+v", h)
		}
	})
}

// A watcher that is slow, or has left its loop, does not hold up the others.
func TestASlowWatcher(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := sampler(t, shop(t), nil)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute-time.Second) // before the 61st view
		defer cancel()
		var slow, fast int
		var wg sync.WaitGroup
		wg.Go(func() {
			for range s.Watch(ctx) {
				slow++
				time.Sleep(3 * time.Minute)
			}
		})
		for range s.Watch(ctx) {
			fast++
		}
		wg.Wait()
		if slow != 4 || fast != 60 {
			t.Errorf("%d slow and %d fast views", slow, fast)
		}
	})
}

// A view says what could not be looked at, and keeps the channels of before if there is no catalog.
func TestWatchThatFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &looked{Backend: shop(t)}
		s := sampler(t, b, nil)
		first := true
		for v := range s.Watch(t.Context()) {
			if first {
				first = false
				b.fail.Store(true)
				time.Sleep(2 * time.Minute)
				continue
			}
			if v.Err == nil {
				continue // a view from before
			}
			if w := of(t, &v, "orders"); w.Waiting != 3 || w.DeadLetters >= 0 || w.Err != nil {
				t.Errorf("%+v", w)
			}
			if w := of(t, &v, "orders@dlq"); driver.ClassOf(w.Err) != driver.Denied || w.Err == nil {
				t.Errorf("%+v", w)
			}
			break
		}
	})
}

// The budget lengthens the interval, which every view says.
func TestBudgetOfASampler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &looked{Backend: shop(t)}
		s := sampler(t, b, &ops.SamplerOptions{Requests: 12, Interval: time.Second})
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		var last ops.View
		for v := range s.Watch(ctx) {
			if !last.At.IsZero() && v.At.Sub(last.At) != last.Pace.Interval {
				t.Errorf("%v between two views, and the interval is %v", v.At.Sub(last.At), last.Pace.Interval)
			}
			last = v
		}
		p := last.Pace
		if p.Wanted != time.Second || p.Interval < 40*time.Second || p.Requests > 12 || p.Budget != 12 {
			t.Errorf("%+v", p)
		}
		if n := 2*b.inspects.Load() + 11*b.catalogs.Load(); n > 13*60 {
			t.Errorf("about %d requests in an hour", n)
		}
	})
}

// On AWS, rates and ages come from CloudWatch.
func TestWatchOnAWS(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, err := local.Open(t.Context(), &local.Options{Server: &localaws.Options{Seed: 1}})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = b.Close(context.Background()) }()
		ch := driver.Channel{Queue: "orders"}
		err = b.Ensure(t.Context(), driver.ChannelSpec{Channel: ch, Owner: true, NoDeadLetters: true})
		if err != nil {
			t.Fatal(err)
		}
		sender, err := b.Sender(t.Context(), ch)
		if err != nil {
			t.Fatal(err)
		}
		s := sampler(t, b, nil)
		ctx, cancel := context.WithTimeout(t.Context(), 15*time.Minute)
		defer cancel()
		var sending sync.WaitGroup
		defer sending.Wait()
		defer cancel()
		sending.Go(func() {
			for ctx.Err() == nil {
				p, err := sender.Prepare(ctx, &driver.Message{Body: []byte("x")})
				if err == nil {
					err = sender.Send(ctx, []driver.Prepared{p})
				}
				if err != nil && ctx.Err() == nil {
					t.Error(err)
				}
				time.Sleep(2 * time.Second)
			}
		})
		var last ops.View
		for v := range s.Watch(ctx) {
			last = v
		}
		w := of(t, &last, "orders")
		// The minute of a send on its edge is a matter of chance.
		if w.Sent < 0.35 || w.Sent > 0.65 || w.Done != 0 || w.Oldest < 10*time.Minute || w.Oldest > 15*time.Minute ||
			last.RatesErr != nil || w.Waiting < 440 {
			t.Errorf("%+v, %v", w, last.RatesErr)
		}
		// The last sample falls on the end of the context.
		if h := s.History(ch); len(h) < 90 || len(h) > 91 || h[0].Sent >= 0 || h[89].Sent < 0.35 {
			t.Errorf("%d samples, the first %+v", len(h), h[0])
		}
	})
}

// Options that cannot work are refused by name.
func TestSamplerOptions(t *testing.T) {
	for _, o := range []ops.SamplerOptions{{Interval: time.Millisecond}, {Requests: 1}, {Match: "["}} {
		if _, err := ops.NewSampler(shop(t), &o); err == nil {
			t.Errorf("%+v was accepted", o)
		}
	}
	if _, err := ops.NewSampler(struct{ driver.Backend }{}, nil); err == nil {
		t.Error("a backend without a catalog was accepted")
	}
}

// The first channels are seen at the next look, and with Fresh all later ones, too.
func TestSamplerSeesNewChannels(t *testing.T) {
	for _, fresh := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			b, err := memdriver.Open(nil)
			if err != nil {
				t.Fatal(err)
			}
			s := sampler(t, b, &ops.SamplerOptions{Fresh: fresh})
			ctx, cancel := context.WithTimeout(t.Context(), 55*time.Second)
			defer cancel()
			var seen []int
			for v := range s.Watch(ctx) {
				seen = append(seen, len(v.Channels))
				if n := len(seen); n == 2 || n == 4 {
					spec := driver.ChannelSpec{
						Channel: driver.Channel{Queue: fmt.Sprintf("q%d", n)}, Owner: true, NoDeadLetters: true,
					}
					if err := b.Ensure(ctx, spec); err != nil {
						t.Fatal(err)
					}
				}
			}
			want := []int{0, 0, 1, 1, 1, 1}
			if fresh {
				want = []int{0, 0, 1, 1, 2, 2}
			}
			if !slices.Equal(seen, want) {
				t.Errorf("fresh %v: views of %v channels, want %v", fresh, seen, want)
			}
		})
	}
}

// between returns the samples of a time.
func between(all []ops.Sample, from, to time.Time) (some []ops.Sample) {
	for _, one := range all {
		if one.At.After(from) && one.At.Before(to) {
			some = append(some, one)
		}
	}
	return some
}

// Times in which nobody has watched are filled once with the counts of CloudWatch, for all channels in one request. A
// minute without a count stays unknown. What could not be had is asked for again while somebody watches, and stays
// unknown until then. Without the permission, CloudWatch is not asked again for an hour.
func TestThePastOfASampler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, err := local.Open(t.Context(), &local.Options{Server: &localaws.Options{Seed: 1}})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = b.Close(context.Background()) }()
		var asked atomic.Int64
		var deny, throttle atomic.Bool
		b.Server().Control("cloudwatch.GetMetricData", func(context.Context, *localaws.Request) localaws.Outcome {
			asked.Add(1)
			if deny.Load() {
				return localaws.Outcome{Err: &wire.Error{Code: "AccessDenied", Message: "no", Status: 403}}
			}
			if throttle.Load() {
				return localaws.Outcome{Err: &wire.Error{Code: "Throttling", Message: "slow down", Status: 400}}
			}
			return localaws.Outcome{}
		})
		ch, quiet := driver.Channel{Queue: "orders"}, driver.Channel{Queue: "quiet"}
		for _, one := range []driver.Channel{ch, quiet} {
			err := b.Ensure(t.Context(), driver.ChannelSpec{Channel: one, Owner: true, NoDeadLetters: true})
			if err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(10*time.Hour + 20*time.Second) // the queues sleep; their minutes end at other times
		put := func(n int) {
			t.Helper()
			sender, err := b.Sender(t.Context(), ch)
			if err != nil {
				t.Fatal(err)
			}
			for range n {
				p, err := sender.Prepare(t.Context(), &driver.Message{Body: []byte("x")})
				if err == nil {
					err = sender.Send(t.Context(), []driver.Prepared{p})
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			if err := sender.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		put(60)
		sent := time.Now()
		time.Sleep(2 * time.Hour)
		s := sampler(t, b, &ops.SamplerOptions{Past: true})
		ratesAsk := int64(2) // what the rates ask at the first look
		watchFor(t, s, 15*time.Second)
		if n := asked.Load() - ratesAsk; n != 1 {
			t.Errorf("%d requests for the past", n)
		}
		samples := s.History(ch)
		if first := samples[0].At; first.Before(sent.Add(-time.Minute)) || first.After(sent.Add(time.Minute)) {
			t.Errorf("the first sample is of %v before the send", sent.Sub(first))
		}
		var most float64
		for _, p := range samples {
			age := p.At.Sub(sent)
			most = max(most, p.Sent)
			if age > time.Minute && (p.Waiting != 60 || p.InFlight != 0 || p.Delayed != 0) {
				t.Errorf("after %v: %+v", age, p)
			}
			counted := age > 2*time.Minute && age < 110*time.Minute
			if counted && (p.Oldest < age-2*time.Minute || p.Oldest > age+time.Minute) {
				t.Errorf("after %v, the oldest is %v old", age, p.Oldest)
			}
		}
		if most != 1 || len(samples) < 110*6 {
			t.Errorf("%d samples, with at most %v sent a second", len(samples), most)
		}
		if n := len(s.History(quiet)); n != 2 {
			t.Errorf("a queue that CloudWatch has not counted has %d samples, want those of the looks", n)
		}
		// The gap behind is filled, too, and nothing that was looked at changes.
		time.Sleep(time.Hour)
		watchFor(t, s, 15*time.Second)
		whole := s.History(ch)
		if diff := cmp.Diff(samples, whole[:len(samples)]); diff != "" || len(whole) < 170*6 {
			t.Errorf("%d samples: %.500s", len(whole), diff)
		}
		// CloudWatch does not answer at first, and what it has counted is not lost.
		time.Sleep(time.Hour)
		throttle.Store(true)
		gone := time.Now()
		away := func() int { return len(between(s.History(ch), gone.Add(-50*time.Minute), gone)) }
		if v := watchFor(t, s, 50*time.Second); v.PastErr == nil || away() > 0 {
			t.Errorf("a call that was throttled: %v, and %d samples", v.PastErr, away())
		}
		throttle.Store(false)
		if v := watchFor(t, s, 3*time.Minute); v.PastErr != nil {
			t.Errorf("the call after it: %v", v.PastErr)
		}
		if n := away(); n < 45*6 {
			t.Errorf("%d samples of the time before a call that was throttled", n)
		}
		deny.Store(true)
		for i, want := range []int64{1, 0, 1} {
			time.Sleep(40 * time.Minute)
			before := asked.Load()
			v := watchFor(t, s, 5*time.Second)
			if driver.ClassOf(v.PastErr) != driver.Denied || v.PastErr == nil ||
				!strings.Contains(v.PastErr.Error(), "cloudwatch:GetMetricData") {
				t.Errorf("%d: %v", i, v.PastErr)
			}
			if n := asked.Load() - before - ratesAsk; n != want {
				t.Errorf("%d: %d requests for the past, want %d", i, n, want)
			}
		}
		deny.Store(false)
		time.Sleep(2 * time.Hour)
		if v := watchFor(t, s, 5*time.Second); v.PastErr != nil {
			t.Error(v.PastErr)
		}
	})
}
