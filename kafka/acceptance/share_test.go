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

// sharing are the options of a channel that uses a share group.
var sharing = kafka.Options{
	ChannelOptions: kafka.ChannelOptions{Ordering: kafka.OrderNone, GroupProtocol: kafka.GroupShare},
}

// limit is how often a broker delivers a record before it archives it, unless the group has another limit.
const limit = 5

// shared creates the channel of a share group, sends records with this number of keys, and returns a journal for them.
func (w *world) shared(partitions int32, records, keys int) *journal {
	w.t.Helper()
	w.create(partitions)
	w.ensure(sharing)
	w.fill(records, keys)
	j := newJournal(records)
	j.keys = keys
	return j
}

// untilEnd is a handler that waits until its context ends.
func untilEnd(ctx context.Context, _ *godwit.Delivery) error {
	<-ctx.Done()
	return context.Cause(ctx)
}

// The mistake: every deployment releases the records that a process holds, and the broker archives a record that it has
// delivered five times, whether or not it was released. So a few deployments in a row lose records. Here each process
// is stopped while it holds as many records as it can.
func TestSharedRecordsArchivedByDeploys(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		const records, deploys = 40, limit + 2
		j := w.shared(2, records, records)
		for range deploys {
			p := w.start(sharing, godwit.ConsumerOptions{Concurrency: records, ShutdownTimeout: 4 * time.Second},
				noting(j, untilEnd))
			w.eventually(60*time.Second, "records in hand", func() bool { return j.running() > 0 })
			if _, err := p.stop(); err != nil {
				t.Error(err)
			}
		}
		p := w.start(sharing, godwit.ConsumerOptions{Concurrency: 8}, noting(j,
			func(context.Context, *godwit.Delivery) error { return nil }))
		w.eventually(90*time.Second, "all records handled", j.all)
		if _, err := p.stop(); err != nil {
			t.Error(err)
		}
		if n := w.end(w.deadLetters()); n != 0 {
			t.Errorf("%d dead letters of records that nobody rejected", n)
		}
	})
}

// The mistake: each crash of its process raises the delivery count of a record, until the broker archives it. One crash
// may raise the count by several, because a broker also delivers the record to fetches of the crashed process that
// still wait there. Here a record that is delivered again waits in a tier, with an attempt count of its own.
func TestSharedRecordArchivedByCrashes(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		if w.real() && testing.Short() {
			t.Skip("a lock lasts 30 s: make kafka runs this test")
		}
		w.create(1)
		w.ensure(sharing)
		w.fill(1, 1)
		j := newJournal(1)
		for n := range limit + 1 {
			began := time.Now()
			p := w.start(sharing, godwit.ConsumerOptions{ShutdownTimeout: 4 * time.Second}, noting(j, untilEnd))
			w.eventually(90*time.Second, "the record in hand", func() bool { return j.started(0) == n+1 })
			t.Logf("life %d: in hand after %v", n, time.Since(began))
			w.awaitStable(w.tierReaders())
			p.crash()
		}
		p := w.start(sharing, godwit.ConsumerOptions{}, noting(j,
			func(context.Context, *godwit.Delivery) error { return nil }))
		w.eventually(90*time.Second, "the record handled", j.all)
		if _, err := p.stop(); err != nil {
			t.Error(err)
		}
	})
}

// The mistake: a record that is rejected at its last permitted delivery is released, or archived by the broker, instead
// of copied to the dead letters. Here each record fails as often as it may, and then there is one dead letter of it.
func TestSharedRecordArchivedInsteadOfDead(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		const records, attempts = 20, limit + 2
		j := w.shared(2, records, records)
		o := godwit.ConsumerOptions{Concurrency: 8, MaxAttempts: attempts, Backoff: godwit.Constant(time.Second)}
		p := w.start(sharing, o, noting(j, func(context.Context, *godwit.Delivery) error { return errOfTest }))
		w.eventually(180*time.Second, "a dead letter of each record",
			func() bool { return w.end(w.deadLetters()) >= records })
		time.Sleep(3 * time.Second) // time for dead letters that must not be written
		if _, err := p.stop(); err != nil {
			t.Error(err)
		}
		if n := w.end(w.deadLetters()); n != records {
			t.Errorf("%d dead letters, want %d", n, records)
		}
		for n := range records {
			if got := j.started(n); got != attempts {
				t.Errorf("record %d was started %d times, want %d", n, got, attempts)
			}
		}
	})
}

