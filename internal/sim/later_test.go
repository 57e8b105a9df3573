package sim

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/localaws"
)

const (
	// laterSends is how long messages are sent in a world of delayed messages, and laterDelay the longest delay.
	laterSends = 5 * time.Minute
	laterDelay = 8 * time.Minute
	// decidedIn is the bucket of the decisions about cancelled messages.
	decidedIn = "decided"
)

// laterWorld is the run of a world whose messages are delayed, and cancelled around the time at which consumers wake
// them, while these are killed and the store of the decisions fails. It checks the answers to the cancels alone.
type laterWorld struct {
	*world
	messages int

	mu       sync.Mutex
	sent     map[string]*delayed // by label
	failures []string
}

// delayed is a message of a laterWorld.
type delayed struct {
	accepted  bool
	id        string // cancels it; "": it cannot be cancelled
	due       time.Duration
	delivered int
	told      map[bool]bool // the answers to cancels
}

// runLater runs a seed's world in a bubble and returns what is wrong with it.
func runLater(t *testing.T, seed uint64) (w *world, wrong []string) {
	p := newPlan(seed)
	p.faults = append(newFaults(p.rng, p.slots), newStoreFaults(p.rng)...)
	p.decides, p.exchange, p.filter = true, p.about("later exchange").chance(0.3), godwit.Filter{}
	w = &world{seed: seed, plan: p, tally: newTally()}
	l := &laterWorld{world: w, messages: 60 + p.about("later").IntN(60), sent: map[string]*delayed{}}
	defer func() {
		if p := recover(); p != nil {
			wrong = append(wrong, fmt.Sprintf("the run ended with a panic: %v", p))
		}
	}()
	synctest.Test(t, func(*testing.T) {
		w.trace.begun, w.drained = time.Now(), make(chan struct{})
		if err := l.run(); err != nil {
			l.violated("%v", err)
		}
	})
	return w, slices.Concat(w.failures, l.failures)
}

func (l *laterWorld) violated(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failures = append(l.failures, fmt.Sprintf(format, args...))
}

func (l *laterWorld) now() time.Duration { return time.Since(l.trace.begun) }

func (l *laterWorld) run() (err error) {
	if l.server, err = localaws.New(&localaws.Options{Seed: l.seed}); err != nil {
		return err
	}
	if err := l.provision(l.plan); err != nil {
		return err
	}
	var closing []func()
	defer func() {
		for _, f := range closing {
			f()
		}
	}()
	producers := make([]*godwit.Producer, 3) // two that cancel, and one that sends
	for i := range producers {
		b, err := l.tap(fmt.Sprintf("p%d", i)).backend(false)
		if err != nil {
			return err
		}
		closing = append(closing, func() { _ = b.Close(context.Background()) })
		if producers[i], err = godwit.NewProducer(context.Background(), b, l.plan.target(), &godwit.ProducerOptions{
			Ordered: l.plan.ordered, HighThroughput: l.plan.throughput,
		}); err != nil {
			return err
		}
		p := producers[i]
		closing = slices.Insert(closing, 0, func() { _ = p.Close(context.Background()) })
	}
	l.send(producers, 0) // so that the queue of delayed messages exists before the consumers
	l.server.Control("*", l.injectFaults)
	for n := range l.plan.slots {
		l.slots.Go(func() { l.slot(n) })
	}
	var cancels sync.WaitGroup
	for i := 1; i < l.messages; i++ {
		d := l.send(producers, i)
		cancels.Go(func() { l.cancels(producers, i, d) })
		r := l.plan.about("pause", i)
		time.Sleep(r.between(0, 2*laterSends/time.Duration(l.messages)))
	}
	cancels.Wait()
	time.Sleep(max(0, troubleFor-l.now()))
	l.drain()
	l.rest = l.now() - l.plan.lasts
	close(l.drained)
	l.slots.Wait()
	l.processes.Wait()
	l.conclude(producers[0])
	return l.server.Close()
}

// send sends one message, which may be delayed by seconds or minutes.
func (l *laterWorld) send(producers []*godwit.Producer, i int) *delayed {
	r := l.plan.about("later", i)
	key := ""
	if l.plan.keys > 0 {
		key = fmt.Sprintf("k%d", r.IntN(l.plan.keys))
	}
	name := label(key, i)
	var receipt godwit.Receipt
	m := godwit.Message{
		Body: []byte(name + "\n"), OrderKey: key, Receipt: &receipt, Cancellable: i == 0 || r.chance(0.8),
		Delay: pick(r, r.between(time.Second, time.Minute), r.between(time.Minute, laterDelay)),
	}
	if l.plan.exchange {
		m.RoutingKey = "A.1"
	}
	d := &delayed{due: l.now() + m.Delay, told: map[bool]bool{}}
	if r.chance(0.5) {
		m.At, m.Delay = time.Now().Add(m.Delay), 0
	}
	l.mu.Lock()
	l.sent[name] = d
	l.mu.Unlock()
	err := producers[2].Send(context.Background(), m)
	l.trace.note("%s is sent: %v", name, err == nil)
	l.mu.Lock()
	defer l.mu.Unlock()
	if d.accepted = err == nil; d.accepted && m.Cancellable {
		d.id = receipt.ID
	}
	return d
}

