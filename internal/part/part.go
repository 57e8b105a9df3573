package part

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// DeadLetters is reserved: no exchange, and no queue, has this name.
const DeadLetters = "dlq"

// Later is reserved as well.
const Later = "later"

// Ticks is reserved as well.
const Ticks = "ticks"

// Check says why a part of a name cannot be used: a part consists of letters, digits, '_' and '-', begins and ends with
// a letter or digit, has no "--", and is not reserved.
func Check(part string) error {
	switch {
	case part == "":
		return errors.New("a part of it is empty")
	case part == DeadLetters:
		return errors.New("dlq is reserved; the dead letters of orders are spelled orders@dlq")
	case part == Later:
		return errors.New("later is reserved: orders@later are the messages of orders that wait for their time; " +
			"choose another name, and move the messages of a channel that has this one")
	case part == Ticks:
		return errors.New("ticks is reserved: orders@ticks are the messages of schedules on their way to orders; " +
			"choose another name, and move the messages of a channel that has this one")
	case strings.Contains(part, "--"):
		return errors.New("'--' is reserved")
	}
	for i, c := range part {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !letter && c != '_' && c != '-' {
			return fmt.Errorf("%q is not allowed: use letters, digits, '_' and '-'", c)
		}
		if !letter && (i == 0 || i+utf8.RuneLen(c) == len(part)) {
			return fmt.Errorf("%q must begin and end with a letter or a digit", part)
		}
	}
	return nil
}

// Legal says whether a part of a name can be used.
func Legal(part string) bool { return Check(part) == nil }
