package ops_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/driver/memdriver"
	"github.com/godwitmq/godwit/ops"
)

// morgue is a backend whose channels have dead letters.
type morgue struct {
	*testing.T
	driver.Backend
}

var (
	orders = driver.Channel{Queue: "orders"}
	queued = driver.Channel{Queue: "queued", Ordered: true}
	mobile = driver.Channel{Exchange: "wishes", Queue: "mobile"}
	audit  = driver.Channel{Exchange: "wishes", Queue: "audit"}
)

func newMorgue(t *testing.T) *morgue {
	t.Helper()
	b, err := memdriver.Open(&memdriver.Options{Batch: 10})
	if err != nil {
		t.Fatal(err)
	}
	all := []driver.Channel{orders, queued, mobile, audit, {Queue: "other"}, {Queue: "lined", Ordered: true}}
	for _, ch := range all {
		if err := b.Ensure(t.Context(), driver.ChannelSpec{Channel: ch, Owner: true}); err != nil {
			t.Fatal(err)
		}
	}
	return &morgue{t, b}
}

func letter(key, body string) driver.Message {
	return driver.Message{OrderKey: key, Body: []byte(body)}
}

// put sends messages to a channel.
func (m *morgue) put(to driver.Channel, ms ...driver.Message) {
	m.Helper()
	s, err := m.Sender(m.Context(), to)
	if err != nil {
		m.Fatal(err)
	}
	for i := range ms {
		p, err := s.Prepare(m.Context(), &ms[i])
		if err == nil {
			err = s.Send(m.Context(), []driver.Prepared{p})
		}
		if err != nil {
			m.Fatal(err)
		}
	}
}

// reject rejects all messages of a channel.
func (m *morgue) reject(ch driver.Channel, death driver.Death) {
	m.Helper()
	m.each(ch, func(d *driver.Delivery) driver.Settlement {
		return driver.Settlement{Action: driver.Reject, Death: &death}
	})
}

// take finishes all messages of a channel, and returns them in order.
func (m *morgue) take(ch driver.Channel) (ds []driver.Delivery) {
	m.Helper()
	m.each(ch, func(d *driver.Delivery) driver.Settlement {
		ds = append(ds, *d)
		return driver.Settlement{}
	})
	return ds
}

func (m *morgue) each(ch driver.Channel, settle func(d *driver.Delivery) driver.Settlement) {
	m.Helper()
	r, err := m.Receiver(m.Context(), ch, driver.ReceiverOptions{Concurrency: 1})
	if err != nil {
		m.Fatal(err)
	}
	defer func() { _ = r.Close(context.WithoutCancel(m.Context())) }()
	for {
		ds, err := r.Receive(m.Context(), driver.Ask{Max: 10}, nil)
		if err != nil {
			m.Fatal(err)
		}
		if len(ds) == 0 {
			return
		}
		batch := make([]driver.Settlement, len(ds))
		for i := range ds {
			batch[i] = settle(&ds[i])
			batch[i].Handle = ds[i].Handle
		}
		if err := r.Settle(m.Context(), batch); err != nil {
			m.Fatal(err)
		}
	}
}

// requeue requeues, and fails the test if that fails.
func (m *morgue) requeue(from string, o *ops.RequeueOptions) *ops.RequeueResult {
	m.Helper()
	r, err := ops.Requeue(m.Context(), m.Backend, from, o)
	if err != nil {
		m.Fatalf("requeue %s: %v", from, err)
	}
	return r
}

func texts(ds []driver.Delivery) []string {
	ts := []string{}
	for i := range ds {
		ts = append(ts, string(ds[i].Body))
	}
	return ts
}

// want compares what waits in a channel, and removes it.
func (m *morgue) want(ch driver.Channel, bodies ...string) {
	m.Helper()
	got := texts(m.take(ch))
	if !ch.Ordered {
		slices.Sort(got)
	}
	if diff := cmp.Diff(append([]string{}, bodies...), got); diff != "" {
		m.Errorf("%s (-want +got):\n%s", ch, diff)
	}
}

func dead(of driver.Channel) driver.Channel {
	of.DeadLetter = true
	return of
}

var refused = driver.Death{Error: "card refused", Kind: "permanent", Attempts: 1}

// in runs a test with a morgue, in virtual time.
func in(t *testing.T, f func(m *morgue)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { f(newMorgue(t)) })
}

