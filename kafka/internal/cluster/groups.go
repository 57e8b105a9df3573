package cluster

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka/internal/failure"
)

// Committed are the offsets that a group has committed; none if the group does not exist.
func (c *Cluster) Committed(ctx context.Context, group string) (kadm.OffsetResponses, error) {
	got, err := c.Admin.FetchOffsets(ctx, group)
	if err != nil && driver.ClassOf(failure.Classify(err)) != driver.NotFound {
		return nil, fmt.Errorf("ask what group %s has committed: %w", group, failure.Classify(err))
	}
	return got, nil
}

// Shared are the start offsets of a share group: all earlier records are settled.
func (c *Cluster) Shared(ctx context.Context, group string) (kadm.OffsetResponses, error) {
	all, err := c.Admin.DescribeShareGroupOffsets(ctx, group)
	if err == nil {
		err = all[group].Err
	}
	if err != nil && driver.ClassOf(failure.Classify(err)) != driver.NotFound {
		return nil, fmt.Errorf("ask how far share group %s has come: %w", group, failure.Classify(err))
	}
	got := kadm.OffsetResponses{}
	for topic, ps := range all[group].Offsets {
		for n, o := range ps {
			got.Add(kadm.OffsetResponse{Offset: kadm.Offset{Topic: topic, Partition: n, At: o.StartOffset}, Err: o.Err})
		}
	}
	return got, nil
}

// Groups lists all groups.
func (c *Cluster) Groups(ctx context.Context) ([]string, error) {
	groups, err := c.Admin.ListGroups(ctx)
	if err != nil {
		return nil, fmt.Errorf("list the groups: %w", failure.Classify(err))
	}
	return groups.Groups(), nil
}

// Member is a member of a group, the topics to which it has subscribed, and the partitions that it has, by topic.
type Member struct {
	ID, Client, Host string
	Topics           []string
	Partitions       map[string][]int32
}

// Members returns the members of groups, of the classic kind and of KIP-848.
func (c *Cluster) Members(ctx context.Context, groups ...string) (members []Member, err error) {
	names := strings.Join(groups, ", ")
	classic, err := c.Admin.DescribeGroups(ctx, groups...)
	if err != nil {
		return nil, fmt.Errorf("look up the members of groups %s: %w", names, failure.Classify(err))
	}
	for _, g := range classic {
		for _, m := range g.Members {
			one := Member{ID: m.MemberID, Client: m.ClientID, Host: m.ClientHost}
			if c, ok := m.Join.AsConsumer(); ok {
				one.Topics = c.Topics
			}
			if c, ok := m.Assigned.AsConsumer(); ok {
				one.Partitions = map[string][]int32{}
				for _, t := range c.Topics {
					one.Partitions[t.Topic] = t.Partitions
				}
			}
			members = append(members, one)
		}
	}
	modern, err := c.Admin.DescribeConsumerGroups(ctx, groups...)
	if err != nil && !failure.Unsupported(err) && driver.ClassOf(failure.Classify(err)) != driver.NotFound {
		return nil, fmt.Errorf("look up the members of groups %s: %w", names, failure.Classify(err))
	}
	for _, g := range modern {
		for _, m := range g.Members {
			members = append(members, Member{
				m.MemberID, m.ClientID, m.ClientHost, m.SubscribedTopics, assigned(m.Assignment),
			})
		}
	}
	return members, nil
}

// Sharers returns the members of a share group.
func (c *Cluster) Sharers(ctx context.Context, group string) (members []Member, err error) {
	all, err := c.Admin.DescribeShareGroups(ctx, group)
	if err == nil {
		err = all[group].Err
	}
	if err != nil && driver.ClassOf(failure.Classify(err)) != driver.NotFound {
		return nil, fmt.Errorf("look up the members of share group %s: %w", group, failure.Classify(err))
	}
	for _, m := range all[group].Members {
		members = append(members, Member{
			m.MemberID, m.ClientID, m.ClientHost, m.SubscribedTopicNames, assigned(m.Assignment),
		})
	}
	return members, nil
}

// assigned are partitions by topic.
func assigned(all kadm.TopicsSet) map[string][]int32 {
	partitions := map[string][]int32{}
	for _, t := range all.Sorted() {
		partitions[t.Topic] = t.Partitions
	}
	return partitions
}

// Texts are members as errors name them, in order. A broker may describe one in both ways.
func Texts(members []Member) []string {
	all := make([]string, len(members))
	for i, m := range members {
		all[i] = fmt.Sprintf("%s (%s, %s)", m.ID, m.Client, m.Host)
	}
	slices.Sort(all)
	return slices.Compact(all)
}
