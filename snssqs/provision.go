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
	maxRetention = 14 * 24 * time.Hour // SQS's longest, and ours unless less is asked for
	defaultLease = 30 * time.Second
)

// Ensure makes what a channel needs, or says what is missing. It changes attributes and tags only for an owner. What is
// mapped by Options.Names is only looked for, and so are dead letters.
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
	if _, foreign := b.mapped(s.Channel); foreign {
		return b.present(ctx, s)
	}
	if err := b.clash(ctx, s.Channel); err != nil {
		return err
	}
	if s.Channel.Queue == "" {
		_, _, err := b.ensureTopic(ctx, s)
		return err
	}
	return b.ensureQueues(ctx, s)
}

// Find looks for dead letters, of either kind. Where both exist, one of them was made by mistake and would be read
// for nothing.
func (b *Backend) Find(ctx context.Context, dead driver.Channel) (driver.Channel, error) {
	if err := b.open(); err != nil {
		return dead, err
	}
	if r, foreign := b.mapped(dead); foreign {
		dead.Ordered = strings.HasSuffix(cmp.Or(r.DeadLetters, r.Queue),
			fifoSuffix) // a FIFO queue has FIFO dead letters
		_, err := b.queueOf(ctx, dead)
		return dead, err
	}
	other := dead
	other.Ordered = !dead.Ordered
	_, err := b.queueOf(ctx, dead)
	_, otherErr := b.queueOf(ctx, other)
	switch {
	case err == nil && otherErr == nil && !dead.Ordered:
		return dead, permanent("channel %s: there are two queues for it, ordered (%s) and not: "+
			"say Ordered for the first, or delete the one that nobody fills", dead, fifoSuffix)
	case err == nil:
		return dead, nil
	case otherErr == nil:
		return other, nil
	case driver.ClassOf(err) == driver.NotFound:
		return dead, otherErr // it says more, or the same
	}
	return dead, err
}

// legal refuses, without a call, what could not be made.
func (b *Backend) legal(s driver.ChannelSpec) error {
	if err := filterable(s.Channel, s.Filter); err != nil {
		return err
	}
	if _, err := filterPolicy(s.Filter, b.routing(s.Channel)); err != nil {
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
	dead := s.Channel // the longest name of all
	dead.DeadLetter = true
	_, err := b.namespace.queue(dead)
	return err
}

// present looks for what a channel is mapped to, and for a consumer's dead letters as well.
func (b *Backend) present(ctx context.Context, s driver.ChannelSpec) error {
	if s.Channel.Queue == "" {
		_, err := b.topicOf(ctx, s.Channel)
		return err
	}
	q, err := b.queueOf(ctx, s.Channel)
	if err != nil || !s.Owner {
		return err
	}
	b.warnScarce(s.Channel, q)
	if s.NoDeadLetters {
		return nil
	}
	dead := s.Channel
	dead.DeadLetter = true
	_, err = b.queueOf(ctx, dead)
	return err
}

// ensureQueues makes a channel's queue and dead-letter queue, and for an exchange its topic and the subscription.
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

// ensureQueue makes one queue; t may send to it, if there is a t.
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
	delete(wanted, string(types.QueueAttributeNameFifoQueue)) // cannot be changed, and the name says it
	if s.Encryption == "" {
		wanted[string(types.QueueAttributeNameKmsMasterKeyId)] = "" // one that was there gives way
	}
	statements := []statement{tlsOnly("sqs:*", q.arn())}
	if !s.Owner && q.attributes[string(types.QueueAttributeNamePolicy)] != "" {
		return q, nil // its owner was there in the meantime
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

// permit puts into the attributes of a queue to be made that its topic may send to it. A producer that makes the topic
// meanwhile subscribes what queues it sees: until a queue's policy is there, what is published is accepted and lost.
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

// ensureRedrive makes SQS itself move messages that are received too often to the dead letters.
func (b *Backend) ensureRedrive(ctx context.Context, s driver.ChannelSpec, q, dead *queue) error {
	wanted := map[string]string{string(types.QueueAttributeNameRedrivePolicy): ""} // one that was there goes
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
	filter, err := filterPolicy(s.Filter, b.routing(s.Channel))
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

// attributes are what a queue of ours should have.
func attributes(s driver.ChannelSpec, role string) map[string]string {
	a := map[types.QueueAttributeName]string{
		types.QueueAttributeNameMessageRetentionPeriod: seconds(orDefault(s.Retention, maxRetention)),
	}
	if role == roleQueue {
		a[types.QueueAttributeNameVisibilityTimeout] = seconds(orDefault(s.Lease, defaultLease))
		a[types.QueueAttributeNameDelaySeconds] = seconds(s.Delay + time.Second - 1) // a delay is never shorter than asked for
	}
	if s.Encryption != "" {
		a[types.QueueAttributeNameKmsMasterKeyId] = s.Encryption
	} else {
		a[types.QueueAttributeNameSqsManagedSseEnabled] = "true"
	}
	if s.Channel.Ordered {
		a[types.QueueAttributeNameFifoQueue] = "true"
		a[types.QueueAttributeNameDeduplicationScope], a[types.QueueAttributeNameFifoThroughputLimit] = "queue", "perQueue"
		if s.HighThroughput {
			a[types.QueueAttributeNameDeduplicationScope], a[types.QueueAttributeNameFifoThroughputLimit] = "messageGroup", "perMessageGroupId"
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

// parseRedrive reads a policy in which the number may also be text.
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

// missing is the error of what does not exist and may not be made.
func missing(s driver.ChannelSpec, kind, name string, found error) error {
	return &driver.Error{
		Class: driver.NotFound,
		Err: fmt.Errorf("channel %s: %s %s does not exist, and this only verifies: create it, or let Godwit "+
			"provision it: %w", s.Channel, kind, name, found),
	}
}

// verify compares a queue with what is wanted, for an owner who may not change it.
func verify(q *queue, s driver.ChannelSpec, wanted map[string]string) error {
	return differing(s, "queue "+q.name, wanted, func(name, value string) (string, bool) {
		return q.attributes[name], sameAttribute(name, q.attributes[name], value)
	})
}

// differing names everything that is not as it is wanted.
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
