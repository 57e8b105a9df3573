package godwit_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/local"
	"github.com/godwitmq/godwit/localaws"
	"github.com/godwitmq/godwit/localaws/wire"
	"github.com/godwitmq/godwit/s3store"
	"github.com/godwitmq/godwit/snssqs"
)

// cancels are messages that can be cancelled: what came of them, and what programs were told.
type cancels struct {
	arrivals
	ids map[string]string // by the body

	told     sync.Mutex
	answered map[string]map[bool]bool // by the body
}

// send sends messages that can be cancelled.
func (c *cancels) send(w *world, p *godwit.Producer, ms ...godwit.Message) {
	w.Helper()
	rs := make([]godwit.Receipt, len(ms))
	for i := range ms {
		ms[i].Cancellable, ms[i].Receipt = true, &rs[i]
	}
	if err := p.SendBatch(w.Context(), ms); err != nil {
		w.Fatal(err)
	}
	if c.ids == nil {
		c.ids, c.answered = map[string]string{}, map[string]map[bool]bool{}
	}
	for i := range ms {
		text := string(ms[i].Body)
		c.ids[text], c.answered[text] = rs[i].ID, map[bool]bool{}
	}
}

// cancel cancels a message, and remembers the answer, if there is one.
func (c *cancels) cancel(ctx context.Context, p *godwit.Producer, text string) error {
	cancelled, err := p.Cancel(ctx, c.ids[text])
	if err == nil {
		c.told.Lock()
		c.answered[text][cancelled] = true
		c.told.Unlock()
	}
	return err
}

// wrong returns what contradicts the answers, and how many messages were cancelled, and not.
func (c *cancels) wrong() (wrong []string, yes, no int) {
	for text, told := range c.answered {
		n := c.times(text)
		switch {
		case told[true] && told[false]:
			wrong = append(wrong, text+" was cancelled, and too late")
		case told[true] && n > 0:
			wrong = append(wrong, fmt.Sprintf("%s was cancelled, and came %d times", text, n))
		case told[false] && n == 0:
			wrong = append(wrong, text+" was too late to cancel, and did not come")
		}
		if told[true] {
			yes++
		} else {
			no++
		}
	}
	return wrong, yes, no
}

// true fails if an answer was not the truth.
func (c *cancels) true(t *testing.T) {
	t.Helper()
	wrong, yes, no := c.wrong()
	for _, w := range wrong {
		t.Error(w)
	}
	if yes == 0 || no == 0 {
		t.Errorf("%d messages were cancelled, and %d were not: there was no race", yes, no)
	}
}

// process is a backend of its own on the server of a world.
type process struct {
	*world
	backend *snssqs.Backend
}

// decided opens decisions on the server of a world.
func (w *world) decided(transport http.RoundTripper, prefix string) *s3store.Decisions {
	w.Helper()
	conf := w.sdk()
	conf.HTTPClient = nil
	d, err := s3store.OpenDecisions(w.Context(), &s3store.Options{
		Bucket: "decided", Prefix: prefix, AWS: &conf, Transport: transport,
	})
	if err != nil {
		w.Fatal(err)
	}
	return d
}

// apart opens a backend. Without a transport it has its own.
func (w *world) apart(o snssqs.Options) *process {
	w.Helper()
	conf := w.sdk()
	conf.HTTPClient = nil
	o.AWS, o.CancelPolls, o.Logger = &conf, true, slog.New(slog.DiscardHandler)
	if o.Transport == nil {
		o.Transport = w.server.Transport()
	}
	b, err := snssqs.Open(w.Context(), &o)
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { _ = b.Close(context.Background()) })
	return &process{w, b}
}

func (p *process) producer(channel string, ordered bool) *godwit.Producer {
	p.Helper()
	out, err := godwit.NewProducer(p.Context(), p.backend, channel, &godwit.ProducerOptions{Ordered: ordered})
	if err != nil {
		p.Fatal(err)
	}
	p.Cleanup(func() { _ = out.Close(context.Background()) })
	return out
}

