package kafka

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka/internal/cluster"
	"github.com/godwitmq/godwit/kafka/internal/failure"
	"github.com/godwitmq/godwit/kafka/internal/intake"
	"github.com/godwitmq/godwit/kafka/internal/records"
)

// watchEvery is how often the ids of the topics are compared with those at the time of the join.
const watchEvery = 10 * time.Second

// group is a receiver's membership in its consumer group: one member at a time. When a topic was created again, a new
// member replaces the old one.
type group struct {
	sub       *subscription
	ledger    *records.Ledger
	committer *committer
	closed    atomic.Bool // set once, by the receiver: then partitions are not drained, and errors are expected

	stop  context.CancelFunc // ends the goroutines; nil: none run
	ended chan struct{}      // closed when the last commit has been made
	wg    sync.WaitGroup

	mu     sync.Mutex
	member *member // nil: no member has joined yet
	stale  error   // why the member must be replaced; nil: no reason
}

// begin starts the goroutines that run until close: commits, the check of the topics, and the rereader.
func (g *group) begin() {
	ctx, stop := context.WithCancel(context.Background())
	g.stop = stop
	g.wg.Go(func() { g.committer.run(ctx, g.current) })
	g.wg.Go(func() { g.watch(ctx) })
	g.wg.Go(func() { rereader{g}.run(ctx) })
}

// current is the member that polls and commits.
func (g *group) current() *member {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.member
}

// join adds a new member to the group.
func (g *group) join(ctx context.Context) error {
	s := g.sub
	m := &member{g: g, dialed: make(chan struct{}), Member: &records.Member{
		Group: s.group, Instance: s.instance(), Topics: map[string]kadm.TopicID{},
	}}
	all := maps.Clone(s.tiers)
	maps.Copy(all, s.former)
	var names []string
	for _, name := range slices.AppendSeq([]string{s.topic}, maps.Keys(all)) {
		t, err := s.b.cluster.Find(ctx, name)
		if _, former := s.former[name]; former && err != nil && driver.ClassOf(err) == driver.NotFound {
			continue // it was empty, and somebody has deleted it
		}
		if err != nil {
			return err
		}
		names = append(names, name)
		m.Topics[name] = t.ID
		if name == s.topic {
			m.partitions, m.share = t.Partitions, fetchShare(t.Partitions)
		}
	}
	copies := names // the topics to which records of the channel are copied
	if q, ok := s.dead.(*deadTopic); ok {
		copies = append(copies, s.b.channels.DeadLetters(q.ch))
	}
	for _, name := range copies {
		if err := s.b.cluster.LearnLimit(ctx, name); err != nil {
			return err
		}
	}
	if s.tiersOnly {
		names = names[1:]
	}
	var err error
	if m.client, err = s.b.cluster.Dial(m.options(names)...); err != nil {
		return err
	}
	close(m.dialed)
	g.mu.Lock()
	g.member, g.stale = m, nil
	g.mu.Unlock()
	return nil
}

// renew replaces a member whose topic was created again. Until the topics exist again, the error is of class NotFound.
func (g *group) renew(ctx context.Context) (replaced bool, err error) {
	g.mu.Lock()
	old, why := g.member, g.stale
	g.mu.Unlock()
	if why == nil {
		return false, nil
	}
	// This also forgets what past epochs had finished: their offsets belong to another log.
	g.ledger.Epochs.Retire(old.Member)
	g.lose(g.ledger.Epochs.Of(old.Member), why)
	if err := g.join(ctx); err != nil {
		return true, fmt.Errorf("join group %s again: %w", g.sub.group, err)
	}
	g.wg.Go(func() { _ = old.close(context.Background()) }) // its client may wait for answers
	return true, nil
}

// lose ends epochs that belong to another member: nothing of them is committed, and the core is notified.
func (g *group) lose(es []*records.Epoch, why error) {
	g.ledger.Epochs.Discard(es)
	if lost := g.sub.o.Events.Lost; lost != nil && len(es) > 0 {
		lost(sourcesOf(es), why)
	}
}

func sourcesOf(es []*records.Epoch) []*driver.Source {
	sources := make([]*driver.Source, len(es))
	for i, e := range es {
		sources[i] = &e.Source
	}
	return sources
}

var errCreatedAgain = errors.New("the topic was deleted, or deleted and created again: its old records count no more")

