package operate

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka/internal/cluster"
	"github.com/godwitmq/godwit/kafka/internal/failure"
	"github.com/godwitmq/godwit/kafka/internal/later"
	"github.com/godwitmq/godwit/kafka/internal/layout"
	"github.com/godwitmq/godwit/kafka/internal/provision"
	"github.com/godwitmq/godwit/kafka/internal/send"
	"github.com/godwitmq/godwit/kafka/internal/wire"
)

// Namespace is what operators work on: the channels of a backend, and the brokers that have their topics.
type Namespace struct {
	Cluster  *cluster.Cluster
	Channels *layout.Channels
	Topics   *provision.Provisioner
	Senders  *send.Senders
	Store    driver.Store // of large bodies; nil: there is none
	// Deliver makes a delivery of a record of a channel's own topic, as a consumer of the channel gets it.
	Deliver func(ch driver.Channel, r *kgo.Record, d *driver.Delivery)

	surveys later.Surveys // of messages that wait for their time
}

// find looks up the topic of a channel, which is legal.
func (n *Namespace) find(ctx context.Context, ch driver.Channel) (cluster.Topic, error) {
	if err := n.Channels.Legal(ch); err != nil {
		return cluster.Topic{}, err
	}
	return n.Cluster.Find(ctx, n.Channels.TopicOf(ch))
}

// peeked returns a record as a delivery that was not received.
func (n *Namespace) peeked(ch driver.Channel, r *kgo.Record) driver.Peeked {
	one := driver.Peeked{Raw: wire.Raw(r)}
	n.Deliver(ch, r, &one.Delivery)
	return one
}

// committed is how far the group of a channel has come.
func (n *Namespace) committed(ctx context.Context, ch driver.Channel) (kadm.OffsetResponses, error) {
	if n.Channels.Uses(ch).Share {
		return n.Cluster.Shared(ctx, n.Channels.Group(ch))
	}
	return n.Cluster.Committed(ctx, n.Channels.Group(ch))
}

// idle returns an error if a group has members, with what they would do.
func (n *Namespace) idle(ctx context.Context, ch driver.Channel, group, do string) error {
	members, err := n.Cluster.Members(ctx, group)
	if err != nil || len(members) == 0 {
		return err
	}
	texts := cluster.Texts(members)
	return failure.Permanent("channel %s: group %s has %d members, %s: stop %s first", ch, group, len(texts), do,
		strings.Join(texts, ", "))
}

// tiersOf returns the tiers of a channel that exist, also those of delays that its options do not have any more.
func (n *Namespace) tiersOf(ctx context.Context, ch driver.Channel) (tiers []string, err error) {
	if ch.DeadLetter || ch.Later {
		return nil, nil
	}
	all, err := n.Cluster.Admin.ListTopics(ctx)
	if err != nil {
		return nil, fmt.Errorf("list the topics: %w", failure.Classify(err))
	}
	for topic := range all {
		if _, is := n.Channels.Stay(ch, topic); is {
			tiers = append(tiers, topic)
		}
	}
	slices.Sort(tiers)
	return tiers, nil
}

// alone reports whether the topic of a channel is the channel's alone, and not that of an exchange with others.
func alone(ch driver.Channel) bool {
	return ch.Exchange == "" || ch.Queue == "" || ch.DeadLetter || ch.Later
}

// otherReaders returns the groups that read a channel's topic besides the channel's own: those with Godwit's names, and
// those that have committed offsets of the topic.
func (n *Namespace) otherReaders(ctx context.Context, ch driver.Channel) ([]string, error) {
	groups, err := n.readers(ctx, n.Channels.TopicOf(ch))
	return slices.DeleteFunc(groups, func(group string) bool {
		return ch.Queue != "" && (group == n.Channels.Group(ch) || !ch.DeadLetter && group == n.Channels.Retries(ch))
	}), err
}

func (n *Namespace) readers(ctx context.Context, topic string) ([]string, error) {
	r, err := n.readership(ctx)
	if err != nil {
		return nil, err
	}
	return r.of(topic)
}

// readership is what all groups read.
type readership struct {
	names     layout.Names
	groups    []string
	committed kadm.FetchOffsetsResponses
}

func (n *Namespace) readership(ctx context.Context) (readership, error) {
	groups, err := n.Cluster.Groups(ctx)
	if err != nil {
		return readership{}, err
	}
	r := readership{names: n.Channels.Names, groups: groups}
	r.committed = n.Cluster.Admin.FetchManyOffsets(ctx, r.groups...)
	return r, nil
}

// of returns the groups that read a topic: they have Godwit's names, or have committed offsets of the topic.
func (r readership) of(topic string) (readers []string, err error) {
	for _, group := range r.groups {
		err := failure.Classify(r.committed[group].Err)
		if err != nil && driver.ClassOf(err) != driver.NotFound {
			return nil, fmt.Errorf("look up what group %s reads: %w", group, err)
		}
		_, ours := r.names.Reads(topic, group)
		if ours || slices.ContainsFunc(r.committed[group].Fetched.Sorted(), func(o kadm.OffsetResponse) bool {
			return o.Topic == topic && o.At >= 0
		}) {
			readers = append(readers, group)
		}
	}
	slices.Sort(readers)
	return readers, nil
}

// set sets a setting of a topic.
func (n *Namespace) set(ctx context.Context, topic, key, value string) error {
	done, err := n.Cluster.Admin.AlterTopicConfigs(ctx,
		[]kadm.AlterConfig{{Op: kadm.SetConfig, Name: key, Value: &value}}, topic)
	if err == nil {
		var one kadm.AlterConfigsResponse
		if one, err = done.On(topic, nil); err == nil {
			err = one.Err
		}
	}
	if err != nil {
		return fmt.Errorf("set %s of topic %s: %w", key, topic, failure.Classify(err))
	}
	return nil
}