// Dead letters go back to the queue in which they died, alone: other consumers of the exchange get nothing.
func TestRequeueGoesHome(t *testing.T) {
	in(t, func(m *morgue) {
		m.put(driver.Channel{Exchange: "wishes"}, letter("", "a"), letter("", "b"))
		m.take(audit)
		m.reject(mobile, refused)
		r := m.requeue("wishes.mobile@dlq", nil)
		if r.Moved != 2 || r.To != "wishes.mobile" || r.Shared || r.Looked != 2 {
			t.Errorf("%+v", r)
		}
		m.want(mobile, "a", "b")
		m.want(audit)
		m.want(dead(mobile))
	})
}

// A destination that is an exchange gives the messages to all of its consumers.
func TestRequeueToAll(t *testing.T) {
	in(t, func(m *morgue) {
		m.put(mobile, letter("", "a"))
		m.reject(mobile, refused)
		if r := m.requeue("wishes.mobile@dlq", &ops.RequeueOptions{To: "wishes.*"}); r.Moved != 1 || !r.Shared {
			t.Errorf("%+v", r)
		}
		m.want(mobile, "a")
		m.want(audit, "a")
	})
}

// Selected messages are sent, and the others are still in their place at once.
func TestRequeueSelects(t *testing.T) {
	for name, c := range map[string]struct {
		s    ops.Selection
		want []string
	}{
		"kind":     {ops.Selection{Kinds: []string{"timeout", "exhausted"}}, []string{"slow"}},
		"error":    {ops.Selection{Error: "card"}, []string{"poor"}},
		"header":   {ops.Selection{Headers: []driver.Header{{Name: "locale", Value: "de"}}}, []string{"poor"}},
		"key":      {ops.Selection{Keys: []string{"globex", "acme"}}, []string{"poor"}},
		"attempts": {ops.Selection{MinAttempts: 3}, []string{"slow"}},
		"older":    {ops.Selection{OlderThan: time.Hour}, []string{"slow"}},
		"newer":    {ops.Selection{NewerThan: time.Hour}, []string{"poor"}},
		"body": {
			ops.Selection{Body: func(b []byte) (bool, error) { return strings.Contains(string(b), "oo"), nil }},
			[]string{"poor"},
		},
		"both": {ops.Selection{Error: "card", MinAttempts: 3}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, func(m *morgue) {
				m.put(orders, letter("", "slow"))
				m.reject(orders, driver.Death{Error: "no answer", Kind: "timeout", Attempts: 3})
				time.Sleep(2 * time.Hour)
				poor := letter("", "poor")
				poor.Header, poor.OrderKey = []driver.Header{{Name: "locale", Value: "de"}}, "acme"
				m.put(orders, poor)
				m.reject(orders, refused)
				dry := m.requeue("orders@dlq", &ops.RequeueOptions{Select: c.s, Dry: true})
				r := m.requeue("orders@dlq", &ops.RequeueOptions{Select: c.s})
				if int(r.Moved) != len(c.want) || r.Moved+r.Stay.NotSelected != 2 || dry.Moved != r.Moved {
					t.Errorf("%+v, dry %+v", r, dry)
				}
				m.want(orders, c.want...)
				if left := m.take(dead(orders)); len(left) != 2-len(c.want) {
					t.Errorf("%q stay", texts(left))
				}
			})
		})
	}
}

// On an ordered channel, what is behind a message that stays in its key stays as well, and the order is kept.
func TestRequeueKeepsOrder(t *testing.T) {
	in(t, func(m *morgue) {
		for i := range 20 {
			m.put(queued, letter("ada", fmt.Sprintf("ada %02d", i)), letter("bob", fmt.Sprintf("bob %02d", i)))
		}
		m.reject(queued, refused)
		r := m.requeue("queued@dlq", &ops.RequeueOptions{Select: ops.Selection{Body: func(b []byte) (bool, error) {
			return string(b) != "ada 07", nil
		}}})
		if r.Moved != 27 || r.Stay.NotSelected != 1 {
			t.Errorf("%+v", r)
		}
		back := map[string][]string{}
		for _, d := range m.take(queued) {
			back[d.OrderKey] = append(back[d.OrderKey], string(d.Body))
		}
		if !slices.IsSorted(back["ada"]) || !slices.IsSorted(back["bob"]) || len(back["bob"]) != 20 {
			t.Errorf("back: %q", back)
		}
		left := texts(m.take(dead(queued)))
		if len(left) != 13 || left[0] != "ada 07" || !slices.IsSorted(left) {
			t.Errorf("left: %q", left)
		}
	})
}

