package kafka

import (
	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka/internal/wire"
)

// Raw implements driver.RawReader. A record in a tier is returned as its original was.
func (r *receiver) Raw(h driver.Handle) driver.Raw {
	l := r.ledger
	l.mu.Lock()
	defer l.mu.Unlock()
	m := h.Ref.(*message)
	if m.use != h.Seq || m.record == nil {
		return driver.Raw{} // it is settled
	}
	if m.epoch.stay == 0 {
		return wire.Raw(m.record)
	}
	return wire.Raw(wire.Original(m.record))
}
