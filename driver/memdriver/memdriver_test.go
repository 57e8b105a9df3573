package memdriver_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/driver/drivertest"
	"github.com/godwitmq/godwit/driver/memdriver"
)

// The backend keeps every contract of the seam, in virtual time.
func TestDriver(t *testing.T) { drivertest.Run(t, harness()) }

// BenchmarkDriver measures the cost of the seam itself.
func BenchmarkDriver(b *testing.B) { drivertest.Benchmark(b, harness()) }

// harness lists the backend's abilities: all that the kit knows except faults, which memory does not have.
func harness() drivertest.Harness {
	return drivertest.Harness{
		Bubble: synctest.Test,
		Can: drivertest.Abilities{
			Ordered: true, Leases: true, Delays: true, Cancels: true, Ticks: true, Retries: true, DeadLetters: true,
			Provisions: true, TellsOrder: true, Exchanges: true, Inspects: true, LongPolls: true,
			Lists: true, Forwards: true, ToOneQueue: true, Peeks: true, Pauses: true, Purges: true, Removes: true,
		},
		Open: func(t testing.TB) driver.Backend { return open(t, nil) },
		Skip: map[string]string{"exchange/delay": "where nothing is ordered, an exchange keeps delays too"},
	}
}

func open(t testing.TB, o *memdriver.Options) *memdriver.Backend {
	t.Helper()
	b, err := memdriver.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// world is a backend with one channel open, in virtual time.
type world struct {
	*testing.T
	backend *memdriver.Backend
	send    driver.Sender
	recv    driver.Receiver
}

func inWorld(t *testing.T, s driver.ChannelSpec, f func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b := open(t, nil)
		s.Owner = true
		err := b.Ensure(t.Context(), s)
		to := s.Channel
		if to.Exchange != "" {
			to.Queue = ""
		}
		send, serr := b.Sender(t.Context(), to)
		if err := errors.Join(err, serr); err != nil {
			t.Fatal(err)
		}
		w := &world{T: t, backend: b, send: send}
		w.recv = w.receiver(s.Channel)
		f(w)
	})
}

func (w *world) receiver(ch driver.Channel) driver.Receiver {
	w.Helper()
	r, err := w.backend.Receiver(w.Context(), ch, driver.ReceiverOptions{Concurrency: 1, Wait: 20 * time.Second})
	if err != nil {
		w.Fatal(err)
	}
	return r
}

func (w *world) put(ms ...driver.Message) {
	w.Helper()
	for _, m := range ms {
		p, err := w.send.Prepare(w.Context(), &m)
		if err == nil {
			err = w.send.Send(w.Context(), []driver.Prepared{p})
		}
		if err != nil {
			w.Fatal(err)
		}
	}
}

// receive calls Receive once and checks the bodies.
func (w *world) receive(r driver.Receiver, want ...string) []driver.Delivery {
	w.Helper()
	ds, err := r.Receive(w.Context(), driver.Ask{Max: 10}, nil)
	if err != nil {
		w.Fatal(err)
	}
	var got []string
	for _, d := range ds {
		got = append(got, string(d.Body))
	}
	if !slices.Equal(got, want) {
		w.Fatalf("received %q, want %q", got, want)
	}
	return ds
}

func (w *world) settle(r driver.Receiver, ss ...driver.Settlement) {
	w.Helper()
	if err := r.Settle(w.Context(), ss); err != nil {
		w.Fatal(err)
	}
}

func (w *world) depth(ch driver.Channel) driver.Depth {
	w.Helper()
	d, err := w.backend.Inspect(w.Context(), ch)
	if err != nil {
		w.Fatal(err)
	}
	return d
}

func message(key, body string) driver.Message {
	return driver.Message{OrderKey: key, Body: []byte(body)}
}

var (
	orders  = driver.Channel{Queue: "orders"}
	ordered = driver.Channel{Queue: "orders", Ordered: true}
)

