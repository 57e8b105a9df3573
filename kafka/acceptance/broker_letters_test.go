//go:build synctests

package acceptance

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka"
	"github.com/godwitmq/godwit/ops"
)

// The mistake: the dead letters that a broker itself writes (KIP-1191, Kafka 4.4) are empty unless the group is
// configured otherwise, and a requeue sends empty records back. Here their records are looked up: operators see them,
// and consumers get them again, once. A real broker writes the dead letters of records that another program rejects;
// beside the embedded one, the test writes what a broker would.
func TestDeadLettersOfBrokers(t *testing.T) {
	for _, copies := range []bool{false, true} {
		t.Run(fmt.Sprintf("with copies %v", copies), func(t *testing.T) {
			in(t, func(t *testing.T, w *world) { lettersOfBrokers(t, w, copies) })
		})
	}
}

// A broker's dead letter whose record is deleted stays where it is, and a requeue says why.
func TestDeadLetterOfADeletedRecord(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		letters := w.ns + ".letters"
		o := sharing
		o.Names = map[string]kafka.Resource{channel: {Topic: w.topic(), Group: w.group(), DeadLetters: letters}}
		w.create(1)
		w.createTopic(letters)
		w.fill(2, 2)
		w.knows(w.topic(), letters)
		w.ensure(o)
		w.rejectAll(2)
		w.writeLetters(letters, false)
		offsets := kadm.Offsets{}
		offsets.Add(kadm.Offset{Topic: w.topic(), At: 1, LeaderEpoch: -1})
		if got, err := w.admin.DeleteRecords(t.Context(), offsets); err != nil || got.Error() != nil {
			t.Fatal(got, err)
		}
		b := w.open(o, nil)
		defer w.close(b)
		r, err := ops.Requeue(t.Context(), b, channel+"@dlq", &ops.RequeueOptions{})
		if err != nil || r.Moved != 1 || r.Stay.Refused != 1 ||
			!strings.Contains(r.Refused[0].Error(), "offset 0 of partition 0") {
			t.Errorf("%+v, %v", r, err)
		}
	})
}

func lettersOfBrokers(t *testing.T, w *world, copies bool) {
	const records = 20
	letters := "dlq." + w.ns // the prefix that brokers require
	o := sharing
	o.Names = map[string]kafka.Resource{channel: {Topic: w.topic(), Group: w.group(), DeadLetters: letters}}
	w.create(2)
	w.createLetters(letters)
	w.fill(records, 5)
	w.knows(w.topic(), letters)
	w.ensure(o)
	if w.real() {
		w.keepLetters(letters, copies)
	}
	w.rejectAll(records)
	if !w.real() {
		w.writeLetters(letters, copies)
	}
	w.eventually(30*time.Second, "the dead letters", func() bool { return w.end(letters) == records })
	b := w.open(o, nil)
	defer w.close(b)
	dead := driver.Channel{Queue: channel, DeadLetter: true}
	seen, err := b.Operations().Peek(t.Context(), dead, driver.PeekFrom{}, 2*records)
	if err != nil || len(seen) != records {
		t.Fatalf("peek: %d dead letters, %v", len(seen), err)
	}
	var bodies []string
	for _, p := range seen {
		bodies = append(bodies, string(p.Delivery.Body))
		if d := p.Delivery.Origin.Death; !strings.Contains(d.Error, "rejected") || p.Delivery.Origin.OrderKey == "" {
			t.Errorf("a dead letter has the origin %+v", *p.Delivery.Origin)
		}
	}
	want := map[string]bool{}
	for n := range records {
		want[strconv.Itoa(n)] = true
	}
	if got := slices.Sorted(slices.Values(bodies)); !slices.Equal(got, slices.Sorted(maps.Keys(want))) {
		t.Errorf("the dead letters have the bodies %v", got)
	}
	if r, err := ops.Requeue(t.Context(), b, channel+"@dlq", &ops.RequeueOptions{}); err != nil || r.Moved != records {
		t.Fatalf("a requeue moved %d, %v", r.Moved, err)
	}
	j := newJournal(records)
	p := w.start(o, godwit.ConsumerOptions{Concurrency: 4}, noting(j,
		func(context.Context, *godwit.Delivery) error { return nil }))
	w.eventually(60*time.Second, "all records handled", j.all)
	if _, err := p.stop(); err != nil {
		t.Error(err)
	}
	if n := w.end(letters); n != records {
		t.Errorf("%d dead letters in the end, want %d", n, records)
	}
}

