package kafka

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/backoff"
	"github.com/godwitmq/godwit/kafka/internal/cluster"
	"github.com/godwitmq/godwit/kafka/internal/failure"
	"github.com/godwitmq/godwit/kafka/internal/layout"
)

// activeGroup is a group that has members, as the brokers describe it.
type activeGroup struct {
	protocol GroupProtocol // 0: the group has no members
	kind     string        // of a classic group: "consumer", "connect"
	assignor string        // of a classic group; "": its members are joining
	members  []string      // clients, with their hosts
}

// joining checks whether consumers can join their groups.
type joining struct {
	cluster  *cluster.Cluster
	channels *layout.Channels
	o        *Options
}

// fits returns an error if a consumer of a channel cannot be a member of its group: the members that the group has now
// use another protocol, or the group reads another topic.
func (j *joining) fits(ctx context.Context, ch driver.Channel) error {
	group := j.channels.Group(ch)
	var now activeGroup
	if err := j.soon(ctx, func() (err error) {
		now, err = j.describe(ctx, group)
		return err
	}); err != nil {
		return err
	}
	set := j.o.channel(ch)
	own, assignor := set.GroupProtocol, kgo.CooperativeStickyBalancer().ProtocolName()
	theirs, offered := assignors[set.Assignor]
	is := ""
	switch {
	case now.protocol == 0:
	case now.protocol != own:
		is = now.protocol.String()
	case own == GroupClassic && now.kind != "" && now.kind != "consumer":
		is = fmt.Sprintf("%s for %s", now.protocol, now.kind)
	case offered && now.assignor == theirs().ProtocolName():
	case own == GroupClassic && now.assignor != "" && now.assignor != assignor:
		is = fmt.Sprintf("%s with the assignor %s", now.protocol, now.assignor)
	}
	if is != "" {
		wants := own.String()
		if own == GroupClassic {
			wants += " with the assignor " + assignor
		}
		return failure.Permanent("channel %s: group %s is active as %s (%s), and this consumer would join as %s: stop the "+
			"other members first, or use their protocol (GroupProtocol and Assignor of the channel in kafka.Options)", ch, group, is,
			strings.Join(now.members, ", "), wants)
	}
	return j.soon(ctx, func() error { return j.reads(ctx, ch, group) })
}

const (
	// groupPatience is how long a look-up of a group is repeated. The first one of a new cluster lets the brokers
	// create the topic of all groups, for which they have no coordinator until then.
	groupPatience = 3 * time.Second
	groupAgain    = 200 * time.Millisecond
)

// soon repeats a look-up of a group whose error is temporary. If that lasts, the group is not checked: its brokers may
// be away, which the consumer survives, and a group without a coordinator has no members.
func (j *joining) soon(ctx context.Context, lookUp func() error) error {
	for began := time.Now(); ; {
		err := lookUp()
		if err == nil || !driver.ClassOf(err).Passing() {
			return err
		}
		if time.Since(began) > groupPatience {
			j.cluster.Log.Warn("the members and commits of a group could not be looked up, so it is not checked whether "+
				"a consumer can join it", "error", err)
			return nil
		}
		if serr := backoff.Sleep(ctx, groupAgain); serr != nil {
			return errors.Join(serr, err)
		}
	}
}

// describe asks for the members of a group. Brokers describe a group of each protocol in a request of its own.
func (j *joining) describe(ctx context.Context, group string) (g activeGroup, err error) {
	member := func(p GroupProtocol, client, host string) {
		g.protocol, g.members = p, append(g.members, fmt.Sprintf("%s at %s", client, host))
	}
	share, err := j.cluster.Admin.DescribeShareGroups(ctx, group)
	for _, m := range share[group].Members {
		member(GroupShare, m.ClientID, m.ClientHost)
	}
	if err = undescribed(group, err); err != nil || g.protocol != 0 {
		return g, err
	}
	modern, err := j.cluster.Admin.DescribeConsumerGroups(ctx, group)
	for _, m := range modern[group].Members {
		member(GroupConsumer, m.ClientID, m.ClientHost)
	}
	if err = undescribed(group, err); err != nil || g.protocol != 0 {
		return g, err
	}
	classic, err := j.cluster.Admin.DescribeGroups(ctx, group)
	for _, m := range classic[group].Members {
		member(GroupClassic, m.ClientID, m.ClientHost)
		g.kind, g.assignor = classic[group].ProtocolType, classic[group].Protocol
	}
	return g, undescribed(group, err)
}

// undescribed is the error of a description that matters. A broker that does not know a protocol has no such groups. If
// the permission to see a group is missing, the members that join find out by themselves.
func undescribed(group string, err error) error {
	if err == nil || failure.Unsupported(err) {
		return nil
	}
	err = failure.Classify(err)
	if class := driver.ClassOf(err); class == driver.NotFound || class == driver.Denied {
		return nil
	}
	return fmt.Errorf("look up the members of group %s: %w", group, err)
}

// reads returns an error if a mapped group has commits, but only of other topics: it is probably the group of another
// channel. A Start in the channel's options says that it is not.
func (j *joining) reads(ctx context.Context, ch driver.Channel, group string) error {
	o := j.o.channel(ch)
	if group == j.channels.Member(ch) || o.Start != (Start{}) || o.GroupProtocol == GroupShare {
		return nil
	}
	committed, err := j.cluster.Committed(ctx, group)
	if err != nil {
		return err
	}
	ours := map[string]bool{}
	for _, other := range j.channels.Mapping.Channels() {
		if j.channels.Group(other) == group {
			ours[j.channels.Topic(other)] = true
		}
	}
	others := map[string]bool{}
	for topic, ps := range committed {
		for _, p := range ps {
			switch {
			case p.Err != nil || p.At < 0 || j.channels.Waits(topic):
			case topic == j.channels.Topic(ch):
				return nil
			case !ours[topic]:
				others[topic] = true
			}
		}
	}
	if len(others) == 0 {
		return nil
	}
	return failure.Permanent("channel %s: kafka.Options.Names maps it to topic %s and group %s, but that group has "+
		"committed offsets of %s, and none of topic %s: correct the entry, or set Start of the channel in kafka.Options if "+
		"the group is to read this topic as well", ch, j.channels.Topic(ch), group,
		strings.Join(slices.Sorted(maps.Keys(others)), ", "), j.channels.Topic(ch))
}
