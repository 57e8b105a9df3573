//go:build synctests

package acceptance

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/kafka"
)

// sharing is a channel of a share group.
var sharing = kafka.Options{Ordering: kafka.OrderNone, GroupProtocol: kafka.GroupShare}

// limit is how often a broker hands out a record before it archives it, unless its group says otherwise.
const limit = 5

// shared is a share group's channel with records of so many keys, and books for them.
func (w *world) shared(partitions int32, records, keys int) *books {
	w.t.Helper()
	w.create(partitions)
	w.ensure(sharing)
	w.fill(records, keys)
	b := newBooks(records)
	b.keys = keys
	return b
}

// stands is a handler that holds what it gets until it is told to stop.
func stands(ctx context.Context, _ *godwit.Delivery) error {
	<-ctx.Done()
	return context.Cause(ctx)
}

// The mistake: every deploy releases what it holds, and the broker archives a record that it handed out five times,
// released ones counted: some deploys in a row, and it is lost. Here each process is stopped while it holds all it
// can.
func TestSharedRecordsArchivedByDeploys(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		const records, deploys = 40, limit + 2
		b := w.shared(2, records, records)
		for range deploys {
			p := w.start(sharing, godwit.ConsumerOptions{Concurrency: records, ShutdownTimeout: 4 * time.Second},
				keeping(b, stands))
			w.eventually(60*time.Second, "records in hand", func() bool { return b.running() > 0 })
			if _, err := p.stop(); err != nil {
				t.Error(err)
			}
		}
		p := w.start(sharing, godwit.ConsumerOptions{Concurrency: 8}, keeping(b,
			func(context.Context, *godwit.Delivery) error { return nil }))
		w.eventually(90*time.Second, "everything handled", b.all)
		if _, err := p.stop(); err != nil {
			t.Error(err)
		}
		if n := w.end(w.deadLetters()); n != 0 {
			t.Errorf("%d dead letters of records that nobody rejected", n)
		}
	})
}

// The mistake: a record whose process crashes comes back with a higher count, until the broker archives it: by several
// at once, because a broker gives it to fetches of the crashed process that still wait there. What comes back waits in
// a tier, with a count of its own.
func TestSharedRecordArchivedByCrashes(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		if w.real() && testing.Short() {
			t.Skip("make kafka has the time for it: a lock lasts 30 seconds")
		}
		w.create(1)
		w.ensure(sharing)
		w.fill(1, 1)
		b := newBooks(1)
		for n := range limit + 1 {
			began := time.Now()
			p := w.start(sharing, godwit.ConsumerOptions{ShutdownTimeout: 4 * time.Second}, keeping(b, stands))
			w.eventually(90*time.Second, "the record in hand", func() bool { return b.started(0) == n+1 })
			t.Logf("life %d: in hand after %v", n, time.Since(began))
			w.calm(w.tierReaders())
			p.crash()
		}
		p := w.start(sharing, godwit.ConsumerOptions{}, keeping(b, func(context.Context,
			*godwit.Delivery,
		) error {
			return nil
		}))
		w.eventually(90*time.Second, "the record handled", b.all)
		if _, err := p.stop(); err != nil {
			t.Error(err)
		}
	})
}

// The mistake: what is rejected on its last permitted delivery is released, or archived by the broker, instead of
// copied to the dead letters. Each record fails as often as it may, and is a dead letter then, once.
func TestSharedRecordArchivedInsteadOfDead(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		const records, attempts = 20, limit + 2
		b := w.shared(2, records, records)
		o := godwit.ConsumerOptions{Concurrency: 8, MaxAttempts: attempts, Backoff: godwit.Constant(time.Second)}
		p := w.start(sharing, o, keeping(b, func(context.Context, *godwit.Delivery) error { return errOfTest }))
		w.eventually(180*time.Second, "all dead", func() bool { return w.end(w.deadLetters()) >= records })
		time.Sleep(3 * time.Second) // for what should not come
		if _, err := p.stop(); err != nil {
			t.Error(err)
		}
		if n := w.end(w.deadLetters()); n != records {
			t.Errorf("%d dead letters, want %d", n, records)
		}
		for n := range records {
			if got := b.started(n); got != attempts {
				t.Errorf("record %d was started %d times, want %d", n, got, attempts)
			}
		}
	})
}

// The mistake: a crash between a dead letter and its accept makes a second one. One of two processes crashes when its
// first letter stands, before anybody hears of it; the other, who has read no letters since it joined, gets the record
// next.
func TestSharedRecordDeadTwice(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		const records, bad = 60, 3 // every third is bad
		w.create(2)
		w.ensure(sharing)
		b := newBooks(records)
		b.keys = records
		handler := keeping(b, func(ctx context.Context, d *godwit.Delivery) error {
			if number(d)%bad == 0 {
				return godwit.Permanent(errOfTest)
			}
			return nap(ctx, 100*time.Millisecond)
		})
		heir := w.start(sharing, godwit.ConsumerOptions{Concurrency: 1}, handler)
		started, crashed := make(chan *process, 1), make(chan struct{})
		var once sync.Once
		doomed := sharing
		doomed.Client = []kgo.Opt{kgo.WithHooks(sent(func(r *kgo.Record) {
			if r.Topic == w.deadLetters() {
				once.Do(func() { (<-started).cable.cut(); close(crashed) })
			}
		}))}
		p := w.start(doomed, godwit.ConsumerOptions{Concurrency: records, ShutdownTimeout: 4 * time.Second}, handler)
		time.Sleep(10 * time.Second) // until both have joined
		w.calm(w.tierReaders())
		w.fill(records, records)
		started <- p
		select {
		case <-crashed:
		case <-time.After(30 * time.Second):
			t.Fatal("the process that was to crash rejected nothing")
		}
		p.crash()
		const want = (records + bad - 1) / bad
		w.eventually(120*time.Second, "all others handled, and all bad ones dead", func() bool {
			n, _ := b.count()
			return n == records-want && w.end(w.deadLetters()) >= want
		})
		w.outlast() // for what should not come
		if _, err := heir.stop(); err != nil {
			t.Error(err)
		}
		if n := w.end(w.deadLetters()); n != want {
			t.Errorf("%d dead letters, want %d", n, want)
		}
	})
}

