package kafka

import (
	"context"
	"errors"
	"log/slog"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka/internal/client"
	"github.com/godwitmq/godwit/kafka/internal/failure"
	"github.com/godwitmq/godwit/kafka/internal/wire"
)

// producer publishes records, and waits for the answers.
type producer struct {
	client *client.Client
	log    *slog.Logger
}

// produce sends records, waits for the answer to each, and classifies the errors. The client never finds a topic again
// that was deleted and created again: forget makes it drop the old id, and produce sends once more the records that
// failed for this reason.
func (p *producer) produce(ctx context.Context, rs []*kgo.Record) []error {
	errs := p.produceOnce(ctx, rs)
	var again []*kgo.Record
	var which []int
	for i, err := range errs {
		if errors.Is(err, kerr.UnknownTopicID) {
			r := *rs[i]
			r.Offset, r.LeaderEpoch = 0, 0
			again, which = append(again, &r), append(which, i)
		}
	}
	if p.forget(rs, errs); len(again) > 0 {
		for k, err := range p.produceOnce(ctx, again) {
			if errs[which[k]] = err; err == nil {
				*rs[which[k]] = *again[k] // topic, partition and offset
			}
		}
	}
	for i, err := range errs {
		errs[i] = failure.Classify(err)
	}
	return errs
}

// forget makes the client look up again the topics that it did not find, or not with the id that it knows.
func (p *producer) forget(rs []*kgo.Record, errs []error) {
	gone := map[string]bool{}
	for i, err := range errs {
		again := errors.Is(err, kerr.UnknownTopicID)
		if !again && !errors.Is(err, kerr.UnknownTopicOrPartition) || gone[rs[i].Topic] {
			continue
		}
		gone[rs[i].Topic] = true
		if again {
			p.log.Error("a topic was deleted and created again: the records of the old topic are gone, and sends go "+
				"to the new one", "topic", rs[i].Topic)
		}
		p.client.PurgeTopicsFromProducing(rs[i].Topic)
	}
}

// knows says whether the client has looked for a partition, and found it.
func (p *producer) knows(at wire.Partition) bool {
	leader, _, err := p.client.PartitionLeader(at.Topic, at.N)
	return leader >= 0 || err != nil // an error is one of the partition
}

// produceOnce waits for all answers, or for the end of ctx. A record without an answer by then may still be stored.
func (p *producer) produceOnce(ctx context.Context, rs []*kgo.Record) []error {
	type answer struct {
		i   int
		err error
	}
	answers := make(chan answer, len(rs)) // has room for all: the client must not block on it after ctx has ended
	for i, r := range rs {
		p.client.Produce(ctx, r, func(_ *kgo.Record, err error) { answers <- answer{i, err} })
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

// copy publishes copies to topics that the consumer of a channel owns. A missing topic is created again, once.
func (b *Backend) copy(ctx context.Context, ch driver.Channel, rs []*kgo.Record) []error {
	errs := b.producer.produce(ctx, rs)
	spec, ours := b.provisioner.wished(ch)
	var again []*kgo.Record
	var which []int
	for i, err := range errs {
		if ours && driver.ClassOf(err) == driver.NotFound {
			r := *rs[i]
			again, which = append(again, &r), append(which, i)
		}
	}
	if len(again) == 0 {
		return errs
	}
	if err := b.Ensure(ctx, spec); err != nil {
		for _, i := range which {
			errs[i] = errors.Join(errs[i], err)
		}
		return errs
	}
	for k, err := range b.producer.produce(ctx, again) {
		errs[which[k]] = err
	}
	return errs
}
