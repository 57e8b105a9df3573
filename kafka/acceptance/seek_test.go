//go:build synctests

package acceptance

import (
	"context"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka"
)

// seeks is a consumer whose position a test moves.
func seeks(w *world, o kafka.Options, j *journal, takes time.Duration) *process {
	return w.start(o, godwit.ConsumerOptions{Concurrency: 20}, noting(j,
		func(ctx context.Context, _ *godwit.Delivery) error { return nap(ctx, takes) }))
}

// The mistake: a consumer that goes to another position handles records from before at the same time, or commits them
// over the new position. Here it goes back, and forward, while it works: all records from there on are handled, no key
// twice at once, and records that it skips are not.
func TestSeekWhileRecordsAreHandled(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		const records, keys, partitions = 2_000, 50, 4
		w.create(partitions)
		w.ensure(kafka.Options{})
		w.fill(records, keys)
		j := newJournal(records)
		j.keys = keys
		p := seeks(w, kafka.Options{}, j, 10*time.Millisecond)
		parts := p.backend.Partitions(channel)
		for back := range 3 {
			_, before := j.count()
			w.eventually(time.Minute, "records are handled", func() bool { _, n := j.count(); return n > before+300 })
			moved, err := parts.Seek(t.Context(), driver.Position{From: driver.FromStart})
			if err != nil || len(moved) != partitions {
				t.Fatalf("way back %d: moved %v, %v", back, moved, err)
			}
			for n, o := range w.committed() {
				if o.At > records/partitions/2 {
					t.Errorf("way back %d: partition %d is committed at %d after that", back, n, o.At)
				}
			}
		}
		_, before := j.count()
		w.eventually(time.Minute, "all records handled again",
			func() bool { _, n := j.count(); return n >= before+records })
		w.eventually(time.Minute, "all committed", func() bool { return w.uncommitted() == 0 })
		if len(j.overlap) > 0 {
			t.Errorf("%d times a key was handled twice at once", len(j.overlap))
		}

		// Back to the start, and at once to the end: what is in between is skipped.
		if _, err := parts.Seek(t.Context(), driver.Position{From: driver.FromStart}); err != nil {
			t.Fatal(err)
		}
		if moved, err := parts.Seek(t.Context(), driver.Position{From: driver.FromEnd}); err != nil {
			t.Fatal(moved, err)
		}
		if n := w.uncommitted(); n != 0 {
			t.Errorf("%d records are not committed at the end", n)
		}
		_, before = j.count()
		time.Sleep(5 * time.Second)
		if _, n := j.count(); n != before {
			t.Errorf("%d records that were skipped were handled", n-before)
		}
		if _, err := p.stop(); err != nil {
			t.Error(err)
		}
	})
}

// The mistake: a rebalance at the time of a seek leaves a partition without a reader, or with two. Here a second member
// comes and goes while the first one seeks at random; in the end everything is handled. Partitions of the other member
// do not move, and the error says so.
func TestSeekWhileMembersComeAndGo(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		const records, keys, partitions = 2_000, 50, 4
		w.create(partitions)
		w.ensure(kafka.Options{})
		w.fill(records, keys)
		j := newJournal(records)
		j.keys = keys
		seed := rand.Uint64()
		t.Logf("seed %d", seed)
		chance := rand.New(rand.NewPCG(seed, 0))
		p := seeks(w, kafka.Options{}, j, 5*time.Millisecond)
		w.eventually(time.Minute, "all records handled once", j.all) // so that no seek skips one
		refused := 0
		for range 12 {
			other := seeks(w, kafka.Options{}, j, 5*time.Millisecond)
			for range 4 {
				time.Sleep(time.Duration(chance.IntN(1500)) * time.Millisecond)
				at := driver.Position{From: driver.FromOffset, Offset: chance.Int64N(100)}
				if _, err := p.backend.Partitions(channel).Seek(t.Context(), at); err != nil {
					refused++
					if !strings.Contains(err.Error(), "not this consumer's") {
						t.Error(err)
					}
				}
			}
			if _, err := other.stop(); err != nil {
				t.Error(err)
			}
		}
		if refused == 0 {
			t.Error("no seek met a partition of the other member")
		}
		w.eventually(time.Minute, "all committed", func() bool { return w.uncommitted() == 0 })
		w.eventually(time.Minute, "all partitions have returned, and go to the start", func() bool {
			_, err := p.backend.Partitions(channel).Seek(t.Context(), driver.Position{From: driver.FromStart})
			return err == nil
		})
		_, before := j.count()
		w.eventually(time.Minute, "all records handled again",
			func() bool { _, n := j.count(); return n >= before+records-40 }) // 20 of them may be in hand, or done
		if _, err := p.stop(); err != nil {
			t.Error(err)
		}
	})
}
