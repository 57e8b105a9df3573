package wire

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/snssqs/internal/client"
)

// maxFilterValues is the most values that SNS accepts in a subscription's filter policy.
const maxFilterValues = 150

// Everything is the filter policy that lets every message pass.
const Everything = "{}"

// FilterPolicy returns a filter on an attribute as an SNS filter policy, or an error if SNS cannot express it.
func FilterPolicy(f driver.Filter, attribute string) (string, error) {
	n := len(f.Exact) + len(f.Prefix) + len(f.Exclude)
	switch {
	case n == 0:
		return Everything, nil
	case len(f.Exclude) > 0 && n > len(f.Exclude):
		return "", fmt.Errorf("the filter's Exclude cannot be combined with Exact or Prefix")
	case slices.Contains(slices.Concat(f.Exact, f.Prefix, f.Exclude), ""):
		return "", fmt.Errorf("the filter has an empty value, which SNS does not accept; messages without a routing " +
			"key pass " +
			"Exclude, and no filter at all")
	}
	var values []any
	for _, v := range f.Exact {
		values = append(values, v)
	}
	for _, v := range f.Prefix {
		values = append(values, map[string]any{"prefix": v})
	}
	if len(f.Exclude) > 0 {
		n++
		values = append(values, map[string]any{"anything-but": f.Exclude}, map[string]any{"exists": false})
	}
	if n > maxFilterValues {
		return "", fmt.Errorf("the filter has %d values; SNS accepts %d in one subscription: use prefixes, or several "+
			"consumers", n, maxFilterValues)
	}
	policy, err := json.Marshal(map[string]any{attribute: values})
	return string(policy), err
}

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

// ParseFilterPolicy is the inverse of FilterPolicy. A policy of another form passes everything.
func ParseFilterPolicy(policy, attribute string) (f driver.Filter) {
	var doc map[string][]any
	if json.Unmarshal([]byte(policy), &doc) != nil || len(doc) != 1 {
		return driver.Filter{}
	}
	for _, value := range doc[attribute] {
		switch v := value.(type) {
		case string:
			f.Exact = append(f.Exact, v)
		case map[string]any:
			if prefix, ok := v["prefix"].(string); ok {
				f.Prefix = append(f.Prefix, prefix)
			}
			others, _ := v["anything-but"].([]any)
			for _, other := range others {
				f.Exclude = append(f.Exclude, fmt.Sprint(other))
			}
		}
	}
	return f
}
