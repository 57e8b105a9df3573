package wire

import (
	"maps"
	"sync/atomic"

	"github.com/godwitmq/godwit/driver"
)

// attributeCache remembers the attributes of the message sent last. Most messages of a sender have the same envelope
// and routing key, and a map of attributes costs a kilobyte. The zero value is ready; safe for concurrent use.
type attributeCache[V any] struct {
	last atomic.Pointer[attributeSet[V]]
}

// attributeSet is the attributes of all messages that have one envelope and one routing key. The values point into
// the set, never into a message, whose body would stay in memory with it.
type attributeSet[V any] struct {
	kind, envelope, routingKey string
	values                     map[string]V // shared by requests: never changed
}

// of is the attributes of a message: ours, each made by text of a type and a value, and its headers, made by native.
func (c *attributeCache[V]) of(w *prepared, text func(kind, value *string) V,
	native func([]driver.RawHeader) map[string]V,
) map[string]V {
	if w.sizeName != "" || w.native != nil {
		s := newAttributeSet(w, text) // other messages have other sizes and headers
		maps.Copy(s.values, native(w.native))
		return s.values
	}
	if s := c.last.Load(); s != nil && s.envelope == w.envelope && s.routingKey == w.routingKey {
		return s.values
	}
	s := newAttributeSet(w, text)
	c.last.Store(s)
	return s.values
}

func newAttributeSet[V any](w *prepared, text func(kind, value *string) V) *attributeSet[V] {
	s := &attributeSet[V]{
		kind: stringType, envelope: w.envelope, routingKey: w.routingKey, values: make(map[string]V, 2),
	}
	if s.envelope != "" {
		s.values[EnvelopeAttribute] = text(&s.kind, &s.envelope)
	}
	if s.routingKey != "" {
		s.values[w.routing] = text(&s.kind, &s.routingKey)
	}
	if w.sizeName != "" {
		kind, size := numberType, w.size
		s.values[w.sizeName] = text(&kind, &size)
	}
	return s
}