// consume runs a consumer until the returned function is called, which waits for its end.
func (p *process) consume(channel string, ordered bool, h godwit.Handler) (stop func()) {
	p.Helper()
	return p.consumeAs(channel, &godwit.ConsumerOptions{Ordered: ordered}, h)
}

// consumeAs is consume with other options.
func (p *process) consumeAs(channel string, o *godwit.ConsumerOptions, h godwit.Handler) (stop func()) {
	p.Helper()
	o.Logger = slog.New(slog.DiscardHandler)
	c, err := godwit.NewConsumer(p.Context(), p.backend, channel, o)
	if err != nil {
		p.Fatal(err)
	}
	ctx, cancel := context.WithCancel(p.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = c.Run(ctx, h) // it fails if its process was killed
	}()
	return func() {
		cancel()
		<-done
	}
}

// slowly makes calls of S3 take up to 100 ms.
func (w *world) slowly() {
	random := rand.New(rand.NewPCG(3, 4))
	var mu sync.Mutex
	w.server.Control("s3.*", func(context.Context, *localaws.Request) localaws.Outcome {
		mu.Lock()
		defer mu.Unlock()
		return localaws.Outcome{Delay: time.Duration(random.Int64N(int64(100 * time.Millisecond)))}
	})
}

// race cancels messages around the time at which two processes wake them.
func (w *world) race(c *cancels, ps [2]*process, send, receive string, ordered bool, n int) {
	w.Helper()
	w.slowly()
	first, second := ps[0].consume(receive, ordered, c.handle), ps[1].consume(receive, ordered, c.handle)
	defer second()
	defer first()
	producers := [2]*godwit.Producer{ps[0].producer(send, ordered), ps[1].producer(send, ordered)}
	random := rand.New(rand.NewPCG(1, 2))
	begin := time.Now().Add(20 * time.Minute)
	var ms []godwit.Message
	var wg sync.WaitGroup
	for i := range n {
		m := body(fmt.Sprint("m", i))
		m.At = begin.Add(time.Duration(random.Int64N(int64(time.Minute))))
		ms = append(ms, m)
	}
	c.send(w, producers[0], ms...)
	for i, m := range ms {
		at := m.At.Add(time.Duration(random.Int64N(int64(600*time.Millisecond))) - 200*time.Millisecond)
		wg.Go(func() {
			time.Sleep(time.Until(at))
			if err := c.cancel(w.Context(), producers[i%2], string(m.Body)); err != nil {
				w.Error(err)
			}
		})
	}
	wg.Wait()
	time.Sleep(time.Minute)
}

// Cancels that race with wakes are answered with the truth: what was cancelled never comes, and the rest comes once.
func TestCancelRacesWithWakes(t *testing.T) {
	for _, kind := range kinds {
		t.Run(kind.name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				n := 1000
				if kind.name != "standard" {
					n = 100
				}
				var c cancels
				var ps [2]*process
				for i := range ps {
					ps[i] = w.apart(snssqs.Options{Decisions: w.decided(w.server.Transport(), "d/")})
				}
				w.race(&c, ps, kind.send, kind.receive, kind.ordered, n)
				c.true(t)
				for text := range c.ids {
					if c.times(text) > 1 {
						t.Errorf("%s came %d times", text, c.times(text))
					}
				}
				w.visible(strings.TrimSuffix(kind.send, ".*")+"--later", 0)
			})
		})
	}
}

// unread are decisions of which a loser does not read what was decided first.
type unread struct{ snssqs.Decisions }

func (u unread) Decide(ctx context.Context, name, text string) (string, error) {
	decided, err := u.Decisions.Decide(ctx, name, text)
	if name == "check" {
		return decided, err
	}
	return text, err
}

// replaced are decisions in a store that ignores the condition of a write.
type replaced struct{ snssqs.Decisions }

func (replaced) Decide(_ context.Context, _, text string) (string, error) { return text, nil }