// cancels cancels a message around its time, or at any time before, and some of them twice.
func (l *laterWorld) cancels(producers []*godwit.Producer, i int, d *delayed) {
	r := l.plan.about("cancel", i)
	if d.id == "" || r.chance(0.2) {
		return
	}
	at := d.due + r.between(-time.Second, time.Second)
	if r.chance(0.3) {
		at = l.now() + r.between(0, max(d.due-l.now(), time.Second))
	}
	time.Sleep(max(0, at-l.now()))
	var both sync.WaitGroup
	for n := range 1 + r.IntN(2) {
		wait := r.between(0, 2*time.Second)
		both.Go(func() {
			time.Sleep(wait)
			_ = l.cancel(producers[n], i, d) // the end asks again, where there is no answer
		})
	}
	both.Wait()
}

// cancel cancels a message, and remembers the answer, if there is one.
func (l *laterWorld) cancel(p *godwit.Producer, i int, d *delayed) (err error) {
	cancelled, err := p.Cancel(context.Background(), d.id)
	l.trace.note("%d cancelled: %v, %v", i, cancelled, err == nil)
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case err != nil:
		l.tally.add(seenCancelUnknown, 1)
	case cancelled:
		l.tally.add(countCancelled, 1)
		d.told[true] = true
	default:
		l.tally.add(countTooLate, 1)
		d.told[false] = true
	}
	return err
}

// slot runs one consumer after another, until the world has drained.
func (l *laterWorld) slot(n int) {
	for i := 0; ; i++ {
		r := l.plan.about("later process", n, i)
		name := fmt.Sprintf("c%d.%d", n, i)
		life, pause, crash := r.between(5*time.Second, 3*time.Minute), r.between(0, 20*time.Second), r.chance(0.6)
		if l.now()+life > troubleFor {
			life, crash = 24*time.Hour, false
		}
		l.consume(name, life, crash)
		select {
		case <-l.drained:
			return
		case <-time.After(pause):
		}
	}
}

// consume runs one consumer, which wakes messages, and then stops or is killed.
func (l *laterWorld) consume(name string, life time.Duration, crash bool) {
	tap := l.tap(name)
	b, err := tap.backend(false)
	if err != nil {
		l.violated("%s: open: %v", name, err)
		return
	}
	c, err := godwit.NewConsumer(context.Background(), b, l.plan.channel(), &godwit.ConsumerOptions{
		Ordered: l.plan.ordered, HighThroughput: l.plan.throughput, Provision: godwit.ProvisionNever,
		Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		l.violated("%s: %v", name, err)
		return
	}
	l.trace.note("%s starts", name)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	l.processes.Go(func() {
		defer close(done)
		defer b.Close(context.Background())
		_, _ = c.Run(ctx, l.handle) // it fails while the store is down, and if it is killed
	})
	select {
	case <-done:
	case <-l.drained:
	case <-time.After(life):
	}
	if crash {
		l.tally.add(seenCrash, 1)
		l.trace.note("%s is killed", name)
		tap.sever()
	}
	cancel()
	if !crash {
		<-done
	}
}

// handle is told of a message that is delivered.
func (l *laterWorld) handle(_ context.Context, m *godwit.Delivery) error {
	name := labelOf(string(m.Body))
	l.trace.note("%s is delivered", name)
	l.mu.Lock()
	d := l.sent[name]
	var early time.Duration
	if d != nil {
		d.delivered++
		early = d.due - l.now()
	}
	l.mu.Unlock()
	switch {
	case d == nil:
		l.violated("%q was delivered and never sent", name)
	case early > 0:
		l.violated("%s came %v before its time", name, early)
	}
	return nil
}

// drain waits until no message is left.
func (l *laterWorld) drain() {
	of := "orders"
	if l.plan.exchange {
		of = "events"
	}
	for _, name := range []string{of + "--later", l.plan.queueName()} {
		for {
			left := l.server.SQS().Queue(name).Model().Messages()
			if len(left) == 0 {
				break
			}
			if l.now() > troubleFor+drainWithin {
				l.violated("%d messages are left in %s, the first is %s", len(left), name, labelOf(left[0].Body))
				break
			}
			time.Sleep(5 * time.Second)
		}
	}
}

// conclude asks about all messages again, and compares what came with what programs were told.
func (l *laterWorld) conclude(p *godwit.Producer) {
	l.tally.add(countLaterWorlds, 1)
	for _, name := range slices.Sorted(maps.Keys(l.sent)) {
		d := l.sent[name]
		if d.id != "" {
			if err := l.cancel(p, 0, d); err != nil {
				l.violated("%s: nothing says whether it was cancelled: %v", name, err)
			}
		}
		switch {
		case d.told[true] && d.told[false]:
			l.violated("%s was cancelled, and too late to cancel", name)
		case d.told[true] && d.delivered > 0:
			l.violated("%s was cancelled, and delivered %d times", name, d.delivered)
		case d.told[false] && d.delivered == 0:
			l.violated("%s was too late to cancel, and was not delivered", name)
		case d.accepted && d.id == "" && d.delivered == 0:
			l.violated("%s is lost", name)
		}
	}
}

// laterMutants are mutants that worlds with delayed messages find.
func laterMutants() []mutant {
	return []mutant{
		{"a-loser-that-does-not-read", []patch{{
			"snssqs/internal/later/arbiter.go",
			"\tdecided, err := a.decisions.Decide(ctx, id, wanted)\n",
			"\tdecided, err := a.decisions.Decide(ctx, id, wanted)\n\tdecided = wanted\n",
		}}},
		{"delete-before-the-send", []patch{{
			"snssqs/internal/later/waker.go",
			"\tclient.Collect(errs, every, to.Send(ctx, batch))\n\tvar accepted",
			"\tw.deleteSent(ctx, q, of)\n\tclient.Collect(errs, every, to.Send(ctx, batch))\n\tvar accepted",
		}}},
	}
}