// The mistake: a crash between the copy to the dead letters and the settlement makes a second dead letter. Here one of
// two processes crashes when its first dead letter is stored, before the producer reports that. The other process,
// which has not read dead letters since it joined, receives the record next.
func TestSharedRecordDeadTwice(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		const records, bad = 60, 3 // every third record is rejected
		w.create(2)
		w.ensure(sharing)
		j := newJournal(records)
		j.keys = records
		handler := noting(j, func(ctx context.Context, d *godwit.Delivery) error {
			if number(d)%bad == 0 {
				return godwit.Permanent(errOfTest)
			}
			return nap(ctx, 100*time.Millisecond)
		})
		survivor := w.start(sharing, godwit.ConsumerOptions{Concurrency: 1}, handler)
		started, crashed := make(chan *process, 1), make(chan struct{})
		var once sync.Once
		crashing := sharing
		crashing.Client = []kgo.Opt{kgo.WithHooks(sent(func(r *kgo.Record) {
			if r.Topic == w.deadLetters() {
				once.Do(func() { (<-started).cable.cut(); close(crashed) })
			}
		}))}
		p := w.start(crashing, godwit.ConsumerOptions{Concurrency: records, ShutdownTimeout: 4 * time.Second}, handler)
		time.Sleep(10 * time.Second) // until both have joined
		w.awaitStable(w.tierReaders())
		w.fill(records, records)
		started <- p
		select {
		case <-crashed:
		case <-time.After(30 * time.Second):
			t.Fatal("the process that was to crash has rejected no record")
		}
		p.crash()
		const want = (records + bad - 1) / bad
		w.eventually(120*time.Second, "all others handled, and all bad ones in the dead letters", func() bool {
			n, _ := j.count()
			return n == records-want && w.end(w.deadLetters()) >= want
		})
		w.outlastLock() // time for dead letters that must not be written
		if _, err := survivor.stop(); err != nil {
			t.Error(err)
		}
		if n := w.end(w.deadLetters()); n != want {
			t.Errorf("%d dead letters, want %d", n, want)
		}
	})
}

// sent is called for every record that the broker has accepted, before the client reports that to its caller.
type sent func(*kgo.Record)

func (s sent) OnProduceRecordUnbuffered(r *kgo.Record, err error) {
	if err == nil {
		s(r)
	}
}

// The mistake: records that a process holds when it is killed are lost, or records that it has finished are delivered
// again. Here members crash while records are handled. All records are handled, and only those in hand at a crash are
// handled again.
func TestSharedRecordsLostByCrash(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		const records, concurrency, crashes = 3000, 20, 3
		j := w.shared(4, records, 100)
		join := func() (p *process, killed *atomic.Bool) {
			killed = new(atomic.Bool)
			return w.start(sharing, godwit.ConsumerOptions{Concurrency: concurrency, ShutdownTimeout: 4 * time.Second},
				noting(j, func(ctx context.Context, _ *godwit.Delivery) error {
					err := nap(ctx, 50*time.Millisecond)
					if killed.Load() { // a killed process finishes nothing
						return errOfTest
					}
					return err
				})), killed
		}
		crashing, killed := join()
		join()
		for n := range crashes {
			w.eventually(60*time.Second, "more records handled", func() bool {
				got, _ := j.count()
				return got > (n+1)*records/(2*crashes)
			})
			w.awaitStable(w.tierReaders())
			killed.Store(true)
			crashing.crash()
			crashing, killed = join()
		}
		w.eventually(180*time.Second, "all records handled", j.all)
		for _, p := range w.started {
			_, _ = p.stop() // a crashed process cannot leave its group
		}
		_, handlings := j.count()
		t.Logf("%d records, %d crashes: %d handled again", records, crashes, handlings-records)
		if again := handlings - records; again > crashes*2*concurrency {
			t.Errorf("%d records were handled again, want %d at most", again, crashes*2*concurrency)
		}
	})
}

// The mistake: a consumer takes all records that it can get. Here handlers wait for longer than a lock lasts. The
// number of held records is bounded, no more handlers run than permitted, and no record is delivered twice.
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
		w.outlastLock()
		done()
	})
}

