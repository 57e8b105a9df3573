package metric

import (
	"cmp"
	"slices"
	"strings"
)

// ID names a metric. The order of its dimensions does not matter.
type ID struct {
	Namespace  string
	Name       string
	Dimensions []Dimension
}

// Dimension is one name and value of a metric's ID.
type Dimension struct {
	Name  string
	Value string
}

// key returns the same text for the same metric. No part of an ID can contain the separator.
func (id ID) key() string {
	sorted := id.Dimensions
	if len(sorted) > 1 {
		sorted = slices.Clone(sorted)
		slices.SortFunc(sorted, func(a, b Dimension) int {
			return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.Value, b.Value))
		})
	}
	n := len(id.Namespace) + len(id.Name) + 2
	for _, d := range sorted {
		n += len(d.Name) + len(d.Value) + 2
	}
	var b strings.Builder
	b.Grow(n)
	for _, part := range []string{id.Namespace, id.Name} {
		b.WriteString(part)
		b.WriteByte(0)
	}
	for _, d := range sorted {
		b.WriteString(d.Name)
		b.WriteByte(0)
		b.WriteString(d.Value)
		b.WriteByte(0)
	}
	return b.String()
}
