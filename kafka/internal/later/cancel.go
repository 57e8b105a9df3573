package later

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/backoff"
	"github.com/godwitmq/godwit/kafka/internal/cluster"
	"github.com/godwitmq/godwit/kafka/internal/failure"
	"github.com/godwitmq/godwit/kafka/internal/provision"
	"github.com/godwitmq/godwit/kafka/internal/send"
	"github.com/godwitmq/godwit/kafka/internal/wire"
)

const (
	// claimsFrom is how long before its time a message may be claimed at most: no waker's clock is wrong by more, as it
	// compares it with that of the brokers. An earlier claim does not count.
	claimsFrom = 10 * time.Minute
	// outlives is how long after its time a message is decided by what is in the log. Later it is too late.
	outlives = 28 * 24 * time.Hour
	// decisionsFor is how long claims and cancels are kept, with a margin for the clocks of senders.
	decisionsFor = outlives + 14*24*time.Hour
)

// counts reports whether a claim counts. Its value is the time of its message.
func counts(claim *kgo.Record) bool {
	due, err := strconv.ParseInt(string(claim.Value), 10, 64)
	return err == nil && !claim.Timestamp.Before(time.UnixMilli(due).Add(-claimsFrom))
}

// Canceller ends the wait of messages: it cancels them, or has them sent on before their time. It needs no waker.
type Canceller struct {
	Target  string // the channel's topic
	Group   string // of its wakers, and the topic in which its messages wait
	Cluster *cluster.Cluster
	Topics  *provision.LaterTopics
	Produce *send.Producer
}

// Cancel appends a cancel, and reads up to it: the message is cancelled unless a claim of a waker stands before it.
// After an error the answer is unknown.
func (c *Canceller) Cancel(ctx context.Context, to driver.Channel, text string) (bool, error) {
	id, ok := wire.ParseCancelID(text)
	if !ok {
		return false, failure.Permanent("%q is not the id of a message that can be cancelled: it is in the receipt of "+
			"the message", text)
	}
	own, err := c.Cluster.Find(ctx, c.Target)
	switch {
	case err != nil:
		return false, err
	case id.Place != wire.Place(own.Cluster, c.Group):
		return false, elsewhere(text, to)
	case time.Since(time.Unix(id.Due, 0)) > outlives: // or it was sent at once
		return false, nil
	}
	topic, err := c.Topics.Known(ctx, to)
	if err != nil {
		return false, err
	}
	if int(id.Partition) >= topic.Partitions {
		return false, elsewhere(text, to)
	}
	cancel := &kgo.Record{
		Topic: topic.Name, Partition: id.Partition, Key: wire.Cancel(id.ID), Value: []byte{},
	}
	if err := c.Produce.Produce(ctx, []*kgo.Record{cancel})[0]; err != nil {
		return false, fmt.Errorf("cancel a message of %s: %w", to, err)
	}
	for try := cluster.Try(); ; {
		cancelled, err := c.decided(ctx, topic, &id, cancel.Offset)
		if !try.Again(ctx, &err) {
			return cancelled, err
		}
		if topic, err = c.Topics.Known(ctx, to); err != nil { // the leader may be another one
			return false, err
		}
	}
}

func elsewhere(id string, to driver.Channel) error {
	return failure.Permanent("%q is the id of a message of another channel, namespace or cluster, and not of %s", id,
		to)
}

// decided reads the log from where a claim may be up to the cancel at an offset. Claims and cancels are in no
// transaction, so that nothing holds up the reading.
func (c *Canceller) decided(
	ctx context.Context, topic cluster.Topic, id *wire.CancelID, end int64,
) (cancelled bool, err error) {
	first, err := look(ctx, c.Cluster, topic, id.Partition, id.Offset)
	if err != nil && !errors.Is(err, kerr.OffsetOutOfRange) {
		return false, err
	}
	from := id.Offset
	if len(first) > 0 && first[0].Offset == id.Offset {
		claims := wire.WaitsUntil(first[0]).Add(-claimsFrom)
		after, err := c.Cluster.Offsets(ctx, cluster.After(claims), topic.Name)
		if err != nil {
			return false, err
		}
		switch at, ok := after.Lookup(topic.Name, id.Partition); {
		case ok && (at.Offset < 0 || at.Offset > end):
			return true, nil // the cancel is older than any claim can be
		case ok:
			from = max(from, at.Offset)
		}
	}
	known := false
	err = c.read(ctx, topic, id.Partition, from, end, func(r *kgo.Record) bool {
		one, cancels, ok := wire.Decision(r.Key)
		if ok && one == id.ID && r.Value != nil && (cancels || counts(r)) {
			cancelled, known = cancels, true
		}
		return known
	})
	if err == nil && !known {
		err = &driver.Error{Class: driver.Transient, Err: errors.New("the cancel is not in the log")}
	}
	return cancelled, err
}

// read visits the records of a partition from an offset up to another one, until visit has seen enough.
func (c *Canceller) read(
	ctx context.Context, topic cluster.Topic, n int32, from, end int64, visit func(r *kgo.Record) (enough bool),
) error {
	for empty := 0; from <= end; {
		rs, err := look(ctx, c.Cluster, topic, n, from)
		switch {
		case errors.Is(err, kerr.OffsetOutOfRange):
			starts, serr := c.Cluster.Offsets(ctx, cluster.Start, topic.Name)
			start, _ := starts.Lookup(topic.Name, n)
			if serr != nil || start.Offset <= from {
				return errors.Join(failure.Classify(err), serr)
			}
			from = start.Offset
			continue
		case err != nil:
			return err
		case len(rs) == 0:
			if empty++; empty > emptyMost {
				return &driver.Error{Class: driver.Transient, Err: fmt.Errorf(
					"the broker sends no record from offset %d of partition %d on", from, n)}
			}
			_ = backoff.Sleep(ctx, again.Wait(empty))
			continue
		}
		for _, r := range rs {
			if from = r.Offset + 1; r.Offset > end || visit(r) {
				return nil
			}
		}
	}
	return nil
}

// look reads records of a partition from an offset on, also those of open transactions.
func look(ctx context.Context, c *cluster.Cluster, t cluster.Topic, n int32, from int64) ([]*kgo.Record, error) {
	parts, err := c.Fetch(ctx, t, t.Leaders[n], &cluster.Fetch{From: map[int32]int64{n: from}, Bytes: fetchBytes})
	if err != nil || len(parts) != 1 {
		return nil, failure.Classify(err)
	}
	got, _ := kgo.ProcessFetchPartition(
		kgo.ProcessFetchPartitionOpts{Topic: t.Name, Partition: n, Offset: from}, &parts[0], codec, nil)
	return got.Records, failure.Classify(got.Err)
}
