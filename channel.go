package godwit

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/godwitmq/godwit/driver"
)

// dlqSuffix is how users spell the dead letters of a channel.
const dlqSuffix = "@dlq"

// parseChannel reads a channel's name. The rules are those of the narrowest backend, so that a channel can move to
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
			return ch, nameError(name, "each queue of an exchange has dead letters of its own: name one")
		}
		return ch, nil
	}
	if second == "fifo" {
		return ch, nameError(name, "orderedness is an option (ProducerOptions.Ordered, ConsumerOptions.Ordered), "+
			"not a part of the name: leave .fifo out")
	}
	ch.Queue = second
	return ch, checkPart(name, second)
}

func checkPart(name, part string) error {
	switch {
	case name == "":
		return nameError(name, "it is empty")
	case part == "":
		return nameError(name, "a part of it is empty")
	case part == "*":
		return nameError(name, "'*' stands for all queues of an exchange, as in wishlist_events.*")
	case part == "dlq":
		return nameError(name, "dlq is reserved; the dead letters of orders are spelled orders@dlq")
	case strings.Contains(part, "--"):
		return nameError(name, "'--' is reserved")
	}
	for i, c := range part {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !letter && c != '_' && c != '-' {
			return nameError(name, fmt.Sprintf("%q is not allowed: use letters, digits, '_' and '-'", c))
		}
		if !letter && (i == 0 || i+utf8.RuneLen(c) == len(part)) {
			return nameError(name, fmt.Sprintf("%q must begin and end with a letter or a digit", part))
		}
	}
	return nil
}

func nameError(name, why string) error {
	return fmt.Errorf("%w: channel name %q: %s", ErrInvalid, name, why)
}
