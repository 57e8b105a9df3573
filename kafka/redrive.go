package kafka

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/offsets"
	"github.com/godwitmq/godwit/kafka/internal/deadletter"
	"github.com/godwitmq/godwit/kafka/internal/failure"
	"github.com/godwitmq/godwit/kafka/internal/layout"
)

const (
	// redriveBatch is how many letters are published between two commits: a crash repeats at most one batch.
	redriveBatch = 500
	// redrivePlaces bounds the distance between the oldest letter of a partition that stays and the newest that is
	// read.
	redrivePlaces = 1 << 16
	// redriveWait is how long the topic may send nothing before the run ends with an error: retention may have deleted
	// the letters at its end.
	redriveWait = 15 * time.Second
)

// RedriveOptions select the dead letters that are moved. The zero value moves all that exist when the run begins.
type RedriveOptions struct {
	// Most is the largest number of letters that are moved; 0: no limit. Set it to try a few first.
	Most int
	// Only selects letters by their origin and the reason of their death; nil: all. Set it when the cause of only some
	// has been removed. The other letters stay.
	Only func(o *driver.Origin) bool
}

// RedriveReport counts the dead letters that a run has read.
type RedriveReport struct {
	Moved int            // letters that were moved
	To    map[string]int // the moved letters, by topic
	Left  int            // letters that stay: not selected, or refused
}

// Redrive moves dead letters of a channel (orders, or orders@dlq) back to the topics that their headers name, in any of
// the known formats. A letter without such a header is moved to the channel's own topic. Keys and headers are as
// before, without the headers of the death; the history of deaths stays. On an exchange's topic, all of its consumers
// get the records again.
//
// A letter is published before it counts as finished in the group that reads the dead letters. This group must have no
// member meanwhile. The next run continues one that ended early, and a crash repeats at most the current batch. Letters
// that are written during the run are ignored. With an error, the report counts what was done before it.
func (b *Backend) Redrive(ctx context.Context, channel string, o *RedriveOptions) (RedriveReport, error) {
	r := &redrive{b: b, report: RedriveReport{To: map[string]int{}}, targets: map[string]error{}}
	if o != nil {
		r.o = *o
	}
	if err := r.prepare(ctx, channel); err != nil {
		return r.report, err
	}
	if len(r.logs) == 0 {
		return r.report, nil
	}
	if err := r.commit(ctx, true); err != nil {
		return r.report, err
	}
	client, err := r.reader()
	if err != nil {
		return r.report, err
	}
	defer client.Close()
	for r.more() && err == nil {
		err = r.step(ctx, client)
	}
	return r.report, errors.Join(err, r.refused)
}

// redrive is one run of Redrive.
type redrive struct {
	b     *Backend
	o     RedriveOptions
	ch    driver.Channel // the dead letters
	topic topic
	group string
	logs  map[int32]*deadLog
	// targets are the topics of the letters that were looked up, with the error for a topic that cannot be used.
	targets map[string]error
	report  RedriveReport
	refused error // the first error of a refused letter
}

// deadLog is one partition of the dead letters, and how far the run has read it.
type deadLog struct {
	tracker   *offsets.Tracker
	from, end int64
	epoch     int32
	read      bool
}

// letter is a dead letter that is moved.
type letter struct {
	record *kgo.Record
	log    *deadLog
	seq    uint64
}

// prepare looks up the partitions and their unfinished letters.
func (r *redrive) prepare(ctx context.Context, channel string) error {
	if err := r.b.open(); err != nil {
		return err
	}
	r.ch = layout.Parse(channel)
	r.ch.DeadLetter = true
	if err := r.b.names.Check(r.ch); err != nil || r.ch.Queue == "" {
		return errors.Join(failure.Permanent("%q has no dead letters: name a channel, as orders or "+
			"wishlist_events.mobile", channel), err)
	}
	r.group = r.b.names.Group(r.ch)
	var err error
	if r.topic, err = r.b.topics.find(ctx, r.b.names.DeadLetters(r.ch)); err != nil {
		return err
	}
	return r.measure(ctx)
}

