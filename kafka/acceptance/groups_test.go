//go:build synctests

package acceptance

import (
	"context"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka"
	"github.com/godwitmq/godwit/ops"
)

// The mistake: programs with groups of their own on one channel share its tiers, so that each of them handles the
// retries of all, or finishes them unhandled. Here a poison record costs each of two programs its own attempts, and
// makes a dead letter of each; a third program handles it once. A retry and a dead letter that an earlier version of
// one program has left in the topics of all are found, although the member that reads them is killed.
func TestGroupsOfOneChannel(t *testing.T) {
	for name, o := range map[string]kafka.Options{
		"park":  {ChannelOptions: kafka.ChannelOptions{Retries: kafka.RetryPark}},
		"alone": {ChannelOptions: kafka.ChannelOptions{Retries: kafka.RetryAlone}},
		"consumer": {
			ChannelOptions: kafka.ChannelOptions{Retries: kafka.RetryAlone, GroupProtocol: kafka.GroupConsumer},
		},
		"share": sharing,
	} {
		t.Run(name, func(t *testing.T) {
			in(t, func(t *testing.T, w *world) {
				const records, keys, poison, former, starts = 40, 10, 7, 40, 6
				o.Tiers, o.Partitions = []time.Duration{time.Second}, 2
				w.ensure(o)
				audit := w.ns + " audit" // a group with a character that no topic has
				wait := w.topic() + "." + w.group() + ".retry.1s"
				for _, r := range []*kgo.Record{
					{Topic: wait, Key: []byte("of audit"), Value: []byte("40"), Headers: []kgo.RecordHeader{
						{Key: "godwit-home", Value: []byte(w.topic() + "/0/1000000")},
						{Key: "godwit-group", Value: []byte(audit)},
					}},
					{Topic: w.deadLetters(), Value: []byte("41"), Headers: []kgo.RecordHeader{
						{Key: "__dlq.errors.topic", Value: []byte(w.topic())},
						{Key: "__dlq.errors.group", Value: []byte(audit)},
					}},
				} {
					if err := w.client.ProduceSync(t.Context(), r).FirstErr(); err != nil {
						t.Fatal(err)
					}
				}
				type program struct {
					*process
					*journal
					o    kafka.Options
					work godwit.Handler
				}
				fails := func(_ context.Context, d *godwit.Delivery) error {
					if number(d) == poison {
						return errOfTest
					}
					return nil
				}
				succeeds := func(context.Context, *godwit.Delivery) error { return nil }
				co := godwit.ConsumerOptions{MaxAttempts: starts, Backoff: godwit.Constant(time.Second)}
				programs := map[string]*program{
					"": {work: fails}, audit: {work: fails}, w.ns + "-healthy": {work: succeeds},
				}
				for group, p := range programs {
					if p.o = o; group != "" {
						p.o.Names = map[string]kafka.Resource{channel: {Group: group}}
					}
					p.journal = newJournal(records + 2)
					p.process = w.start(p.o, co, noting(p.journal, p.work))
				}
				w.eventually(90*time.Second, "the retry of an earlier version was handled", func() bool {
					return programs[audit].wasHandled(former)
				})
				p := programs[audit]
				p.crash()
				p.process = w.start(p.o, co, noting(p.journal, p.work))
				w.fill(records, keys)
				for group, p := range programs {
					w.eventually(90*time.Second, "all good records handled by group "+group, func() bool {
						n, _ := p.count()
						return n >= records-1
					})
				}
				letters := driver.Channel{Queue: channel, DeadLetter: true}
				own, audits := w.open(o, nil), w.open(p.o, nil)
				defer w.close(own)
				defer w.close(audits)
				dead := func(b *kafka.Backend) int64 {
					d, err := b.Inspect(t.Context(), letters)
					if err != nil {
						t.Fatal(err)
					}
					return d.Waiting
				}
				w.eventually(90*time.Second, "a dead letter of each group", func() bool {
					time.Sleep(time.Second)
					return dead(own) == 2 && dead(audits) == 2 // with the one of an earlier version, which both see
				})
				time.Sleep(5 * time.Second) // time for attempts that must not be made
				for group, want := range map[string]int{"": starts, audit: starts, w.ns + "-healthy": 1} {
					if n := programs[group].started(poison); n != want {
						t.Errorf("group %q started the poison record %d times, want %d", group, n, want)
					}
					if group != audit && programs[group].started(former) > 0 {
						t.Errorf("group %q handled a retry of another one", group)
					}
				}
				r, err := ops.Requeue(t.Context(), audits, channel+"@dlq", &ops.RequeueOptions{})
				if err != nil || r.Moved != 2 {
					t.Errorf("a requeue moved %d dead letters, want 2 (%v)", r.Moved, err)
				}
				if n := dead(own); n != 2 {
					t.Errorf("after that, the other group has %d dead letters, want 2", n)
				}
				for group, p := range programs {
					if _, err := p.stop(); err != nil {
						t.Errorf("group %q: %v", group, err)
					}
				}
			})
		})
	}
}
