//go:build synctests

package kafka_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka"
)

// The commit does not pass an unfinished record, even if later records are finished.
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
		l.nothing(3 * time.Second) // b and c are known as finished
		l.end()
	})
}

// The committed offset is the offset of the next record, not of the last finished one.
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

// Finished records are committed after CommitRecords of them, long before CommitInterval is over, and after
// CommitInterval, however few they are.
func TestWhenFinishedRecordsAreCommitted(t *testing.T) {
	inWorld(t, func(w *world) {
		l := w.begin(kafka.Options{CommitInterval: time.Minute, CommitRecords: 10}, driver.Events{})
		w.send(0, numbers(25)...)
		ds := l.get(25)
		l.settle(driver.Done, ds[:9]...)
		time.Sleep(2 * time.Second)
		if at, _ := w.committed(0); at > 0 {
			w.Errorf("committed %d after nine records and two seconds", at)
		}
		l.settle(driver.Done, ds[9:12]...)
		time.Sleep(2 * time.Second)
		if at, _ := w.committed(0); at != 12 {
			w.Errorf("committed %d after twelve records, want 12", at)
		}
		l.settle(driver.Done, ds[12:15]...)
		time.Sleep(time.Minute)
		if at, _ := w.committed(0); at != 15 {
			w.Errorf("committed %d after the interval, want 15", at)
		}
	})
}

// Records that were finished one commit interval before a crash are not handled again, however far they are behind the
// first unfinished record.
func TestDuplicatesOfFinishedWorkAfterACrash(t *testing.T) {
	inWorld(t, func(w *world) {
		const n = 5000
		l := w.begin(kafka.Options{}, driver.Events{})
		w.send(0, numbers(n)...)
		ds := l.get(n)
		finished := slices.Clone(ds[1:]) // the first record is stuck
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
			w.Errorf("%d records were delivered again, want the %d unfinished ones", len(again), want)
		}
		l.end()
	})
}

// If the broker refuses the metadata of one partition, the commits of the other partitions are stored, and a commit
// with shorter metadata follows at once.
func TestMetadataTooLarge(t *testing.T) {
	inWorld(t, func(w *world) {
		l := w.begin(kafka.Options{ChannelOptions: kafka.ChannelOptions{Partitions: 2}}, driver.Events{})
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

// The number of starts of a retry that the core holds survives a crash.
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
			w.Errorf("%q was delivered with %d known starts, want a with 2", d.Body, d.Attempt)
		}
		l.end()
	})
}

// Commits of other programs, and unreadable metadata, cause duplicates at most.
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

// While the brokers take no commit, admission waits: what is finished and not committed is bounded, and so is what a
// crash would repeat. Health reports it. When commits succeed again, the consumer goes on.
func TestAdmissionWaitsForCommits(t *testing.T) {
	inWorld(t, func(w *world) {
		const records, commit = 40_000, 500
		l := w.begin(kafka.Options{CommitRecords: commit}, driver.Events{})
		fault := w.cluster.Fault(kfake.Fault{
			Keys: []kmsg.Key{kmsg.OffsetCommit}, Count: -1, Err: kerr.CoordinatorLoadInProgress,
		})
		var rs []*kgo.Record
		for n := range records {
			rs = append(rs, &kgo.Record{Topic: "orders", Key: []byte(strconv.Itoa(n % 100)), Value: []byte("x")})
		}
		if err := w.client.ProduceSync(w.Context(), rs...).FirstErr(); err != nil {
			t.Fatal(err)
		}
		handle := func(most int, lasts time.Duration) (n int) {
			for ends := time.Now().Add(lasts); n < most && time.Now().Before(ends); {
				ds, err := l.recv.Receive(w.Context(), driver.Ask{Max: 200}, nil)
				if err != nil {
					time.Sleep(time.Second)
				}
				l.settle(driver.Done, ds...)
				n += len(ds)
				time.Sleep(10 * time.Millisecond)
			}
			return n
		}
		first := handle(records, time.Minute)
		if first < 4*commit || first > 4*commit+200 {
			t.Errorf("%d records were handled without a commit", first)
		}
		_, texts := l.recv.(driver.Log).Stalls(time.Now())
		if len(texts) != 1 || !strings.Contains(texts[0], "not committed") {
			t.Errorf("health reports %q", texts)
		}
		fault.Remove()
		if n := handle(records-first, time.Minute); n != records-first {
			t.Errorf("%d of %d records were handled when commits succeeded again", n, records-first)
		}
		if _, texts := l.recv.(driver.Log).Stalls(time.Now()); len(texts) > 0 {
			t.Errorf("health still reports %q", texts)
		}
		l.end()
	})
}
