package snssqs

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/godwitmq/godwit/driver"
)

const (
	maxRetention = 14 * 24 * time.Hour // SQS's longest, and our default
	defaultLease = 30 * time.Second
)

// Ensure creates what a channel needs, or reports what is missing. It changes attributes and tags only for an owner.
// Resources that Options.Names maps, and dead letters, are only looked up.
func (b *Backend) Ensure(ctx context.Context, s driver.ChannelSpec) error {
	if err := b.open(); err != nil {
		return err
	}
	if err := b.legal(s); err != nil {
		return &driver.Error{Class: driver.Permanent, Err: err}
	}
	if s.Owner && !s.Channel.DeadLetter {
		b.remember(s)
	}
	if s.Mode == driver.Never {
		return nil
	}
	if s.Channel.DeadLetter {
		_, err := b.queueOf(ctx, s.Channel)
		return err
	}
	if b.apart.store != nil {
		if err := b.apart.store.Ensure(ctx, s.Mode); err != nil {
			return fmt.Errorf("the store of large bodies: %w", err)
		}
	}
	if _, foreign := b.mapped(s.Channel); foreign {
		return b.present(ctx, s)
	}
	if err := b.nameConflict(ctx, s.Channel); err != nil {
		return err
	}
	if s.Channel.Queue == "" {
		_, _, err := b.ensureTopic(ctx, s)
		return err
	}
	return b.ensureQueues(ctx, s)
}

// Find looks for dead letters, ordered or not. If both kinds exist, that is an error: one of them was created by
// mistake, and reading it would be useless.
func (b *Backend) Find(ctx context.Context, dead driver.Channel) (driver.Channel, error) {
	if err := b.open(); err != nil {
		return dead, err
	}
	if r, foreign := b.mapped(dead); foreign {
		// The dead letters of a FIFO queue are FIFO.
		dead.Ordered = strings.HasSuffix(cmp.Or(r.DeadLetters, r.Queue), fifoSuffix)
		_, err := b.queueOf(ctx, dead)
		return dead, err
	}
	other := dead
	other.Ordered = !dead.Ordered
	_, err := b.queueOf(ctx, dead)
	_, otherErr := b.queueOf(ctx, other)
	switch {
	case err == nil && otherErr == nil && !dead.Ordered:
		return dead, permanent("channel %s: it has two queues, an ordered one (%s) and another: "+
			"set Ordered to choose the first, or delete the queue that is not used", dead, fifoSuffix)
	case err == nil:
		return dead, nil
	case otherErr == nil:
		return other, nil
	case driver.ClassOf(err) == driver.NotFound:
		return dead, otherErr // it says more, or the same
	}
	return dead, err
}

// legal refuses, without a call, a specification that cannot be provisioned.
func (b *Backend) legal(s driver.ChannelSpec) error {
	if err := filterable(s.Channel, s.Filter); err != nil {
		return err
	}
	if _, err := filterPolicy(s.Filter, b.form(s.Channel).routing); err != nil {
		return fmt.Errorf("channel %s: %w", s.Channel, err)
	}
	if _, foreign := b.mapped(s.Channel); foreign {
		return nil
	}
	if s.Channel.Exchange != "" {
		if _, err := b.namespace.topic(s.Channel); err != nil {
			return err
		}
	}
	if s.Channel.Queue == "" {
		return nil
	}
	dead := s.Channel // has the longest name of all
	dead.DeadLetter = true
	_, err := b.namespace.queue(dead)
	return err
}

// present looks up the resources that a channel is mapped to and, for a consumer, its dead letters.
func (b *Backend) present(ctx context.Context, s driver.ChannelSpec) error {
	if s.Channel.Queue == "" {
		_, err := b.topicOf(ctx, s.Channel)
		return err
	}
	q, err := b.queueOf(ctx, s.Channel)
	if err != nil || !s.Owner {
		return err
	}
	b.warnFewReceives(s.Channel, q)
	b.warnDifferent(s, q)
	if s.NoDeadLetters {
		return nil
	}
	dead := s.Channel
	dead.DeadLetter = true
	_, err = b.queueOf(ctx, dead)
	return err
}