// A message that is received too often becomes a dead letter, with its origin and without a reason.
func TestMaxReceives(t *testing.T) {
	inWorld(t, driver.ChannelSpec{Channel: orders, MaxReceives: 2}, func(w *world) {
		if got := w.recv.Limits().MaxReceives; got != 2 {
			w.Errorf("the limits say %d receives", got)
		}
		w.put(message("ada", "bad"))
		for range 2 {
			w.settle(w.recv, driver.Settlement{Handle: w.receive(w.recv, "bad")[0].Handle, Action: driver.Release})
		}
		w.receive(w.recv)
		dead := orders
		dead.DeadLetter = true
		d := w.receive(w.receiver(dead), "bad")[0]
		want := driver.Origin{Channel: orders, ID: "1", OrderKey: "ada", Deaths: 1}
		if d.Origin == nil || !reflect.DeepEqual(*d.Origin, want) {
			w.Errorf("its origin is %+v, want %+v", d.Origin, want)
		}
	})
}

// No message of a lane is delivered while any lease of the lane lasts. Then the whole lane is delivered in order.
func TestALaneComesAgainWhole(t *testing.T) {
	inWorld(t, driver.ChannelSpec{Channel: ordered, Lease: 10 * time.Second}, func(w *world) {
		w.put(message("ada", "1"), message("ada", "2"), message("ada", "3"))
		ds := w.receive(w.recv, "1", "2", "3")
		w.settle(w.recv, driver.Settlement{Handle: ds[0].Handle, Action: driver.Release})
		if _, err := w.recv.(driver.Extender).Extend(w.Context(), []driver.Handle{ds[2].Handle},
			30*time.Second); err != nil {
			w.Fatal(err)
		}
		begun := time.Now()
		w.receive(w.recv) // a whole poll, longer than the second delivery's lease
		w.receive(w.recv, "1", "2", "3")
		if took := time.Since(begun); took != 30*time.Second {
			w.Errorf("they came after %v, want 30s", took)
		}
	})
}

// A retry of a lane's head holds back the deliveries behind it, and its attempts are kept.
func TestARetryBlocksItsLane(t *testing.T) {
	inWorld(t, driver.ChannelSpec{Channel: ordered}, func(w *world) {
		w.put(message("ada", "1"), message("ada", "2"))
		ds := w.receive(w.recv, "1", "2")
		w.settle(w.recv,
			driver.Settlement{Handle: ds[0].Handle, Action: driver.Retry, After: 5 * time.Second, Attempt: 3},
			driver.Settlement{Handle: ds[1].Handle, Action: driver.Release})
		begun := time.Now()
		ds = w.receive(w.recv, "1", "2")
		if took := time.Since(begun); took != 5*time.Second || ds[0].Attempt != 3 || ds[1].Attempt != 0 {
			w.Errorf("after %v, with %d and %d attempts; want 5s, 3 and 0", took, ds[0].Attempt, ds[1].Attempt)
		}
		w.recv.(driver.AttemptLog).Started(ds[1].Handle, 2)
		w.settle(w.recv, driver.Settlement{Handle: ds[0].Handle},
			driver.Settlement{Handle: ds[1].Handle, Action: driver.Release})
		if d := w.receive(w.recv, "2")[0]; d.Attempt != 2 {
			w.Errorf("%d attempts, want the 2 that Started reported", d.Attempt)
		}
	})
}

// A duplicate is recognized for five minutes: in the whole channel, or within its key.
func TestAcceptedOnce(t *testing.T) {
	for _, perKey := range []bool{false, true} {
		inWorld(t, driver.ChannelSpec{Channel: ordered, HighThroughput: perKey}, func(w *world) {
			a, b := message("ada", "a"), message("bob", "b")
			a.DedupID, b.DedupID = "17", "17"
			w.put(a, b, a)
			want := []string{"a"}
			if perKey {
				want = append(want, "b")
			}
			for _, d := range w.receive(w.recv, want...) {
				w.settle(w.recv, driver.Settlement{Handle: d.Handle})
			}
			time.Sleep(5*time.Minute - time.Nanosecond)
			w.put(a)
			if d := w.depth(ordered); d.Waiting != 0 {
				w.Errorf("after nearly five minutes it was accepted again: %+v", d)
			}
			time.Sleep(time.Nanosecond)
			w.put(a)
			w.receive(w.recv, "a")
		})
	}
}

