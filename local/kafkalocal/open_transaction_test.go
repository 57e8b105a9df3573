package kafkalocal_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/godwitmq/godwit/local/kafkalocal"
)

// A crash in a transaction hides what the same producer commits later in the partition (decision 0068), from consumers
// that read both at once. If this test fails, kfake was corrected: then the decision and a sentence of doc.go are
// obsolete, and TestTransformOnce in kafka/acceptance can run with all its cases.
func TestKillInATransaction(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		s := serve(t, &kafkalocal.ServerOptions{Dir: dir + "/data"})
		topic := unique()
		create(t, client(t, s.Reach()), topic)
		begin(t, client(t, s.Reach(), kgo.TransactionalID("one")), topic)
		if err := s.Kill(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := s.Start(); err != nil {
			t.Fatal(err)
		}
		for _, id := range []string{"one", "another"} {
			c := client(t, s.Reach(), kgo.TransactionalID(id))
			begin(t, c, topic)
			if err := c.EndTransaction(within(t), kgo.TryCommit); err != nil {
				t.Fatal(err)
			}
		}
		c := client(t, s.Reach(), kgo.ConsumeTopics(topic), kgo.FetchIsolationLevel(kgo.ReadCommitted()),
			kgo.ConsumeStartOffset(kgo.NewOffset().AtStart()))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		n := 0
		for ctx.Err() == nil {
			n += c.PollFetches(ctx).NumRecords()
		}
		if n != 1 {
			t.Errorf("%d committed records, want 1 of 2", n)
		}
	})
}