// An edited body replaces the body; one that is not changed is sent as it was.
func TestRequeueEdits(t *testing.T) {
	in(t, func(m *morgue) {
		m.put(orders, letter("", "fix me"), letter("", "good"), letter("", "hopeless"))
		m.reject(orders, refused)
		r := m.requeue("orders@dlq", &ops.RequeueOptions{Edit: func(b []byte) ([]byte, error) {
			if string(b) == "hopeless" {
				return nil, errors.New("no amount")
			}
			return []byte(strings.Replace(string(b), "fix me", "fixed", 1)), nil
		}})
		if r.Moved != 2 || r.Edited != 1 || r.Stay.Refused != 1 || len(r.Refused) != 1 ||
			!strings.Contains(r.Refused[0].Error(), "no amount") {
			t.Errorf("%+v", r)
		}
		m.want(orders, "fixed", "good")
		m.want(dead(orders), "hopeless")
	})
}

// A message that has died too often stays, and is counted.
func TestRequeueGuardsAgainstLoops(t *testing.T) {
	in(t, func(m *morgue) {
		m.put(orders, letter("", "a"))
		for n := range 3 {
			m.reject(orders, refused)
			if r := m.requeue("orders@dlq", nil); (r.Moved == 1) != (n < 2) || (r.Stay.TooOften == 1) != (n == 2) {
				t.Errorf("after %d deaths: %+v", n+1, r)
			}
		}
		if r := m.requeue("orders@dlq", &ops.RequeueOptions{MaxDeaths: -1}); r.Moved != 1 {
			t.Errorf("without a limit: %+v", r)
		}
	})
}

// Most bounds the messages that are sent, and PerSecond their rate.
func TestRequeueBounds(t *testing.T) {
	in(t, func(m *morgue) {
		for i := range 100 {
			m.put(orders, letter("", fmt.Sprint(i)))
		}
		m.reject(orders, refused)
		r := m.requeue("orders@dlq", &ops.RequeueOptions{Most: 25})
		if r.Moved != 25 || r.Stay.Unlooked+r.Stay.TooMany != 75 {
			t.Errorf("%+v", r)
		}
		r = m.requeue("orders@dlq", &ops.RequeueOptions{PerSecond: 5})
		if r.Moved != 75 || r.Took < 14*time.Second || r.Took > 18*time.Second {
			t.Errorf("%+v", r)
		}
		if got := len(m.take(orders)); got != 100 {
			t.Errorf("%d messages are back", got)
		}
	})
}

// Where more messages stay than can be held, the run releases them meanwhile, and says so, as an error.
func TestRequeueTakesWindows(t *testing.T) {
	in(t, func(m *morgue) {
		for i := range 100 {
			m.put(orders, letter("", fmt.Sprint(i)))
		}
		m.reject(orders, refused)
		r, err := ops.Requeue(m.Context(), m.Backend, "orders@dlq", &ops.RequeueOptions{Hold: 30, Select: ops.Selection{
			Body: func(b []byte) (bool, error) { return strings.HasSuffix(string(b), "7"), nil },
		}})
		if unseen, _ := errors.AsType[*ops.UnseenError](err); unseen == nil || unseen.Hold != 30 {
			t.Error(err)
		}
		if r.Windows < 2 || r.Moved == 0 || r.Moved+r.Stay.NotSelected+r.Stay.Unlooked != 100 {
			t.Errorf("%+v", r)
		}
		if got := len(m.take(orders)) + len(m.take(dead(orders))); got != 100 {
			t.Errorf("%d messages are left of 100", got)
		}
	})
}