// measure looks up the committed offset of each partition, and its end.
func (r *redrive) measure(ctx context.Context) error {
	starts, err := r.b.admin.ListStartOffsets(ctx, r.topic.name)
	if err == nil {
		err = starts.Error()
	}
	if err != nil {
		return fmt.Errorf("ask where the log of topic %s starts: %w", r.topic.name, failure.Classify(err))
	}
	ends, err := r.b.admin.ListCommittedOffsets(ctx, r.topic.name)
	if err == nil {
		err = ends.Error()
	}
	if err != nil {
		return fmt.Errorf("ask where the log of topic %s ends: %w", r.topic.name, failure.Classify(err))
	}
	done, err := r.b.admin.FetchOffsets(ctx, r.group)
	if err != nil && driver.ClassOf(failure.Classify(err)) != driver.NotFound {
		return fmt.Errorf("ask what group %s has committed: %w", r.group, failure.Classify(err))
	}
	r.logs = map[int32]*deadLog{}
	for n := range int32(r.topic.partitions) {
		start, _ := starts.Lookup(r.topic.name, n)
		end, _ := ends.Lookup(r.topic.name, n)
		g := &deadLog{tracker: offsets.New(redrivePlaces), from: start.Offset, end: end.Offset, epoch: -1}
		g.tracker.Bind(identity(r.topic.id, n))
		metadata := ""
		if c, ok := done.Lookup(r.topic.name, n); ok && c.Err == nil && c.At >= start.Offset {
			g.from, g.epoch, metadata = c.At, c.LeaderEpoch, c.Metadata
		}
		if g.from < g.end {
			g.tracker.Start(g.from, metadata)
			r.logs[n] = g
		}
	}
	return nil
}

// reader opens a client outside of the group. It keeps control records, because a log may end with one. Letters of
// aborted transactions do not exist.
func (r *redrive) reader() (*kgo.Client, error) {
	from := map[int32]kgo.Offset{}
	for n, g := range r.logs {
		from[n] = kgo.NewOffset().At(g.from)
	}
	opts, err := r.b.o.clientOptions(r.b.log,
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{r.topic.name: from}), kgo.KeepControlRecords(),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()))
	if err != nil {
		return nil, err
	}
	client, err := kgo.NewClient(opts...)
	if err != nil {
		return nil, fmt.Errorf("kafka: create the client that reads %s: %w", r.ch, err)
	}
	return client, nil
}

// more reports whether letters are left to read.
func (r *redrive) more() bool {
	if r.o.Most > 0 && r.report.Moved >= r.o.Most {
		return false
	}
	for _, g := range r.logs {
		if !g.read {
			return true
		}
	}
	return false
}

// step reads some letters, publishes the selected ones, and commits.
func (r *redrive) step(ctx context.Context, client *kgo.Client) error {
	most := redriveBatch
	if r.o.Most > 0 {
		most = min(most, r.o.Most-r.report.Moved)
	}
	wait, cancel := context.WithTimeout(ctx, redriveWait)
	defer cancel()
	fetches := client.PollRecords(wait, most)
	if failure.Over(ctx) {
		return context.Cause(ctx)
	}
	if failure.Over(wait) && fetches.Empty() {
		return &driver.Error{
			Class: driver.Transient,
			Err:   fmt.Errorf("the topic of %s has sent no dead letters for %v: run it again", r.ch, redriveWait),
		}
	}
	if errs := fetches.Errors(); len(errs) > 0 {
		return fmt.Errorf("read the dead letters %s: %w", r.ch, failure.Classify(errs[0].Err))
	}
	var batch []letter
	for iter := fetches.RecordIter(); !iter.Done(); {
		l, err := r.admit(iter.Next())
		if err != nil {
			return errors.Join(err, r.publish(ctx, batch))
		}
		if l.record != nil {
			batch = append(batch, l)
		}
	}
	return r.publish(ctx, batch)
}

// admit decides about one letter. The result has no record if the letter stays, or was moved before.
func (r *redrive) admit(rec *kgo.Record) (letter, error) {
	g := r.logs[rec.Partition]
	if g == nil || rec.Offset >= g.end {
		if g != nil {
			g.read = true
		}
		return letter{}, nil
	}
	g.read = rec.Offset+1 == g.end
	if rec.Attrs.IsControl() {
		g.tracker.Skip(rec.Offset + 1)
		return letter{}, nil
	}
	seq, _, a := g.tracker.Admit(rec.Offset, rec.LeaderEpoch, nil)
	switch {
	case a == offsets.Full:
		return letter{},
			failure.Permanent("too many dead letters of %s stay for the moved ones between them to be recorded: "+
				"select more of them, or delete the unwanted ones", r.ch)
	case a == offsets.Finished:
		return letter{}, nil
	case r.o.Only != nil && !r.o.Only(deadletter.OriginOf(r.ch, rec)):
		r.report.Left++
		return letter{}, nil
	}
	return letter{record: rec, log: g, seq: seq}, nil
}

// identity identifies the log of a partition, for its tracker.
func identity(id kadm.TopicID, n int32) string { return fmt.Sprintf("%s-%d", id, n) }
