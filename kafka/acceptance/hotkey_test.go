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

// The mistake: one key that fails stops its whole partition. Its waiting records fill whatever tells what is finished
// behind them, or all places. One of ten keys fails throughout: all records of the others are handled at their rate,
// and again none of them after a crash; then the key goes on, and all of its records come, in their order.
func TestOneFailingHotKey(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		records := 600_000
		if testing.Short() || w.real() {
			records = 100_000
		}
		const keys, failing = 10, "k3"
		w.create(1)
		w.ensure(kafka.Options{})
		w.fill(records, keys)
		b := newBooks(records)
		b.keys = keys
		var mended atomic.Bool
		work := keeping(b, func(_ context.Context, d *godwit.Delivery) error {
			if d.OrderKey == failing && !mended.Load() {
				return godwit.RetryAfter(time.Second, errOfTest)
			}
			return nil
		})
		o := godwit.ConsumerOptions{Concurrency: 20, MaxAttempts: 1000}
		p := w.start(kafka.Options{}, o, work)
		others := records - records/keys
		w.eventually(4*time.Minute, "all of the others handled", func() bool { n, _ := b.count(); return n == others })
		time.Sleep(2 * time.Second) // the commit of what was finished last
		committed := w.committed()[0]
		if committed.At > keys || len(committed.Metadata) > 100 {
			t.Errorf("committed is %d with metadata of %d characters", committed.At, len(committed.Metadata))
		}
		p.crash()

		p = w.start(kafka.Options{}, o, work)
		w.eventually(2*time.Minute, "the failing key tried again", func() bool { return b.started(3) > 1 })
		time.Sleep(5 * time.Second) // the log is read again
		if n, handlings := b.count(); n != others || handlings != others {
			t.Errorf("%d records were handled %d times, want %d once", n, handlings, others)
		}
		mended.Store(true)
		w.eventually(4*time.Minute, "everything handled", b.all)
		if _, err := p.stop(); err != nil {
			t.Error(err)
		}
		b.inOrder(t)
		if _, handlings := b.count(); handlings != records {
			t.Errorf("%d records were handled %d times", records, handlings)
		}
		if o := w.committed()[0]; o.At != int64(records) || len(o.Metadata) > 30 {
			t.Errorf("committed is %d with %q", o.At, o.Metadata)
		}
	})
}

// What was forgotten of a key is not given up because the broker is away while it is read again: nothing is lost, and
// the order is kept.
func TestBrokerKilledWhileAKeyGoesOn(t *testing.T) {
	alone(t, func(t *testing.T, w *world) {
		const records, keys, failing = 100_000, 4, "k3"
		w.create(1)
		w.ensure(kafka.Options{})
		w.fill(records, keys)
		b := newBooks(records)
		b.keys = keys
		var mended atomic.Bool
		p := w.start(kafka.Options{}, godwit.ConsumerOptions{Concurrency: 20, MaxAttempts: 1000}, keeping(b,
			func(ctx context.Context, d *godwit.Delivery) error {
				switch {
				case d.OrderKey != failing:
					return nil
				case !mended.Load():
					return godwit.RetryAfter(time.Second, errOfTest)
				}
				return nap(ctx, 500*time.Microsecond)
			}))
		others := records - records/keys
		w.eventually(4*time.Minute, "all of the others handled", func() bool { n, _ := b.count(); return n == others })
		mended.Store(true)
		w.eventually(time.Minute, "a part of the key handled",
			func() bool { n, _ := b.count(); return n > others+records/keys/4 })
		w.kill()
		time.Sleep(30 * time.Second)
		w.restart()
		w.eventually(4*time.Minute, "everything handled", b.all)
		if _, err := p.stop(); err != nil {
			t.Error(err)
		}
		b.inOrder(t)
		if _, handlings := b.count(); handlings > records+100 {
			t.Errorf("%d records were handled %d times", records, handlings)
		}
	})
}
