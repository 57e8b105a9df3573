package operate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/offsets"
	"github.com/godwitmq/godwit/kafka/internal/cluster"
	"github.com/godwitmq/godwit/kafka/internal/failure"
	"github.com/godwitmq/godwit/kafka/internal/wire"
)

// Former are the topics of a channel by the names of earlier versions, in which a mapped group may have records: all
// groups of a channel had the same tiers and dead letters. Other groups may go on using them.
type Former struct {
	Topics map[string]time.Duration // how long records stay in a tier; 0: dead letters

	n     *Namespace
	ch    driver.Channel
	found map[string]cluster.Topic
	group string               // the group that reads them now
	from  string               // the group that read them before; the same one, unless it was shared
	at    kadm.OffsetResponses // the positions of group; those of from where it has none
	own   kadm.OffsetResponses // the commits of group
}

// FindFormer returns the former topics with records that the group of a channel has not read. It makes no request for a
// channel whose names have not changed. Topics of other groups may be hidden from this one; then it has none in them.
func FindFormer(ctx context.Context, n *Namespace, ch driver.Channel) (f Former, err error) {
	f.n, f.ch = n, ch
	if !n.Channels.Mapping.Apart(ch) {
		return f, nil
	}
	if err = f.find(ctx); err == nil && len(f.found) > 0 {
		err = f.measure(ctx)
	}
	if err != nil && driver.ClassOf(err) == driver.Denied {
		return Former{n: n, ch: ch}, nil
	}
	return f, err
}

// measure finds out where the group is in the topics, and which of them have records behind that.
func (f *Former) measure(ctx context.Context) (err error) {
	c, before := f.n.Channels, f.n.Channels.Former()
	f.group, f.from = c.Group(f.ch), before.Group(f.ch)
	if c.Uses(f.ch).Share && !f.ch.DeadLetter {
		f.group, f.from = c.Retries(f.ch), before.Retries(f.ch)
	}
	if f.own, err = f.n.Cluster.Committed(ctx, f.group); err != nil {
		return err
	}
	f.at = f.own
	if f.from != f.group {
		if f.at, err = f.n.Cluster.Committed(ctx, f.from); err != nil {
			return err
		}
		f.own.Each(func(at kadm.OffsetResponse) { f.at.Add(at) })
	}
	f.Topics = map[string]time.Duration{}
	for name, t := range f.found {
		unread, err := lag{f.n.Cluster}.behind(ctx, t, f.at)
		if err != nil {
			return err
		}
		if len(unread) > 0 {
			f.Topics[name], _ = before.Stay(f.ch, name)
		}
	}
	return nil
}

// find looks up the topics that exist.
func (f *Former) find(ctx context.Context) error {
	c, before := f.n.Channels, f.n.Channels.Former()
	f.found = map[string]cluster.Topic{}
	if !f.ch.DeadLetter && !c.OwnRetries {
		all, _, err := f.n.Cluster.Topics(ctx)
		for name, t := range all {
			if _, tier := before.Stay(f.ch, name); tier && t.Err == nil {
				f.found[name] = t
			}
		}
		return err
	}
	if !f.ch.DeadLetter || c.OwnDeadLetters || c.Mapping.Maps(f.ch) {
		return nil
	}
	t, err := f.n.Cluster.Find(ctx, before.DeadLetters(f.ch))
	switch {
	case err == nil:
		f.found[t.Name] = t
	case driver.ClassOf(err) != driver.NotFound:
		return err
	}
	return nil
}

