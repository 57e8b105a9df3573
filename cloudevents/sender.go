package cloudevents

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/driver"
)

// Mode says how an event lies in a message.
type Mode uint8

const (
	Structured Mode = iota // the body is the whole event in JSON
	Binary                 // the body is the data, and the attributes are headers
)

const (
	// prefix begins the headers of attributes.
	prefix = "ce_"
	// structuredType is the content type of an event in JSON, and structuredPrefix begins that of every format.
	structuredType   = "application/cloudevents+json"
	structuredPrefix = "application/cloudevents"
	// kafkaSystem is the system of channels on Kafka, whose messages have a content type.
	kafkaSystem = "kafka"
)

// SenderOptions of a sender. The zero value is good for most.
type SenderOptions struct {
	// Mode is how events lie in messages. Set it to Binary on Kafka if readers need the data as it is, or filter by
	// attributes, and on SQS and SNS if the readers know Godwit's convention. Readers of this package read both.
	Mode Mode
}

// Sender sends events through a producer. It is safe for concurrent use.
type Sender struct {
	p    *godwit.Producer
	mode Mode
	// typed: the backend sends the content type where other programs look for it
	typed bool
	// dedup: the backend recognizes duplicates by Message.DedupID
	dedup bool
}

// NewSender makes a Sender. Several senders may share a producer. The producer's owner closes it.
func NewSender(p *godwit.Producer, o *SenderOptions) (*Sender, error) {
	o = cmp.Or(o, &SenderOptions{})
	switch {
	case p == nil:
		return nil, fmt.Errorf("%w: the producer of the sender is nil", godwit.ErrInvalid)
	case o.Mode > Binary:
		return nil, fmt.Errorf("%w: SenderOptions.Mode is %d: use Structured or Binary", godwit.ErrInvalid, o.Mode)
	}
	onKafka := p.Address().System == kafkaSystem
	return &Sender{p: p, mode: o.Mode, typed: onKafka, dedup: p.Ordered() && !onKafka}, nil
}

// Send sends an event. The message may have keys, headers and a delay; its body and content type are taken from the
// event.
func (s *Sender) Send(ctx context.Context, e Event, m godwit.Message) error {
	m, err := s.Message(e, m)
	if err != nil {
		return err
	}
	return s.p.Send(ctx, m)
}

// Message returns m as a message with the event, for SendBatch, SendAsync and godwit.Transform.
func (s *Sender) Message(e Event, m godwit.Message) (godwit.Message, error) {
	for _, h := range m.Headers {
		if strings.HasPrefix(h.Name, prefix) {
			return m, fmt.Errorf("send a CloudEvent to %s: header %s has the name of an attribute: set it in the Event",
				s.p.Channel(), h.Name)
		}
	}
	if err := s.fill(&e, &m); err != nil {
		return m, fmt.Errorf("send a CloudEvent to %s: %w", s.p.Channel(), err)
	}
	if m.OrderKey == "" {
		m.OrderKey = e.Extension(attrPartitionKey)
	}
	if s.dedup && m.DedupID == "" {
		m.DedupID = e.Source + "\n" + e.ID // neither has a newline
	}
	return m, nil
}

// fill sets body, content type and headers.
func (s *Sender) fill(e *Event, m *godwit.Message) (err error) {
	m.Reader, m.Size = nil, 0
	if s.mode == Structured {
		m.Body, err = e.MarshalJSON()
		m.ContentType = structuredType
		return err
	}
	if err = e.Validate(); err != nil {
		return err
	}
	m.Body, m.ContentType = e.Data, ""
	if s.typed {
		m.ContentType = e.DataContentType
	}
	all := e.attributes()
	hs := make(godwit.Headers, len(m.Headers), len(m.Headers)+len(all))
	copy(hs, m.Headers)
	for _, a := range all {
		if a.name == attrDataContentType && s.typed {
			continue
		}
		v, err := parseValue(a.value)
		if err != nil {
			return wrong(a.name, "%v", err)
		}
		hs = append(hs, driver.Header{Name: prefix + a.name, Value: v.text})
	}
	m.Headers = hs
	return nil
}
