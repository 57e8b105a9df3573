package later

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka/internal/cluster"
	"github.com/godwitmq/godwit/kafka/internal/failure"
	"github.com/godwitmq/godwit/kafka/internal/wire"
)

// SendNow has a message sent on before its time. It appends a claim that ends the wait, and reads up to it: the message
// is sent on, unless it was cancelled or sent before. Wakers read the claim as one of their own, so that a message is
// sent once. After an error the answer is unknown.
func (c *Canceller) SendNow(ctx context.Context, to driver.Channel, text string) (bool, error) {
	topic, err := c.Topics.Known(ctx, to)
	if err != nil {
		return false, err
	}
	r, err := c.waiting(ctx, topic, to, text)
	if r == nil || err != nil {
		return false, err
	}
	id, _ := wire.ParseLaterID(r.Key)
	due := wire.WaitsUntil(r)
	early := failure.Permanent("message %s can be cancelled and is due at %s, and a cancel does not look for claims more "+
		"than %v before that: send it on then, or cancel it, and send another one", text,
		due.UTC().Format(time.RFC3339), claimsFrom)
	value := "0" // nobody cancels it, so that the claim counts at any time
	if wire.Cancellable(r) {
		if time.Until(due) > claimsFrom+time.Minute {
			return false, early
		}
		value = strconv.FormatInt(due.UnixMilli(), 10)
	}
	claim := &kgo.Record{Topic: topic.Name, Partition: r.Partition, Key: wire.Claim(id), Value: []byte(value)}
	wire.EndWait(claim)
	if err := c.Produce.Produce(ctx, []*kgo.Record{claim})[0]; err != nil {
		return false, fmt.Errorf("send on a message of %s: %w", to, err)
	}
	for try := cluster.Try(); ; {
		sends, counted := true, false
		err := c.read(ctx, topic, r.Partition, r.Offset, claim.Offset, func(one *kgo.Record) bool {
			if waits, ok := wire.ParseLaterID(one.Key); ok && waits == id && one.Value == nil {
				sends, counted = false, true
			}
			of, cancels, ok := wire.Decision(one.Key)
			if ok && of == id && one.Value != nil {
				counted = counted || cancels || counts(one)
				sends = sends && !cancels
			}
			return !sends
		})
		switch {
		case try.Again(ctx, &err):
		case err != nil:
			return false, err
		case !counted: // by the brokers' clock it is too early, too
			return false, early
		default:
			return sends, nil
		}
		if topic, err = c.Topics.Known(ctx, to); err != nil { // the leader may be another one
			return false, err
		}
	}
}

// waiting is the record of a message, by its id; nil: the log does not have it any more.
func (c *Canceller) waiting(ctx context.Context, topic cluster.Topic, to driver.Channel, text string) (
	*kgo.Record, error,
) {
	at, ok := wire.ParseHome(text)
	if ok && at.Topic != topic.Name {
		return nil, elsewhere(text, to)
	}
	id, cancellable := wire.ParseCancelID(text)
	if !ok && !cancellable {
		return nil, failure.Permanent("%q is not the id of a message that waits for its time: godwit later ls shows the ids",
			text)
	}
	if cancellable {
		if id.Place != wire.Place(topic.Cluster, c.Group) {
			return nil, elsewhere(text, to)
		}
		at.N, at.Offset = id.Partition, id.Offset
		if id.Due == 0 {
			return nil, nil // it was sent at once
		}
	}
	ends, err := c.Cluster.Offsets(ctx, cluster.End, topic.Name)
	if err != nil {
		return nil, err
	}
	if end, there := ends.Lookup(topic.Name, at.N); !there || at.Offset < 0 || at.Offset >= end.Offset {
		return nil, elsewhere(text, to)
	}
	rs, err := Records(ctx, c.Cluster, topic, []Message{{Partition: at.N, Offset: at.Offset}})
	if err != nil || len(rs) == 0 {
		return nil, err
	}
	if !IsWaiting(rs[0]) || cancellable && string(rs[0].Key) != id.ID.String() {
		return nil, elsewhere(text, to)
	}
	return rs[0], nil
}
