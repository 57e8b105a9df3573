package queue

import (
	"fmt"
	"sync/atomic"
)

// Window bounds how many bytes of messages a server holds in memory that its store has as well. The messages of a short
// backlog are all in it; those beyond it are read when they are received. It is safe for concurrent use.
type Window struct {
	Most int64 // bytes; 0: every message is read
	used atomic.Int64
}

// Used returns how many bytes are held.
func (w *Window) Used() int64 { return w.used.Load() }

// weight is about how much memory a message takes.
func (m *Message) weight() int64 {
	const empty, details, attribute = 200, 96, 96
	n := empty + m.Size()
	if d := m.Given; d != nil {
		n += details + attribute*len(d.Attributes) + len(d.Trace) + len(d.Group) + len(d.Dedup)
	}
	return int64(n)
}

// hold decides whether an item that has entered a queue keeps its message in memory. The record of the message must
// have been written, or be written by the same operation of the queue. The caller holds the queue's lock.
func (j *journal) hold(it *item) {
	if j == nil || it.message == nil {
		return
	}
	if n := it.message.weight(); j.Window.used.Add(n) > j.Window.Most {
		j.Window.used.Add(-n)
		it.message = nil
	}
}

// let frees the room of an item that leaves its queue. The caller holds the queue's lock.
func (j *journal) let(it *item) {
	if j != nil && it.message != nil {
		j.Window.used.Add(-it.message.weight())
	}
}

// absent is a message that is on disk only: in is where to put it.
type absent struct {
	key int64
	in  **Message
}

// read reads messages from the store, and leaves nil where a message has been deleted meanwhile. The caller does not
// hold the queue's lock.
func (j *journal) read(all []absent) error {
	if len(all) == 0 {
		return nil
	}
	keys := make([]string, len(all))
	for i, a := range all {
		keys[i] = j.itemKey(recordMessage, a.key)
	}
	values, err := j.Store.Read(keys...)
	if err != nil {
		return fmt.Errorf("queue: messages cannot be read: %w", err)
	}
	for i, value := range values {
		if value == nil {
			continue
		}
		r := reader{b: string(value), clock: j.clock}
		r.item()
		m := r.message()
		if r.bad {
			return fmt.Errorf("queue: the record of the message %d cannot be read", all[i].key)
		}
		*all[i].in = m
	}
	return nil
}

// readItems reads the messages of items that have left the queue.
func (j *journal) readItems(items []*item) error {
	var all []absent
	for _, it := range items {
		if it.message == nil {
			all = append(all, absent{it.key, &it.message})
		}
	}
	if err := j.read(all); err != nil {
		return err
	}
	for _, it := range items {
		if it.message == nil {
			return fmt.Errorf("queue: the record of the message %d is missing", it.key)
		}
	}
	return nil
}
