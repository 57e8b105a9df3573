package wire

import (
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/godwitmq/godwit/driver"
)

// Matches reports whether a filter selects a record. Brokers do not filter, so the receiver does.
func Matches(f driver.Filter, r *kgo.Record) bool {
	return f.IsZero() || passes(f, LastHeader(r.Headers, routingHeader))
}

// passes reports whether a filter selects a routing key. Exact and Prefix are alternatives. Exclude applies in addition
// to them, and selects messages without a key.
func passes(f driver.Filter, key []byte) bool {
	if key := string(key); key != "" && slices.Contains(f.Exclude, key) {
		return false
	}
	if len(f.Exact) == 0 && len(f.Prefix) == 0 {
		return true
	}
	return len(key) > 0 && (slices.Contains(f.Exact, string(key)) ||
		slices.ContainsFunc(f.Prefix, func(p string) bool { return strings.HasPrefix(string(key), p) }))
}
