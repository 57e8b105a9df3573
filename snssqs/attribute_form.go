package snssqs

import (
	"fmt"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/snssqs/internal/estate"
	"github.com/godwitmq/godwit/snssqs/internal/wire"
)

// HeaderForm says how the headers of a message travel.
type HeaderForm uint8

const (
	HeadersDefault HeaderForm = iota // HeadersNative for a mapped resource (Options.Names), otherwise HeadersPacked
	HeadersNative                    // each is a message attribute with its type, at most ten in all
	HeadersPacked                    // all are in Godwit's attribute, however many
)

// Attributes says which message attributes a message has.
type Attributes struct {
	// Headers says how the headers travel; both forms are read everywhere. Set it to HeadersNative where programs
	// without Godwit, or filter policies on attributes, read them, and to HeadersPacked if only Godwit does, and
	// messages have many.
	Headers HeaderForm
	// RoutingKey is the attribute with the routing key, which filters check. Set it if other producers use an attribute
	// of another name; the filter policies of subscriptions that Godwit creates use it, too. "": routing_key.
	RoutingKey string
}

// checkAttributes refuses settings that cannot be right.
func (o *Options) checkAttributes() error {
	if err := o.Attributes.check("Options.Attributes"); err != nil {
		return err
	}
	for channel, a := range o.AttributesOf {
		field := fmt.Sprintf("Options.AttributesOf[%q]", channel)
		if err := a.check(field); err != nil {
			return err
		}
		if err := checkMapping(channel, Resource{}); err != nil {
			return fmt.Errorf("snssqs: %s: %w", field, err)
		}
	}
	return nil
}

func (a Attributes) check(field string) error {
	if a.Headers > HeadersPacked {
		return fmt.Errorf("snssqs: %s.Headers is %d: use one of the constants", field, a.Headers)
	}
	if a.RoutingKey != "" && !wire.LegalAttribute(a.RoutingKey) {
		return fmt.Errorf("snssqs: %s.RoutingKey is %q: it must be the name of a message attribute (letters, digits, '_', "+
			"'-' and '.'), and none that AWS or Godwit uses itself, as %q", field, a.RoutingKey, wire.EnvelopeAttribute)
	}
	return nil
}

// form returns the attributes of messages to a channel: those of the channel itself, then those of its exchange, then
// those of all.
func (o *Options) form(to driver.Channel, mapped bool) wire.Form {
	f := wire.Form{Native: mapped}
	var headers HeaderForm
	for _, a := range []Attributes{
		o.AttributesOf[to.String()], o.AttributesOf[estate.ExchangeOf(to).String()],
		o.Attributes,
	} {
		if headers == HeadersDefault {
			headers = a.Headers
		}
		if f.Routing == "" {
			f.Routing = a.RoutingKey
		}
	}
	if headers != HeadersDefault {
		f.Native = headers == HeadersNative
	}
	if f.Routing == "" {
		f.Routing = wire.RoutingAttribute
	}
	return f
}