// The backend does not retain its arguments: changing them afterwards changes no message and no filter.
func TestNothingIsRetained(t *testing.T) {
	keys := []string{"A"}
	s := driver.ChannelSpec{Channel: driver.Channel{Exchange: "e", Queue: "q"}, Filter: driver.Filter{Exact: keys}}
	inWorld(t, s, func(w *world) {
		m := driver.Message{Body: []byte("good"), Header: []driver.Header{{Name: "a", Value: "good"}}, RoutingKey: "A"}
		keys[0] = "B"
		w.put(m)
		copy(m.Body, "evil")
		m.Header[0].Value = "evil"
		if d := w.receive(w.recv, "good")[0]; d.Header[0].Value != "good" {
			w.Errorf("the header is %q", d.Header[0].Value)
		}
	})
}

// Settling a message out of order leaves the others of its lane unchanged.
func TestDoneOutOfTurn(t *testing.T) {
	inWorld(t, driver.ChannelSpec{Channel: ordered}, func(w *world) {
		w.put(message("ada", "1"), message("ada", "2"), message("ada", "3"))
		ds := w.receive(w.recv, "1", "2", "3")
		w.settle(w.recv, driver.Settlement{Handle: ds[1].Handle},
			driver.Settlement{Handle: ds[0].Handle, Action: driver.Release},
			driver.Settlement{Handle: ds[2].Handle, Action: driver.Release})
		w.receive(w.recv, "1", "3")
	})
}

// A lease that has ended cannot be renewed, and its message counts as waiting.
func TestALeaseThatIsOver(t *testing.T) {
	inWorld(t, driver.ChannelSpec{Channel: orders, Lease: 10 * time.Second}, func(w *world) {
		w.put(message("", "a"))
		d := w.receive(w.recv, "a")[0]
		for _, want := range []driver.Depth{{InFlight: 1}, {Waiting: 1, Oldest: 10 * time.Second}} {
			if got := w.depth(orders); !reflect.DeepEqual(got, want) {
				w.Errorf("the depth is %+v, want %+v", got, want)
			}
			time.Sleep(10 * time.Second)
		}
		_, err := w.recv.(driver.Extender).Extend(w.Context(), []driver.Handle{d.Handle}, time.Minute)
		if !errors.Is(err, driver.ErrLost) {
			w.Errorf("renewed late: %v, want %v", err, driver.ErrLost)
		}
		again := w.receive(w.recv, "a")[0]
		w.settle(w.recv, driver.Settlement{Handle: again.Handle, Action: driver.Retry, After: time.Minute})
		if got, want := w.depth(orders), (driver.Depth{Delayed: 1}); !reflect.DeepEqual(got, want) {
			w.Errorf("the depth is %+v, want %+v", got, want)
		}
	})
}

// A waiting Receive returns at once when a message is released, when its context ends, and when it is closed.
func TestWhatEndsAReceive(t *testing.T) {
	for name, c := range map[string]struct {
		end  func(w *world, held driver.Handle, cancel func()) error
		want error
		n    int
	}{
		"release": {n: 1, end: func(w *world, held driver.Handle, _ func()) error {
			return w.recv.Settle(w.Context(), []driver.Settlement{{Handle: held, Action: driver.Release}})
		}},
		"cancel": {end: func(_ *world, _ driver.Handle, cancel func()) error { cancel(); return nil }},
		"close": {want: driver.ErrClosed, end: func(w *world, _ driver.Handle, _ func()) error {
			return w.recv.Close(w.Context())
		}},
	} {
		inWorld(t, driver.ChannelSpec{Channel: orders}, func(w *world) {
			w.put(message("", "a"))
			held := w.receive(w.recv, "a")[0].Handle
			ctx, cancel := context.WithCancel(w.Context())
			defer cancel()
			var ds []driver.Delivery
			answer := make(chan error)
			go func() {
				var err error
				ds, err = w.recv.Receive(ctx, driver.Ask{Max: 1}, nil)
				answer <- err
			}()
			synctest.Wait()
			begun := time.Now()
			if err := c.end(w, held, cancel); err != nil {
				w.Fatal(err)
			}
			if err := <-answer; !errors.Is(err, c.want) || len(ds) != c.n || time.Since(begun) > 0 {
				w.Errorf("%s: after %v it returned %d deliveries and error %v; want %d and %v at once",
					name, time.Since(begun), len(ds), err, c.n, c.want)
			}
		})
	}
}

