package kafka

import (
	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka/internal/wire"
)

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
