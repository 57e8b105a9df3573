package send

import (
	"context"
	"errors"
	"log/slog"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/godwitmq/godwit/kafka/internal/client"
	"github.com/godwitmq/godwit/kafka/internal/failure"
	"github.com/godwitmq/godwit/kafka/internal/wire"
)

// Producer publishes records, and waits for the answers.
type Producer struct {
	Client *client.Client
	Log    *slog.Logger
}

// Produce sends records, waits for the answer to each, and classifies the errors. The client never finds a topic again
// that was deleted and created again: forget makes it drop the old id, and Produce sends once more the records that
// failed for this reason.
func (p *Producer) Produce(ctx context.Context, rs []*kgo.Record) []error {
	errs := p.ProduceOnce(ctx, rs)
	p.forget(rs, errs)
	p.Again(ctx, rs, errs, func(err error) bool { return errors.Is(err, kerr.UnknownTopicID) })
	for i, err := range errs {
		errs[i] = failure.Classify(err)
	}
	return errs
}

// Again sends once more the records with certain errors, and replaces the errors.
func (p *Producer) Again(ctx context.Context, rs []*kgo.Record, errs []error, which func(error) bool) {
	var more []*kgo.Record
	var of []int
	for i, err := range errs {
		if which(err) {
			r := *rs[i]
			r.Offset, r.LeaderEpoch = 0, 0
			more, of = append(more, &r), append(of, i)
		}
	}
	if len(more) == 0 {
		return
	}
	for k, err := range p.ProduceOnce(ctx, more) {
		if errs[of[k]] = failure.Classify(err); err == nil {
			*rs[of[k]] = *more[k] // topic, partition and offset
		}
	}
}

// forget makes the client look up again the topics that it did not find, or not with the id that it knows.
func (p *Producer) forget(rs []*kgo.Record, errs []error) {
	gone := map[string]bool{}
	for i, err := range errs {
		again := errors.Is(err, kerr.UnknownTopicID)
		if !again && !errors.Is(err, kerr.UnknownTopicOrPartition) || gone[rs[i].Topic] {
			continue
		}
		gone[rs[i].Topic] = true
		if again {
			p.Log.Error("a topic was deleted and created again: the records of the old topic are gone, and sends go "+
				"to the new one", "topic", rs[i].Topic)
		}
		p.Client.PurgeTopicsFromProducing(rs[i].Topic)
	}
}

// Knows says whether the client has looked for a partition, and found it.
func (p *Producer) Knows(at wire.Partition) bool {
	leader, _, err := p.Client.PartitionLeader(at.Topic, at.N)
	return leader >= 0 || err != nil // an error is one of the partition
}

// ProduceOnce waits for all answers, or for the end of ctx. A record without an answer by then may still be stored.
func (p *Producer) ProduceOnce(ctx context.Context, rs []*kgo.Record) []error {
	type answer struct {
		i   int
		err error
	}
	answers := make(chan answer, len(rs)) // has room for all: the client must not block on it after ctx has ended
	for i, r := range rs {
		p.Client.Produce(ctx, r, func(_ *kgo.Record, err error) { answers <- answer{i, err} })
	}
	errs := make([]error, len(rs))
	open := make([]bool, len(rs))
	for i := range open {
		open[i] = true
	}
	for n := len(rs); n > 0; n-- {
		select {
		case a := <-answers:
			errs[a.i], open[a.i] = a.err, false
		case <-ctx.Done():
			for i := range errs {
				if open[i] {
					errs[i] = context.Cause(ctx)
				}
			}
			return errs
		}
	}
	return errs
}
