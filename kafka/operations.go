package kafka

import (
	"context"
	"fmt"
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/part"
	"github.com/godwitmq/godwit/kafka/internal/later"
	"github.com/godwitmq/godwit/kafka/internal/layout"
	"github.com/godwitmq/godwit/kafka/internal/operate"
)

// Operations returns what an operator can do with the channels. The brokers cannot refuse the fetches of one group, and
// do not move records.
func (b *Backend) Operations() driver.Operations {
	return driver.Operations{
		Catalog: b.Catalog, Inspect: b.Inspect, Address: b.Address, Plan: b.provisioner.Plan, Activity: b.Activity,
		Peek: b.Peek, Return: b.Return,
		Follow: func(
			ctx context.Context, ch driver.Channel, from driver.PeekFrom, each func([]driver.Peeked) error,
		) error {
			return operate.Follow(ctx, b.operator, ch, from, each)
		},
		Access: func(ctx context.Context) (driver.Access, error) { return operate.Access(ctx, b.operator) },
		Members: func(ctx context.Context, ch driver.Channel) ([]driver.Member, error) {
			return operate.Members(ctx, b.operator, ch)
		},
		Specs: func(ctx context.Context, cs []driver.Channel) ([]driver.ChannelSpec, error) {
			return operate.Specs(ctx, b.operator, cs)
		},
		RequireReplicas: func(ctx context.Context, ch driver.Channel, dry bool) ([]driver.Difference, error) {
			return operate.RequireReplicas(ctx, b.operator, ch, dry)
		},
		Cancel: func(ctx context.Context, to driver.Channel, id string) (bool, error) {
			c, err := b.canceller(to)
			if err != nil {
				return false, err
			}
			return c.Cancel(ctx, to, id)
		},
		SendNow: func(ctx context.Context, to driver.Channel, id string) (bool, error) {
			c, err := b.canceller(to)
			if err != nil {
				return false, err
			}
			return c.SendNow(ctx, to, id)
		},
		Purge: b.Purge, Remove: b.Remove, Snapshot: b.Snapshot, Restore: b.Restore,
		Rewind: b.Rewind, Orphans: b.Orphans,
	}
}

// canceller ends the wait of messages of a channel.
func (b *Backend) canceller(to driver.Channel) (*later.Canceller, error) {
	if err := b.legal(to); err != nil {
		return nil, err
	}
	return &later.Canceller{
		Target: b.channels.TopicOf(to), Group: layout.Later(b.channels.Names, to), Cluster: b.cluster,
		Topics: b.provisioner.Later, Produce: b.senders.Producer,
	}, nil
}

// Inspect counts the records that a group has not finished. The counts come from OffsetFetch and ListOffsets, with
// stable offsets only, minus the records that the commit's metadata has as finished. (DescribeGroups does not know
// groups of KIP-848.) Waiting includes records in flight, because the log does not distinguish them; records in tiers
// count as Delayed. Oldest is the age of the oldest record, among partitions without finished records beyond the
// commit: in other partitions the oldest record is being handled, or waits for a retry. Ends of transactions,
// and records of aborted ones, count only behind a record that waits, and not among dead letters, which are counted
// exactly. Of messages that wait for their time, those that are overdue are waiting, and Oldest is how long; the others
// are delayed. For that, the topic is read, once, and later what is new.
func (b *Backend) Inspect(ctx context.Context, ch driver.Channel) (driver.Depth, error) {
	return operate.Inspect(ctx, b.operator, ch)
}

// Catalog lists the channels of the namespace, and those of Options.Names whose topics exist. Topics of Kafka have no
// tags, so the names of topics and groups decide: without a namespace, a topic of another program is listed, too, if
// its name could be that of a channel. A topic that nobody has consumed is listed as a one-to-one channel. Order is a
// choice of each consumer, so Ordered is never set.
func (b *Backend) Catalog(ctx context.Context) ([]driver.ChannelInfo, error) {
	return operate.Catalog(ctx, b.operator)
}

// Activity counts the records that were sent, from the offsets at the time and at the end of the log, with requests for
// all topics together. Offsets of transactions' markers, and of records that compaction has removed, are counted as
// well. Consumers are the groups that read the channel: with members, or with commits that the brokers still keep.
// Brokers count neither deliveries nor commits, so the other numbers are unknown. Oldest is as in Inspect.
func (b *Backend) Activity(ctx context.Context, cs []driver.Channel, since time.Time) ([]driver.Activity, error) {
	return operate.Activity(ctx, b.operator, cs, since)
}