// The race finds a loser that does not read, and a store that ignores conditions is refused when a producer or a
// consumer is made.
func TestCancelMutants(t *testing.T) {
	inWorld(t, func(w *world) {
		var c cancels
		var ps [2]*process
		for i := range ps {
			ps[i] = w.apart(snssqs.Options{Decisions: unread{w.decided(w.server.Transport(), "d/")}})
		}
		w.race(&c, ps, "orders", "orders", false, 50)
		if wrong, _, _ := c.wrong(); len(wrong) == 0 {
			t.Error("no wrong answer was found")
		}
	})
	inWorld(t, func(w *world) {
		p := w.apart(snssqs.Options{Decisions: replaced{w.decided(w.server.Transport(), "d/")}})
		_, made := godwit.NewConsumer(w.Context(), p.backend, "orders", nil)
		if made != nil {
			t.Fatal(made)
		}
		_, err := godwit.NewProducer(w.Context(), p.backend, "orders", nil)
		if driver.ClassOf(err) != driver.Permanent || !strings.Contains(fmt.Sprint(err), "If-None-Match") {
			t.Errorf("a producer: %v", err)
		}
		var said error
		p.consumeOnce("orders", &said)
		if !strings.Contains(fmt.Sprint(said), "If-None-Match") {
			t.Errorf("a consumer: %v", said)
		}
	})
}

