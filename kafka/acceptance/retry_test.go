//go:build synctests

package acceptance

import (
	"context"
	"testing"
	"time"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/kafka"
)

// The mistake: a retry never happens, because the offset of its record was committed, or because the record was stored
// and not read again. Here a record that fails twice is started a third time, and not too early; it has no effect on
// other records.
func TestRetryThatNeverRetries(t *testing.T) {
	for name, o := range map[string]kafka.Options{
		"block": {},
		"park": {
			ChannelOptions: kafka.ChannelOptions{
				Retries: kafka.RetryPark, Tiers: []time.Duration{time.Second, 2 * time.Second},
			},
		},
		"alone": {
			ChannelOptions: kafka.ChannelOptions{
				Retries: kafka.RetryAlone, Tiers: []time.Duration{time.Second, 2 * time.Second},
			},
		},
		"unordered": {
			ChannelOptions: kafka.ChannelOptions{
				Ordering: kafka.OrderNone, Tiers: []time.Duration{time.Second, 2 * time.Second},
			},
		},
		"partition": {ChannelOptions: kafka.ChannelOptions{Ordering: kafka.OrderByPartition}},
		"memory": {
			ChannelOptions: kafka.ChannelOptions{
				Retries: kafka.RetryAlone, Tiers: []time.Duration{time.Second, 2 * time.Second},
			},
			RetryQueue: &kafka.MemoryRetryQueue{},
		},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, func(t *testing.T, w *world) {
				const records, failing, wait = 60, 20, 2 * time.Second
				w.create(2)
				w.ensure(o)
				w.fill(records, 15)
				j := newJournal(records)
				begun := map[int]time.Time{}
				p := w.start(o, godwit.ConsumerOptions{Backoff: godwit.Constant(wait)},
					noting(j, func(_ context.Context, d *godwit.Delivery) error {
						if number(d) != failing {
							return nil
						}
						if since := time.Since(begun[d.Attempt-1]); d.Attempt > 1 && since < wait-100*time.Millisecond {
							t.Errorf("attempt %d came after %v", d.Attempt, since)
						}
						begun[d.Attempt] = time.Now() // no two at once, because it is one record
						if d.Attempt < 3 {
							return errOfTest
						}
						return nil
					}))
				w.eventually(90*time.Second, "all records handled", j.all)
				time.Sleep(3 * time.Second) // time for records that must not be delivered
				report, err := p.stop()
				if err != nil {
					t.Error(err)
				}
				if n := j.started(failing); n != 3 || report.Retried != 2 || report.Rejected != 0 {
					t.Errorf("started %d times, retried %d, rejected %d; want 3, 2, 0", n, report.Retried,
						report.Rejected)
				}
				if _, handlings := j.count(); handlings != records {
					t.Errorf("%d records were handled %d times", records, handlings)
				}
				for n, o := range w.committed() {
					if len(o.Metadata) > bareText {
						t.Errorf("partition %d is committed at %d with finished records in its metadata", n, o.At)
					}
				}
			})
		})
	}
}

// The mistake: retries wait in memory, their offsets are committed, and a crash loses them. Here the committed offset
// stays at the first record that waits. After a crash the records that waited are delivered again, and no others.
func TestMemoryRetryQueueFollowedByCommit(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		const records, failing = 200, 20 // every twentieth record waits
		o := kafka.Options{
			ChannelOptions: kafka.ChannelOptions{
				Retries: kafka.RetryAlone, Tiers: []time.Duration{time.Second, time.Hour},
			},
			RetryQueue: &kafka.MemoryRetryQueue{},
		}
		w.create(1)
		w.ensure(o)
		w.fill(records, records)
		j := newJournal(records)
		p := w.start(o, godwit.ConsumerOptions{Backoff: godwit.Constant(time.Hour)},
			noting(j, func(_ context.Context, d *godwit.Delivery) error {
				if number(d)%failing == 5 {
					return errOfTest
				}
				return nil
			}))
		const waiting = records / failing
		w.eventually(60*time.Second, "all others handled", func() bool {
			n, _ := j.count()
			return n == records-waiting
		})
		time.Sleep(3 * time.Second)
		if o := w.committed()[0]; o.At != 5 {
			t.Fatalf("%d is committed, want 5, the first that waits", o.At)
		}
		p.crash()

		o.RetryQueue = &kafka.MemoryRetryQueue{}
		p = w.start(o, godwit.ConsumerOptions{}, noting(j,
			func(context.Context, *godwit.Delivery) error { return nil }))
		w.eventually(90*time.Second, "the records that waited handled", j.all)
		time.Sleep(2 * time.Second)
		if _, err := p.stop(); err != nil {
			t.Error(err)
		}
		if _, handlings := j.count(); handlings != records {
			t.Errorf("%d records were handled %d times", records, handlings)
		}
		if o := w.committed()[0]; o.At != records {
			t.Errorf("%d is committed at the end, want %d", o.At, records)
		}
	})
}
