package kafka

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka/internal/client"
	"github.com/godwitmq/godwit/kafka/internal/failure"
	"github.com/godwitmq/godwit/kafka/internal/intake"
)

// watchEvery is how often topics are compared with what they were when the member joined.
const watchEvery = 10 * time.Second

// group is a receiver's membership in its consumer group: one member at a time. A topic that was created again needs a
// new one.
type group struct {
	sub       *subscription
	ledger    *ledger
	committer *committer
	closed    atomic.Bool // set once, by the receiver: no partition is drained any more, and no error is one

	stop  context.CancelFunc // ends the goroutines; nil: there are none
	ended chan struct{}      // closed once the last commit is made
	wg    sync.WaitGroup

	mu     sync.Mutex
	member *member // nil: none could be made yet
	stale  error   // why the member must be replaced
}

func newGroup(sub *subscription, l *ledger, c *committer) *group {
	return &group{sub: sub, ledger: l, committer: c, ended: make(chan struct{})}
}

// begin starts what goes on beside the polls, until close.
func (g *group) begin() {
	ctx, stop := context.WithCancel(context.Background())
	g.stop = stop
	g.wg.Go(func() { g.committer.run(ctx, g.current) })
	g.wg.Go(func() { g.watch(ctx) })
	g.wg.Go(func() { (&rereader{g.sub, g.ledger}).run(ctx) })
}

// current is the member that polls and commits.
func (g *group) current() *member {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.member
}

// join makes a member.
func (g *group) join(ctx context.Context) error {
	m, s := newMember(g), g.sub
	names := []string{s.topic}
	for name := range s.tiers {
		names = append(names, name)
	}
	for _, name := range names {
		t, err := s.b.topics.find(ctx, name)
		if err != nil {
			return err
		}
		m.topics[name] = t.id
		if name == s.topic {
			m.partitions, m.share = t.partitions, fetchShare(t.partitions)
		}
	}
	for _, name := range append(names, s.copies()...) {
		if err := s.b.topics.learnLimit(ctx, name); err != nil {
			return err
		}
	}
	if s.tiersOnly {
		names = names[1:]
	}
	opts, err := s.b.o.clientOptions(s.b.log, m.options(names)...)
	if err != nil {
		return err
	}
	if m.client, err = client.New(opts); err != nil {
		return err
	}
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
	g.ledger.retire(old) // with what was kept: the logs are not the same
	g.lose(g.ledger.of(old), why)
	if err := g.join(ctx); err != nil {
		return true, fmt.Errorf("join group %s again: %w", g.sub.group, err)
	}
	g.wg.Go(func() { _ = old.close(context.Background()) }) // it may have to wait for its last answers
	return true, nil
}

// lose forgets epochs that are another member's: nothing is committed, and the core is told.
func (g *group) lose(es []*epoch, why error) {
	g.ledger.discard(es)
	if lost := g.sub.o.Events.Lost; lost != nil && len(es) > 0 {
		lost(sourcesOf(es), why)
	}
}

func sourcesOf(es []*epoch) []*driver.Source {
	sources := make([]*driver.Source, len(es))
	for i, e := range es {
		sources[i] = &e.Source
	}
	return sources
}

var errCreatedAgain = errors.New("the topic was deleted, or deleted and created again: what was read of it counts no " +
	"more")

// createdAgain notes that a topic is not the one that a member joined for, and says so once: a running client never
// finds its way to the new one.
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
	g.sub.b.log.Error("a topic was deleted, or deleted and created again: what its old form held is gone, and a new "+
		"member joins for the new one",
		"topic", topic, "group", g.sub.group)
	g.ledger.wakeup.wake()
}

// watch compares the topics with what they were when the member joined. It is the way to learn of a topic that is gone
// and has not come back: a poll just stays empty.
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
	for name, id := range m.topics {
		t, err := g.sub.b.topics.find(ctx, name)
		if driver.ClassOf(err) == driver.NotFound && err != nil || err == nil && t.id != id {
			g.createdAgain(m, name)
			return
		}
		if err == nil && name == g.sub.topic && !g.sub.from.DeadLetter {
			g.seen(ctx, m, t)
		}
	}
}

// seen notes what the channel's topic is now.
func (g *group) seen(ctx context.Context, m *member, t topic) {
	_ = g.sub.b.provisioner.see(ctx, t) // after an error, what was seen before counts until the next look
	if t.partitions > m.partitions {
		g.widen(ctx, m, t)
	}
}

// widen gives the tiers as many partitions as the channel's topic has now.
func (g *group) widen(ctx context.Context, m *member, t topic) {
	s := g.sub
	if spec, ours := s.b.provisioner.wished(s.from); ours && len(s.tiers) > 0 {
		if err := s.b.Ensure(ctx, spec); err != nil {
			s.b.log.Error("partitions were added to a topic, and its tiers have fewer: records of the new partitions "+
				"cannot wait for a retry", "topic", t.name, "partitions", t.partitions, "group", s.group, "error", err)
			return
		}
	}
	m.partitions = t.partitions
}

// fetch lets partitions be fetched no more, or again.
func (g *group) fetch(c intake.Change[*epoch]) {
	for _, e := range c.Pause {
		e.member.client.PauseFetchPartitions(map[string][]int32{e.Topic: {e.N}})
	}
	for _, e := range c.Resume {
		e.member.client.ResumeFetchPartitions(map[string][]int32{e.Topic: {e.N}})
	}
}

// pollError is what an error of a poll means to the caller of Receive.
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
		g.sub.b.log.Error("the broker lost records of a partition: reading goes on where its log does", "topic",
			p.Topic, "partition", p.Partition,
			"read up to", loss.ConsumedTo, "goes on at", loss.ResetTo)
		return nil
	case p.Topic == "":
		return fmt.Errorf("poll for %s: %w", g.sub.from, failure.Classify(err))
	}
	return fmt.Errorf("poll partition %d of topic %s: %w", p.Partition, p.Topic, failure.Classify(err))
}

var errLostUncommitted = errors.New("the member lost its partitions before their last commit, and has not got them " +
	"back")

// log is which log the channel's topic is.
func (g *group) log() string {
	m := g.current()
	if m == nil {
		return ""
	}
	return fmt.Sprint(m.topics[g.sub.topic])
}

// close commits what is finished and leaves the group. The caller has set closed.
func (g *group) close(ctx context.Context) error {
	g.stop()
	g.wg.Wait() // for a commit that is under way, say
	m := g.current()
	err := g.committer.commitLast(ctx, m, g.ledger.of(m))
	close(g.ended)
	if n := g.ledger.untold(m); n > 0 {
		if err == nil {
			err = fmt.Errorf("group %s: %w", g.sub.group, errLostUncommitted)
		}
		err = &driver.UnsettledError{Count: n, Err: err}
	}
	g.ledger.discard(g.ledger.of(m))
	if cerr := m.close(ctx); err == nil {
		err = cerr
	}
	return err
}
