package operate

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"strconv"
	"sync"
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka/internal/cluster"
	"github.com/godwitmq/godwit/kafka/internal/deadletter"
	"github.com/godwitmq/godwit/kafka/internal/failure"
	"github.com/godwitmq/godwit/kafka/internal/send"
	"github.com/godwitmq/godwit/kafka/internal/wire"
)

// Return is driver.Operations.Return, as kafka.Backend describes it.
func Return(ctx context.Context, n *Namespace, dead driver.Channel, alone bool) (driver.Home, error) {
	home := dead
	home.DeadLetter = false
	if err := cmp.Or(n.Channels.Legal(home), refuseLater(home, "it has no dead letters of its own")); err != nil {
		return driver.Home{}, err
	}
	if home.Queue == "" {
		return driver.Home{}, failure.Permanent("channel %s: an exchange has no dead letters: name one of its channels",
			dead)
	}
	letters, err := n.Cluster.Find(ctx, n.Channels.DeadLetters(home))
	if err != nil {
		return driver.Home{}, err
	}
	s, err := n.Senders.Open(ctx, home, n.Channels.Topic(home))
	if err != nil {
		return driver.Home{}, err
	}
	if alone {
		return returnAlone(ctx, n, s, letters)
	}
	shared, err := sharesTopic(ctx, n, home)
	return driver.Home{
		Forwarder: &wayBack{
			Sender: s, letters: letters.Name, originals: &originals{cluster: n.Cluster},
			targets: map[string]*target{},
		}, Address: s.Topic,
		Shared: shared,
	}, err
}

// sharesTopic reports whether another channel reads the topic of a channel, as far as the names of groups tell. A
// mapped topic counts as shared also if the groups that read it may not be seen.
func sharesTopic(ctx context.Context, n *Namespace, ch driver.Channel) (bool, error) {
	if ch.Exchange != "" {
		return true, nil
	}
	groups, err := n.Cluster.Admin.ListGroups(ctx)
	if err != nil {
		if err = failure.Classify(err); driver.ClassOf(err) == driver.Denied {
			return false, nil
		}
		return false, fmt.Errorf("list the groups that read topic %s: %w", n.Channels.Topic(ch), err)
	}
	if n.Channels.Mapping.Maps(ch) { // groups of other programs have any names
		others, err := n.otherReaders(ctx, ch)
		return len(others) > 0 || driver.ClassOf(err) == driver.Denied, ignoreDenied(err)
	}
	topic, own := n.Channels.Topic(ch), n.Channels.Group(ch)
	for group := range groups {
		if _, reads := n.Channels.Reads(topic, group); reads && group != own {
			return true, nil
		}
	}
	return false, nil
}

// ignoreDenied returns no error if the permission to see other groups is missing.
func ignoreDenied(err error) error {
	if err != nil && driver.ClassOf(err) == driver.Denied {
		return nil
	}
	return err
}

// wayBack sends dead letters to the topics that they are from.
type wayBack struct {
	*send.Sender        // to the channel's own topic; it sends to the others, too
	letters      string // the topic of the dead letters
	originals    *originals

	mu      sync.Mutex
	targets map[string]*target // other topics that were looked up
}

// target is another topic of dead letters, or why it takes none.
type target struct {
	to  *send.Sender
	err error
}

// Forward prepares a dead letter for the topic that it is from.
func (w *wayBack) Forward(ctx context.Context, f *driver.Forward) (driver.Prepared, error) {
	letter, f, err := w.originals.forwarded(ctx, f)
	if err != nil {
		return send.Prepared(nil, f, err)
	}
	to := w.Sender
	if topic, ok := deadletter.TopicOf(letter.Headers); ok && topic != w.Topic {
		if to, err = w.target(ctx, topic); err != nil {
			return send.Prepared(nil, f, err)
		}
	}
	r, err := send.Raised(f)
	if err == nil {
		r.Topic = to.Topic
		err = to.Complete(ctx, r, f)
	}
	return send.Prepared(r, f, err)
}

