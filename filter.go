package godwit

import (
	"slices"

	"github.com/godwitmq/godwit/driver"
)

// Filter selects the messages of an exchange by their routing key. A message passes if one of Exact equals the key, or
// one of Prefix is a prefix of it. Exclude is used alone, and lets messages without a routing key pass. With the zero
// Filter all messages pass.
type Filter struct {
	// Exact are routing keys that pass. Set it when the consumer handles a few known kinds of messages.
	Exact []string
	// Prefix are beginnings of routing keys that pass, in addition to Exact. Set it when keys are hierarchical.
	Prefix []string
	// Exclude are routing keys that do not pass, while all others do, and messages without one. Set it when the
	// consumer handles everything except for a few kinds.
	Exclude []string
}

func (f Filter) driver() driver.Filter {
	return driver.Filter{Exact: f.Exact, Prefix: f.Prefix, Exclude: f.Exclude}
}

func (f Filter) check(ch driver.Channel) error {
	d := f.driver()
	switch {
	case d.IsZero():
		return nil
	case ch.DeadLetter:
		return invalid("ConsumerOptions.Filter", f,
			"a filter deletes the other messages, and dead letters must be kept: check RoutingKey in the handler")
	case ch.Exchange == "":
		return invalid("ConsumerOptions.Filter", f,
			"a filter is for the queues of an exchange, and "+ch.String()+" is one-to-one: remove it")
	case len(f.Exclude) > 0 && len(f.Exact)+len(f.Prefix) > 0:
		return invalid("ConsumerOptions.Filter", f, "Exclude cannot be combined with Exact or Prefix: use one of them")
	}
	for _, vs := range [][]string{f.Exact, f.Prefix, f.Exclude} {
		if slices.Contains(vs, "") {
			return invalid("ConsumerOptions.Filter", f, "an empty value matches no routing key: remove it")
		}
	}
	return nil
}
