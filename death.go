package godwit

import (
	"cmp"
	"time"

	"github.com/godwitmq/godwit/driver"
)

// Death says why and where a message was rejected.
type Death struct {
	MessageID string // the id of the rejected message
	Channel   string
	OrderKey  string
	Consumer  string
	Error     string
	// Kind is exhausted, permanent, rejected, timeout, undecodable, panic or blocked or, if the body in the store could
	// not be read, payload-missing, -pointer, -foreign, -short, -long, -altered or -large.
	Kind     string
	Attempts int
	// First and Last are the first and the last failure that the consumer has seen.
	First, Last time.Time
}

// deathFrom is what the dead letter of a delivery will say.
func deathFrom(d *Delivery, death *driver.Death) Death {
	return Death{
		MessageID: d.ID, Channel: death.Channel, OrderKey: cmp.Or(d.OrderKey, d.Tenant), Consumer: death.Consumer,
		Error: death.Error, Kind: death.Kind, Attempts: int(death.Attempts), First: death.First, Last: death.Last,
	}
}

func deathOf(o *driver.Origin) *Death {
	if o == nil {
		return nil
	}
	d := &Death{
		MessageID: o.ID, Channel: o.Channel.String(), OrderKey: o.OrderKey, Consumer: o.Death.Consumer,
		Error: o.Death.Error,
		Kind:  o.Death.Kind, Attempts: int(o.Death.Attempts), First: o.Death.First, Last: o.Death.Last,
	}
	if o.Death.Channel != "" {
		d.Channel = o.Death.Channel
	}
	return d
}
