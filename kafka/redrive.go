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
	// redriveBatch is how many letters are published before that is committed: what a crash repeats at most.
	redriveBatch = 500
	// redrivePlaces bounds how many letters that stay behind one run reads past, in each partition.
	redrivePlaces = 1 << 16
	// redriveWait is how long a partition may bring nothing before the run gives up: retention may have removed its
	// end.
	redriveWait = 15 * time.Second
)

// RedriveOptions say which dead letters go back. The zero value: all that are there when it begins.
type RedriveOptions struct {
	// Most is how many dead letters are moved at most; 0: all that are there. Set it to try a few first.
	Most int
	// Only chooses by where a dead letter was and why it was rejected; nil: every one. Set it when the cause of only
	// some has been removed. Those that are not chosen stay.
	Only func(o *driver.Origin) bool
}

// RedriveReport is what became of the letters that were looked at.
type RedriveReport struct {
	Moved int            // went back
	To    map[string]int // how many of them to which topic
	Left  int            // stay: not chosen, or refused
}

// Redrive moves dead letters of a channel (orders, or orders@dlq) back to the topics that they were in, whoever wrote
// that down; where nobody did, to the channel's own. Keys and headers are as they were, without those of the death; the
// history of deaths stays. On an exchange's topic all of its consumers get them again.
//
// Each is published before it counts as finished in the group that reads the dead letters, which must have no member
// meanwhile: a run that ends early is continued by the next one, and a crash repeats at most the batch under way.
// Letters written while it runs are not looked at. With an error, the report says how far it came.
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

// redrive is one run.
type redrive struct {
	b     *Backend
	o     RedriveOptions
	ch    driver.Channel // the dead letters
	topic topic
	group string
	logs  map[int32]*deadLog
	// targets are the topics that letters went to, once looked for, with the reason why one cannot be used.
	targets map[string]error
	report  RedriveReport
	refused error // the first
}

// deadLog is one partition of the dead letters, and how far the run has come in it.
type deadLog struct {
	tracker   *offsets.Tracker
	from, end int64
	epoch     int32
	read      bool
}

// letter is a dead letter that goes back.
type letter struct {
	record *kgo.Record
	log    *deadLog
	seq    uint64
}

// prepare finds out what there is to do.
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

// measure learns what is committed of each partition, and where it ends now.
func (r *redrive) measure(ctx context.Context) error {
	starts, err := r.b.admin.ListStartOffsets(ctx, r.topic.name)
	if err == nil {
		err = starts.Error()
	}
	if err != nil {
		return fmt.Errorf("ask where the log of topic %s starts: %w", r.topic.name, failure.Classify(err))
	}
	ends, err := r.b.admin.ListEndOffsets(ctx, r.topic.name)
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

// reader reads the letters as no member of a group, markers of transactions too: they may be the end of a log.
func (r *redrive) reader() (*kgo.Client, error) {
	from := map[int32]kgo.Offset{}
	for n, g := range r.logs {
		from[n] = kgo.NewOffset().At(g.from)
	}
	opts, err := r.b.o.clientOptions(r.b.log,
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{r.topic.name: from}), kgo.KeepControlRecords())
	if err != nil {
		return nil, err
	}
	client, err := kgo.NewClient(opts...)
	if err != nil {
		return nil, fmt.Errorf("kafka: make the client that reads %s: %w", r.ch, err)
	}
	return client, nil
}

// more says whether there is anything left to do.
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

// step reads some letters, publishes those that go back, and commits.
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
			Err:   fmt.Errorf("the dead letters of %s bring nothing for %v: run it again", r.ch, redriveWait),
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

// admit decides on one letter; one without a record stays, or went back before.
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
			failure.Permanent("so many dead letters of %s stay behind that what went back cannot be remembered any "+
				"more: choose more of them, or remove what is not wanted", r.ch)
	case a == offsets.Finished:
		return letter{}, nil
	case r.o.Only != nil && !r.o.Only(deadletter.OriginOf(r.ch, rec)):
		r.report.Left++
		return letter{}, nil
	}
	return letter{record: rec, log: g, seq: seq}, nil
}

// identity is which log a partition is, for its tracker.
func identity(id kadm.TopicID, n int32) string { return fmt.Sprintf("%s-%d", id, n) }