// consumeOnce runs a consumer that fails.
func (p *process) consumeOnce(channel string, failed *error) {
	p.Helper()
	c, err := godwit.NewConsumer(p.Context(), p.backend, channel, nil)
	if err != nil {
		p.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(p.Context(), time.Minute)
	defer cancel()
	_, *failed = c.Run(ctx, succeed)
}

// mortal is the transport of a process that is killed at one of its requests.
type mortal struct {
	http.RoundTripper
	left  atomic.Int64 // requests until it is killed; 0: it is not going to be
	after bool         // the last request takes effect
	dead  atomic.Bool
}

var errKilled = errors.New("the process was killed")

// RoundTrip implements http.RoundTripper.
func (m *mortal) RoundTrip(r *http.Request) (*http.Response, error) {
	if m.dead.Load() {
		return nil, errKilled
	}
	last := m.left.Load() > 0 && m.left.Add(-1) == 0
	if last {
		m.dead.Store(true)
	}
	if last && !m.after {
		return nil, errKilled
	}
	answer, err := m.RoundTripper.RoundTrip(r)
	if err == nil && m.dead.Load() {
		_, _ = io.Copy(io.Discard, answer.Body)
		return nil, errors.Join(errKilled, answer.Body.Close())
	}
	return answer, err
}

// Whichever request of the waker, or of the program that cancels, is the last one, before or after it took effect: the
// next waker goes on, the next answer is the truth, and it is the same as an earlier one.
func TestCancelKilledAtEveryRequest(t *testing.T) {
	// A waker makes 20 requests from then until its last delete, and the other program at least one for each message.
	for waker, requests := range map[bool]int{true: 20, false: 6} {
		killed := 0
		for n := range requests {
			for _, after := range []bool{false, true} {
				inWorld(t, func(w *world) {
					m := &mortal{RoundTripper: w.server.Transport(), after: after}
					first := w.apart(snssqs.Options{Transport: m, Decisions: w.decided(m, "d/")})
					next := w.apart(snssqs.Options{Decisions: w.decided(w.server.Transport(), "d/")})
					var c cancels
					wakes, asks := first, next
					if !waker {
						wakes, asks = next, first
					}
					stop := wakes.consume("orders", false, c.handle)
					asking, last := asks.producer("orders", false), next.producer("orders", false)
					var ms []godwit.Message
					due := time.Now().Add(20 * time.Minute)
					for i := range 6 {
						ms = append(ms, body(fmt.Sprint("m", i)))
						ms[i].At = due
					}
					c.send(w, last, ms...)
					w.slowly()
					time.Sleep(time.Until(due) - 300*time.Millisecond)
					m.left.Store(int64(n) + 1)
					var wg sync.WaitGroup
					for i := range ms {
						wg.Go(func() {
							time.Sleep(time.Duration(i) * 100 * time.Millisecond)
							_ = c.cancel(w.Context(), asking, string(ms[i].Body)) // an error if it was killed
						})
					}
					wg.Wait()
					time.Sleep(time.Minute)
					if m.dead.Load() {
						killed++
					}
					stop()
					stop = next.consume("orders", false, c.handle)
					time.Sleep(2 * time.Minute)
					for i := range ms {
						if err := c.cancel(w.Context(), last, string(ms[i].Body)); err != nil {
							t.Error(err)
						}
					}
					stop()
					if wrong, _, _ := c.wrong(); len(wrong) > 0 {
						t.Errorf("waker %v, request %d, after %v: %v", waker, n, after, wrong)
					}
				})
			}
		}
		if killed != 2*requests {
			t.Errorf("waker %v: it was killed %d times", waker, killed)
		}
	}
}

// A message that is cancelled while it waits never comes, also if it was sent again because it had waited for a week.
// One that is not cancelled comes.
func TestCancelAfterWeeks(t *testing.T) {
	inWorld(t, func(w *world) {
		var err error
		if w.backend, err = local.On(w.Context(), w.server, &local.Options{Cancel: true}); err != nil {
			t.Fatal(err)
		}
		var c cancels
		days := func(n int) {
			for range n { // the consumer is awake for a moment, once a day
				r := c.runs(w, "orders", false)
				time.Sleep(5 * time.Second)
				r.stop()
				time.Sleep(24 * time.Hour)
			}
		}
		cancel := func(text string) {
			if err := c.cancel(w.Context(), w.producer("orders", nil), text); err != nil {
				t.Error(err)
			}
		}
		days(1)
		gone, stays := body("gone"), body("stays")
		gone.Delay, stays.Delay = 30*24*time.Hour, 30*24*time.Hour
		c.send(w, w.producer("orders", nil), gone, stays)
		days(10)
		cancel("gone")
		days(22)
		cancel("gone")
		cancel("stays")
		c.true(t)
		w.visible("orders--later", 0)
		days(28)
		before := w.calls("s3.PutObject")
		cancel("stays")
		if n := w.calls("s3.PutObject") - before; n != 0 {
			t.Errorf("%d requests for a decision that may be deleted", n)
		}
		c.true(t)
	})
}

// A consumer without the decisions of the producer leaves a message that may be cancelled to one that has them.
func TestCancelNeedsTheSameDecisions(t *testing.T) {
	inWorld(t, func(w *world) {
		var c cancels
		right := w.apart(snssqs.Options{Decisions: w.decided(w.server.Transport(), "d/")})
		without := w.apart(snssqs.Options{})
		other := w.apart(snssqs.Options{Decisions: w.decided(w.server.Transport(), "e/")})
		right.consume("orders", false, c.handle)()
		p := right.producer("orders", false)
		m := body("m")
		m.Delay = time.Minute
		c.send(w, p, m)
		for _, one := range []*process{without, other} {
			stop := one.consume("orders", false, c.handle)
			time.Sleep(5 * time.Minute)
			stop()
		}
		if n := c.times("m"); n != 0 {
			t.Errorf("it came %d times", n)
		}
		stop := right.consume("orders", false, c.handle)
		time.Sleep(time.Minute)
		stop()
		if n := c.times("m"); n != 1 {
			t.Errorf("with the same decisions it came %d times", n)
		}
	})
}

// While the store of the decisions is down, messages that may be cancelled wait, others of their batch are late by some
// seconds, and a consumer can be made.
func TestCancelWhileTheStoreIsDown(t *testing.T) {
	inWorld(t, func(w *world) {
		var c cancels
		first := w.apart(snssqs.Options{Decisions: w.decided(w.server.Transport(), "d/")})
		stop := first.consume("orders", false, c.handle)
		p := first.producer("orders", false)
		due := time.Now().Add(time.Hour)
		waits, plain := body("waits"), body("plain")
		waits.At, plain.At = due, due
		c.send(w, p, waits)
		if err := p.Send(w.Context(), plain); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Until(due) - 5*time.Minute)
		stop()
		up := w.server.Control("s3.*", func(context.Context, *localaws.Request) localaws.Outcome {
			return localaws.Outcome{Err: &wire.Error{Code: "ServiceUnavailable", Status: 503, Fault: true}}
		})
		next := w.apart(snssqs.Options{Decisions: w.decided(w.server.Transport(), "d/")})
		c1, err := godwit.NewConsumer(w.Context(), next.backend, "bills", silent())
		if err == nil {
			t.Errorf("%v was provisioned without its bucket", c1)
		}
		stop = next.consumeAs("orders", &godwit.ConsumerOptions{Provision: godwit.ProvisionNever}, c.handle)
		time.Sleep(time.Until(due) + 3*time.Minute)
		up()
		back := time.Now()
		time.Sleep(time.Minute)
		stop()
		if n := c.times("plain"); n != 1 || c.at["plain"][0].Sub(due) > 7*time.Second {
			t.Errorf("the other message came %d times: %v", n, c.at["plain"])
		}
		if n := c.times("waits"); n != 1 || c.at["waits"][0].Before(back) {
			t.Errorf("the message that may be cancelled came %d times: %v", n, c.at["waits"])
		}
	})
}

