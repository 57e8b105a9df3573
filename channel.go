package godwit

import (
	"fmt"
	"strings"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/part"
)

// dlqSuffix marks the dead letters of a channel in its name.
const dlqSuffix = "@dlq"

// parseChannel parses a channel's name. Its rules are the strictest of all backends, so that a channel can be moved to
// another backend by changing one line.
func parseChannel(name string, ordered bool) (driver.Channel, error) {
	ch := driver.Channel{Ordered: ordered}
	rest, dead := strings.CutSuffix(name, dlqSuffix)
	ch.DeadLetter = dead
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
