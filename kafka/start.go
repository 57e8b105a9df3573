package kafka

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/backoff"
	"github.com/godwitmq/godwit/internal/offsets"
	"github.com/godwitmq/godwit/kafka/internal/cluster"
	"github.com/godwitmq/godwit/kafka/internal/failure"
	"github.com/godwitmq/godwit/kafka/internal/operate"
	"github.com/godwitmq/godwit/kafka/internal/records"
	"github.com/godwitmq/godwit/kafka/internal/wire"
)

// Start is where a group begins in the partitions of its channel's topic for which it has no commit. The first consumer
// commits the position before it joins, or with StartEarliest when it gets the partition, so that a later start of the
// program does not skip records. Partitions that are added when Godwit has committed for the group always begin at
// their start, and so do tiers. If brokers have deleted the record of a commit, the group goes on at the start of the
// log.
type Start struct {
	// From is the position; zero: StartEarliest. Set it to another one when records from before the first start need no
	// handling, or when a group must exist.
	From StartFrom
	// Time is the time of the first records to be handled, with StartTime. Set it only then.
	Time time.Time
}

// StartFrom is a position in partitions without a commit.
type StartFrom uint8

const (
	StartEarliest StartFrom = iota + 1 // at the first record that the brokers still have
	StartLatest                        // behind the last record
	StartTime                          // at the first record that is as late as Start.Time
	// StartCommitted is for a group that goes on where other consumers stopped: without any commit of the topic, the
	// consumer is not created. Partitions without a commit begin at their start, because other clients do not commit
	// for a partition from which they have read nothing.
	StartCommitted
)

func (s Start) check(where string) error {
	switch {
	case s.From > StartCommitted:
		return fmt.Errorf("kafka: %s.Start.From is %d: use StartEarliest, StartLatest, StartTime or StartCommitted", where,
			s.From)
	case s.From == StartTime && s.Time.IsZero():
		return fmt.Errorf("kafka: %s.Start.From is StartTime, but Start.Time is missing: set it", where)
	case s.From != StartTime && !s.Time.IsZero():
		return fmt.Errorf("kafka: %s.Start.Time has no effect without StartTime: set Start.From to it", where)
	}
	return nil
}

// decides reports whether the position is another one than the start of the log, where members begin by themselves.
func (s Start) decides() bool { return s.From > StartEarliest }

const (
	// startPatience is how long a consumer tries to commit where its group begins.
	startPatience = 15 * time.Second
	// startAgain is the pause between two tries.
	startAgain = 200 * time.Millisecond
)

// start commits where a group begins, unless it has begun before.
func (s *subscription) start(ctx context.Context) error {
	if s.tiersOnly || s.from.DeadLetter || !s.set.Start.decides() {
		return nil
	}
	began := time.Now()
	for {
		again, err := s.tryStart(ctx)
		if err == nil || !again || time.Since(began) > startPatience {
			return err
		}
		if serr := backoff.Sleep(ctx, startAgain); serr != nil {
			return errors.Join(serr, err)
		}
	}
}

// tryStart is start, once. again: another try may succeed, for example because another consumer is doing the same.
func (s *subscription) tryStart(ctx context.Context) (again bool, err error) {
	t, err := s.b.cluster.Find(ctx, s.topic)
	if err != nil {
		return driver.ClassOf(err).Passing(), err
	}
	r := operate.Change{Cluster: s.b.cluster, Topic: t, Group: s.group}
	missing, begun, err := s.uncommitted(ctx, t)
	if err != nil || begun || len(missing) == 0 {
		return driver.ClassOf(err).Passing(), err
	}
	if s.set.Start.From == StartCommitted {
		if len(missing) == t.Partitions {
			err = failure.Permanent("channel %s: group %s has no commit of topic %s, and Start of the channel in "+
				"kafka.Options is StartCommitted: check the names (kafka.Options.Names), or set another Start", s.from,
				s.group, t.Name)
		}
		return false, err
	}
	to := driver.Position{From: driver.FromEnd, Partitions: missing}
	if s.set.Start.From == StartTime {
		to.From, to.Time = driver.FromTime, s.set.Start.Time
	}
	plan, err := r.Plan(ctx, to)
	if err != nil {
		return driver.ClassOf(err).Passing(), err
	}
	var os kadm.Offsets
	for _, one := range plan {
		c := offsets.Beginning(one.To, wire.Log(t.ID, one.Partition))
		os.Add(kadm.Offset{
			Topic: t.Name, Partition: one.Partition, At: c.Offset, LeaderEpoch: c.Epoch, Metadata: c.Metadata,
		})
	}
	err = s.b.cluster.Admin.CommitAllOffsets(ctx, s.group, os)
	if err == nil {
		s.b.log.Info("a group has no commit for some partitions, and begins where its channel's Start says", "channel",
			s.from.String(), "group", s.group, "topic", t.Name, "partitions", missing)
		return false, nil
	}
	if errors.Is(err, kerr.UnknownMemberID) { // the broker takes such commits only for a group without members
		return true, failure.Permanent("channel %s: group %s has members, and no commit for partitions %v of topic %s, so "+
			"that Start of the channel in kafka.Options cannot be committed: stop them, or leave out Start: %w", s.from,
			s.group, missing, t.Name, err)
	}
	err = fmt.Errorf("channel %s: commit where group %s begins: %w", s.from, s.group, failure.Classify(err))
	return driver.ClassOf(err).Passing(), err
}

// uncommitted are the partitions for which a group has no commit. begun: Godwit has committed for others, so that they
// were added since.
func (s *subscription) uncommitted(ctx context.Context, t cluster.Topic) (missing []int32, begun bool, err error) {
	committed, err := s.b.cluster.Committed(ctx, s.group)
	if err != nil {
		return nil, false, err
	}
	for n := range int32(t.Partitions) {
		c, ok := committed.Lookup(t.Name, n)
		switch {
		case ok && c.Err != nil:
			return nil, false, fmt.Errorf("ask what group %s has committed: %w", s.group, failure.Classify(c.Err))
		case !ok || c.At < 0:
			missing = append(missing, n)
		case offsets.Genuine(c.At, c.Metadata, wire.Log(t.ID, n)):
			begun = true
		}
	}
	slices.Sort(missing)
	return missing, begun, nil
}

// positionPatience bounds the commit of where epochs begin: a later repetition is better than a partition that nobody
// reads.
const positionPatience = 5 * time.Second

// commitStarts commits where epochs begin that have no commit, or one of another program. With a commit of its own, a
// member that loses its partitions in the first second, because a broker has crashed for example, knows its position
// when they return. If this fails, the next commit makes up for it.
func (g *group) commitStarts(ctx context.Context, m *member, begun []*records.Epoch) {
	if len(begun) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, positionPatience)
	defer cancel()
	var topics []string
	for _, e := range begun {
		if e.From < 0 && !slices.Contains(topics, e.Topic) {
			topics = append(topics, e.Topic)
		}
	}
	starts, err := g.sub.b.cluster.EachOffset(ctx, cluster.Start, topics...)
	g.ledger.Epochs.Begin(begun, func(p wire.Partition) (int64, bool) {
		o, ok := starts.Lookup(p.Topic, p.N)
		return o.Offset, ok && o.Err == nil
	})
	if err == nil {
		err = g.committer.commitStart(ctx, m, begun)
	}
	if err != nil {
		g.sub.b.log.Warn("the start of partitions could not be committed: until the next commit, a crash of a broker "+
			"repeats what is finished in them", "group", g.sub.group, "error", err)
	}
}
