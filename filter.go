package godwit

import "slices"

import "github.com/godwitmq/godwit/driver"

// Filter selects what a consumer of an exchange receives, by routing key. Exact and Prefix are alternatives of each
// other; Exclude stands alone and lets messages without a routing key pass. The zero Filter lets everything pass.
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
			"what a filter refuses is deleted, and dead letters must not be: look at RoutingKey in the handler")
	case ch.Exchange == "":
		return invalid("ConsumerOptions.Filter", f, "only the queues of an exchange have routing keys to filter by; "+ch.String()+" is one-to-one")
	case len(f.Exclude) > 0 && len(f.Exact)+len(f.Prefix) > 0:
		return invalid("ConsumerOptions.Filter", f, "Exclude stands alone: it cannot be combined with Exact or Prefix")
	}
	for _, vs := range [][]string{f.Exact, f.Prefix, f.Exclude} {
		if slices.Contains(vs, "") {
			return invalid("ConsumerOptions.Filter", f, "an empty value matches no routing key")
		}
	}
	return nil
}
