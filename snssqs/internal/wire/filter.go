package wire

import (
	"slices"
	"strings"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/snssqs/internal/client"
)

// Filterable returns an error if a channel cannot have a filter: only queues of an exchange can, and a receiver deletes
// the messages that do not match, which must never happen to dead letters.
func Filterable(ch driver.Channel, f driver.Filter) error {
	if f.IsZero() || ch.Exchange != "" && !ch.DeadLetter {
		return nil
	}
	return client.Permanent("channel %s: it can have no filter: filters select what a queue gets of an exchange", ch)
}

// Passes reports whether a filter lets a routing key pass. The receiver checks this in addition to SNS, because after a
// change of the filter, or a new subscription, SNS delivers other messages for a while.
func Passes(f driver.Filter, key string) bool {
	if f.IsZero() {
		return true
	}
	if len(f.Exclude) > 0 {
		return key == "" || !slices.Contains(f.Exclude, key)
	}
	return key != "" && (slices.Contains(f.Exact, key) ||
		slices.ContainsFunc(f.Prefix, func(p string) bool { return strings.HasPrefix(key, p) }))
}
