package operate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka/internal/failure"
)

// Remove is driver.Operations.Remove, as kafka.Backend describes it.
func Remove(ctx context.Context, n *Namespace, ch driver.Channel, dry bool) (r driver.Removed, err error) {
	if err := n.Channels.Legal(ch); err != nil {
		return r, err
	}
	if n.Channels.Mapping.Keeps(ch) {
		return r, failure.Permanent("channel %s: kafka.Options.Names maps it to topic %s, and Godwit deletes nothing that "+
			"is mapped: delete it with the tools of its owner", ch, n.Channels.TopicOf(ch))
	}
	topic, err := n.Cluster.Find(ctx, n.Channels.TopicOf(ch))
	if err != nil {
		return r, err
	}
	var topics, groups []string
	if ch.Queue != "" {
		depth, err := inspect(ctx, n, ch)
		if err != nil {
			return r, err
		}
		r.Messages = depth.All()
		if groups, err = groupsOf(ctx, n, ch); err != nil {
			return r, err
		}
		if topics, err = n.tiersOf(ctx, ch); err != nil {
			return r, err
		}
	}
	beside, messages, there, err := waitingBeside(ctx, n, ch)
	if err != nil {
		return r, err
	}
	if there {
		r.Messages += messages
		own, err := groupsOf(ctx, n, beside)
		if err != nil {
			return r, err
		}
		groups, topics = append(groups, own...), append(topics, n.Channels.TopicOf(beside))
	}
	if alone(ch) {
		others, err := n.otherReaders(ctx, ch)
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
			"group %s", ch, topic.Name, n.Channels.Group(ch))}
	}
	if dry {
		return r, nil
	}
	return r, deleteAll(ctx, n, groups, topics)
}

// groupsOf returns the groups of a channel that exist. It is an error if one has members.
func groupsOf(ctx context.Context, n *Namespace, ch driver.Channel) (groups []string, err error) {
	all, err := n.Cluster.Groups(ctx)
	if err != nil {
		return nil, err
	}
	own := []string{n.Channels.Group(ch)}
	if !ch.DeadLetter && !ch.Later {
		own = append(own, n.Channels.Retries(ch))
	}
	for _, group := range own {
		if !slices.Contains(all, group) {
			continue
		}
		if err := n.idle(ctx, ch, group, "which would create it again"); err != nil {
			return nil, err
		}
		groups = append(groups, group)
	}
	return groups, nil
}

// deleteAll deletes groups first, because brokers refuse that if a member has joined meanwhile.
func deleteAll(ctx context.Context, n *Namespace, groups, topics []string) error {
	deleted, err := n.Cluster.Admin.DeleteGroups(ctx, groups...)
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
	gone, err := n.Cluster.Admin.DeleteTopics(ctx, topics...)
	if err == nil {
		err = gone.Error()
	}
	if err != nil {
		return fmt.Errorf("delete the topics %s: %w", strings.Join(topics, ", "), failure.Classify(err))
	}
	return nil
}
