package kafka

import "github.com/twmb/franz-go/pkg/kgo"

// results are what waits for a transaction: the messages of handled records, and the copies of records that are retried
// or rejected. Without transactions it stays empty. Guarded by ledger.mu.
type results struct {
	done     stage // the stage of a message that was handled
	attached map[*message]attachment
	queue    []*result // complete, in this order
	open     int       // handled messages that no transaction has marked as finished
}

// attachment is what a handler has added to a message that the core still holds.
type attachment struct {
	records []*kgo.Record
	bytes   int
}

// result is published in one transaction with the completion of its message.
type result struct {
	m       *message // nil: its message is finished
	epoch   *epoch
	records []*kgo.Record
	bytes   int         // counted in its epoch
	answer  func(error) // of a copy; nil: the result of a handler. It returns at once
}

func newResults(transforms bool) results {
	if !transforms {
		return results{done: finished}
	}
	return results{done: publishing, attached: map[*message]attachment{}}
}

// attach adds records to a message that the core holds, instead of earlier ones. It returns the number of results.
func (rs *results) attach(m *message, a attachment) int {
	rs.detach(m)
	if len(a.records) > 0 {
		m.epoch.waitingB += a.bytes
		rs.attached[m] = a
	}
	return len(rs.attached) + len(rs.queue)
}

// detach drops what is attached to a message.
func (rs *results) detach(m *message) {
	if a, ok := rs.attached[m]; ok {
		m.epoch.waitingB -= a.bytes
		delete(rs.attached, m)
	}
}

// add makes the result of a message that was handled.
func (rs *results) add(m *message) {
	a := rs.attached[m]
	delete(rs.attached, m)
	rs.queue = append(rs.queue, &result{m: m, epoch: m.epoch, records: a.records, bytes: a.bytes})
	rs.open++
}

// forget drops what is attached to the messages of an epoch that has ended. Results are dropped when they are taken.
func (rs *results) forget(e *epoch) {
	for m := range rs.attached {
		if m.epoch == e {
			delete(rs.attached, m)
		}
	}
}

const (
	// resultsMost and resultBytesMost bound a transaction, so that it ends long before its timeout.
	resultsMost     = 10_000
	resultBytesMost = 8 << 20
)

// take takes results for a transaction, at most so many. lost are those of epochs that have ended.
func (rs *results) take(most int) (taken, lost []*result) {
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

// lost reports whether the next owner of the partition computes the result again.
func (r *result) lost() bool { return r.epoch.state == epochGone }

// finish is called when the message of a result is finished, or was lost.
func (rs *results) finish(r *result) {
	if r.m != nil && r.answer == nil {
		rs.open--
	}
	r.m = nil
}

// end is called when a result is published, or dropped.
func (rs *results) end(r *result) {
	rs.finish(r)
	r.epoch.waitingB -= r.bytes
	r.bytes = 0
}

// withdraw removes a result from the queue; false: it was taken.
func (rs *results) withdraw(m *message) bool {
	for i, r := range rs.queue {
		if r.m == m {
			rs.queue = append(rs.queue[:i:i], rs.queue[i+1:]...)
			rs.end(r)
			return true
		}
	}
	return false
}
