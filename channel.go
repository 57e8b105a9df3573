package godwit

import (
	"fmt"
	"slices"
	"strings"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/part"
)

// dlqSuffix marks the dead letters of a channel in its name.
const dlqSuffix = "@dlq"

// laterSuffix marks the messages of a channel that wait for their time.
const laterSuffix = "@later"

// ticksSuffix marks the messages of schedules on their way to a channel without order.
const ticksSuffix = "@ticks"

// parseChannel parses a channel's name. Its rules are the strictest of all backends, so that a channel can be moved to
// another backend by changing one line.
func parseChannel(name string, ordered bool) (driver.Channel, error) {
	ch := driver.Channel{Ordered: ordered}
	rest, dead := strings.CutSuffix(name, dlqSuffix)
	ch.DeadLetter = dead
	if of, later := strings.CutSuffix(rest, laterSuffix); later {
		return ch, nameError(name, "messages wait there for their time, and consumers of "+of+" send them on: "+
			"send to it with Message.Delay or Message.At")
	}
	if of, ticks := strings.CutSuffix(rest, ticksSuffix); ticks {
		return ch, nameError(name, "messages of schedules are there, and consumers of "+of+" send them on: "+
			"send them with Every")
	}
	first, second, oneToMany := strings.Cut(rest, ".")
	if !oneToMany {
		ch.Queue = first
		return ch, checkPart(name, first)
	}
	ch.Exchange = first
	if err := checkPart(name, first); err != nil {
		return ch, err
	}
	if second == "*" {
		if dead {
			return ch, nameError(name, "each queue of an exchange has its own dead letters: name one queue")
		}
		return ch, nil
	}
	if second == "fifo" {
		return ch, nameError(name, "order is an option (ProducerOptions.Ordered, ConsumerOptions.Ordered), "+
			"not a part of the name: remove .fifo")
	}
	ch.Queue = second
	return ch, checkPart(name, second)
}

func checkPart(name, one string) error {
	switch {
	case name == "":
		return nameError(name, "it is empty")
	case one == "*":
		return nameError(name, "'*' stands for all queues of an exchange, as in wishlist_events.*")
	}
	if err := part.Check(one); err != nil {
		return nameError(name, err.Error())
	}
	return nil
}

func nameError(name, why string) error {
	return fmt.Errorf("%w: channel name %q: %s", ErrInvalid, name, why)
}

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
