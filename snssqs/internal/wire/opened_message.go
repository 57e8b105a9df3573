package wire

import (
	"encoding/json"
	"slices"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/envelope"
	"github.com/godwitmq/godwit/snssqs/internal/trust"
)

// openedMessage is a raw message while it is changed. Its body and attributes are those that a consumer gets: of a
// message in SNS's JSON, which the consumer opens, the inner ones.
type openedMessage struct {
	text    string
	header  []driver.RawHeader
	changed bool

	outer *openedMessage             // the message itself, if its body is SNS's JSON
	json  map[string]json.RawMessage // that JSON
}

// opened opens a message, as the receivers of a channel with this trust do.
func opened(body string, header []driver.RawHeader, t trust.Topics) *openedMessage {
	o := &openedMessage{text: body, header: header}
	text, _ := o.envelope()
	env, err := envelope.Parse(text)
	if len(header) > 0 && (err != nil || !env.Wrapped) {
		return o
	}
	n, ok := trust.Parse(body)
	if !ok || !t.Includes(n.TopicArn) {
		return o
	}
	in := &openedMessage{text: n.Message, outer: o}
	if json.Unmarshal([]byte(body), &in.json) != nil {
		return o
	}
	for name, a := range n.MessageAttributes {
		in.header = append(in.header, driver.RawHeader{Name: name, Type: a.Type, Value: []byte(a.Value)})
	}
	return in
}

// closed returns body and attributes as they are sent.
func (o *openedMessage) closed() (string, []driver.RawHeader) {
	if o.outer == nil {
		return o.text, o.header
	}
	if !o.changed {
		return o.outer.text, o.outer.header
	}
	type attribute struct{ Type, Value string }
	attributes := map[string]attribute{}
	for _, h := range o.header {
		attributes[h.Name] = attribute{h.Type, string(h.Value)}
	}
	o.json["Message"] = json.RawMessage(envelope.JSON(o.text))
	o.json["MessageAttributes"] = json.RawMessage(envelope.JSON(attributes))
	return envelope.JSON(o.json), o.outer.header
}

// envelope returns the text of the envelope, and its position; -1: there is none.
func (o *openedMessage) envelope() (string, int) {
	i := slices.IndexFunc(o.header, func(h driver.RawHeader) bool {
		return h.Name == EnvelopeAttribute && h.Type == stringType
	})
	if i < 0 {
		return "", i
	}
	return string(o.header[i].Value), i
}

// setEnvelope replaces the envelope, or adds one; "": there is none.
func (o *openedMessage) setEnvelope(text string) {
	was, i := o.envelope()
	switch {
	case was == text:
		return
	case i < 0:
		o.add(EnvelopeAttribute, stringType, text)
	case text == "":
		o.header = slices.Delete(o.header, i, i+1)
	default:
		o.header[i].Value = []byte(text)
	}
	o.changed = true
}

// setText replaces the body.
func (o *openedMessage) setText(text string, e envelope.Encoding) {
	o.text, o.changed = text, true
	was, _ := o.envelope()
	o.setEnvelope(envelope.WithEncoding(was, e))
}

func (o *openedMessage) add(name, kind, value string) {
	o.header = append(o.header, driver.RawHeader{Name: name, Type: kind, Value: []byte(value)})
	o.changed = true
}

// remove removes attributes by their names.
func (o *openedMessage) remove(which func(name string) bool) {
	n := len(o.header)
	o.header = slices.DeleteFunc(o.header, func(h driver.RawHeader) bool { return which(h.Name) })
	o.changed = o.changed || len(o.header) < n
}

// texts returns the attributes as text. Those that travel in the envelope are among them.
func (o *openedMessage) texts() map[string]string {
	all := make(map[string]string, len(o.header))
	text, _ := o.envelope()
	_, packed := envelope.Unpack(text)
	for _, p := range packed {
		all[p.Name] = p.Text
	}
	for _, h := range o.header {
		all[h.Name] = string(h.Value)
	}
	return all
}

// room reports whether there is room for one more attribute.
func (o *openedMessage) room() bool { return o.outer != nil || len(o.header) < maxAttributes }

// bytes is the size of the message as it is sent.
func (o *openedMessage) bytes() int {
	body, header := o.closed()
	return len(body) + (&sentOn{header: header}).bytes()
}

// revive takes out what the rejection of a message added: attributes that it packed into the envelope are attributes
// again, and the delay is over. The history of deaths stays, except if there is no room for its attribute: then those
// of the other program matter more.
func (o *openedMessage) revive() {
	m := o
	if o.outer != nil {
		m = o.outer
	}
	text, i := m.envelope()
	if i < 0 || !envelope.Is(text) {
		return
	}
	text, packed := envelope.Unpack(envelope.WithoutDelay(text))
	left := slices.Delete(slices.Clone(m.header), i, i+1)
	taken := func(name string) bool {
		return slices.ContainsFunc(left, func(h driver.RawHeader) bool { return h.Name == name })
	}
	// An envelope with more than the history is the message's own. The message of another program has none.
	own := !envelope.OnlyHistory(text) || len(left)+len(packed) > maxAttributes ||
		slices.ContainsFunc(packed, func(p envelope.Packed) bool { return taken(p.Name) })
	room := maxAttributes
	if own {
		room--
	}
	var stay []envelope.Packed
	for _, p := range packed {
		if len(left) == room || taken(p.Name) || own && p.Name == EnvelopeAttribute {
			stay = append(stay, p)
		} else {
			left = append(left, unpacked(p))
		}
	}
	if len(left) < maxAttributes && !taken(EnvelopeAttribute) {
		text = envelope.Pack(text, stay)
		left = append(left, driver.RawHeader{Name: EnvelopeAttribute, Type: stringType, Value: []byte(text)})
	}
	m.header = left
}

// since gives the message the time of its first acceptance, or takes it out. A message of another program has no place
// for it, so its age begins with each send.
func (o *openedMessage) since(f *driver.Forward) {
	m := o
	if o.outer != nil {
		m = o.outer
	}
	text, i := m.envelope()
	switch {
	case f.Renew && i >= 0 && envelope.Is(text):
		m.setEnvelope(envelope.WithoutFirst(text))
	case f.Renew || f.First.IsZero():
	case i >= 0 && envelope.Is(text), i < 0 && m.room() && m.texts()[ExpiresAttribute] != "":
		m.setEnvelope(envelope.WithFirst(text, f.First))
	}
}

func unpacked(p envelope.Packed) driver.RawHeader {
	h := driver.RawHeader{Name: p.Name, Type: p.Type, Value: p.Binary}
	if !Binary(p.Type) {
		h.Value = []byte(p.Text)
	}
	return h
}
