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

// The mistake: records that a member has in hand when its partitions are revoked are lost, or also handled by the next
// member at the same time. Here a member joins or leaves every 400 ms until all records are handled. No record is lost,
// the order of each key is kept, no key is handled twice at once, and no more records are handled again than were in
// hand.
func TestRebalanceStorm(t *testing.T) {
	for name, c := range map[string]struct {
		o       kafka.Options
		crashes int // one in this number of members is cut off instead of stopped; 0: none
	}{
		"classic":  {},
		"consumer": {o: kafka.Options{ChannelOptions: kafka.ChannelOptions{GroupProtocol: kafka.GroupConsumer}}},
		"crashes":  {crashes: 10}, // after each the group waits for a session timeout, in which ten others come or go
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
	j := newJournal(records)
	j.keys = keys
	work := noting(j, func(ctx context.Context, _ *godwit.Delivery) error {
		return nap(ctx, time.Duration(1+rand.IntN(40))*time.Millisecond)
	})
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	chance := rand.New(rand.NewPCG(seed, 0))
	join := func() *process { return w.start(o, godwit.ConsumerOptions{Concurrency: concurrency}, work) }
	members := []*process{join()}
	began, left, crashed := time.Now(), 0, 0
	for !j.all() {
		if time.Since(began) > 10*time.Minute {
			t.Fatalf("after %v, in which %d members left, records are not handled, the first %v", time.Since(began), left,
				j.missing())
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
			w.awaitStable(w.group())
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
	j.inOrder(t)
	_, handlings := j.count()
	t.Logf("%d records in %v, %d members came and went, %d of them crashed: %d handled again", records, took, left,
		crashed, handlings-records)
	// A member that leaves has committed its finished records. On a real broker the commit may arrive too late.
	most := concurrency
	if w.real() {
		most = left * concurrency
	}
	// what crashed members finished after their last commit
	most += crashed * concurrency * int(1500*time.Millisecond/(20*time.Millisecond))
	if crashes > 0 && crashed == 0 {
		t.Error("no member crashed")
	}
	if again := handlings - records; again > most {
		t.Errorf("%d records were handled again, want %d at most", again, most)
	}
}

// awaitStable waits, on the embedded broker, until no member joins. That broker may never remove a member that crashes
// while it joins, and its group then waits for that member as long as others come and go (TestCrashedWhileJoining,
// TestRebalanceTimeoutWhileOthersCome).
func (w *world) awaitStable(group string) {
	w.t.Helper()
	if w.real() {
		return
	}
	w.eventually(time.Minute, "a stable group", func() bool {
		groups, err := w.admin.DescribeGroups(w.t.Context(), group)
		return err == nil && groups[group].State == "Stable"
	})
}

// The mistake: after an outage of the network, the members of a group get each other's partitions, and repeat all that
// is finished in them since the last commit. Here two members that lost their partitions get back those that they had,
// and only records in hand are handled again.
func TestMembersReturnAfterAnOutage(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		const records, concurrency, outages = 120_000, 20, 3
		w.create(8)
		w.ensure(kafka.Options{})
		w.fill(records, 1000)
		j := newJournal(records)
		o := kafka.Options{SessionTimeout: 20 * time.Second}
		for range 2 {
			w.start(o, godwit.ConsumerOptions{Concurrency: concurrency}, noting(j,
				func(ctx context.Context, _ *godwit.Delivery) error { return nap(ctx, 5*time.Millisecond) }))
		}
		for n := range outages {
			before, _ := j.count()
			w.eventually(time.Minute, "records are handled", func() bool { n, _ := j.count(); return n > before+8_000 })
			for _, p := range w.started {
				p.cable.cut()
			}
			time.Sleep(5 * time.Second) // longer than the interval of heartbeats
			for _, p := range w.started {
				p.cable.mend()
			}
			handled, handlings := j.count()
			t.Logf("outage %d: %d handled, %d again", n, handled, handlings-handled)
		}
		w.eventually(2*time.Minute, "all records handled", j.all)
		for _, p := range w.started {
			if _, err := p.stop(); err != nil {
				t.Error(err)
			}
		}
		_, handlings := j.count()
		t.Logf("%d handled again", handlings-records)
		if most := outages * 4 * concurrency; handlings-records > most {
			t.Errorf("%d records were handled again, want %d at most, those in hand", handlings-records, most)
		}
	})
}
