package kafka

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka/internal/cluster"
	"github.com/godwitmq/godwit/kafka/internal/failure"
)

// Remove deletes the group and the tiers of a channel, and the topic if that is the channel's alone: of a one-to-one
// channel, of dead letters, and of an exchange without groups. Topics have no tags, so that it cannot know whether
// Godwit has created one. It is refused while the channel has consumers, and for what Options.Names maps.
func (b *Backend) Remove(ctx context.Context, ch driver.Channel, dry bool) (r driver.Removed, err error) {
	if err := b.open(); err != nil {
		return r, err
	}
	if err := b.legal(ch); err != nil {
		return r, err
	}
	if b.names.Mapping.Keeps(ch) {
		return r, failure.Permanent("channel %s: kafka.Options.Names maps it to topic %s, and Godwit deletes nothing that "+
			"is mapped: delete it with the tools of its owner", ch, b.topicOf(ch))
	}
	topic, err := b.cluster.Find(ctx, b.topicOf(ch))
	if err != nil {
		return r, err
	}
	var topics, groups []string
	if ch.Queue != "" {
		depth, err := b.Inspect(ctx, ch)
		if err != nil {
			return r, err
		}
		r.Messages = depth.All()
		if groups, err = b.groupsOf(ctx, ch); err != nil {
			return r, err
		}
		if topics, err = b.tiersOf(ctx, ch); err != nil {
			return r, err
		}
	}
	if ch.Exchange == "" || ch.Queue == "" || ch.DeadLetter {
		others, err := b.otherReaders(ctx, ch)
		if err != nil {
			return r, err
		}
		if len(others) > 0 {
			return r, failure.Permanent("channel %s: topic %s is read by other groups: remove %s first", ch, topic.Name,
				strings.Join(others, ", "))
		}
		topics = append(topics, topic.Name)
	}
	for _, group := range groups {
		r.Resources = append(r.Resources, "group "+group)
	}
	for _, one := range topics {
		r.Resources = append(r.Resources, "topic "+one)
	}
	if len(r.Resources) == 0 {
		return r, &driver.Error{Class: driver.NotFound, Err: fmt.Errorf("channel %s does not exist: topic %s has no "+
			"group %s", ch, topic.Name, b.names.Group(ch))}
	}
	if dry {
		return r, nil
	}
	return r, b.remove(ctx, groups, topics)
}

// groupsOf returns the groups of a channel that exist. It is an error if one has members.
func (b *Backend) groupsOf(ctx context.Context, ch driver.Channel) (groups []string, err error) {
	all, err := b.cluster.Groups(ctx)
	if err != nil {
		return nil, err
	}
	own := []string{b.names.Group(ch)}
	if !ch.DeadLetter {
		own = append(own, b.names.Retries(ch))
	}
	for _, group := range own {
		if !slices.Contains(all, group) {
			continue
		}
		members, err := b.cluster.Members(ctx, group)
		if err != nil {
			return nil, err
		}
		if len(members) > 0 {
			return nil, failure.Permanent("channel %s: group %s has %d members, which would create it again: stop %s "+
				"first", ch, group, len(members), strings.Join(cluster.Texts(members), ", "))
		}
		groups = append(groups, group)
	}
	return groups, nil
}

// remove deletes groups first, because brokers refuse that if a member has joined meanwhile.
func (b *Backend) remove(ctx context.Context, groups, topics []string) error {
	deleted, err := b.cluster.Admin.DeleteGroups(ctx, groups...)
	for _, group := range deleted {
		if group.Err != nil && !errors.Is(group.Err, kerr.GroupIDNotFound) {
			err = errors.Join(err, fmt.Errorf("group %s: %w", group.Group, group.Err))
		}
	}
	if err != nil {
		return fmt.Errorf("delete the groups: %w", failure.Classify(err))
	}
	if len(topics) == 0 {
		return nil
	}
	gone, err := b.cluster.Admin.DeleteTopics(ctx, topics...)
	if err == nil {
		err = gone.Error()
	}
	if err != nil {
		return fmt.Errorf("delete the topics %s: %w", strings.Join(topics, ", "), failure.Classify(err))
	}
	return nil
}
