package kafka

import (
	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka/internal/wire"
)

// system is Kafka's name in OpenTelemetry.
const system = "kafka"

// As implements driver.Native: it knows **kgo.Record and *driver.Provenance. The record is a copy, and that of a retry
// has topic, partition, offset and headers of its original. Its key, value and headers must not be changed.
func (r *receiver) As(h driver.Handle, to any) bool {
	m, ok := h.Ref.(*message)
	if !ok {
		return false
	}
	r.ledger.mu.Lock()
	record := m.record
	held := m.use == h.Seq && record != nil
	r.ledger.mu.Unlock()
	return held && wire.As(record, to)
}

// Uncommitted implements driver.Committer.
func (r *receiver) Uncommitted() int64 {
	if m := r.group.current(); m != nil {
		return int64(r.ledger.uncommitted(m))
	}
	return 0
}

// Address implements driver.Addresser.
func (b *Backend) Address(ch driver.Channel) driver.Address {
	a := driver.Address{System: system, Destination: b.topicOf(ch)}
	if ch.Queue != "" {
		a.Group = b.names.Group(ch)
	}
	return a
}