// sent is called for every record that a client has sent, before anybody else learns of it.
type sent func(*kgo.Record)

func (s sent) OnProduceRecordUnbuffered(r *kgo.Record, err error) {
	if err == nil {
		s(r)
	}
}

// The mistake: what a process held when it was killed is lost, or what it had finished is delivered again. Members
// crash in the midst of traffic: everything is handled, and again only what was in hand.
func TestSharedRecordsLostByCrash(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		const records, concurrency, crashes = 3000, 20, 3
		b := w.shared(4, records, 100)
		join := func() (p *process, killed *atomic.Bool) {
			killed = new(atomic.Bool)
			return w.start(sharing, godwit.ConsumerOptions{Concurrency: concurrency, ShutdownTimeout: 4 * time.Second},
				keeping(b, func(ctx context.Context, _ *godwit.Delivery) error {
					err := nap(ctx, 50*time.Millisecond)
					if killed.Load() { // who is killed finishes nothing
						return errOfTest
					}
					return err
				})), killed
		}
		doomed, killed := join()
		join()
		for n := range crashes {
			w.eventually(60*time.Second, "some more handled", func() bool {
				got,
					_ := b.count()
				return got > (n+1)*records/(2*crashes)
			})
			w.calm(w.tierReaders())
			killed.Store(true)
			doomed.crash()
			doomed, killed = join()
		}
		w.eventually(180*time.Second, "everything handled", b.all)
		for _, p := range w.started {
			_, _ = p.stop() // crashed ones have nobody to say goodbye to
		}
		_, handlings := b.count()
		t.Logf("%d records, %d crashes: %d handled again", records, crashes, handlings-records)
		if again := handlings - records; again > crashes*2*concurrency {
			t.Errorf("%d records were handled again, want %d at most", again, crashes*2*concurrency)
		}
	})
}

// The mistake: a consumer takes all it can get. While handlers stand still, what is held is bounded, no more handlers
// run than permitted, and longer than a lock lasts nothing comes twice.
func TestSharedInFlightUnbounded(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		const records, concurrency, window = 3000, 32, 2 * (32 + 8)
		w.create(4)
		w.ensure(sharing)
		w.fill(records, 100)
		held, done := w.hold(sharing, records, godwit.ConsumerOptions{Concurrency: concurrency})
		if held < concurrency || held > window {
			t.Errorf("%d records are held, want %d at most", held, window)
		}
		w.outlast()
		done()
	})
}

// The mistake: members of a share group do not live through their broker's death. It is killed (-9) and started again
// in the midst of traffic: nothing that was accepted is lost, and again comes only what was in hand.
func TestSharedBrokerKilled(t *testing.T) {
	alone(t, func(t *testing.T, w *world) {
		const concurrency, every = 20, 5 * time.Millisecond
		kills := 2
		if testing.Short() {
			kills = 1
		}
		w.create(4)
		w.ensure(sharing)
		b := newBooks(1 << 20)
		b.keys = 200
		work := keeping(b, func(ctx context.Context, _ *godwit.Delivery) error { return nap(ctx, 5*time.Millisecond) })
		for range 2 {
			w.start(sharing, godwit.ConsumerOptions{Concurrency: concurrency}, work)
		}
		patient := sharing
		patient.Client = []kgo.Opt{kgo.RecordDeliveryTimeout(2 * time.Minute)}
		stop := w.traffic(patient, every)
		w.eventually(60*time.Second, "traffic", func() bool { n, _ := b.count(); return n > 100 })
		for kill := range kills {
			time.Sleep(3 * time.Second)
			w.killShared()
			before, _ := b.count()
			w.restart()
			began := time.Now()
			w.eventually(60*time.Second, "records are handled again", func() bool {
				n,
					_ := b.count()
				return n > before+100
			})
			t.Logf("kill %d: handled again after %v", kill, time.Since(began))
		}
		accepted, errs := stop()
		for _, err := range errs {
			t.Error(err)
		}
		w.eventually(120*time.Second, "everything accepted handled", func() bool {
			return !slices.ContainsFunc(accepted, func(n int) bool { return !b.was(n) })
		})
		for _, p := range w.started {
			if _, err := p.stop(); err != nil {
				t.Error(err)
			}
		}
		records, handlings := b.count()
		t.Logf("%d records, %d accepted, %d handled again", records, len(accepted), handlings-records)
		// two members', what runs and what is being settled
		if most := kills * 4 * concurrency; handlings-records > most {
			t.Errorf("%d records were handled again, want %d at most", handlings-records, most)
		}
	})
}

// outlast waits for longer than a lock lasts; a short run on a real broker does not.
func (w *world) outlast() {
	if w.real() && testing.Short() {
		return
	}
	time.Sleep(40 * time.Second)
}

// tierReaders are who reads the tiers beside a share group: a group of the classic kind.
func (w *world) tierReaders() string { return w.topic() + "." + w.group() + ".retry" }

// killShared kills a real broker. The fake is stopped: it writes down what share groups have finished when it is
// closed, and no sooner.
func (w *world) killShared() {
	w.t.Helper()
	if w.real() {
		w.kill()
	} else if err := w.server.Close(); err != nil {
		w.t.Fatal(err)
	}
}
