package snssqs

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/godwitmq/godwit/driver"
)

// maxFilterValues is what SNS takes in the filter policy of a subscription.
const maxFilterValues = 150

// everything is the filter policy that lets all messages pass.
const everything = "{}"

// filterPolicy says a filter on an attribute in SNS's words, or why SNS cannot keep it.
func filterPolicy(f driver.Filter, attribute string) (string, error) {
	n := len(f.Exact) + len(f.Prefix) + len(f.Exclude)
	switch {
	case n == 0:
		return everything, nil
	case len(f.Exclude) > 0 && n > len(f.Exclude):
		return "", fmt.Errorf("the filter's Exclude stands alone: it cannot be combined with Exact or Prefix")
	case slices.Contains(slices.Concat(f.Exact, f.Prefix, f.Exclude), ""):
		return "", fmt.Errorf("the filter holds an empty value: SNS takes none; messages without a routing key pass " +
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
		return "", fmt.Errorf("the filter has %d values; SNS takes %d in one subscription: use prefixes, or several "+
			"consumers", n, maxFilterValues)
	}
	policy, err := json.Marshal(map[string]any{attribute: values})
	return string(policy), err
}

// filterable says why a channel can have no filter: only an exchange's queues select, and what a filter refuses is deleted,
// which dead letters must never be.
func filterable(ch driver.Channel, f driver.Filter) error {
	if f.IsZero() || ch.Exchange != "" && !ch.DeadLetter {
		return nil
	}
	return permanent("channel %s: it can have no filter: filters select what a queue gets of an exchange", ch)
}

// passes says whether a filter lets a routing key pass. The receiver asks it as well as SNS: a filter that was just
// changed, or a subscription that was just made again, lets others through for a while.
func passes(f driver.Filter, key string) bool {
	if f.IsZero() {
		return true
	}
	if len(f.Exclude) > 0 {
		return key == "" || !slices.Contains(f.Exclude, key)
	}
	return key != "" && (slices.Contains(f.Exact, key) ||
		slices.ContainsFunc(f.Prefix, func(p string) bool { return strings.HasPrefix(key, p) }))
}