// Peek is driver.Operations.Peek: a client outside of the group reads the channel's own topic, committed records only.
// Several partitions are merged by the time of their records, and messages that wait for their time come in the order
// in which they are due. Records that wait in tiers are not among them, and in a share group, the broker does not say
// which records behind its start are finished.
func (b *Backend) Peek(
	ctx context.Context, ch driver.Channel, from driver.PeekFrom, most int,
) ([]driver.Peeked, error) {
	return operate.Peek(ctx, b.operator, ch, from, most)
}

// Return is driver.Operations.Return. A dead letter goes to the topic that its headers name, in any of the known
// formats, where other groups read it again; without such a header, to the channel's own topic. Alone, it goes to the
// shortest tier of the channel's consumers, if they have tiers, and only if it is from the channel's own topic.
func (b *Backend) Return(ctx context.Context, dead driver.Channel, alone bool) (driver.Home, error) {
	return operate.Return(ctx, b.operator, dead, alone)
}

// Purge deletes the records of a channel's topic and tiers, up to the end of the log at the time of the call; of
// messages that wait for their time, each with a tombstone. A topic
// keeps its records once for all groups, so that all of them lose the records: Purged.Others names them. Records that a
// consumer has fetched are still handled. To skip records for one group only, rewind it to the end.
func (b *Backend) Purge(ctx context.Context, ch driver.Channel, dry bool) (p driver.Purged, err error) {
	return operate.Purge(ctx, b.operator, ch, dry)
}

// Remove deletes the group and the tiers of a channel, and the topic if that is the channel's alone: of a one-to-one
// channel, of dead letters, and of an exchange without groups. With that goes the topic in which messages wait for
// their time, with the group of its wakers; Removed.Messages counts them. Topics have no tags, so that it cannot know
// whether Godwit has created one. It is refused while the channel has consumers, and for what Options.Names maps.
func (b *Backend) Remove(ctx context.Context, ch driver.Channel, dry bool) (r driver.Removed, err error) {
	return operate.Remove(ctx, b.operator, ch, dry)
}

// Rewind changes where the group of a channel goes on: it commits the position without Godwit's metadata. A consumer
// that finds such a commit takes no record for finished or dead-lettered. Records in retry tiers are handled as well.
func (b *Backend) Rewind(
	ctx context.Context, ch driver.Channel, to driver.Position, dry bool,
) ([]driver.PartitionRewind, error) {
	return operate.Rewind(ctx, b.operator, ch, to, dry)
}

// Orphans lists the objects of Options.Store that were written for topics of this cluster and namespace, and reads all
// records of the namespace's topics, also those of tiers, dead letters, and open or aborted transactions. What is not
// listed then may become an orphan later; what is listed has no pointer in any of these topics. Records in topics of
// other programs, or of other clusters, are not read.
//
// It needs permission to describe and read all topics of the namespace: brokers do not show topics without it, and
// their records are not read.
func (b *Backend) Orphans(ctx context.Context, before time.Time) ([]driver.Orphan, error) {
	return operate.Orphans(ctx, b.operator, before)
}

// Snapshot describes the topics of a channel: its own, unless it belongs to an exchange, and its tiers. Groups are made
// again by their consumers. The subscribers of an exchange are the groups that read its topic.
func (b *Backend) Snapshot(ctx context.Context, ch driver.Channel) (s driver.Snapshot, err error) {
	return operate.Snapshot(ctx, b.operator, ch)
}

// Restore creates the topics that do not exist. Their records do not come back.
func (b *Backend) Restore(ctx context.Context, text []byte) (r driver.Restored, err error) {
	return operate.Restore(ctx, b.operator, text)
}

// Partitions are the partitions of a channel, for the consumers of this process. It makes no request.
func (b *Backend) Partitions(channel string) *Partitions {
	return &Partitions{b: b, name: channel, channel: layout.Parse(channel)}
}

// OpenState returns the state of this name, such as alerts. The first change creates its topic, NAMESPACE.state--NAME,
// which keeps its records forever; those that were replaced are deleted. It makes no request.
func (b *Backend) OpenState(name string) (*State, error) {
	if !part.Legal(name) {
		return nil, fmt.Errorf("kafka: %q is no name of a state: use letters, digits, '_' and '-', begin and end with a "+
			"letter or digit, without '--'", name)
	}
	return &State{b: b, name: name, topic: b.channels.State(name)}, nil
}
