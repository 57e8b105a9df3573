package ops

import (
	"encoding/json"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/godwitmq/godwit/driver"
)

// Record is a message as a line of JSON. What is in Raw is the message itself; the other fields explain it to readers,
// and an import ignores them.
type Record struct {
	Channel    string        `json:"channel"`
	ID         string        `json:"id"`
	Sent       *time.Time    `json:"sent,omitempty"`
	Received   int32         `json:"received,omitempty"`
	Attempts   int32         `json:"attempts,omitempty"`
	OrderKey   string        `json:"order_key,omitempty"`
	RoutingKey string        `json:"routing_key,omitempty"`
	Size       int64         `json:"size"`
	Death      *RecordDeath  `json:"death,omitempty"`
	Problem    string        `json:"problem,omitempty"` // why a consumer could not decode it
	Raw        RecordMessage `json:"raw"`
}

// RecordDeath says why a message died.
type RecordDeath struct {
	Kind     string     `json:"kind"`
	Error    string     `json:"error"`
	Consumer string     `json:"consumer,omitempty"`
	Channel  string     `json:"channel,omitempty"`
	ID       string     `json:"id,omitempty"` // of the message that was rejected
	Deaths   int        `json:"deaths,omitempty"`
	First    *time.Time `json:"first,omitempty"`
	Last     *time.Time `json:"last,omitempty"`
}

// RecordMessage is a raw message. What is no UTF-8 is in base64.
type RecordMessage struct {
	Format string         `json:"format"`
	Body   *string        `json:"body,omitempty"`
	Body64 []byte         `json:"body_base64,omitempty"`
	Key    *string        `json:"key,omitempty"`
	Key64  []byte         `json:"key_base64,omitempty"`
	Header []RecordHeader `json:"headers,omitempty"`
	Trace  string         `json:"trace,omitempty"`
}

// RecordHeader is a header of a raw message.
type RecordHeader struct {
	Name    string  `json:"name"`
	Name64  []byte  `json:"name_base64,omitempty"`
	Type    string  `json:"type,omitempty"`
	Value   *string `json:"value,omitempty"` // neither this nor the next: the header has no value
	Value64 []byte  `json:"value_base64,omitempty"`
}

// NewRecord returns an entry as a record.
func NewRecord(channel string, e *Entry) Record {
	r := Record{
		Channel: channel, ID: e.ID, Sent: moment(e.SentAt), Received: e.Received, Attempts: e.Attempts(),
		OrderKey: e.OrderKey, RoutingKey: e.RoutingKey, Size: int64(len(e.Body)),
		Raw: RecordMessage{Format: e.Raw.Format, Trace: e.Raw.Trace},
	}
	if e.Opener != nil {
		r.Size = e.Size
	}
	if e.Err != nil {
		r.Problem = e.Err.Error()
	}
	if o := e.Origin; o != nil {
		r.Death = &RecordDeath{
			Kind: o.Death.Kind, Error: o.Death.Error, Consumer: o.Death.Consumer, Channel: o.Channel.String(), ID: o.ID,
			Deaths: o.Deaths, First: moment(o.Death.First), Last: moment(o.Death.Last),
		}
	}
	r.Raw.Body, r.Raw.Body64 = texted(e.Raw.Body)
	if e.Raw.Body == nil {
		r.Raw.Body = nil
	}
	if e.Raw.Key != nil {
		r.Raw.Key, r.Raw.Key64 = texted(e.Raw.Key)
	}
	for _, h := range e.Raw.Header {
		out := RecordHeader{Name: h.Name, Type: h.Type}
		if !utf8.ValidString(h.Name) {
			out.Name, out.Name64 = "", []byte(h.Name)
		}
		if h.Value != nil {
			out.Value, out.Value64 = texted(h.Value)
		}
		r.Raw.Header = append(r.Raw.Header, out)
	}
	return r
}

// Message returns the raw message of a record.
func (r *Record) Message() driver.Raw {
	m := &r.Raw
	raw := driver.Raw{Format: m.Format, Body: bytesOf(m.Body, m.Body64), Key: bytesOf(m.Key, m.Key64), Trace: m.Trace}
	for _, h := range m.Header {
		name := h.Name
		if h.Name64 != nil {
			name = string(h.Name64)
		}
		raw.Header = append(raw.Header, driver.RawHeader{Name: name, Type: h.Type, Value: bytesOf(h.Value, h.Value64)})
	}
	return raw
}

// ParseRecord reads a line of JSON.
func ParseRecord(line []byte) (Record, error) {
	var r Record
	if err := json.Unmarshal(line, &r); err != nil {
		return r, fmt.Errorf("it is no exported message: %w", err)
	}
	if r.Raw.Format == "" {
		return r, fmt.Errorf("it is no exported message: it has no raw.format")
	}
	return r, nil
}

// texted returns bytes as a text or, if they are no UTF-8, as they are.
func texted(b []byte) (*string, []byte) {
	if utf8.Valid(b) {
		text := string(b)
		return &text, nil
	}
	return nil, b
}

func bytesOf(text *string, b []byte) []byte {
	if text != nil {
		return []byte(*text)
	}
	return b
}

func moment(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}
