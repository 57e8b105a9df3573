package sqs

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/godwitmq/godwit/localaws/keep"
	"github.com/godwitmq/godwit/localaws/sqs/queue"
	"github.com/godwitmq/godwit/localaws/wire"
)

// The keys of records: of a queue by its number, with its content (see package queue) under keys of its own, and of a
// move task by its id.
const (
	queueRecord = "queue/"
	taskRecord  = "task/"
)

// keptQueue is the record of a queue without its messages.
type keptQueue struct {
	Place         wire.Place
	Name          string
	Number, Stamp uint64
	Tags          map[string]string `json:",omitempty"`

	Delay, Visibility, Retention, Wait, MaxSize int
	Redrive, RedriveAllow, Policy               string `json:",omitempty"`
	ManagedSSE                                  bool
	KMSKey                                      string `json:",omitempty"`
	KMSReuse                                    int
	ContentDedup, DedupByGroup                  bool
	DedupScope, ThroughputLimit                 string
	Created, Modified                           time.Time
}

// newJournal returns where a new queue is kept; nil: in memory alone.
func newJournal(o Options) *queue.Journal {
	if o.Store == nil {
		return nil
	}
	return &queue.Journal{
		Store: o.Store, Number: o.Random.Uint64(), Stamp: o.Random.Uint64(), Epoch: o.Epoch, Window: o.Window,
	}
}

// recordOf returns the record of a queue. The caller holds the queue's lock.
func recordOf(q *Queue) keptQueue {
	set := q.settings.Load()
	k := keptQueue{
		Name: q.name, Number: q.journal.Number, Stamp: q.journal.Stamp, Tags: q.tags,
		Delay: set.delay, Visibility: set.visibility, Retention: set.retention, Wait: set.wait, MaxSize: set.maxSize,
		ManagedSSE: set.managedSSE, KMSKey: set.kmsKey, KMSReuse: set.kmsReuse, ContentDedup: set.contentDedup,
		DedupByGroup: set.dedupByGroup, DedupScope: set.dedupScope, ThroughputLimit: set.throughputLimit,
		Created: set.created, Modified: set.modified,
	}
	k.Place, _ = wire.PlaceOf(q.arn)
	if set.redrive != nil {
		k.Redrive = set.redrive.given
	}
	if set.redriveAllow != nil {
		k.RedriveAllow = set.redriveAllow.text
	}
	if set.policy != nil {
		k.Policy = set.policy.text
	}
	return k
}

func numberText(n uint64) string { return string(binary.BigEndian.AppendUint64(nil, n)) }

// put writes a record as JSON.
func put(store keep.Store, key string, v any) {
	b, err := json.Marshal(v)
	if err != nil { // texts, numbers and times within years that JSON has
		panic("sqs: a record cannot be written: " + err.Error())
	}
	store.Write(keep.Change{Key: key, Value: b})
}

// settings returns the settings of a queue that was kept.
func (k *keptQueue) settings() (*settings, error) {
	set := &settings{
		delay: k.Delay, visibility: k.Visibility, retention: k.Retention, wait: k.Wait, maxSize: k.MaxSize,
		managedSSE: k.ManagedSSE, kmsKey: k.KMSKey, kmsReuse: k.KMSReuse, contentDedup: k.ContentDedup,
		dedupByGroup: k.DedupByGroup, dedupScope: k.DedupScope, throughputLimit: k.ThroughputLimit,
		created: k.Created, modified: k.Modified,
	}
	for _, part := range []struct {
		text string
		set  func(*settings, string) *wire.Error
	}{{k.Redrive, setRedrive}, {k.RedriveAllow, setRedriveAllow}, {k.Policy, setPolicy}} {
		if bad := part.set(set, part.text); bad != nil {
			return nil, fmt.Errorf("sqs: the record of the queue %s: %w", k.Name, bad)
		}
	}
	return set, nil
}

// keptTask is the record of a move task.
type keptTask struct {
	Place          wire.Place
	ID             string
	Source         string // ARN
	Destination    string `json:",omitempty"`
	Rate           int32  `json:",omitempty"`
	Started        time.Time
	State, Failure string
	Moved, Total   int
}

