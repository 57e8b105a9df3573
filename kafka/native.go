package kafka

import (
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka/internal/wire"
)

// system is Kafka's name in OpenTelemetry.
const system = "kafka"

// As implements driver.Native: it knows **kgo.Record and *driver.Provenance. The record is a copy, and that of a retry
// has topic, partition, offset and headers of its original. Its key, value and headers must not be changed.
func (r *receiver) As(h driver.Handle, to any) bool {
	record, _ := r.ledger.Original(h)
	return record != nil && wire.As(record, to)
}

// Stalls implements driver.Staller.
func (r *receiver) Stalls(now time.Time) (times int64, complaints []string) {
	return r.ledger.Stalled(now)
}

// Uncommitted implements driver.Committer.
func (r *receiver) Uncommitted() int64 {
	if m := r.group.current(); m != nil {
		return int64(r.ledger.Epochs.Uncommitted(m.Member))
	}
	return 0
}

// Raw implements driver.RawReader. A record in a tier is returned as its original was.
func (r *receiver) Raw(h driver.Handle) driver.Raw {
	switch record, tier := r.ledger.Original(h); {
	case record == nil:
		return driver.Raw{} // it is settled
	case tier:
		return wire.Raw(wire.Original(record))
	default:
		return wire.Raw(record)
	}
}