// A run that is cancelled ends after its batch; the next run goes on.
func TestRequeueStopsAndGoesOn(t *testing.T) {
	in(t, func(m *morgue) {
		for i := range 100 {
			m.put(orders, letter("", fmt.Sprint(i)))
		}
		m.reject(orders, refused)
		ctx, cancel := context.WithCancel(m.Context())
		journal := filepath.Join(m.TempDir(), "journal")
		r, err := ops.Requeue(ctx, m.Backend, "orders@dlq", &ops.RequeueOptions{
			PerSecond: 10, Journal: journal, Progress: func(p *ops.RequeueResult) {
				if p.Moved >= 30 {
					cancel()
				}
			},
		})
		if !errors.Is(err, context.Canceled) || r.Moved < 30 || r.Moved > 50 {
			t.Fatalf("%+v, %v", r, err)
		}
		again := m.requeue("orders@dlq", &ops.RequeueOptions{Journal: journal})
		if again.Moved+r.Moved != 100 || again.Looked != again.Moved {
			t.Errorf("%+v", again)
		}
		if _, err := os.Stat(journal); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the journal of a complete run is still there: %v", err)
		}
	})
}

// A run that is cancelled while it looks at a batch leaves the rest of the batch, which does not count as refused.
func TestRequeueStopsInABatch(t *testing.T) {
	in(t, func(m *morgue) {
		for i := range 100 {
			m.put(orders, letter("", fmt.Sprint(i)))
		}
		m.reject(orders, refused)
		ctx, cancel := context.WithCancel(m.Context())
		r, err := ops.Requeue(ctx, m.Backend, "orders@dlq", &ops.RequeueOptions{
			Dry: true, Edit: func([]byte) ([]byte, error) {
				cancel()
				return nil, context.Canceled
			},
		})
		if !errors.Is(err, context.Canceled) || r.Looked != 0 || r.Moved != 0 || r.Stay.Refused != 0 ||
			r.Stay.Unlooked != 100 {
			t.Errorf("%+v, %v", r, err)
		}
	})
}

// Bad input is an error that says how to mend it, and nothing is moved.
func TestRequeueRefuses(t *testing.T) {
	in(t, func(m *morgue) {
		m.put(queued, letter("", "a"))
		m.reject(queued, refused)
		for want, c := range map[string]struct {
			from string
			o    ops.RequeueOptions
		}{
			"perhaps orders":                {"order@dlq", ops.RequeueOptions{}},
			"is not dead letters":           {"orders", ops.RequeueOptions{}},
			"source and destination":        {"orders", ops.RequeueOptions{To: "orders"}},
			"order would be lost":           {"queued@dlq", ops.RequeueOptions{To: "orders"}},
			"there are 13 others":           {"queued@dlq", ops.RequeueOptions{To: "nirvana"}},
			"an exchange, which keeps none": {"wishes.*", ops.RequeueOptions{To: "orders"}},
			"leave one of them out":         {"queued@dlq", ops.RequeueOptions{To: "orders", Alone: true}},
			"no message is both": {"queued@dlq", ops.RequeueOptions{
				Select: ops.Selection{OlderThan: 2 * time.Hour, NewerThan: time.Hour},
			}},
			"none can be negative": {"queued@dlq", ops.RequeueOptions{Most: -1}},
		} {
			r, err := ops.Requeue(m.Context(), m.Backend, c.from, &c.o)
			if want == "an exchange, which keeps none" {
				want = "an exchange, which keeps no messages"
			}
			if err == nil || !strings.Contains(err.Error(), want) || r.Moved != 0 {
				t.Errorf("%s: %v, want %q", c.from, err, want)
			}
		}
		if r := m.requeue("queued@dlq", &ops.RequeueOptions{To: "other", LoseOrder: true}); r.Moved != 1 {
			t.Errorf("%+v", r)
		}
	})
}

// faulty is a backend whose calls fail at random, before or after they took effect.
type faulty struct {
	*memdriver.Backend
	mu   sync.Mutex
	seed *rand.Rand
}

type faultySender struct {
	driver.Forwarder
	f *faulty
}

type faultyReceiver struct {
	receiver
	f *faulty
}

type receiver interface {
	driver.Receiver
	driver.Extender
}

func (f *faulty) Operations() driver.Operations {
	do := f.Backend.Operations()
	do.Return = f.Return
	return do
}

func (f *faulty) Return(ctx context.Context, c driver.Channel, alone bool) (driver.Home, error) {
	h, err := f.Backend.Return(ctx, c, alone)
	h.Forwarder = faultySender{h.Forwarder, f}
	return h, err
}

func (f *faulty) Receiver(ctx context.Context, c driver.Channel, o driver.ReceiverOptions) (driver.Receiver, error) {
	r, err := f.Backend.Receiver(ctx, c, o)
	return faultyReceiver{r.(receiver), f}, err
}

