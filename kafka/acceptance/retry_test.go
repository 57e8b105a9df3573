//go:build synctests

package acceptance

import (
	"context"
	"testing"
	"time"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/kafka"
)

// The mistake: a retry that never retries, because the record's offset is committed, or the record is filed away. A
// record that fails twice is started a third time, not before its time, whatever becomes of its neighbours.
func TestRetryThatNeverRetries(t *testing.T) {
	for name, o := range map[string]kafka.Options{
		"block":     {},
		"park":      {Retries: kafka.RetryPark, Tiers: []time.Duration{time.Second, 2 * time.Second}},
		"alone":     {Retries: kafka.RetryAlone, Tiers: []time.Duration{time.Second, 2 * time.Second}},
		"unordered": {Ordering: kafka.OrderNone, Tiers: []time.Duration{time.Second, 2 * time.Second}},
		"partition": {Ordering: kafka.OrderByPartition},
		"memory": {
			Retries: kafka.RetryAlone, RetryQueue: &kafka.MemoryRetryQueue{},
			Tiers: []time.Duration{time.Second, 2 * time.Second},
		},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, func(t *testing.T, w *world) {
				const records, failing, wait = 60, 20, 2 * time.Second
				w.create(2)
				w.ensure(o)
				w.fill(records, 15)
				b := newBooks(records)
				begun := map[int]time.Time{}
				p := w.start(o, godwit.ConsumerOptions{Backoff: godwit.Constant(wait)},
					keeping(b, func(_ context.Context, d *godwit.Delivery) error {
						if number(d) != failing {
							return nil
						}
						if since := time.Since(begun[d.Attempt-1]); d.Attempt > 1 && since < wait-100*time.Millisecond {
							t.Errorf("attempt %d came after %v", d.Attempt, since)
						}
						begun[d.Attempt] = time.Now() // one at a time, for it is one record
						if d.Attempt < 3 {
							return errOfTest
						}
						return nil
					}))
				w.eventually(90*time.Second, "everything handled", b.all)
				time.Sleep(3 * time.Second) // time for what should not come
				report, err := p.stop()
				if err != nil {
					t.Error(err)
				}
				if n := b.started(failing); n != 3 || report.Retried != 2 || report.Rejected != 0 {
					t.Errorf("started %d times, retried %d, rejected %d; want 3, 2, 0", n, report.Retried,
						report.Rejected)
				}
				if _, handlings := b.count(); handlings != records {
					t.Errorf("%d records were handled %d times", records, handlings)
				}
				for n, o := range w.committed() {
					if len(o.Metadata) > bareText {
						t.Errorf("partition %d is committed at %d with more beyond", n, o.At)
					}
				}
			})
		})
	}
}

// The mistake: retries wait in memory, their offsets are committed, and a crash loses them. Here the commit stays at
// the first that waits, and after a crash exactly those that waited be delivered again.
func TestMemoryRetryQueueFollowedByCommit(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		const records, failing = 200, 20 // every twentieth waits
		o := kafka.Options{
			Retries: kafka.RetryAlone, RetryQueue: &kafka.MemoryRetryQueue{},
			Tiers: []time.Duration{time.Second, time.Hour},
		}
		w.create(1)
		w.ensure(o)
		w.fill(records, records)
		b := newBooks(records)
		p := w.start(o, godwit.ConsumerOptions{Backoff: godwit.Constant(time.Hour)},
			keeping(b, func(_ context.Context, d *godwit.Delivery) error {
				if number(d)%failing == 5 {
					return errOfTest
				}
				return nil
			}))
		const waiting = records / failing
		w.eventually(60*time.Second, "all others handled", func() bool {
			n,
				_ := b.count()
			return n == records-waiting
		})
		time.Sleep(3 * time.Second)
		if o := w.committed()[0]; o.At != 5 {
			t.Fatalf("%d is committed, want the first that waits, 5", o.At)
		}
		p.crash()

		o.RetryQueue = &kafka.MemoryRetryQueue{}
		p = w.start(o, godwit.ConsumerOptions{}, keeping(b, func(context.Context,
			*godwit.Delivery,
		) error {
			return nil
		}))
		w.eventually(90*time.Second, "those that waited handled", b.all)
		time.Sleep(2 * time.Second)
		if _, err := p.stop(); err != nil {
			t.Error(err)
		}
		if _, handlings := b.count(); handlings != records {
			t.Errorf("%d records were handled %d times", records, handlings)
		}
		if o := w.committed()[0]; o.At != records {
			t.Errorf("%d is committed at the end, want %d", o.At, records)
		}
	})
}