// What cannot be cancelled is refused, and an id that another producer has to cancel.
func TestCancelRefused(t *testing.T) {
	inWorld(t, func(w *world) {
		d := w.decided(w.server.Transport(), "d/")
		p := w.apart(snssqs.Options{Decisions: d})
		p.consume("orders", false, succeed)()
		var r godwit.Receipt
		m := godwit.Message{Body: []byte("m"), Delay: time.Hour, Cancellable: true, Receipt: &r}
		orders := p.producer("orders", false)
		if err := orders.Send(w.Context(), m); err != nil {
			t.Fatal(err)
		}
		cancel := func(o snssqs.Options, channel string) error {
			_, err := w.apart(o).producer(channel, false).Cancel(w.Context(), r.ID)
			return err
		}
		send := func(o snssqs.Options, d time.Duration) error {
			m := m
			m.Delay = d
			return w.apart(o).producer("orders", false).Send(w.Context(), m)
		}
		mapped := map[string]snssqs.Resource{"orders": {Queue: "orders"}}
		for name, c := range map[string]struct {
			err  error
			says string
		}{
			"another channel":   {cancel(snssqs.Options{Decisions: d}, "bills"), "of channel orders"},
			"another namespace": {cancel(snssqs.Options{Decisions: d, Namespace: "prod"}, "orders"), "Namespace"},
			"other decisions": {
				cancel(snssqs.Options{Decisions: w.decided(w.server.Transport(), "e/")}, "orders"), "d/",
			},
			"no decisions":      {cancel(snssqs.Options{}, "orders"), "snssqs.Options.Decisions"},
			"no decisions sent": {send(snssqs.Options{}, time.Hour), "snssqs.Options.Decisions"},
			"a mapped queue":    {send(snssqs.Options{Decisions: d, Names: mapped}, time.Minute), "Options.Names"},
			"years":             {send(snssqs.Options{Decisions: d}, 2*366*24*time.Hour), "at most"},
		} {
			if c.err == nil || driver.ClassOf(c.err) != driver.Permanent || name != "other decisions" &&
				!strings.Contains(c.err.Error(), c.says) {
				t.Errorf("%s: %v", name, c.err)
			}
		}
		if cancelled, err := orders.Cancel(w.Context(), r.ID); err != nil || !cancelled {
			t.Errorf("%v, %v", cancelled, err)
		}
	})
}
