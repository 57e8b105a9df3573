package records

import (
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/godwitmq/godwit/driver"
)

// Results are what waits for a transaction: the messages of handled records, and the copies of records that are retried
// or rejected. Without transactions it stays empty. Methods of other packages take the ledger's lock; the others are
// called while it is held.
type Results struct {
	l        *Ledger
	done     stage // the stage of a message that was handled
	attached map[*Message]attachment
	queue    []*Result // complete, in this order
	open     int       // handled messages that no transaction has marked as finished
}

// attachment is what a handler has added to a message that the core still holds.
type attachment struct {
	records []*kgo.Record
	bytes   int
}

// Result is published in one transaction with the completion of its message.
type Result struct {
	m       *Message // nil: its message is finished
	epoch   *Epoch
	Records []*kgo.Record
	bytes   int         // counted in its epoch
	Answer  func(error) // of a copy; nil: the result of a handler. It returns at once
}

func newResults(l *Ledger) Results {
	if !l.Rules.Transforms {
		return Results{l: l, done: finished}
	}
	return Results{l: l, done: publishing, attached: map[*Message]attachment{}}
}

// Attach adds records to a delivery that the core holds, instead of earlier ones.
func (rs *Results) Attach(h driver.Handle, records []*kgo.Record, bytes int) {
	rs.l.mu.Lock()
	defer rs.l.mu.Unlock()
	m := rs.l.held(h)
	if m == nil {
		return
	}
	rs.detach(m)
	if len(records) > 0 {
		m.Epoch.waitingB += bytes
		rs.attached[m] = attachment{records, bytes}
	}
	if len(rs.attached)+len(rs.queue) >= rs.l.Rules.Commit {
		rs.l.Enough.set()
	}
}

// detach drops what is attached to a message.
func (rs *Results) detach(m *Message) {
	if a, ok := rs.attached[m]; ok {
		m.Epoch.waitingB -= a.bytes
		delete(rs.attached, m)
	}
}

// add makes the result of a message that was handled.
func (rs *Results) add(m *Message) {
	a := rs.attached[m]
	delete(rs.attached, m)
	rs.queue = append(rs.queue, &Result{m: m, epoch: m.Epoch, Records: a.records, bytes: a.bytes})
	rs.open++
}

// forget drops what is attached to the messages of an epoch that has ended. Results are dropped when they are taken.
func (rs *Results) forget(e *Epoch) {
	for m := range rs.attached {
		if m.Epoch == e {
			delete(rs.attached, m)
		}
	}
}

// enqueue adds copies of messages, whose outcomes are answered one by one.
func (rs *Results) enqueue(ms []Copy, records []*kgo.Record, answer func(i int, err error)) {
	rs.l.mu.Lock()
	defer rs.l.mu.Unlock()
	for i := range ms {
		rs.queue = append(rs.queue, &Result{
			m: ms[i].m, epoch: ms[i].m.Epoch, Records: records[i : i+1 : i+1],
			Answer: func(err error) { answer(i, err) },
		})
	}
}

// withdraw removes the copy of a message from the queue; false: it was taken.
func (rs *Results) withdraw(c Copy) bool {
	rs.l.mu.Lock()
	defer rs.l.mu.Unlock()
	for i, r := range rs.queue {
		if r.m == c.m {
			rs.queue = append(rs.queue[:i:i], rs.queue[i+1:]...)
			rs.end(r)
			return true
		}
	}
	return false
}

const (
	// ResultsMost and resultBytesMost bound a transaction, so that it ends long before its timeout.
	ResultsMost     = 10_000
	resultBytesMost = 8 << 20
)

// Take takes results for a transaction, at most so many. lost are results of epochs that have ended.
func (rs *Results) Take(most int) (taken, lost []*Result) {
	rs.l.mu.Lock()
	defer rs.l.mu.Unlock()
	rs.l.read()
	n, bytes := 0, 0
	for n < len(rs.queue) && n < most && bytes < resultBytesMost {
		r := rs.queue[n]
		n++
		if r.lost() {
			lost = append(lost, r)
			rs.end(r)
			continue
		}
		bytes += r.bytes
		taken = append(taken, r)
	}
	rs.queue = rs.queue[n:]
	if len(rs.queue) == 0 {
		rs.queue = nil
	}
	return taken, lost
}

// Lose ends the results of epochs that have ended.
func (rs *Results) Lose(batch []*Result) (left, lost []*Result) {
	rs.l.mu.Lock()
	defer rs.l.mu.Unlock()
	for _, r := range batch {
		if r.lost() {
			rs.end(r)
			lost = append(lost, r)
		} else {
			left = append(left, r)
		}
	}
	return left, lost
}

// Seal marks the messages of results as finished and, if c is not nil, adds all that is finished to the commit; false:
// a partition was lost, so that its completions cannot be committed. The commit's generation is older than that.
func (rs *Results) Seal(batch []*Result, c *Commitment) bool {
	l := rs.l
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range batch {
		if r.lost() {
			return false
		}
	}
	for _, r := range batch {
		if m := r.m; m != nil {
			rs.finish(r)
			l.move(m, finished)
		}
	}
	if c != nil {
		l.include(c, slices.Collect(maps.Values(l.Epochs.open)))
	}
	return true
}

// Drop ends results that are published, or refused.
func (rs *Results) Drop(batch []*Result) {
	rs.l.mu.Lock()
	for _, r := range batch {
		rs.end(r)
	}
	rs.l.mu.Unlock()
	rs.l.Wakeup.Wake() // records that had no room may be admitted
}

// IsStored reports whether the broker has a commit, by its answer. Partitions that were lost since then do not count:
// their next owner may have committed the same, and their results are dropped in any case.
func (rs *Results) IsStored(c *Commitment, resp *kmsg.OffsetFetchResponse) (bool, error) {
	rs.l.mu.Lock()
	defer rs.l.mu.Unlock()
	return c.isStored(resp)
}

// Open reports whether the message of a copy is not finished.
func (r *Result) Open() bool { return r.m != nil }

// lost reports whether the next owner of the partition computes the result again.
func (r *Result) lost() bool { return r.epoch.state == epochGone }

// finish is called when the message of a result is finished, or was lost.
func (rs *Results) finish(r *Result) {
	if r.m != nil && r.Answer == nil {
		rs.open--
	}
	r.m = nil
}

// end is called when a result is published, or dropped.
func (rs *Results) end(r *Result) {
	rs.finish(r)
	r.epoch.waitingB -= r.bytes
	r.bytes = 0
}
