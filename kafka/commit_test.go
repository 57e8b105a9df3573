//go:build synctests

package kafka_test

import (
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka"
)

// What is finished out of order does not take the commit past what is not.
func TestCommitsOutOfOrder(t *testing.T) {
	inWorld(t, func(w *world) {
		l := w.begin(kafka.Options{}, driver.Events{})
		w.send(0, "a", "b", "c")
		ds := l.get(3)
		l.settle(driver.Done, ds[1], ds[2])
		time.Sleep(2 * time.Second)
		if at, _ := w.committed(0); at > 0 {
			w.Errorf("committed %d while the record at 0 is unfinished", at)
		}
		l.end()
		l = w.begin(kafka.Options{}, driver.Events{})
		w.same(l.get(1), "a")
		l.nothing(3 * time.Second) // b and c are known to be finished
		l.end()
	})
}

// A commit names the record that comes next, not the last one that is finished.
func TestCommitsOffsetInsteadOfOffsetPlusOne(t *testing.T) {
	inWorld(t, func(w *world) {
		l := w.begin(kafka.Options{}, driver.Events{})
		w.send(0, "a", "b", "c")
		l.settle(driver.Done, l.get(3)...)
		time.Sleep(2 * time.Second)
		if at, _ := w.committed(0); at != 3 {
			w.Errorf("committed %d after three records, want 3", at)
		}
		l.end()
	})
}

// After a crash, what was finished one commit interval before is not handled again, however far beyond the watermark.
func TestDuplicatesOfFinishedWorkAfterACrash(t *testing.T) {
	inWorld(t, func(w *world) {
		const n = 5000
		l := w.begin(kafka.Options{}, driver.Events{})
		w.send(0, numbers(n)...)
		ds := l.get(n)
		finished := slices.Clone(ds[1:]) // the first one is stuck
		for i := 0; i < len(finished); i += 3 {
			finished[i] = ds[0]
		}
		finished = slices.DeleteFunc(finished, func(d driver.Delivery) bool { return d.Handle == ds[0].Handle })
		l.settle(driver.Done, finished...)
		time.Sleep(1100 * time.Millisecond)
		l.crash()
		l = w.begin(kafka.Options{}, driver.Events{})
		again := l.within(n, 2*time.Minute)
		if want := n - len(finished); len(again) != want {
			w.Errorf("%d records were delivered again, want the %d that were not finished", len(again), want)
		}
		l.end()
	})
}

// The broker's limit on metadata costs nobody his commit: the others of the request are stored, and shorter metadata
// follows at once.
func TestMetadataTooLarge(t *testing.T) {
	inWorld(t, func(w *world) {
		l := w.begin(kafka.Options{Partitions: 2}, driver.Events{})
		w.send(0, "a", "b", "c")
		w.send(1, "d")
		fault := w.cluster.Fault(kfake.Fault{
			Keys: []kmsg.Key{kmsg.OffsetCommit}, Partitions: []int32{0},
			Err: kerr.OffsetMetadataTooLarge,
		})
		for _, d := range l.get(4) {
			if string(d.Body) != "a" {
				l.settle(driver.Done, d)
			}
		}
		time.Sleep(1100 * time.Millisecond)
		if fault.Hits() == 0 {
			w.Fatal("no commit was refused")
		}
		if at, _ := w.committed(1); at != 1 {
			w.Errorf("the other partition's commit is at %d, want 1", at)
		}
		at, metadata := w.committed(0)
		if at != 0 {
			w.Errorf("the refused partition's commit is at %d, want 0, repeated at once", at)
		}
		if len(metadata) > 4096 {
			w.Errorf("metadata of %d characters", len(metadata))
		}
		l.end()
	})
}

// What a crash must not take away: how often a held retry was started.
func TestAttemptsOfHeldRetriesSurviveACrash(t *testing.T) {
	inWorld(t, func(w *world) {
		l := w.begin(kafka.Options{}, driver.Events{})
		w.send(0, "a", "b")
		ds := l.get(2)
		l.recv.(driver.AttemptLog).Started(ds[0].Handle, 2)
		l.settle(driver.Done, ds[1])
		time.Sleep(1100 * time.Millisecond)
		l.crash()
		l = w.begin(kafka.Options{}, driver.Events{})
		if d := l.get(1)[0]; string(d.Body) != "a" || d.Attempt != 2 {
			w.Errorf("%q came with %d known starts, want a with 2", d.Body, d.Attempt)
		}
		l.end()
	})
}

// Commits that foreign hands made, and metadata that nobody can read, cost duplicates at most.
func TestHostileMetadata(t *testing.T) {
	for _, metadata := range []string{"x", "g1AAAA", "\x00\xff", "godwit", string(make([]byte, 4000))} {
		inWorld(t, func(w *world) {
			l := w.begin(kafka.Options{}, driver.Events{})
			w.send(0, "a", "b", "c")
			l.settle(driver.Done, l.get(3)...)
			l.end()
			w.commit(1, metadata)
			l = w.begin(kafka.Options{}, driver.Events{})
			w.same(l.get(2), "b", "c")
			l.end()
		})
	}
}
