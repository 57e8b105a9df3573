//go:build synctests

package acceptance

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/kafka"
)

// The mistake: a consumer recognizes rejected records by their offset without the partition, so that a record of
// another partition with the same offset is lost. Or it does not recognize them after a crash, and copies them again.
// Here offset 3 of partition 0 is rejected while offset 3 of partition 1 is in hand, offset 5 is rejected in both, and
// the process crashes before a commit contains that. At the end there is one dead letter of each rejected record, and
// all other records were handled.
func TestDeadLetterKnownByBareOffset(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		const each, bad, worse = 10, 3, 5
		w.create(2)
		w.ensure(kafka.Options{})
		by := w.newClient(kgo.RecordPartitioner(kgo.ManualPartitioner()))
		for i := range 2 * each {
			r := &kgo.Record{
				Topic: w.topic(), Partition: int32(i % 2), Key: fmt.Appendf(nil, "k%d", i),
				Value: fmt.Append(nil, i),
			}
			if err := by.ProduceSync(t.Context(), r).FirstErr(); err != nil {
				t.Fatal(err)
			}
		}
		j := newJournal(2 * each)
		inHand := true // in the first process
		handler := func() godwit.Handler {
			hold := inHand
			return noting(j, func(ctx context.Context, d *godwit.Delivery) error {
				switch n := number(d); {
				case n == 2*bad, n/2 == worse:
					return godwit.Permanent(errOfTest)
				case n == 2*bad+1 && hold:
					<-ctx.Done()
					return context.Cause(ctx)
				}
				return nil
			})
		}
		p := w.start(kafka.Options{}, godwit.ConsumerOptions{Concurrency: 2 * each}, handler())
		w.eventually(60*time.Second, "three dead letters", func() bool { return w.end(w.deadLetters()) == 3 })
		p.crash()

		inHand = false
		p = w.start(kafka.Options{}, godwit.ConsumerOptions{}, handler())
		w.eventually(90*time.Second, "both partitions committed to their ends", func() bool {
			o := w.committed()
			return o[0].At == each && o[1].At == each
		})
		if _, err := p.stop(); err != nil {
			t.Error(err)
		}
		got := map[string]int{}
		for _, r := range w.readDeadLetters() {
			got[header(r, "__dlq.errors.topic")+" "+header(r, "__dlq.errors.partition")+" "+header(r,
				"__dlq.errors.offset")]++
		}
		want := map[string]int{w.topic() + " 0 3": 1, w.topic() + " 0 5": 1, w.topic() + " 1 5": 1}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("dead letters (-want +got):\n%s", diff)
		}
		if n, _ := j.count(); n != 2*each-3 {
			t.Errorf("%d of the %d other records were handled", n, 2*each-3)
		}
	})
}

// The mistake: records that were dead-lettered once are always skipped, so that a replay silently leaves them out. Here
// three of ten records are rejected. Then the group is set back to the start, as by kafka-consumer-groups
// --reset-offsets. All ten are handled again, also after a crash during the replay, in which one of them is rejected
// once more.
func TestReplayWithDeadLetters(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		const records, stuck = 10, 6
		bad := map[int]bool{2: true, 5: true, 8: true}
		w.create(1)
		w.ensure(kafka.Options{})
		w.fill(records, records)
		one := godwit.ConsumerOptions{Concurrency: 1}
		p := w.start(kafka.Options{}, one, func(_ context.Context, d *godwit.Delivery) error {
			if bad[number(d)] {
				return godwit.Permanent(errOfTest)
			}
			return nil
		})
		w.eventually(60*time.Second, "all records committed", func() bool { return w.committed()[0].At == records })
		if _, err := p.stop(); err != nil {
			t.Error(err)
		}

		w.commit(0, 0, "")
		j := newJournal(records)
		said := make(chan string, 1)
		p = w.start(kafka.Options{Logger: logged(func(_ slog.Level, line string) {
			if strings.Contains(line, "did not commit") {
				said <- line
			}
		})}, one, noting(j, func(ctx context.Context, d *godwit.Delivery) error {
			switch number(d) {
			case 5:
				return godwit.Permanent(errOfTest)
			case stuck:
				<-ctx.Done()
				return context.Cause(ctx)
			}
			return nil
		}))
		w.eventually(60*time.Second, "the replay's dead letter", func() bool { return w.end(w.deadLetters()) == 4 })
		select {
		case <-said:
		default:
			t.Error("the log does not report the replay")
		}
		p.crash()

		p = w.start(kafka.Options{}, one, noting(j, func(context.Context, *godwit.Delivery) error { return nil }))
		w.eventually(90*time.Second, "all records committed again",
			func() bool { return w.committed()[0].At == records })
		if _, err := p.stop(); err != nil {
			t.Error(err)
		}
		if missing := j.missing(); fmt.Sprint(missing) != "[5]" {
			t.Errorf("the replay left out %v, want only 5, which it rejected", missing)
		}
		if n := w.end(w.deadLetters()); n != 4 {
			t.Errorf("%d dead letters, want 4", n)
		}
	})
}