// Begin prepares the topics for a member of the group that is about to join. The group goes on where the one stopped
// that read them before. Tiers that a member of an earlier version reads are read as well, because it may go on using
// them.
func (f *Former) Begin(ctx context.Context) error {
	if len(f.found) == 0 {
		return nil
	}
	if f.from == f.group && !f.ch.DeadLetter {
		members, err := f.n.Cluster.Members(ctx, f.from)
		if err != nil && driver.ClassOf(err) != driver.Denied {
			return err
		}
		for _, m := range members {
			later := slices.ContainsFunc(m.Topics, func(topic string) bool {
				_, is := f.n.Channels.Stay(f.ch, topic)
				return is
			})
			for topic := range f.found {
				// While a classic group joins, brokers do not say what its members read.
				if !later && (len(m.Topics) == 0 || slices.Contains(m.Topics, topic)) {
					f.Topics[topic], _ = f.n.Channels.Former().Stay(f.ch, topic)
				}
			}
		}
	}
	if f.from == f.group {
		return nil
	}
	var os kadm.Offsets
	for topic := range f.Topics {
		for n, at := range f.at[topic] {
			if _, begun := f.own.Lookup(topic, n); begun || at.Err != nil || at.At < 0 {
				continue
			}
			if !f.ch.DeadLetter { // a tier's group finished the records of others unhandled
				at.Metadata = offsets.Beginning(at.At, wire.Log(f.found[topic].ID, n)).Metadata
			}
			os.Add(at.Offset)
		}
	}
	if len(os) == 0 {
		return nil
	}
	err := f.n.Cluster.Admin.CommitAllOffsets(ctx, f.group, os)
	if err != nil && !errors.Is(err, kerr.UnknownMemberID) { // the first member has committed it
		return fmt.Errorf("channel %s: commit where group %s begins in topics of group %s: %w", f.ch, f.group, f.from,
			failure.Classify(err))
	}
	return nil
}

// isOurs reports whether a record in a former topic is one of the channel's group.
func (f *Former) isOurs(r *kgo.Record) bool {
	if f.ch.DeadLetter {
		alive := f.ch
		alive.DeadLetter = false
		return wire.DiedIn(r, f.n.Channels.Group(alive))
	}
	return wire.IsFor(r, f.n.Channels.Group(f.ch))
}

// countFormer is how many fetches count the records of the group in a partition: others may go on writing there.
const countFormer = 4

// Count returns the number of records of the group in a topic that it has not finished, and the age of the oldest;
// negative: there is none. If there are too many records of others, it counts those that it has seen.
func (f *Former) Count(ctx context.Context, topic string) (all int64, oldest time.Duration, err error) {
	oldest = -1
	t := f.found[topic]
	unread, err := lag{f.n.Cluster}.behind(ctx, t, f.at)
	ctx, cancel := context.WithTimeout(ctx, measurePatience)
	defer cancel()
	for i := range unread {
		p := &unread[i]
		at, _ := f.at.Lookup(topic, p.n)
		past := offsets.NewPast(at.At, at.Metadata, wire.Log(t.ID, p.n))
		lag{f.n.Cluster}.each(ctx, t, p, countFormer, func(r *kgo.Record) {
			finished, _ := past.Of(r.Offset, r.LeaderEpoch, r.Key)
			if finished || !f.isOurs(r) {
				return
			}
			all++
			oldest = max(oldest, time.Since(r.Timestamp))
		})
	}
	return all, oldest, err
}

// looks are those at the records of the group.
func (f *Former) looks(from driver.PeekFrom, most int) (all []*peek) {
	for topic := range f.Topics {
		all = append(all, &peek{
			n: f.n, channel: f.ch, topic: f.found[topic], from: from, most: most, done: f.at, ours: f.isOurs,
		})
	}
	return all
}

// leftovers are the former topics of a channel, and of its dead letters, in which records of its group are left.
func leftovers(ctx context.Context, n *Namespace, ch driver.Channel) (topics []string, err error) {
	if ch.Queue == "" || ch.DeadLetter || ch.Later {
		return nil, nil
	}
	letters := ch
	letters.DeadLetter = true
	for _, one := range []driver.Channel{ch, letters} {
		f, err := FindFormer(ctx, n, one)
		if err != nil {
			return nil, err
		}
		for topic := range f.Topics {
			count, _, err := f.Count(ctx, topic)
			if err != nil {
				return nil, err
			}
			if count > 0 {
				topics = append(topics, topic)
			}
		}
	}
	slices.Sort(topics)
	return topics, nil
}