// A brief poll of an empty channel waits for a second, and another one for the receiver's whole wait.
func TestABriefPoll(t *testing.T) {
	inWorld(t, driver.ChannelSpec{Channel: orders}, func(w *world) {
		for brief, want := range map[bool]time.Duration{true: driver.BriefWait, false: 5 * time.Second} {
			r, err := w.backend.Receiver(w.Context(), orders,
				driver.ReceiverOptions{Concurrency: 1, Wait: 5 * time.Second})
			if err != nil {
				w.Fatal(err)
			}
			begun := time.Now()
			ds, err := r.Receive(w.Context(), driver.Ask{Max: 1, Brief: brief}, nil)
			if took := time.Since(begun); took != want || len(ds) > 0 || err != nil {
				w.Errorf("brief %v: after %v %d deliveries, %v; want %v", brief, took, len(ds), err, want)
			}
			if err := r.Close(w.Context()); err != nil {
				w.Error(err)
			}
		}
	})
}

// Concurrent senders and receivers: each message is received once, and the messages of each key in order.
func TestManyAtOnce(t *testing.T) {
	const senders, each = 8, 500
	inWorld(t, driver.ChannelSpec{Channel: ordered}, func(w *world) {
		var sending, receiving sync.WaitGroup
		for s := range senders {
			sending.Go(func() {
				for i := range each {
					w.put(message(fmt.Sprint(s), fmt.Sprintf("%d/%d", s, i)))
				}
			})
		}
		ctx, stop := context.WithCancel(w.Context())
		var mu sync.Mutex
		next := map[string]int{}
		for range 4 {
			r := w.receiver(ordered)
			receiving.Go(func() {
				for ctx.Err() == nil {
					ds, err := r.Receive(ctx, driver.Ask{Max: 7}, nil)
					var ss []driver.Settlement
					mu.Lock()
					for _, d := range ds {
						if want := fmt.Sprintf("%s/%d", d.OrderKey, next[d.OrderKey]); string(d.Body) != want {
							w.Errorf("received %s, want %s", d.Body, want)
						}
						next[d.OrderKey]++
						ss = append(ss, driver.Settlement{Handle: d.Handle})
					}
					mu.Unlock()
					if err := errors.Join(err, r.Settle(ctx, ss)); err != nil {
						w.Error(err)
					}
				}
			})
		}
		sending.Wait()
		synctest.Wait()
		stop()
		receiving.Wait()
		for s := range senders {
			if n := next[fmt.Sprint(s)]; n != each {
				w.Errorf("received %d messages of sender %d, want %d", n, s, each)
			}
		}
	})
}

// Verify reports what differs in the words of the options; a specification that memory cannot satisfy is refused by
// name.
func TestEnsureSaysWhatIsWrong(t *testing.T) {
	inWorld(t, driver.ChannelSpec{Channel: orders, NoDeadLetters: true}, func(w *world) {
		const verify = driver.Verify
		for want, s := range map[string]driver.ChannelSpec{
			"a delay of 0s instead of a delay of 1m0s":            {Mode: verify, Delay: time.Minute},
			"a lease of 30s instead of a lease of 1s":             {Mode: verify, Lease: time.Second},
			"at most 0 receives instead of at most 5":             {Mode: verify, MaxReceives: 5},
			"HighThroughput false instead of HighThroughput true": {Mode: verify, HighThroughput: true},
			"has no dead letters: provision it again":             {Mode: verify},
			`leave Encryption "k" out`:                            {Encryption: "k"},
			`leave Native map[a:b] out`:                           {Native: map[string]string{"a": "b"}},
			"leave Retention 1h0m0s and DeadRetention 0s out":     {Retention: time.Hour},
			"filters select what a queue gets of an exchange":     {Filter: driver.Filter{Exact: []string{"A"}}},
			"it exists with Ordered false":                        {Channel: ordered},
			"the name is in use by channel orders":                {Channel: driver.Channel{Exchange: "orders"}},
			"the channel has no name":                             {Channel: driver.Channel{Ordered: true}},
		} {
			s.Owner = true
			if s.Channel == (driver.Channel{}) {
				s.Channel = orders
			}
			if err := w.backend.Ensure(w.Context(), s); err == nil || !strings.Contains(err.Error(), want) {
				w.Errorf("%+v: %v, want an error that says %q", s, err, want)
			}
		}
	})
}

