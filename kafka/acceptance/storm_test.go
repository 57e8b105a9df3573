//go:build synctests

package acceptance

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/kafka"
)

// The mistake: what a member has in hand when its partitions are taken away is lost, or handled beside the next one.
// Every 400 ms a member comes or one leaves, until everything is handled: nothing is lost, the order of each key is
// kept, no key is handled twice at once, and what is handled again is no more than what was in hand.
func TestRebalanceStorm(t *testing.T) {
	for name, c := range map[string]struct {
		o       kafka.Options
		crashes int // every so many, the one that leaves is cut off instead; 0: none
	}{
		"classic":  {},
		"consumer": {o: kafka.Options{GroupProtocol: kafka.GroupConsumer}},
		"crashes":  {crashes: 10}, // for each the group waits until its session is over, which is the time of ten
	} {
		t.Run(name, func(t *testing.T) {
			alone(t, func(t *testing.T, w *world) { storm(t, w, c.o, c.crashes) })
		})
	}
}

func storm(t *testing.T, w *world, o kafka.Options, crashes int) {
	const keys, concurrency, together, every = 500, 30, 6, 400 * time.Millisecond
	records := 100_000
	if w.real() || testing.Short() {
		records = 20_000
	}
	w.create(8)
	w.ensure(o)
	w.fill(records, keys)
	b := newBooks(records)
	b.keys = keys
	work := keeping(b, func(ctx context.Context, _ *godwit.Delivery) error {
		return nap(ctx, time.Duration(1+rand.IntN(40))*time.Millisecond)
	})
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	chance := rand.New(rand.NewPCG(seed, 0))
	join := func() *process { return w.start(o, godwit.ConsumerOptions{Concurrency: concurrency}, work) }
	members := []*process{join()}
	began, left, crashed := time.Now(), 0, 0
	for !b.all() {
		if time.Since(began) > 10*time.Minute {
			t.Fatalf("after %v and %d members, records %v and others are not handled", time.Since(began), left,
				b.missing())
		}
		time.Sleep(every)
		if n := len(members); n == 1 || n < together && chance.IntN(2) == 0 {
			members = append(members, join())
			continue
		}
		i := chance.IntN(len(members))
		left++
		if crashes > 0 && left%crashes == 2 {
			crashed++
			w.calm(w.group())
			members[i].cable.cut()
		}
		go func(p *process) { _, _ = p.stop() }(members[i])
		members = slices.Delete(members, i, i+1)
	}
	took := time.Since(began)
	for _, p := range w.started {
		if _, err := p.stop(); err != nil && crashes == 0 {
			t.Errorf("a member ended with %v", err)
		}
	}
	b.inOrder(t)
	_, handlings := b.count()
	t.Logf("%d records in %v, %d members came and went, %d of them crashed: %d handled again", records, took, left,
		crashed, handlings-records)
	// Who leaves properly leaves nothing behind; on a real broker a commit may come too late.
	most := concurrency
	if w.real() {
		most = left * concurrency
	}
	// what it finished since its last commit
	most += crashed * concurrency * int(1500*time.Millisecond/(20*time.Millisecond))
	if crashes > 0 && crashed == 0 {
		t.Error("nobody crashed")
	}
	if again := handlings - records; again > most {
		t.Errorf("%d records were handled again, and only %d can have been in hand", again, most)
	}
}

// calm waits, on the fake broker, for a moment at which nobody joins: one that crashes in the midst of that may never
// be missed there, and the group waits for it for as long as others come and go (TestCrashedWhileJoining,
// TestRebalanceTimeoutWhileOthersCome).
func (w *world) calm(group string) {
	w.t.Helper()
	if w.real() {
		return
	}
	w.eventually(time.Minute, "a group at rest", func() bool {
		groups, err := w.admin.DescribeGroups(w.t.Context(), group)
		return err == nil && groups[group].State == "Stable"
	})
}