// fault makes a call fail: n is the number of its entries.
func (f *faulty) fault(n int, call func(which []int) error) error {
	time.Sleep(20 * time.Millisecond)
	f.mu.Lock()
	kind, split := f.seed.IntN(10), f.seed.IntN(n)
	f.mu.Unlock()
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	failed := func(class driver.Class, text string) error { return &driver.Error{Class: class, Err: errors.New(text)} }
	switch kind {
	case 0:
		return failed(driver.Throttled, "slow down")
	case 1:
		return errors.Join(call(all), failed(driver.Transient, "the answer was lost"))
	case 2:
		some := append(slices.Clone(all[:split]), all[split+1:]...)
		partly := &driver.BatchError{Errs: map[int]error{split: failed(driver.Transient, "not this one")}}
		return errors.Join(call(some), partly)
	}
	return call(all)
}

func pick[T any](all []T, which []int) (some []T) {
	for _, i := range which {
		some = append(some, all[i])
	}
	return some
}

func (s faultySender) Send(ctx context.Context, batch []driver.Prepared) error {
	return s.f.fault(len(batch), func(which []int) error { return s.Forwarder.Send(ctx, pick(batch, which)) })
}

func (r faultyReceiver) Settle(ctx context.Context, batch []driver.Settlement) error {
	return r.f.fault(len(batch), func(which []int) error { return r.receiver.Settle(ctx, pick(batch, which)) })
}

// Ten thousand messages through throttling, lost answers and partial batches: nothing is lost, and only what the
// result names is doubled. On an ordered channel, nothing is.
func TestRequeueThroughFaults(t *testing.T) {
	for _, ch := range []driver.Channel{orders, queued} {
		t.Run(ch.String(), func(t *testing.T) {
			in(t, func(m *morgue) {
				const n = 10_000
				for i := range n {
					m.put(ch, letter(fmt.Sprint("key ", i%97), fmt.Sprintf("%05d", i)))
				}
				m.reject(ch, refused)
				seed := rand.Uint64()
				if at := os.Getenv("GODWIT_SEED"); at != "" {
					_, _ = fmt.Sscan(at, &seed)
				}
				t.Logf("seed %d (GODWIT_SEED)", seed)
				f := &faulty{Backend: m.Backend.(*memdriver.Backend), seed: rand.New(rand.NewPCG(seed, 1))}
				r, err := ops.Requeue(m.Context(), f, ch.String()+"@dlq", nil)
				if err != nil || r.Moved != n {
					t.Fatalf("%+v: %v", r, err)
				}
				times, last := map[string]int{}, map[string]string{}
				for _, d := range m.take(ch) {
					times[string(d.Body)]++
					if ch.Ordered && string(d.Body) <= last[d.OrderKey] {
						t.Fatalf("%s came after %s", d.Body, last[d.OrderKey])
					}
					last[d.OrderKey] = string(d.Body)
				}
				doubled := 0
				for _, n := range times {
					if n > 1 {
						doubled++
					}
				}
				if len(times) != n || doubled > len(r.Doubled) || ch.Ordered && doubled > 0 {
					t.Errorf("%d of %d messages, %d twice, %d named", len(times), n, doubled, len(r.Doubled))
				}
				if left := m.take(dead(ch)); len(left) > 0 {
					t.Errorf("%d messages stay", len(left))
				}
			})
		})
	}
}

// A dry run tries the edit: it counts what would be changed and what is refused, shows one message, and sends nothing.
func TestRequeueDryWithAnEdit(t *testing.T) {
	in(t, func(m *morgue) {
		for _, text := range []string{"a", "b", "c"} {
			m.put(orders, letter(text, text))
		}
		m.reject(orders, refused)
		r := m.requeue("orders@dlq", &ops.RequeueOptions{Dry: true, Edit: func(body []byte) ([]byte, error) {
			switch string(body) {
			case "a":
				return nil, errors.New("no amount")
			case "b":
				return []byte("B"), nil
			}
			return body, nil
		}})
		if r.Moved != 2 || r.Edited != 1 || r.Stay.Refused != 1 || len(r.Refused) != 1 || r.Sample == nil ||
			string(r.Sample.Before) != "b" || string(r.Sample.After) != "B" {
			t.Errorf("%+v, %+v", r, r.Sample)
		}
		m.want(orders)
		m.want(dead(orders), "a", "b", "c")
	})
}