// An exchange can be sent to, but not received from or counted. Its queues hold only messages that pass their filters.
func TestAnExchangeHoldsNothing(t *testing.T) {
	mobile := driver.Channel{Exchange: "wishes", Queue: "mobile"}
	inWorld(t, driver.ChannelSpec{Channel: mobile, Filter: driver.Filter{Exact: []string{"MOBILE"}}}, func(w *world) {
		w.put(driver.Message{RoutingKey: "BOOK"}, driver.Message{RoutingKey: "MOBILE"})
		if got, want := w.depth(mobile), (driver.Depth{Waiting: 1}); !reflect.DeepEqual(got, want) {
			w.Errorf("the depth is %+v, want %+v", got, want)
		}
		all := driver.Channel{Exchange: "wishes"}
		if _, err := w.backend.Receiver(w.Context(), all, driver.ReceiverOptions{}); err == nil {
			w.Error("Receiver accepted an exchange")
		}
		if _, err := w.backend.Inspect(w.Context(), all); err == nil {
			w.Error("Inspect accepted an exchange")
		}
	})
}

func TestOptions(t *testing.T) {
	for _, o := range []memdriver.Options{{MaxBytes: -1}, {Batch: -1}} {
		if _, err := memdriver.Open(&o); err == nil {
			t.Errorf("options %+v were accepted", o)
		}
	}
	b := open(t, &memdriver.Options{MaxBytes: 3, Batch: 7})
	if err := b.Ensure(t.Context(), driver.ChannelSpec{Channel: orders}); err != nil {
		t.Fatal(err)
	}
	s, err := b.Sender(t.Context(), orders)
	if err != nil {
		t.Fatal(err)
	}
	if got := s.Limits().Batch; got != 7 {
		t.Errorf("Limits().Batch is %d", got)
	}
	if _, err := s.Prepare(t.Context(), &driver.Message{Body: []byte("four")}); driver.ClassOf(err) != driver.TooLarge {
		t.Errorf("prepare four bytes with MaxBytes 3: %v", err)
	}
}

// The channel's delay applies to every message without a delay of its own.
func TestAChannelsDelay(t *testing.T) {
	inWorld(t, driver.ChannelSpec{Channel: orders, Delay: 10 * time.Second}, func(w *world) {
		begun := time.Now()
		w.put(message("", "later"), driver.Message{Body: []byte("sooner"), Delay: time.Second})
		for _, c := range []struct {
			body  string
			after time.Duration
		}{{"sooner", time.Second}, {"later", 10 * time.Second}} {
			d := w.receive(w.recv, c.body)[0]
			if took := time.Since(begun); took != c.after {
				w.Errorf("%s came after %v, want %v", c.body, took, c.after)
			}
			w.settle(w.recv, driver.Settlement{Handle: d.Handle})
		}
	})
}

// Messages that a poll discards are reported once, when the poll ends.
func TestDiscardedIsToldOnce(t *testing.T) {
	wishes := driver.Channel{Exchange: "wishes", Queue: "mobile"}
	inWorld(t, driver.ChannelSpec{Channel: wishes}, func(w *world) {
		var told []driver.Discarded
		r, err := w.backend.Receiver(w.Context(), wishes, driver.ReceiverOptions{
			Wait:   20 * time.Second,
			Filter: driver.Filter{Exact: []string{"MOBILE"}},
			Events: driver.Events{Discarded: func(d driver.Discarded) { told = append(told, d) }},
		})
		if err != nil {
			w.Fatal(err)
		}
		for _, delay := range []time.Duration{1, 2, 3} {
			w.put(driver.Message{RoutingKey: "BOOK", Delay: delay * time.Second})
		}
		w.receive(r)
		want := []driver.Discarded{{Reason: driver.DiscardFiltered, Count: 3, IDs: []string{"1", "2", "3"}}}
		if diff := cmp.Diff(want, told); diff != "" {
			w.Errorf("reported (-want +got):\n%s", diff)
		}
	})
}