// knows waits until the broker knows topics that were created, which a controller tells it later.
func (w *world) knows(topics ...string) {
	w.t.Helper()
	w.eventually(30*time.Second, "the topics exist", func() bool {
		all, err := w.admin.ListTopics(w.t.Context(), topics...)
		return err == nil && all.Error() == nil
	})
}

// createLetters creates a topic into which a broker may write dead letters.
func (w *world) createLetters(topic string) {
	w.t.Helper()
	var configs map[string]*string
	if yes := "true"; w.real() {
		configs = map[string]*string{"errors.deadletterqueue.group.enable": &yes}
	}
	if _, err := w.admin.CreateTopic(w.t.Context(), 1, w.replicas, configs, topic); err != nil {
		w.t.Fatal(err)
	}
	if w.real() {
		w.t.Cleanup(func() { _, _ = w.admin.DeleteTopics(context.Background(), topic) })
	}
}

// keepLetters configures the group so that the broker writes dead letters.
func (w *world) keepLetters(topic string, copies bool) {
	w.t.Helper()
	features := kmsg.NewPtrUpdateFeaturesRequest()
	f := kmsg.NewUpdateFeaturesRequestFeatureUpdate()
	f.Feature, f.MaxVersionLevel, f.UpgradeType = "share.version", 2, 1
	features.FeatureUpdates = append(features.FeatureUpdates, f)
	if resp, err := features.RequestWith(w.t.Context(), w.client); err != nil || resp.ErrorCode != 0 {
		w.t.Fatalf("%+v, %v", resp, err)
	}
	req := kmsg.NewPtrIncrementalAlterConfigsRequest()
	group := kmsg.NewIncrementalAlterConfigsRequestResource()
	group.ResourceType, group.ResourceName = kmsg.ConfigResourceTypeGroupConfig, w.group()
	for name, value := range map[string]string{
		"errors.deadletterqueue.topic.name":         topic,
		"errors.deadletterqueue.copy.record.enable": strconv.FormatBool(copies),
	} {
		c := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
		c.Name, c.Value = name, &value
		group.Configs = append(group.Configs, c)
	}
	req.Resources = append(req.Resources, group)
	resp, err := req.RequestWith(w.t.Context(), w.client)
	if err != nil || resp.Resources[0].ErrorCode != 0 {
		w.t.Fatalf("%+v, %v", resp, err)
	}
}

// rejectAll is another program of the share group, which rejects all records.
func (w *world) rejectAll(records int) {
	w.t.Helper()
	c := w.newClient(kgo.ShareGroup(w.group()), kgo.ConsumeTopics(w.topic()))
	defer c.Close()
	ctx, cancel := context.WithTimeout(w.t.Context(), time.Minute)
	defer cancel()
	for n := 0; n < records; {
		fetches := c.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			w.t.Fatalf("%d records rejected: %v", n, err)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			r.Ack(kgo.AckReject)
			n++
		})
	}
}

// writeLetters writes what a broker writes when all records of the channel are rejected.
func (w *world) writeLetters(topic string, copies bool) {
	w.t.Helper()
	for _, r := range w.read(w.topic()) {
		letter := &kgo.Record{Topic: topic}
		if copies {
			letter.Key, letter.Value, letter.Headers = r.Key, r.Value, r.Headers
		}
		for name, value := range map[string]string{
			"topic": r.Topic, "partition": strconv.Itoa(int(r.Partition)), "offset": strconv.FormatInt(r.Offset, 10),
			"group": w.group(), "delivery.count": "1", "message": "Offset rejected by client.",
		} {
			letter.Headers = append(letter.Headers, kgo.RecordHeader{Key: "__dlq.errors." + name, Value: []byte(value)})
		}
		w.produce(letter)
	}
}
