package kafka

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/offsets"
	"github.com/godwitmq/godwit/kafka/internal/deadletter"
	"github.com/godwitmq/godwit/kafka/internal/failure"
	"github.com/godwitmq/godwit/kafka/internal/wire"
)

// publish publishes dead letters to their original topics, and commits that. A letter that is refused permanently
// stays, and the run continues; a temporary error ends the run.
func (r *redrive) publish(ctx context.Context, batch []letter) error {
	var chosen []letter
	var copies []*kgo.Record
	for _, l := range batch {
		c, err := r.restored(ctx, l.record)
		switch {
		case err == nil:
			chosen, copies = append(chosen, l), append(copies, c)
		case driver.ClassOf(err).Passing() || failure.Over(ctx):
			return err
		default:
			r.refuse(l, err)
		}
	}
	var failed error
	for i, err := range r.b.producer.produce(ctx, copies) {
		switch {
		case err == nil:
			chosen[i].log.tracker.Finish(chosen[i].seq)
			r.report.Moved++
			r.report.To[copies[i].Topic]++
		case driver.ClassOf(err).Passing() || failure.Over(ctx):
			r.report.Left++
			failed = fmt.Errorf("publish a dead letter of %s to topic %s: %w", r.ch, copies[i].Topic, err)
		default:
			r.refuse(chosen[i], err)
		}
	}
	return errors.Join(failed, r.commit(ctx, false))
}

// restored is the record that a dead letter is published as; the error says why it cannot be.
func (r *redrive) restored(ctx context.Context, rec *kgo.Record) (*kgo.Record, error) {
	c := &kgo.Record{
		Topic: r.b.names.Topic(r.ch), Key: rec.Key, Value: rec.Value,
		Headers: deadletter.WithoutDeath(rec.Headers),
	}
	if topic, ok := deadletter.TopicOf(rec.Headers); ok {
		c.Topic = topic
	}
	if c.Topic == r.topic.name {
		return nil, failure.Permanent("its headers name the dead letters' own topic as its origin")
	}
	err, known := r.targets[c.Topic]
	if !known {
		if _, err = r.b.topics.find(ctx, c.Topic); err == nil {
			err = r.b.topics.learnLimit(ctx, c.Topic)
		}
		if err != nil && driver.ClassOf(err).Passing() {
			return nil, err
		}
		r.targets[c.Topic] = err
	}
	return c, err
}

func (r *redrive) refuse(l letter, err error) {
	r.report.Left++
	if r.refused == nil {
		at := wire.AppendPosition(nil, l.record.Topic, l.record.Partition, l.record.Offset)
		r.refused = fmt.Errorf("dead letter %s stays: %w", at, err)
	}
}

// commit commits which letters were moved. The first commit changes nothing: it finds out, before any letter is
// published, whether the group accepts commits.
func (r *redrive) commit(ctx context.Context, first bool) error {
	// Published letters are committed even if the caller's context has ended.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), commitPatience)
	defer cancel()
	for try := 1; ; try++ {
		told := map[int32]offsets.Commit{}
		all := kadm.Offsets{}
		for n, g := range r.logs {
			c, changed := g.tracker.Commit()
			if first {
				c.Epoch = g.epoch
			}
			if changed || first {
				told[n] = c
				all.Add(kadm.Offset{
					Topic: r.topic.name, TopicID: r.topic.id, Partition: n, At: c.Offset,
					LeaderEpoch: c.Epoch, Metadata: c.Metadata,
				})
			}
		}
		if len(told) == 0 {
			return nil
		}
		answers, err := r.b.admin.CommitOffsets(ctx, r.group, all)
		if err != nil {
			return fmt.Errorf("commit for group %s: %w", r.group, failure.Classify(err))
		}
		tooLarge, err := r.committed(told, answers)
		if !tooLarge || try == commitTries {
			return err
		}
	}
}

func (r *redrive) committed(told map[int32]offsets.Commit, answers kadm.OffsetResponses) (tooLarge bool, err error) {
	for n, c := range told {
		a, ok := answers.Lookup(r.topic.name, n)
		switch {
		case !ok:
			err = failure.Permanent("commit partition %d of topic %s for group %s: no answer", n, r.topic.name, r.group)
		case a.Err == nil:
			r.logs[n].tracker.Committed(c)
		case errors.Is(a.Err, kerr.OffsetMetadataTooLarge):
			r.logs[n].tracker.Shorten()
			tooLarge = true
		case errors.Is(a.Err, kerr.UnknownMemberID), errors.Is(a.Err, kerr.RebalanceInProgress),
			errors.Is(a.Err, kerr.IllegalGeneration), errors.Is(a.Err, kerr.StaleMemberEpoch):
			err = failure.Permanent("a consumer of %s is running, and would also handle the moved letters: stop it "+
				"first (group %s: %w)", r.ch, r.group, a.Err)
		default:
			err = fmt.Errorf("commit partition %d of topic %s for group %s: %w", n, r.topic.name, r.group,
				failure.Classify(a.Err))
		}
	}
	return tooLarge, err
}
