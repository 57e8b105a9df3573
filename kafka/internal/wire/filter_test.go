package wire

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/godwitmq/godwit/driver"
)

func TestFilterMatches(t *testing.T) {
	record := func(key string) *kgo.Record {
		return &kgo.Record{Headers: []kgo.RecordHeader{{Key: "routing_key", Value: []byte(key)}}}
	}
	for _, c := range []struct {
		filter driver.Filter
		pass   []string
		refuse []string
	}{
		{filter: driver.Filter{}, pass: []string{"", "A"}},
		{
			filter: driver.Filter{Exact: []string{"A"}, Prefix: []string{"B."}}, pass: []string{"A", "B.", "B.C"},
			refuse: []string{"", "AA", "B", "C"},
		},
		{filter: driver.Filter{Prefix: []string{""}}, pass: []string{"A"}, refuse: []string{""}},
		{filter: driver.Filter{Exclude: []string{"A"}}, pass: []string{"", "B", "AA"}, refuse: []string{"A"}},
	} {
		for _, key := range c.pass {
			if !Matches(c.filter, record(key)) {
				t.Errorf("%+v refuses %q", c.filter, key)
			}
		}
		for _, key := range c.refuse {
			if Matches(c.filter, record(key)) {
				t.Errorf("%+v selects %q", c.filter, key)
			}
		}
	}
	if Matches(driver.Filter{Exact: []string{"A"}}, &kgo.Record{}) || !Matches(driver.Filter{Exclude: []string{"A"}},
		&kgo.Record{}) {
		t.Error("a record without the header counts as having a key")
	}
}
