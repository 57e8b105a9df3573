package operate

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/backoff"
	"github.com/godwitmq/godwit/snssqs/internal/client"
	"github.com/godwitmq/godwit/snssqs/internal/estate"
)

const (
	// pauseTries is how often a pause is written if other programs write the policy at the same time.
	pauseTries = 5
	// spreads is how long SQS may take until a changed attribute is seen everywhere.
	spreads = time.Minute
)

// SetPaused pauses or resumes a channel's queue, and reports whether that changes anything; dry: it only reports.
func SetPaused(ctx context.Context, e *estate.Estate, ch driver.Channel, on, dry bool) (changes bool, err error) {
	if err := e.Clients.Open(); err != nil {
		return false, err
	}
	if ch.Queue == "" {
		return false, client.Permanent("channel %s: an exchange is not received from: pause or resume its queues", ch)
	}
	if _, foreign := e.Mapping(ch); foreign {
		return false, client.Permanent("channel %s: its queue is one of Options.Names, and Godwit never changes it: add the "+
			"statement %s to its policy, or remove it, yourself", ch, estate.PauseSid)
	}
	q, err := e.Queues.Of(ctx, ch)
	if err != nil || dry || q.Paused() == on {
		return err == nil && q.Paused() != on, err
	}
	// SQS has no conditional write. What another program writes between our read and our write is lost, so they follow
	// each other at once; what it writes after ours is read, and the statement is added to that.
	for range pauseTries {
		before := q.Policy()
		if err := writePause(ctx, e, q, on); err != nil {
			return false, err
		}
		if err := readBack(ctx, e, q, before); err != nil {
			return true, err
		}
		if q.Paused() == on {
			return true, nil
		}
	}
	return true, client.Transient("queue %s: its policy was changed by another "+
		"program after each of %d writes: stop that program, or try again", q.Name, pauseTries)
}

// writePause writes the policy of a queue that was just read, with or without the statement.
func writePause(ctx context.Context, e *estate.Estate, q *estate.Queue, on bool) error {
	policy, err := q.PolicyWithPause(on)
	if err != nil {
		return fmt.Errorf("queue %s: %w", q.Name, err)
	}
	if _, err := e.Clients.SQS.SetQueueAttributes(ctx, &sqs.SetQueueAttributesInput{
		QueueUrl: &q.URL, Attributes: map[string]string{string(types.QueueAttributeNamePolicy): policy},
	}); err != nil {
		return fmt.Errorf("queue %s: set its policy: %w", q.Name, client.Failed(err, "sqs:SetQueueAttributes"))
	}
	return nil
}

// readBack reads a queue's policy until it is not the one from before a write any more.
func readBack(ctx context.Context, e *estate.Estate, q *estate.Queue, before string) error {
	for since := time.Now(); ; {
		if err := e.Queues.Load(ctx, q); err != nil {
			return err
		}
		if q.Policy() != before {
			return nil
		}
		if time.Since(since) > spreads {
			return client.Transient("queue %s: its policy was written, and is "+
				"still the old one after %v: look at it later, and try again unless it has changed", q.Name, spreads)
		}
		if err := backoff.Sleep(ctx, time.Second); err != nil {
			return err
		}
	}
}
