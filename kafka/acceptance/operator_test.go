//go:build synctests

package acceptance

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/kafka"
)

// The mistake: after partitions were added to a topic, its retry topics have fewer, so that consumers do not start, or
// retries of the new partitions wait where another member reads them, and their keys lose their order. Here the tiers
// grow with the topic, while two members run and handlers fail.
func TestPartitionsAdded(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		const before, after = 500, 1_000
		o := kafka.Options{
			ChannelOptions: kafka.ChannelOptions{Retries: kafka.RetryPark, Tiers: []time.Duration{time.Second}},
		}
		w.create(2)
		w.ensure(o)
		j := newJournal(before + after)
		var failed sync.Map
		work := noting(j, func(_ context.Context, d *godwit.Delivery) error {
			if _, again := failed.LoadOrStore(d.ID, true); !again && number(d)%10 == 0 {
				return errors.New("the handler fails")
			}
			return nil
		})
		co := godwit.ConsumerOptions{Ordered: true, Backoff: godwit.Constant(time.Second), MaxAttempts: 5}
		one, two := w.start(o, co, work), w.start(o, co, work)
		w.fillFrom(0, before, "before")
		w.eventually(60*time.Second, "the records of two partitions are handled",
			func() bool { n, _ := j.count(); return n == before })
		if _, err := w.admin.UpdatePartitions(t.Context(), 6, w.topic()); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		w.eventually(30*time.Second, "producers see the new partitions", func() bool {
			topics, err := w.admin.ListTopics(t.Context(), w.topic())
			return err == nil && len(topics[w.topic()].Partitions) == 6
		})
		w.client.PurgeTopicsFromClient(w.topic())
		w.fillFrom(before, after, "after")
		w.eventually(60*time.Second, "the records of six partitions are handled", j.all)
		t.Logf("handled %v after the partitions were added", time.Since(began))
		if took := time.Since(began); took > 40*time.Second {
			t.Errorf("the records of the new partitions were handled after %v", took)
		}
		j.inOrder(t)
		topics, err := w.admin.ListTopics(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if n := len(topics[w.topic()+"."+w.group()+".retry.1s"].Partitions); n != 6 {
			t.Errorf("the tier has %d partitions, want 6", n)
		}
		for _, p := range []*process{one, two} {
			if _, err := p.stop(); err != nil {
				t.Error(err)
			}
		}
	})
}

// fillFrom sends n records, numbered from a first one, with a hundred keys that only they have.
func (w *world) fillFrom(first, n int, phase string) {
	w.t.Helper()
	for i := first; i < first+n; i++ {
		w.client.Produce(w.t.Context(), &kgo.Record{
			Topic: w.topic(), Key: []byte(phase + strconv.Itoa(i%100)), Value: []byte(strconv.Itoa(i)),
		}, func(_ *kgo.Record, err error) {
			if err != nil {
				w.t.Errorf("send record %d: %v", i, err)
			}
		})
	}
	if err := w.client.Flush(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
}

// The mistake: when an operator deletes a topic to create it with other settings, a consumer creates it at once with
// its defaults, so that the operator's creation fails and keys change their partitions. Here the consumer waits, and
// says so.
func TestTopicDeletedByItsOperator(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		compact := "compact"
		create := func() error {
			config := map[string]*string{"cleanup.policy": &compact}
			_, err := w.admin.CreateTopic(t.Context(), 3, 1, config, w.topic())
			return err
		}
		if err := create(); err != nil {
			t.Fatal(err)
		}
		w.ensure(kafka.Options{})
		j := newJournal(200)
		p := w.start(kafka.Options{}, godwit.ConsumerOptions{}, noting(j, nothing))
		w.fillFrom(0, 100, "before")
		w.eventually(60*time.Second, "the records are handled", func() bool { n, _ := j.count(); return n == 100 })
		if _, err := w.admin.DeleteTopics(t.Context(), w.topic()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(45 * time.Second) // longer than the consumer needs to notice, and than health tolerates
		topics, err := w.admin.ListTopics(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if topics.Has(w.topic()) {
			t.Errorf("the topic was created with %d partitions", len(topics[w.topic()].Partitions))
		}
		if told := strings.Join(p.consumer.Health().Unhealthy, "\n"); !strings.Contains(told, "was deleted") {
			t.Errorf("health says %q", told)
		}
		if err := create(); err != nil {
			t.Fatal(err)
		}
		w.client.PurgeTopicsFromClient(w.topic())
		began := time.Now()
		w.fillFrom(100, 100, "after")
		w.eventually(60*time.Second, "the records of the new topic are handled", j.all)
		t.Logf("handled again after %v", time.Since(began))
		if _, err := p.stop(); err != nil {
			t.Error(err)
		}
	})
}

func nothing(context.Context, *godwit.Delivery) error { return nil }

// The mistake: with a commit every second, a crash at 13,000 records a second repeats as many. Here commits are also
// made by number.
func TestCrashAtSpeed(t *testing.T) {
	alone(t, func(t *testing.T, w *world) {
		const records, concurrency = 60_000, 50
		w.create(1)
		w.ensure(kafka.Options{})
		w.fill(records, 1000)
		j := newJournal(records)
		o := kafka.Options{CommitInterval: 10 * time.Second}
		slow := noting(j, func(ctx context.Context, _ *godwit.Delivery) error { return nap(ctx, 3*time.Millisecond) })
		p := w.start(o, godwit.ConsumerOptions{Concurrency: concurrency}, slow)
		w.eventually(60*time.Second, "half handled", func() bool { n, _ := j.count(); return n > records/2 })
		p.crash()
		p = w.start(o, godwit.ConsumerOptions{Concurrency: concurrency}, slow)
		w.eventually(2*time.Minute, "all records are handled", j.all)
		if _, err := p.stop(); err != nil {
			t.Error(err)
		}
		_, handlings := j.count()
		t.Logf("%d handled again", handlings-records)
		// the commit's number, what is handled during its request, and what is in hand
		if most := 5_000 + 2_000 + 2*concurrency; handlings-records > most {
			t.Errorf("%d records were handled again, want %d at most", handlings-records, most)
		}
	})
}

// An operator pauses one partition: its records wait, also across a rebalance, and others are handled.
func TestPartitionPaused(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		w.create(4)
		w.ensure(kafka.Options{})
		const records = 400
		j := newJournal(records)
		p := w.start(kafka.Options{}, godwit.ConsumerOptions{}, noting(j, nothing))
		if err := p.backend.Partitions(channel).Pause(2); err != nil {
			t.Fatal(err)
		}
		w.fillFrom(0, records, "k")
		ends, err := w.admin.ListEndOffsets(t.Context(), w.topic())
		if err != nil {
			t.Fatal(err)
		}
		of, _ := ends.Lookup(w.topic(), 2)
		if of.Offset == 0 {
			t.Fatal("no record is in the paused partition")
		}
		w.eventually(60*time.Second, "the records of three partitions are handled",
			func() bool { n, _ := j.count(); return n == records-int(of.Offset) })
		time.Sleep(3 * time.Second)
		if n, _ := j.count(); n != records-int(of.Offset) {
			t.Errorf("%d records are handled, want %d without those of the paused partition", n, records-int(of.Offset))
		}
		if err := p.backend.Partitions(channel).Resume(2); err != nil {
			t.Fatal(err)
		}
		w.eventually(20*time.Second, "all records are handled", j.all)
		if _, err := p.stop(); err != nil {
			t.Error(err)
		}
		j.inOrder(t)
	})
}
