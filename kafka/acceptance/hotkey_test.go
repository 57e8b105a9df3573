//go:build synctests

package acceptance

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/kafka"
)

// The mistake: one failing key stops its whole partition, because its waiting records take all places, or because the
// metadata has no room for more finished records behind them. Here one of ten keys fails for a long time. All records
// of the other keys are handled meanwhile, and none of them again after a crash. Then the failing key succeeds, and all
// of its records are handled in order.
func TestOneFailingHotKey(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		records := 600_000
		if testing.Short() || w.real() {
			records = 100_000
		}
		const keys, failing = 10, "k3"
		j := w.keyed(records, keys)
		var repaired atomic.Bool
		work := noting(j, func(_ context.Context, d *godwit.Delivery) error {
			if d.OrderKey == failing && !repaired.Load() {
				return godwit.RetryAfter(time.Second, errOfTest)
			}
			return nil
		})
		o := godwit.ConsumerOptions{Concurrency: 20, MaxAttempts: 1000}
		p := w.start(kafka.Options{}, o, work)
		others := records - records/keys
		w.eventually(4*time.Minute, "all others handled", func() bool { n, _ := j.count(); return n == others })
		time.Sleep(2 * time.Second) // until the records that finished last are committed
		committed := w.committed()[0]
		if committed.At > keys || len(committed.Metadata) > 100 {
			t.Errorf("committed is %d with metadata of %d characters", committed.At, len(committed.Metadata))
		}
		p.crash()

		p = w.start(kafka.Options{}, o, work)
		w.eventually(2*time.Minute, "the failing key tried again", func() bool { return j.started(3) > 1 })
		time.Sleep(5 * time.Second) // until the consumer has read the log again
		if n, handlings := j.count(); n != others || handlings != others {
			t.Errorf("%d records were handled %d times, want %d once", n, handlings, others)
		}
		repaired.Store(true)
		w.eventually(4*time.Minute, "all records handled", j.all)
		if _, err := p.stop(); err != nil {
			t.Error(err)
		}
		j.inOrder(t)
		if _, handlings := j.count(); handlings != records {
			t.Errorf("%d records were handled %d times", records, handlings)
		}
		if o := w.committed()[0]; o.At != int64(records) || len(o.Metadata) > 30 {
			t.Errorf("committed is %d with %q", o.At, o.Metadata)
		}
	})
}

// keyed fills a partition with records of so many keys in turn.
func (w *world) keyed(records, keys int) *journal {
	w.t.Helper()
	w.create(1)
	w.ensure(kafka.Options{})
	w.fill(records, keys)
	j := newJournal(records)
	j.keys = keys
	return j
}

// The mistake: a key is recognized as slow only when its first record has failed or has taken long. Until then, other
// keys use up the room of the commit, and none is left to set the slow key aside. Here its first attempt takes two
// seconds, in which 20,000 records of others are handled, and then the others go on.
func TestAKeyThatFailsLate(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		const records, keys, failing = 100_000, 4, "k3"
		j := w.keyed(records, keys)
		p := w.start(kafka.Options{}, godwit.ConsumerOptions{Concurrency: 20, MaxAttempts: 1000}, noting(j,
			func(ctx context.Context, d *godwit.Delivery) error {
				if d.OrderKey != failing {
					return nil
				}
				if err := nap(ctx, 2*time.Second); err != nil {
					return err
				}
				return godwit.RetryAfter(time.Second, errOfTest)
			}))
		others := records - records/keys
		w.eventually(2*time.Minute, "all others handled", func() bool { n, _ := j.count(); return n == others })
		if _, err := p.stop(); err != nil {
			t.Error(err)
		}
		j.inOrder(t)
	})
}

// The mistake: records of a key that are no longer in the process are lost, because the broker is down while the
// consumer reads them again. Here no record is lost, and the order is kept.
func TestBrokerKilledWhileAKeyGoesOn(t *testing.T) {
	alone(t, func(t *testing.T, w *world) {
		const records, keys, failing = 100_000, 4, "k3"
		j := w.keyed(records, keys)
		var repaired atomic.Bool
		p := w.start(kafka.Options{}, godwit.ConsumerOptions{Concurrency: 20, MaxAttempts: 1000}, noting(j,
			func(ctx context.Context, d *godwit.Delivery) error {
				switch {
				case d.OrderKey != failing:
					return nil
				case !repaired.Load():
					return godwit.RetryAfter(time.Second, errOfTest)
				}
				return nap(ctx, 500*time.Microsecond)
			}))
		others := records - records/keys
		w.eventually(4*time.Minute, "all others handled", func() bool { n, _ := j.count(); return n == others })
		repaired.Store(true)
		w.eventually(time.Minute, "a part of the key handled",
			func() bool { n, _ := j.count(); return n > others+records/keys/4 })
		w.kill()
		time.Sleep(30 * time.Second)
		w.restart()
		w.eventually(4*time.Minute, "all records handled", j.all)
		if _, err := p.stop(); err != nil {
			t.Error(err)
		}
		j.inOrder(t)
		if _, handlings := j.count(); handlings > records+100 {
			t.Errorf("%d records were handled %d times", records, handlings)
		}
	})
}
