package snssqs

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/backoff"
	"github.com/godwitmq/godwit/snssqs/internal/client"
)

// sidPause is the statement of a queue's policy that pauses the queue. Its name is part of the interface: other
// programs may add and remove it.
const sidPause = sidPrefix + "Pause"

const (
	// pauseTries is how often a pause is written if other programs write the policy at the same time.
	pauseTries = 5
	// spreads is how long SQS may take until a changed attribute is seen everywhere.
	spreads = time.Minute
)

// pauseOf is the statement that pauses a queue: it denies every receive, whoever makes it.
func pauseOf(queueARN string) statement {
	return statement{
		"Sid": sidPause, "Effect": "Deny", "Principal": "*", "Action": "sqs:ReceiveMessage", "Resource": queueARN,
	}
}

// paused reports whether a policy has the statement of a pause.
func paused(policy string) bool {
	p, err := readPolicy(policy)
	return err == nil && p.pause() >= 0
}

// Pause denies receives from a channel's queue by a statement of the queue's policy, and leaves the other statements as
// they are. A poll that is open may still return messages. On AWS the change takes up to a minute.
func (b *Backend) Pause(ctx context.Context, ch driver.Channel, dry bool) (changes bool, err error) {
	return b.setPaused(ctx, ch, true, dry)
}

// Resume removes the statement.
func (b *Backend) Resume(ctx context.Context, ch driver.Channel, dry bool) (changes bool, err error) {
	return b.setPaused(ctx, ch, false, dry)
}

func (b *Backend) setPaused(ctx context.Context, ch driver.Channel, on, dry bool) (changes bool, err error) {
	if err := b.clients.Open(); err != nil {
		return false, err
	}
	if ch.Queue == "" {
		return false, client.Permanent("channel %s: an exchange is not received from: pause or resume its queues", ch)
	}
	if _, foreign := b.mapped(ch); foreign {
		return false, client.Permanent("channel %s: its queue is one of Options.Names, and Godwit never changes it: add the "+
			"statement %s to its policy, or remove it, yourself", ch, sidPause)
	}
	q, err := b.queueOf(ctx, ch)
	if err != nil || dry || paused(q.policy()) == on {
		return err == nil && paused(q.policy()) != on, err
	}
	// SQS has no conditional write. What another program writes between our read and our write is lost, so they follow
	// each other at once; what it writes after ours is read, and the statement is added to that.
	for range pauseTries {
		before := q.policy()
		if err := b.writePause(ctx, q, on); err != nil {
			return false, err
		}
		if err := b.readBack(ctx, q, before); err != nil {
			return true, err
		}
		if paused(q.policy()) == on {
			return true, nil
		}
	}
	return true, &driver.Error{Class: driver.Transient, Err: fmt.Errorf("queue %s: its policy was changed by another "+
		"program after each of %d writes: stop that program, or try again", q.name, pauseTries)}
}

// writePause writes the policy of a queue that was just read, with or without the statement.
func (b *Backend) writePause(ctx context.Context, q *queue, on bool) error {
	policy, err := q.policyWithPause(on)
	if err != nil {
		return fmt.Errorf("queue %s: %w", q.name, err)
	}
	if _, err := b.clients.SQS.SetQueueAttributes(ctx, &sqs.SetQueueAttributesInput{
		QueueUrl: &q.url, Attributes: map[string]string{string(types.QueueAttributeNamePolicy): policy},
	}); err != nil {
		return fmt.Errorf("queue %s: set its policy: %w", q.name,
			client.Failed(err, "sqs:SetQueueAttributes"))
	}
	return nil
}

func (q *queue) policyWithPause(on bool) (string, error) {
	if q.policy() == "" {
		return merge("", pauseOf(q.arn())) // without a policy there is nothing to remove
	}
	p, err := readPolicy(q.policy())
	if err != nil {
		return "", client.Permanent("%w: repair it first", err)
	}
	if on {
		return p.with(pauseOf(q.arn()))
	}
	return p.without(p.pause()), nil
}

// readBack reads a queue's policy until it is not the one from before a write any more.
func (b *Backend) readBack(ctx context.Context, q *queue, before string) error {
	for since := time.Now(); ; {
		if err := b.load(ctx, q); err != nil {
			return err
		}
		if q.policy() != before {
			return nil
		}
		if time.Since(since) > spreads {
			return &driver.Error{Class: driver.Transient, Err: fmt.Errorf("queue %s: its policy was written, and is "+
				"still the old one after %v: look at it later, and try again unless it has changed", q.name, spreads)}
		}
		if err := backoff.Sleep(ctx, time.Second); err != nil {
			return err
		}
	}
}

// denied returns the error of a failed poll. If the service denied it because the queue is paused, that is
// driver.ErrPaused.
func (r *receiver) denied(ctx context.Context, err error) error {
	if driver.ClassOf(err) != driver.Denied {
		return err
	}
	q := *r.queue // the receiver's own is not locked
	if r.b.load(ctx, &q) != nil || !paused(q.policy()) {
		return err
	}
	return &driver.Error{Class: driver.Transient, Err: fmt.Errorf("%w: the policy of queue %s has the statement %s: "+
		"end it with `godwit resume %s`", driver.ErrPaused, q.name, sidPause, r.From)}
}