// A dead letter has its reason, and is delivered with it to a consumer of the channel's dead letters.
func TestDeadLetterTellsWhy(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		w.create(1)
		w.ensure(kafka.Options{})
		w.fill(1, 1)
		p := w.start(kafka.Options{}, godwit.ConsumerOptions{MaxAttempts: 2, Backoff: godwit.Constant(time.Second)},
			func(context.Context, *godwit.Delivery) error { return errOfTest })
		w.eventually(60*time.Second, "a dead letter", func() bool { return w.end(w.deadLetters()) == 1 })
		if _, err := p.stop(); err != nil {
			t.Error(err)
		}
		dead := make(chan *godwit.Delivery, 1)
		p = w.startOn(channel+"@dlq", kafka.Options{}, godwit.ConsumerOptions{NoDeadLetters: true},
			func(_ context.Context, d *godwit.Delivery) error {
				dead <- d
				return nil
			})
		defer func() { _, _ = p.stop() }()
		select {
		case d := <-dead:
			if d.Death == nil || d.Death.Error != errOfTest.Error() || d.Death.Attempts != 2 || string(d.Body) != "0" {
				t.Errorf("the dead letter is %q with the reason %+v", d.Body, d.Death)
			}
		case <-time.After(60 * time.Second):
			t.Error("the dead letter was not delivered")
		}
	})
}

// The mistake: rejected records of one key overtake each other on their way to the dead letters, because the next
// record of the key starts while the copy of the one before is on its way. A requeue would send them back in that
// order.
func TestDeadLettersOvertakeEachOther(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		n, keys := 20_000, 100
		if testing.Short() {
			n = 4000
		}
		w.create(4)
		w.ensure(kafka.Options{})
		w.fill(n, keys)
		p := w.start(kafka.Options{}, godwit.ConsumerOptions{Ordered: true, Concurrency: 64},
			func(context.Context, *godwit.Delivery) error { return godwit.Permanent(errOfTest) })
		w.eventually(5*time.Minute, "all dead letters", func() bool { return w.end(w.deadLetters()) >= int64(n) })
		if _, err := p.stop(); err != nil {
			t.Error(err)
		}
		last, late := map[string]int{}, 0
		for _, r := range w.readDeadLetters() {
			key, i := string(r.Key), 0
			if _, err := fmt.Sscan(string(r.Value), &i); err != nil {
				t.Fatal(err)
			}
			if before, there := last[key]; there && i < before {
				late++
			}
			last[key] = i
		}
		if late > 0 {
			t.Errorf("%d of %d dead letters are behind a later one of their key", late, n)
		}
	})
}

func (w *world) deadLetters() string { return w.topic() + "." + w.group() + ".dlq" }

// end returns the number of records of a topic: the sum of the end offsets of its partitions.
func (w *world) end(topic string) (n int64) {
	w.t.Helper()
	ends, err := w.admin.ListEndOffsets(w.t.Context(), topic)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, o := range ends[topic] {
		n += o.Offset
	}
	return n
}

func header(r *kgo.Record, name string) string {
	for _, h := range r.Headers {
		if h.Key == name {
			return string(h.Value)
		}
	}
	return ""
}
