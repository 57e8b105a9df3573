//go:build synctests

package acceptance

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/kafka"
)

// The mistake: records of one partition are handled concurrently, and so are those of one key; or later records of a
// key pass one that waits for a retry. Here handlers take random times and fail at random. In every kind of ordering
// the records of each key are handled in order, and no two of them at once.
func TestKeyOrderLost(t *testing.T) {
	for name, o := range map[string]kafka.Options{
		"block": {},
		"park": {
			ChannelOptions: kafka.ChannelOptions{Retries: kafka.RetryPark, Tiers: []time.Duration{time.Second}},
		},
		"partition": {ChannelOptions: kafka.ChannelOptions{Ordering: kafka.OrderByPartition}},
		"consumer":  {ChannelOptions: kafka.ChannelOptions{GroupProtocol: kafka.GroupConsumer}},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, func(t *testing.T, w *world) {
				const keys = 50
				records := 3000
				if w.real() {
					records = 1000
				}
				w.create(4)
				w.ensure(o)
				w.fill(records, keys)
				j := newJournal(records)
				j.keys = keys
				seed := rand.Uint64()
				t.Logf("seed %d", seed)
				p := w.start(o, godwit.ConsumerOptions{
					Concurrency: 32, MaxAttempts: 1000, Backoff: godwit.Constant(1100 * time.Millisecond),
				}, noting(j, func(ctx context.Context, d *godwit.Delivery) error {
					chance := rand.New(rand.NewPCG(seed, uint64(number(d))<<20|uint64(d.Attempt)))
					if err := nap(ctx, time.Duration(chance.IntN(5))*time.Millisecond); err != nil {
						return err
					}
					if chance.IntN(100) == 0 {
						return errOfTest
					}
					return nil
				}))
				w.eventually(3*time.Minute, "all records handled", j.all)
				if _, err := p.stop(); err != nil {
					t.Error(err)
				}
				j.inOrder(t)
				if _, handlings := j.count(); handlings != records {
					t.Errorf("%d records were handled %d times", records, handlings)
				}
			})
		})
	}
}

// The mistake: one poll returns many records of a key, the first fails before the consumer has accepted the last, and
// later ones overtake it. Here they are handled after it.
func TestParkedKeyOfALargePoll(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		const records = 1000
		o := kafka.Options{
			ChannelOptions: kafka.ChannelOptions{Retries: kafka.RetryPark, Tiers: []time.Duration{time.Second}},
		}
		w.create(1)
		w.ensure(o)
		w.fill(records, 1)
		j := newJournal(records)
		p := w.start(o, godwit.ConsumerOptions{Concurrency: 32, Backoff: godwit.Constant(1100 * time.Millisecond)},
			noting(j, func(_ context.Context, d *godwit.Delivery) error {
				if number(d) == 0 && d.Attempt == 1 {
					return errOfTest
				}
				return nil
			}))
		w.eventually(3*time.Minute, "all records handled", j.all)
		if _, err := p.stop(); err != nil {
			t.Error(err)
		}
		j.inOrder(t)
	})
}
