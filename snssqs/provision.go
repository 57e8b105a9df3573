package snssqs

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/snssqs/internal/client"
	"github.com/godwitmq/godwit/snssqs/internal/wire"
)

const defaultLease = 30 * time.Second

// Ensure creates what a channel needs, or reports what is missing. It changes attributes and tags only for an owner.
// Resources that Options.Names maps, and dead letters, are only looked up.
func (b *Backend) Ensure(ctx context.Context, s driver.ChannelSpec) error {
	if err := b.clients.Open(); err != nil {
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
	if s.Mode == driver.Verify {
		differ, err := planner{b: b}.plan(ctx, []driver.ChannelSpec{s})
		return cmp.Or(err, errorOf(s, differ))
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
	if err := b.clients.Open(); err != nil {
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
		return dead, client.Permanent("channel %s: it has two queues, an ordered one (%s) and another: "+
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
	if err := wire.Filterable(s.Channel, s.Filter); err != nil {
		return err
	}
	if _, err := wire.FilterPolicy(s.Filter, b.form(s.Channel).Routing); err != nil {
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
	letters := s
	letters.Channel.DeadLetter = true
	var q, dead *queue
	var topology string
	n := 1
	if s.Owner && !s.NoDeadLetters {
		n = 2
	}
	err = client.Concurrently(n, n, func(i int) (err error) {
		if i == 0 {
			q, topology, err = b.ensureQueue(ctx, s, roleQueue, t)
		} else {
			dead, _, err = b.ensureQueue(ctx, letters, roleDeadLetters, t)
		}
		return err
	})
	if err != nil {
		return err
	}
	if !s.Owner {
		b.mu.Lock()
		b.ensured[s.Channel] = q
		b.mu.Unlock()
		return nil
	}
	if topology != "" {
		s = b.declared(ctx, s, topology)
	} else if err := b.ensureRedrive(ctx, s, q, dead); err != nil {
		return err
	}
	if !there {
		return nil
	}
	return b.ensureSubscription(ctx, s, t, q, dead)
}

// declared records that a topology has declared the channel of a consumer, and logs once how that differs from the
// consumer's options. It returns the specification with the tag, by which later checks know it.
func (b *Backend) declared(ctx context.Context, s driver.ChannelSpec, topology string) driver.ChannelSpec {
	s.Tags = maps.Clone(s.Tags)
	if s.Tags == nil {
		s.Tags = map[string]string{}
	}
	s.Tags[driver.TagTopology] = topology
	b.remember(s)
	if !b.differing.first(s.Channel) {
		return s
	}
	differ, err := planner{b: b}.plan(ctx, []driver.ChannelSpec{s})
	var said []string
	for _, d := range differ {
		said = append(said, fmt.Sprintf("%s of %s %s is %q, and the options ask for %q", d.Attribute, d.Resource,
			d.Name, d.From, d.To))
	}
	switch {
	case err != nil:
		b.log.Warn("the channel cannot be compared with its topology", "channel", s.Channel.String(), "error", err)
	case len(said) > 0:
		b.log.Warn("the consumer's options differ from what a topology has declared, which stays: change one of them, or "+
			"set Provision to ProvisionDeclare", "channel", s.Channel.String(), "topology", topology,
			"differences", strings.Join(said, "; "))
	}
	return s
}

// ensureQueue creates one queue. If t is not nil, it may send to the queue. It returns the topology that has declared
// the queue, which then stays as it is; "": none, or the specification is a topology's.
func (b *Backend) ensureQueue(ctx context.Context, s driver.ChannelSpec, role string, t *topic) (q *queue,
	topology string, err error,
) {
	name, err := b.namespace.queue(s.Channel)
	if err != nil {
		return nil, "", err
	}
	q, tags, err := b.findTagged(ctx, name, s.Owner)
	made := false
	if driver.ClassOf(err) == driver.NotFound {
		if err := b.mistyped(s.Channel); err != nil {
			return nil, "", err
		}
		wanted := attributes(s, role)
		if err := b.permit(ctx, wanted, name, t); err != nil {
			return nil, "", err
		}
		q, made, err = b.create(ctx, name, wanted, b.tags(s, role))
		if err == nil && !made && s.Owner {
			tags, err = tagsOf(ctx, b.clients.SQS, q)
		}
	}
	if err != nil || !s.Owner && (!made || q.policy() != "") {
		return q, "", err // a queue with a policy is one that its owner has created in the meantime
	}
	if !made {
		switch {
		case s.Mode == driver.Declare && tags[tagManaged] != managedByGodwit:
			return nil, "", notOurs(s.Channel, "queue "+q.name)
		case s.Mode == driver.Auto && tags[driver.TagTopology] != "":
			return q, tags[driver.TagTopology], nil
		}
	}
	topicARN := ""
	if t != nil {
		topicARN = t.arn
	}
	wanted, err := queueSettings(s, role, q, topicARN)
	if err != nil {
		return nil, "", err
	}
	if err := b.change(ctx, q, wanted, s.Mode); err != nil || made {
		return q, "", err
	}
	return q, "", tagQueue(ctx, b.clients.SQS, q, tags, b.tags(s, role))
}

// permit adds to the attributes of a new queue that its topic may send to it. If a producer creates the topic at the
// same time, it subscribes the queues that exist; messages published to a queue without this policy would be dropped.
func (b *Backend) permit(ctx context.Context, wanted map[string]string, name string, t *topic) error {
	if t == nil || t.foreign {
		return nil
	}
	id, err := b.account.whoami(ctx)
	if err != nil {
		return err
	}
	arn := id.arn("sqs", name)
	policy, err := merge("", tlsOnly("sqs:*", arn), fromTopic(arn, t.arn))
	wanted[string(types.QueueAttributeNamePolicy)] = policy
	return err
}

func (b *Backend) ensureRedrive(ctx context.Context, s driver.ChannelSpec, q, dead *queue) error {
	arn := ""
	if dead != nil {
		arn = dead.arn()
	}
	wanted, err := redriveAttribute(s, arn)
	if err != nil {
		return err
	}
	return b.change(ctx, q, wanted, s.Mode)
}

// ensureSubscription subscribes a queue. A subscription that a topology has declared stays as it is.
func (b *Backend) ensureSubscription(ctx context.Context, s driver.ChannelSpec, t *topic, q, dead *queue) error {
	filter, err := wire.FilterPolicy(s.Filter, b.form(s.Channel).Routing)
	if err != nil {
		return err
	}
	if s.Mode == driver.Auto && s.Tags[driver.TagTopology] != "" {
		if _, err := b.subscription(ctx, t, q.arn()); err == nil || driver.ClassOf(err) != driver.NotFound {
			return err
		}
	}
	deadARN := ""
	if dead != nil {
		deadARN = dead.arn()
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
		types.QueueAttributeNameMessageRetentionPeriod: seconds(cmp.Or(keep, wire.MaxRetention)),
	}
	if role == roleQueue {
		a[types.QueueAttributeNameVisibilityTimeout] = seconds(cmp.Or(s.Lease, defaultLease))
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

func seconds(d time.Duration) string { return strconv.Itoa(int(d / time.Second)) }