// ensureQueues creates a channel's queue and dead-letter queue and, for an exchange, its topic and subscription.
func (b *Backend) ensureQueues(ctx context.Context, s driver.ChannelSpec) (err error) {
	var t *topic
	there := false
	if s.Channel.Exchange != "" && s.Owner {
		if t, there, err = b.ensureTopic(ctx, s); err != nil {
			return err
		}
	}
	wanted := s
	var dead *queue
	if s.Owner && !s.NoDeadLetters {
		wanted.Channel.DeadLetter = true
		if dead, err = b.ensureQueue(ctx, wanted, roleDeadLetters, t); err != nil {
			return err
		}
	}
	q, err := b.ensureQueue(ctx, s, roleQueue, t)
	if err != nil || !s.Owner {
		return err
	}
	if err := b.ensureRedrive(ctx, s, q, dead); err != nil || !there {
		return err
	}
	return b.ensureSubscription(ctx, s, t, q, dead)
}

// ensureQueue creates one queue. If t is not nil, it may send to the queue.
func (b *Backend) ensureQueue(ctx context.Context, s driver.ChannelSpec, role string, t *topic) (*queue, error) {
	name, err := b.namespace.queue(s.Channel)
	if err != nil {
		return nil, err
	}
	wanted := attributes(s, role)
	q, err := b.find(ctx, name)
	made := false
	if driver.ClassOf(err) == driver.NotFound {
		if s.Mode == driver.Verify {
			return nil, missing(s, "queue", name, err)
		}
		if err := b.mistyped(s.Channel); err != nil {
			return nil, err
		}
		if err := b.permit(ctx, wanted, name, t); err != nil {
			return nil, err
		}
		q, made, err = b.create(ctx, name, wanted, b.tags(s, role))
	}
	if err != nil || !s.Owner && !made {
		return q, err
	}
	delete(wanted, string(types.QueueAttributeNameFifoQueue)) // it cannot be changed, and the name says it
	if s.Encryption == "" {
		wanted[string(types.QueueAttributeNameKmsMasterKeyId)] = "" // removes an existing key
	}
	statements := []statement{tlsOnly("sqs:*", q.arn())}
	if !s.Owner && q.attributes[string(types.QueueAttributeNamePolicy)] != "" {
		return q, nil // its owner has created it in the meantime
	}
	if t != nil {
		statements = append(statements, fromTopic(q.arn(), t.arn))
	}
	policy, err := merge(q.attributes[string(types.QueueAttributeNamePolicy)], statements...)
	if err != nil {
		return nil, fmt.Errorf("queue %s: %w", name, err)
	}
	wanted[string(types.QueueAttributeNamePolicy)] = policy
	if s.Mode == driver.Verify {
		return q, verify(q, s, wanted)
	}
	if err := b.change(ctx, q, wanted); err != nil || made {
		return q, err
	}
	return q, b.tag(ctx, q, b.tags(s, role))
}

// permit adds to the attributes of a new queue that its topic may send to it. If a producer creates the topic at the
// same time, it subscribes the queues that exist; messages published to a queue without this policy would be dropped.
func (b *Backend) permit(ctx context.Context, wanted map[string]string, name string, t *topic) error {
	if t == nil || t.foreign {
		return nil
	}
	id, err := b.whoami(ctx)
	if err != nil {
		return err
	}
	arn := id.arn("sqs", name)
	policy, err := merge("", tlsOnly("sqs:*", arn), fromTopic(arn, t.arn))
	wanted[string(types.QueueAttributeNamePolicy)] = policy
	return err
}

// ensureRedrive makes SQS itself move messages to the dead letters after too many receives.
func (b *Backend) ensureRedrive(ctx context.Context, s driver.ChannelSpec, q, dead *queue) error {
	wanted := map[string]string{string(types.QueueAttributeNameRedrivePolicy): ""} // removes an existing policy
	if dead != nil && s.MaxReceives > 0 {
		policy, err := json.Marshal(redrivePolicy{dead.arn(), s.MaxReceives})
		if err != nil {
			return err
		}
		wanted[string(types.QueueAttributeNameRedrivePolicy)] = string(policy)
	}
	if s.Mode == driver.Verify {
		return verify(q, s, wanted)
	}
	return b.change(ctx, q, wanted)
}

