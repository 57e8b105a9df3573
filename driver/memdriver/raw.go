package memdriver

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/godwitmq/godwit/driver"
)

const (
	// format is the format of raw messages of this backend.
	format = "memory"
	// property is the type of the raw header that holds what a message has beside body, key and headers.
	property = "property"
)

// properties are what a message has beside body, key and headers.
type properties struct {
	RoutingKey  string         `json:"routing_key,omitempty"`
	ContentType string         `json:"content_type,omitempty"`
	Type        string         `json:"type,omitempty"`
	Version     int            `json:"version,omitempty"`
	Expires     time.Duration  `json:"expires,omitempty"`
	First       time.Time      `json:"first,omitzero"` // of dead letters and what is forwarded
	Died        []string       `json:"died,omitempty"`
	Origin      *driver.Origin `json:"origin,omitempty"`
}

// As knows *driver.Raw, and *driver.Provenance, of which memory has nothing.
func (r *receiver) As(h driver.Handle, to any) bool {
	switch to := to.(type) {
	case *driver.Raw:
		*to = h.Ref.(*message).raw()
	case *driver.Provenance:
		*to = driver.Provenance{}
	default:
		return false
	}
	return true
}

func (m *message) raw() driver.Raw {
	raw := driver.Raw{Format: format, Body: m.Body}
	if m.OrderKey != "" {
		raw.Key = []byte(m.OrderKey)
	}
	for _, h := range m.Header {
		raw.Header = append(raw.Header, driver.RawHeader{Name: h.Name, Value: []byte(h.Value)})
	}
	first := m.First // as it was sent
	if m.origin != nil {
		first = m.first
	}
	text, err := json.Marshal(properties{
		RoutingKey: m.RoutingKey, ContentType: m.ContentType, Type: m.Type, Version: m.Version, Died: m.died,
		Origin: m.origin, Expires: m.Expires, First: first,
	})
	if err != nil {
		panic(err) // texts, numbers and times can be encoded
	}
	raw.Header = append(raw.Header, driver.RawHeader{Name: format, Type: property, Value: text})
	return raw
}

// Forward encodes a raw message. Its parts are not copied, except for those that the caller may modify.
func (s *sender) Forward(ctx context.Context, f *driver.Forward) (driver.Prepared, error) {
	if f.Raw.Format != format {
		return driver.Prepared{}, permanent("channel %s: the raw message has format %q, and this backend takes %q only",
			s.to, f.Raw.Format, format)
	}
	m := driver.Message{OrderKey: string(f.Raw.Key), DedupID: "forwarded " + f.ID, Body: f.Raw.Body}
	if f.Edited {
		m.Body = f.Body
	}
	var more properties
	for _, h := range f.Raw.Header {
		if h.Type != property {
			m.Header = append(m.Header, driver.Header{Name: h.Name, Value: string(h.Value)})
		} else if err := json.Unmarshal(h.Value, &more); err != nil {
			return driver.Prepared{}, permanent("channel %s: the raw message has properties that cannot be read: %w", s.to,
				err)
		}
	}
	m.RoutingKey, m.ContentType, m.Type, m.Version = more.RoutingKey, more.ContentType, more.Type, more.Version
	switch m.Expires, m.First = more.Expires, more.First; {
	case f.Renew:
		m.First = time.Time{}
	case m.First.IsZero():
		m.First = f.First
	}
	p, err := s.Prepare(ctx, &m)
	if err != nil {
		return p, err
	}
	sent := p.Wire.(*outgoing)
	sent.died, sent.origin = more.Died, more.Origin
	if f.Revive {
		sent.origin = nil
	}
	return p, nil
}

// Return opens the way back for dead letters: to the queue of their channel, past its exchange.
func (b *Backend) Return(ctx context.Context, dead driver.Channel, _ bool) (driver.Home, error) {
	to := dead
	to.DeadLetter = false
	s, err := b.Sender(ctx, to)
	if err != nil {
		return driver.Home{}, err
	}
	return driver.Home{Forwarder: s.(*sender), Address: "memory/" + to.String()}, nil
}

// Peek returns messages of a queue, in the order in which they were put there.
func (b *Backend) Peek(_ context.Context, c driver.Channel, from driver.PeekFrom, most int) ([]driver.Peeked, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	_, q, err := b.find(c)
	if err == nil && q == nil {
		err = permanent("channel %s: an exchange keeps no messages: peek at one of its queues", c)
	}
	if err != nil {
		return nil, err
	}
	var all []*message
	for _, l := range q.lanes {
		all = append(all, l.messages...)
	}
	slices.SortFunc(all, func(x, y *message) int { return int(x.seq) - int(y.seq) })
	all = slices.DeleteFunc(all, func(m *message) bool { return m.sent.Before(from.Time) })
	if from.ID != "" {
		first := slices.IndexFunc(all, func(m *message) bool { return m.id == from.ID })
		if first < 0 {
			return nil, &driver.Error{
				Class: driver.NotFound, Err: fmt.Errorf("channel %s has no message with id %q", c, from.ID),
			}
		}
		all = all[first:]
	}
	if from.Last {
		all = all[max(0, len(all)-most):]
	}
	var peeked []driver.Peeked
	for _, m := range all[:min(most, len(all))] {
		d := q.delivery(m)
		d.Body, d.Handle, d.LeaseEnds = bytes.Clone(m.Body), driver.Handle{}, d.Due
		peeked = append(peeked, driver.Peeked{Delivery: d, Raw: m.raw()})
	}
	return peeked, nil
}
