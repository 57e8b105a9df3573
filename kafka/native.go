package kafka

import (
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka/internal/wire"
)

// system is Kafka's name in OpenTelemetry.
const system = "kafka"

// As knows **kgo.Record, *driver.Provenance and *driver.Raw. The record is a copy, and that of a retry has topic,
// partition, offset and headers of its original. Its key, value and headers must not be changed.
func (r *receiver) As(h driver.Handle, to any) bool {
	record, tier := r.ledger.Original(h)
	if _, raw := to.(*driver.Raw); raw && tier {
		record = wire.Original(record)
	}
	return record != nil && wire.As(record, to)
}

// Stalls implements driver.Log.
func (r *receiver) Stalls(now time.Time) (times int64, complaints []string) {
	return r.ledger.Stalled(now)
}

// Uncommitted implements driver.Log.
func (r *receiver) Uncommitted() int64 {
	if m := r.group.current(); m != nil {
		return int64(r.ledger.Epochs.Uncommitted(m.Member))
	}
	return 0
}