// The mistake: members of a share group do not survive the death of their broker. The test kills the broker (-9) and
// starts it again while records are sent and handled. No accepted record is lost, and only records that were in hand
// are handled again.
func TestSharedBrokerKilled(t *testing.T) {
	alone(t, func(t *testing.T, w *world) {
		const concurrency, every = 20, 5 * time.Millisecond
		kills := 2
		if testing.Short() {
			kills = 1
		}
		w.create(4)
		w.ensure(sharing)
		j := newJournal(1 << 20)
		j.keys = 200
		work := noting(j, func(ctx context.Context, _ *godwit.Delivery) error { return nap(ctx, 5*time.Millisecond) })
		for range 2 {
			w.start(sharing, godwit.ConsumerOptions{Concurrency: concurrency}, work)
		}
		patient := sharing
		patient.Client = []kgo.Opt{kgo.RecordDeliveryTimeout(2 * time.Minute)}
		stop := w.traffic(patient, every)
		w.eventually(60*time.Second, "traffic", func() bool { n, _ := j.count(); return n > 100 })
		for kill := range kills {
			time.Sleep(3 * time.Second)
			w.killShared()
			before, _ := j.count()
			w.restart()
			began := time.Now()
			w.eventually(60*time.Second, "records are handled again", func() bool {
				n, _ := j.count()
				return n > before+100
			})
			t.Logf("kill %d: handled again after %v", kill, time.Since(began))
		}
		accepted, errs := stop()
		for _, err := range errs {
			t.Error(err)
		}
		w.eventually(120*time.Second, "all accepted records handled", func() bool {
			return !slices.ContainsFunc(accepted, func(n int) bool { return !j.wasHandled(n) })
		})
		for _, p := range w.started {
			if _, err := p.stop(); err != nil {
				t.Error(err)
			}
		}
		records, handlings := j.count()
		t.Logf("%d records, %d accepted, %d handled again", records, len(accepted), handlings-records)
		// two members, each with its running handlers and as many settlements
		if most := kills * 4 * concurrency; handlings-records > most {
			t.Errorf("%d records were handled again, want %d at most", handlings-records, most)
		}
	})
}

// The mistake: a consumer fetches only when everything of the fetch before is settled, so the slowest handler decides
// the rate. Here one handler of fifty takes 200 times as long as the others. The rate is near the one that the handlers
// allow.
func TestSharedRecordsWaitForStragglers(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		const records, concurrency, every = 2000, 20, 50
		const short, long = 5 * time.Millisecond, time.Second
		j := w.shared(4, records, 100)
		var first atomic.Pointer[time.Time]
		p := w.start(sharing, godwit.ConsumerOptions{Concurrency: concurrency},
			noting(j, func(ctx context.Context, d *godwit.Delivery) error {
				now := time.Now()
				first.CompareAndSwap(nil, &now)
				if number(d)%every == 0 {
					return nap(ctx, long)
				}
				return nap(ctx, short)
			}))
		w.eventually(60*time.Second, "all records handled", j.all)
		took := time.Since(*first.Load())
		if _, err := p.stop(); err != nil {
			t.Error(err)
		}
		ideal := (records/every*long + (records-records/every)*short) / concurrency
		t.Logf("%d records in %v, at best %v", records, took, ideal)
		most := 2*ideal + long // the last handler may be a long one
		if w.real() {
			most *= 2 // the machine does other things, too
		}
		if took > most {
			t.Errorf("%d records took %v, want %v at most", records, took, most)
		}
	})
}

// The mistake: the next fetch accepts, or renews, what is still handled. Here a handler does not return while its
// process handles all other records, for longer than a lock lasts. Then the process is killed, and its successor
// handles that record, and no other.
func TestSharedStragglerKilled(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		const records, straggler = 500, 7
		w.create(2)
		w.ensure(sharing)
		j := newJournal(records)
		j.keys = 100
		o := godwit.ConsumerOptions{Concurrency: 8, ShutdownTimeout: 4 * time.Second}
		p := w.start(sharing, o, noting(j, func(ctx context.Context, d *godwit.Delivery) error {
			if number(d) == straggler {
				return untilEnd(ctx, d)
			}
			return nil
		}))
		w.fill(records, 100)
		others := func() bool { n, _ := j.count(); return n == records-1 && j.started(straggler) == 1 }
		w.eventually(60*time.Second, "all other records handled beside the straggler", others)
		w.outlastLock()
		w.awaitStable(w.tierReaders())
		if !others() {
			t.Errorf("the straggler was started %d times in one process, want once", j.started(straggler))
		}
		p.crash()
		p = w.start(sharing, o, noting(j, func(context.Context, *godwit.Delivery) error { return nil }))
		w.eventually(90*time.Second, "the straggler handled", j.all)
		time.Sleep(2 * time.Second) // time for records that must not be delivered again
		if _, err := p.stop(); err != nil {
			t.Error(err)
		}
		if n, handlings := j.count(); handlings != n {
			t.Errorf("%d records were handled %d times", n, handlings)
		}
	})
}

// outlastLock waits for longer than a lock lasts. In a short run on a real broker, it only waits until all verdicts are
// reported, also on a busy machine.
func (w *world) outlastLock() {
	if w.real() && testing.Short() {
		time.Sleep(3 * time.Second)
		return
	}
	time.Sleep(40 * time.Second)
}

// tierReaders is the classic group in which the processes of a share group read its tiers.
func (w *world) tierReaders() string { return w.topic() + "." + w.group() + ".retry" }

// killShared kills a real broker. The embedded broker is closed instead, because it stores only then what share groups
// have finished.
func (w *world) killShared() {
	w.t.Helper()
	if w.real() {
		w.kill()
	} else if err := w.server.Close(); err != nil {
		w.t.Fatal(err)
	}
}