// createdAgain notes that a topic is not the one for which a member joined, and logs it once. A running client never
// switches to the new topic by itself.
func (g *group) createdAgain(m *member, topic string) {
	g.mu.Lock()
	known := g.stale != nil || g.member != m
	if !known && !g.closed.Load() {
		g.stale = fmt.Errorf("topic %s: %w", topic, errCreatedAgain)
	}
	g.mu.Unlock()
	if known || g.closed.Load() {
		return
	}
	g.sub.b.log.Error("a topic was deleted, or deleted and created again: its old records are gone, and a new member "+
		"joins for the new topic", "topic", topic, "group", g.sub.group)
	g.ledger.Wakeup.Wake()
}

// watch compares the ids of the topics with those at the time of the join. It is the only way to notice a topic that is
// deleted and not created again: its polls are empty, without an error.
func (g *group) watch(ctx context.Context) {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			g.compare(ctx, g.current())
		}
	}
}

func (g *group) compare(ctx context.Context, m *member) {
	for name, id := range m.Topics {
		t, err := g.sub.b.cluster.Find(ctx, name)
		if driver.ClassOf(err) == driver.NotFound && err != nil || err == nil && t.ID != id {
			g.createdAgain(m, name)
			return
		}
		if err == nil && name == g.sub.topic && !g.sub.from.DeadLetter {
			g.seen(ctx, m, t)
		}
	}
}

// seen notes what the channel's topic is now.
func (g *group) seen(ctx context.Context, m *member, t cluster.Topic) {
	_ = g.sub.b.provisioner.See(ctx, t) // after an error, what was seen before counts until the next look
	if t.Partitions > m.partitions {
		g.widen(ctx, m, t)
	}
}

// widen gives the tiers as many partitions as the channel's topic has now.
func (g *group) widen(ctx context.Context, m *member, t cluster.Topic) {
	s := g.sub
	if len(s.tiers) > 0 {
		if _, err := s.b.provisioner.Restore(ctx, s.from); err != nil {
			s.b.log.Error("partitions were added to a topic, and its tiers have fewer: records of the new partitions "+
				"cannot wait for a retry", "topic", t.Name, "partitions", t.Partitions, "group", s.group, "error", err)
			return
		}
	}
	m.partitions = t.Partitions
}

// fetch pauses and resumes the fetching of partitions.
func (g *group) fetch(c intake.Change[*records.Epoch]) {
	m := g.current()
	for _, e := range c.Pause {
		m.client.PauseFetchPartitions(map[string][]int32{e.Topic: {e.N}})
		if !slices.Contains(g.ledger.Epochs.Of(m.Member), e) { // its partition may have returned before the pause
			m.client.ResumeFetchPartitions(map[string][]int32{e.Topic: {e.N}})
		}
	}
	for _, e := range c.Resume {
		m.client.ResumeFetchPartitions(map[string][]int32{e.Topic: {e.N}})
	}
}

// pollError is the error of a poll as Receive returns it.
func (g *group) pollError(p *kgo.FetchTopicPartition) error {
	err := p.Err
	var loss *kgo.ErrDataLoss
	switch {
	case err == nil, errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return nil
	case errors.Is(err, kgo.ErrClientClosed) && g.closed.Load():
		return nil
	case errors.Is(err, kerr.UnknownTopicID):
		g.createdAgain(g.current(), p.Topic)
		return nil
	case errors.As(err, &loss):
		g.sub.b.log.Error("the broker lost records of a partition: reading continues at the next record of its log",
			"topic", p.Topic, "partition", p.Partition, "read up to", loss.ConsumedTo, "continues at", loss.ResetTo)
		return nil
	case p.Topic == "":
		return fmt.Errorf("poll for %s: %w", g.sub.from, failure.Classify(err))
	}
	return fmt.Errorf("poll partition %d of topic %s: %w", p.Partition, p.Topic, failure.Classify(err))
}

var errLostUncommitted = errors.New("the member lost its partitions before their last commit, and they did not return")

// log is the id of the channel's topic: it differs when the topic was created again.
func (g *group) log() string {
	m := g.current()
	if m == nil {
		return ""
	}
	return fmt.Sprint(m.Topics[g.sub.topic])
}

// close commits the finished records and leaves the group. The caller has set closed.
func (g *group) close(ctx context.Context) error {
	g.stop()
	g.wg.Wait() // for a commit in flight
	m := g.current()
	err := g.committer.commitEnd(ctx, m)
	if g.committer.tx != nil {
		g.committer.tx.Close(ctx)
	}
	close(g.ended)
	if n := g.ledger.Epochs.Uncommitted(m.Member); n > 0 {
		if err == nil {
			err = fmt.Errorf("group %s: %w", g.sub.group, errLostUncommitted)
		}
		err = &driver.UnsettledError{Count: n, Err: err}
	}
	g.ledger.Epochs.Discard(g.ledger.Epochs.Of(m.Member))
	if cerr := m.close(ctx); err == nil {
		err = cerr
	}
	return err
}