func (b *Backend) ensureSubscription(ctx context.Context, s driver.ChannelSpec, t *topic, q, dead *queue) error {
	filter, err := filterPolicy(s.Filter, b.form(s.Channel).routing)
	if err != nil {
		return err
	}
	deadARN := ""
	if dead != nil {
		deadARN = dead.arn()
	}
	if s.Mode == driver.Verify {
		return b.verifySubscription(ctx, s, t, q.arn(), deadARN, filter)
	}
	return b.subscribe(ctx, t, q.arn(), deadARN, filter)
}

// attributes returns the attributes that a queue of ours should have.
func attributes(s driver.ChannelSpec, role string) map[string]string {
	keep := s.Retention
	if role == roleDeadLetters {
		keep = s.DeadRetention
	}
	a := map[types.QueueAttributeName]string{
		types.QueueAttributeNameMessageRetentionPeriod: seconds(orDefault(keep, maxRetention)),
	}
	if role == roleQueue {
		a[types.QueueAttributeNameVisibilityTimeout] = seconds(orDefault(s.Lease, defaultLease))
		a[types.QueueAttributeNameDelaySeconds] = seconds(s.Delay + time.Second - 1) // never shorter than requested
	}
	if s.Encryption != "" {
		a[types.QueueAttributeNameKmsMasterKeyId] = s.Encryption
	} else {
		a[types.QueueAttributeNameSqsManagedSseEnabled] = "true"
	}
	if s.Channel.Ordered {
		a[types.QueueAttributeNameFifoQueue] = "true"
		a[types.QueueAttributeNameDeduplicationScope] = "queue"
		a[types.QueueAttributeNameFifoThroughputLimit] = "perQueue"
		if s.HighThroughput {
			a[types.QueueAttributeNameDeduplicationScope] = "messageGroup"
			a[types.QueueAttributeNameFifoThroughputLimit] = "perMessageGroupId"
		}
	}
	out := make(map[string]string, len(a))
	for name, value := range a {
		out[string(name)] = value
	}
	return out
}

type redrivePolicy struct {
	DeadLetterTargetArn string `json:"deadLetterTargetArn"`
	MaxReceiveCount     int    `json:"maxReceiveCount"`
}

// parseRedrive reads a redrive policy, in which the number may also be a string.
func parseRedrive(text string) (p redrivePolicy, ok bool) {
	var raw struct {
		DeadLetterTargetArn string `json:"deadLetterTargetArn"`
		MaxReceiveCount     any    `json:"maxReceiveCount"`
	}
	if json.Unmarshal([]byte(text), &raw) != nil {
		return p, false
	}
	n, err := strconv.Atoi(fmt.Sprint(raw.MaxReceiveCount))
	return redrivePolicy{raw.DeadLetterTargetArn, n}, err == nil
}

// missing returns the error for a resource that does not exist and may not be created.
func missing(s driver.ChannelSpec, kind, name string, found error) error {
	return &driver.Error{
		Class: driver.NotFound,
		Err: fmt.Errorf("channel %s: %s %s does not exist, and Provision is set to verify only: create it, or let "+
			"Godwit "+
			"provision it: %w", s.Channel, kind, name, found),
	}
}

// verify compares a queue with its specification, for an owner that may not change it.
func verify(q *queue, s driver.ChannelSpec, wanted map[string]string) error {
	return differing(s, "queue "+q.name, wanted, func(name, value string) (string, bool) {
		return q.attributes[name], sameAttribute(name, q.attributes[name], value)
	})
}

// differing names every attribute that differs.
func differing(s driver.ChannelSpec, what string, wanted map[string]string,
	same func(name, value string) (is string, ok bool),
) error {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		if is, ok := same(name, wanted[name]); !ok {
			errs = append(errs, fmt.Errorf("%s is %q and should be %q", name, is, wanted[name]))
		}
	}
	if len(errs) == 0 {
		return nil
	}
	return permanent("channel %s: %s differs, and this only verifies: %w", s.Channel, what, errors.Join(errs...))
}

func seconds(d time.Duration) string { return strconv.Itoa(int(d / time.Second)) }

func orDefault(d, def time.Duration) time.Duration {
	if d == 0 {
		return def
	}
	return d
}