// keep writes the task's record. The caller holds the task's lock.
func (t *task) keep() {
	if j := t.source.journal; j != nil {
		k := keptTask{
			ID: t.id, Source: t.source.arn, Destination: t.destination, Rate: t.rate, Started: t.started,
			State: t.state, Failure: t.failure, Moved: t.moved, Total: t.total,
		}
		k.Place, _ = wire.PlaceOf(t.source.arn)
		put(j.Store, taskRecord+t.id, k)
	}
}

// forget deletes the task's record.
func (t *task) forget() {
	if j := t.source.journal; j != nil {
		j.Store.Write(keep.Change{Key: taskRecord + t.id})
	}
}

// forget cancels and removes every task, and its record.
func (ts *tasks) forget() {
	for _, all := range ts.reset() {
		for _, t := range all {
			t.forget()
		}
	}
}

// Kept is what was kept of the queues of all places.
type Kept struct {
	opts     Options // Clock, Store and Window
	queues   []keptQueue
	tasks    []keptTask
	contents map[uint64]*queue.Kept
}

// NewKept returns an empty one. Of the options, it uses Clock, Store and Window.
func NewKept(o Options) *Kept { return &Kept{opts: o, contents: map[uint64]*queue.Kept{}} }

// Add adds a record. ok is false if it is not one of SQS.
func (k *Kept) Add(key string, value []byte) (ok bool, err error) {
	if n, is := queue.IsRecord(key); is {
		c := k.contents[n]
		if c == nil {
			c = &queue.Kept{Window: k.opts.Window}
			k.contents[n] = c
		}
		return true, c.Add(key, value, k.opts.Clock)
	}
	switch {
	case len(key) == len(queueRecord)+8 && key[:len(queueRecord)] == queueRecord:
		k.queues = append(k.queues, keptQueue{})
		return true, json.Unmarshal(value, &k.queues[len(k.queues)-1])
	case len(key) > len(taskRecord) && key[:len(taskRecord)] == taskRecord:
		k.tasks = append(k.tasks, keptTask{})
		return true, json.Unmarshal(value, &k.tasks[len(k.tasks)-1])
	}
	return false, nil
}

// Newest returns the latest time at which something had happened.
func (k *Kept) Newest() time.Time {
	var newest time.Time
	for _, c := range k.contents {
		if c.Newest().After(newest) {
			newest = c.Newest()
		}
	}
	return newest
}

// Restore creates the queues, and then continues their move tasks, in the services that in returns. What is left of
// queues that were deleted is deleted.
func (k *Kept) Restore(in func(wire.Place) *Service) error {
	for _, q := range k.queues {
		if err := q.restore(in(q.Place), k.contents[q.Number]); err != nil {
			return err
		}
		delete(k.contents, q.Number)
	}
	for n, c := range k.contents {
		if !k.opts.Store.Damaged() {
			c.Discard(k.opts.Store, n)
		}
	}
	slices.SortFunc(k.tasks, func(a, b keptTask) int { return b.Started.Compare(a.Started) })
	for _, t := range k.tasks {
		t.restore(in(t.Place))
	}
	*k = Kept{}
	return nil
}

// restore creates the queue.
func (k *keptQueue) restore(s *Service, content *queue.Kept) error {
	set, err := k.settings()
	if err != nil {
		return err
	}
	q := newQueue(s, k.Name, set, &queue.Journal{
		Store: s.opts.Store, Number: k.Number, Stamp: k.Stamp, Epoch: s.opts.Epoch, Window: s.opts.Window,
		Kept: content,
	})
	maps.Copy(q.tags, k.Tags)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queues[q.name] = q
	return nil
}

// restore adds the task, which is older than those before, and continues it if it was running.
func (k *keptTask) restore(s *Service) {
	source := s.byARN(k.Source)
	if source == nil {
		if s.opts.Store.Damaged() {
			return
		}
		s.opts.Store.Write(keep.Change{Key: taskRecord + k.ID})
		return
	}
	t := &task{
		id: k.ID, source: source, destination: k.Destination, rate: k.Rate, started: k.Started, state: k.State,
		failure: k.Failure, moved: k.Moved, total: k.Total,
	}
	s.tasks.append(t)
	if t.state == taskRunning {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.stop = s.opts.Clock.AfterFunc(t.pause(), func() { t.step(s) })
	}
}
