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

// The mistake: records of one partition are handled concurrently, and those of one key with them; or a retry lets later
// ones of its key pass. Handlers take random times and fail at random; the order of each key holds in every way of
// keeping it, and no key is handled twice at once.
func TestKeyOrderLost(t *testing.T) {
	for name, o := range map[string]kafka.Options{
		"block":     {},
		"park":      {Retries: kafka.RetryPark, Tiers: []time.Duration{time.Second}},
		"partition": {Ordering: kafka.OrderByPartition},
		"consumer":  {GroupProtocol: kafka.GroupConsumer},
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
				b := newBooks(records)
				b.keys = keys
				seed := rand.Uint64()
				t.Logf("seed %d", seed)
				p := w.start(o, godwit.ConsumerOptions{
					Concurrency: 32, MaxAttempts: 1000, Backoff: godwit.Constant(1100 * time.Millisecond),
				}, keeping(b, func(ctx context.Context, d *godwit.Delivery) error {
					chance := rand.New(rand.NewPCG(seed, uint64(number(d))<<20|uint64(d.Attempt)))
					if err := nap(ctx, time.Duration(chance.IntN(5))*time.Millisecond); err != nil {
						return err
					}
					if chance.IntN(100) == 0 {
						return errOfTest
					}
					return nil
				}))
				w.eventually(3*time.Minute, "everything handled", b.all)
				if _, err := p.stop(); err != nil {
					t.Error(err)
				}
				b.inOrder(t)
				if _, handlings := b.count(); handlings != records {
					t.Errorf("%d records were handled %d times", records, handlings)
				}
			})
		})
	}
}

// A poll brings many records of one key, and the first of them fails before the core has taken in the last: what is
// behind it follows it all the same.
func TestParkedKeyOfALargePoll(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		const records = 1000
		o := kafka.Options{Retries: kafka.RetryPark, Tiers: []time.Duration{time.Second}}
		w.create(1)
		w.ensure(o)
		w.fill(records, 1)
		b := newBooks(records)
		p := w.start(o, godwit.ConsumerOptions{Concurrency: 32, Backoff: godwit.Constant(1100 * time.Millisecond)},
			keeping(b, func(_ context.Context, d *godwit.Delivery) error {
				if number(d) == 0 && d.Attempt == 1 {
					return errOfTest
				}
				return nil
			}))
		w.eventually(3*time.Minute, "everything handled", b.all)
		if _, err := p.stop(); err != nil {
			t.Error(err)
		}
		b.inOrder(t)
	})
}
