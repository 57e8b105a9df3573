package filterpolicy

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/godwitmq/godwit/driver"
)

// maxValues is the most values that SNS accepts in a subscription's filter policy.
const maxValues = 150

// Everything is the filter policy that lets every message pass.
const Everything = "{}"

// Of returns a filter on an attribute as an SNS filter policy, or an error if SNS cannot express it.
func Of(f driver.Filter, attribute string) (string, error) {
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
	if n > maxValues {
		return "", fmt.Errorf("the filter has %d values; SNS accepts %d in one subscription: use prefixes, or several "+
			"consumers", n, maxValues)
	}
	policy, err := json.Marshal(map[string]any{attribute: values})
	return string(policy), err
}

// Parse is the inverse of Of. A policy of another form passes everything.
func Parse(policy, attribute string) (f driver.Filter) {
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