// target looks up another topic, once.
func (w *wayBack) target(ctx context.Context, topic string) (*send.Sender, error) {
	if topic == w.letters {
		return nil, failure.Permanent("its headers name the dead letters' own topic as its origin")
	}
	w.mu.Lock()
	known := w.targets[topic]
	w.mu.Unlock()
	if known != nil {
		return known.to, known.err
	}
	to, err := w.Of.Open(ctx, w.To, topic)
	if err != nil && driver.ClassOf(err).Passing() {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.targets[topic] = &target{to, err}
	return to, err
}

// returnAlone opens the way to the shortest tier of a channel's consumers.
func returnAlone(ctx context.Context, n *Namespace, s *send.Sender, letters cluster.Topic) (driver.Home, error) {
	own, err := n.Cluster.Find(ctx, s.Topic)
	if err != nil {
		return driver.Home{}, err
	}
	name, err := shortestTier(ctx, n, s.To)
	if err != nil {
		return driver.Home{}, err
	}
	tier, err := n.Cluster.Find(ctx, name)
	if err != nil {
		return driver.Home{}, err
	}
	if err := n.Cluster.LearnLimit(ctx, name); err != nil {
		return driver.Home{}, err
	}
	s.Most = min(s.Most, int(n.Cluster.Limit(name)))
	return driver.Home{
		Forwarder: &tierWay{
			Sender: s, own: own, letters: letters.Name, former: n.Channels.Former().DeadLetters(s.To), tier: tier,
			originals: &originals{cluster: n.Cluster},
		}, Address: tier.Name,
	}, nil
}

// shortestTier is the tier in which a record that is due is handled at once, by the consumers of this channel only:
// that of Options or, if those have none, one that a running consumer reads.
func shortestTier(ctx context.Context, n *Namespace, ch driver.Channel) (string, error) {
	if n.Channels.OwnRetries {
		return "", failure.Permanent("channel %s: its retries are in kafka.Options.RetryQueue, and only a tier leads to "+
			"the consumers of one channel alone: send the dead letters to all consumers of the topic", ch)
	}
	if tiers := n.Channels.Uses(ch).Tiers; len(tiers) > 0 {
		return n.Channels.Tier(ch, tiers[0]), nil
	}
	group := n.Channels.Group(ch)
	members, err := n.Cluster.Members(ctx, group, n.Channels.Retries(ch))
	if err != nil {
		return "", err
	}
	shortest, least := "", time.Duration(0)
	for _, m := range members {
		for _, topic := range m.Topics {
			stay, ok := n.Channels.Stay(ch, topic)
			if ok && (shortest == "" || stay < least) {
				shortest, least = topic, stay
			}
		}
	}
	if shortest == "" {
		return "", failure.Permanent("channel %s: dead letters can go back to one consumer alone only by a tier, and "+
			"group %s has no member that reads one: start a consumer whose channel has tiers (kafka.Options.Retries), or set "+
			"Retries and Tiers here, too; otherwise send them to all consumers of topic %s", ch, group, n.Channels.Topic(ch))
	}
	return shortest, nil
}

// tierWay sends dead letters to a tier of their own consumers.
type tierWay struct {
	*send.Sender               // to the channel's own topic
	own          cluster.Topic // that topic
	letters      string        // the topic of the dead letters
	former       string        // that of earlier versions, or the same
	tier         cluster.Topic
	originals    *originals
}

// Forward prepares a dead letter for the tier. It is due now, and its consumer takes it for the record that it was,
// with its position, on which its order depends. Its dead letters up to this one do not count any more; otherwise it
// would be taken for one that was rejected, and discarded.
func (w *tierWay) Forward(ctx context.Context, f *driver.Forward) (driver.Prepared, error) {
	letter, f, err := w.originals.forwarded(ctx, f)
	if err != nil {
		return send.Prepared(nil, f, err)
	}
	home, log, ok := deadletter.HomeOf(letter.Headers)
	at, known := wire.ParseHome(f.ID)
	switch {
	case !ok || home.Topic != w.own.Name:
		err = failure.Permanent("its headers do not say that it is from topic %s, so it cannot go back to its consumer "+
			"alone: send it to all consumers", w.own.Name)
	case log != "" && log != fmt.Sprint(w.own.ID):
		err = failure.Permanent("topic %s was created again since, so its position means another record now, and it "+
			"cannot go back to its consumer alone: send it to all consumers", w.own.Name)
	case !known || at.Topic != w.letters && at.Topic != w.former:
		err = failure.Permanent("its id is not a position in topic %s, so it cannot go back to its consumer alone: send "+
			"it to all consumers", w.letters)
	case int(home.N) >= w.tier.Partitions:
		err = failure.Permanent("it is from partition %d, and topic %s has %d: add partitions to topic %s", home.N,
			w.tier.Name, w.tier.Partitions, w.tier.Name)
	}
	if err != nil {
		return send.Prepared(nil, f, err)
	}
	sent, dated := deadletter.SentAt(letter)
	alive := *f
	alive.Revive = true
	r, err := send.Raised(&alive)
	if err != nil {
		return send.Prepared(nil, f, err)
	}
	r.Topic, r.Partition = w.tier.Name, home.N
	wire.SetTime(r, wire.DueHeader, time.Now())
	wire.SetHeader(r, wire.HomeHeader, home.String())
	wire.SetHeader(r, wire.GroupHeader, w.Of.Channels.Group(w.To))
	if dated {
		wire.SetTime(r, wire.SentHeader, sent)
	}
	last := at.Offset
	if at.Topic != w.letters { // no offset of the other topic says which of these dead letters are older
		last = math.MaxInt64
	}
	wire.SetHeader(r, wire.RevivedHeader, strconv.FormatInt(last, 10))
	return send.Prepared(r, f, w.Complete(ctx, r, f))
}
