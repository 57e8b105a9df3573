package envelope

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/godwitmq/godwit/driver"
)

// Version is the version that is written. It is increased only if an older reader would misunderstand the text. A field
// may be added without a new version. Its name must differ from the others by more than case, because encoding/json
// ignores case.
const Version = 1

// Envelope is the data beside a body. Zero fields are omitted.
type Envelope struct {
	Version     int               `json:"v"`
	Headers     map[string]string `json:"h,omitempty"`
	OrderKey    string            `json:"k,omitempty"` // if the service's own field cannot hold it
	ContentType string            `json:"ct,omitempty"`
	Type        string            `json:"t,omitempty"`
	TypeVersion int               `json:"tv,omitempty"`
	Encoding    Encoding          `json:"e,omitempty"`
	Delay       int32             `json:"dl,omitempty"` // seconds, as asked for by the message
	At          int64             `json:"at,omitempty"` // when the message is due, in milliseconds since 1970
	Expires     int64             `json:"ex,omitempty"` // milliseconds from its first acceptance
	First       int64             `json:"fa,omitempty"` // when that was, in milliseconds since 1970; 0: now
	Later       *Later            `json:"lt,omitempty"`
	// the body is an SNS notification in JSON, which contains the real body
	Wrapped bool    `json:"w,omitempty"`
	Deaths  []Death `json:"d,omitempty"` // oldest first
	// Packed are attributes of other programs that had no room beside the envelope of a dead letter.
	Packed []Packed `json:"a,omitempty"`
	// Typed are the headers with a type of their own.
	Typed []Packed `json:"ht,omitempty"`
}

// Death says why and when a message was moved to the dead letters.
type Death struct {
	Error    string    `json:"err"`
	Kind     string    `json:"kind"`
	Consumer string    `json:"by"`
	Channel  string    `json:"ch"`
	ID       string    `json:"id"` // of the message that was rejected
	OrderKey string    `json:"k,omitempty"`
	Attempts int32     `json:"n"`
	First    time.Time `json:"first"`
	Last     time.Time `json:"last"`
}

const (
	// maxErrorText bounds the error text in a death, so that a dead letter stays within the service's limits. maxName
	// bounds the other texts.
	maxErrorText = 1024
	maxName      = 256
	// maxDeaths bounds the history of a message that is rejected, sent again and rejected again, many times. The newest
	// deaths are kept.
	maxDeaths = 10
	// original is the header for a text that was in the envelope's attribute and is not an envelope.
	original = "godwit"
)

// New returns the envelope of a message.
func New(m *driver.Message) Envelope {
	e := Envelope{
		Version: Version, ContentType: m.ContentType, Type: m.Type, TypeVersion: m.Version,
		Expires: m.Expires.Milliseconds(),
	}
	if !m.First.IsZero() {
		e.First = m.First.UnixMilli()
	}
	if len(m.Header) > 0 {
		e.Headers = make(map[string]string, len(m.Header))
		for _, h := range m.Header {
			e.Headers[h.Name] = h.Value
		}
	}
	return e
}

// bare is the text of an envelope without any field, which most messages have.
const bare = `{"v":1}`

// String is the envelope as JSON. Characters that the service refuses are escaped.
func (e Envelope) String() string {
	if e.Empty() {
		return bare
	}
	return JSON(e)
}

// Empty reports whether no field but the version is set.
func (e *Envelope) Empty() bool {
	return e.Version == 1 && len(e.Headers) == 0 && e.OrderKey == "" && e.ContentType == "" && e.Type == "" &&
		e.TypeVersion == 0 && e.Encoding == Plain && e.Delay == 0 && e.At == 0 && e.Later == nil &&
		e.Expires == 0 && e.First == 0 && !e.Wrapped && len(e.Deaths) == 0 &&
		len(e.Packed)+len(e.Typed) == 0
}

// Parse reads an envelope. A newer version is an error, because its meaning is unknown.
func Parse(text string) (Envelope, error) {
	var e Envelope
	if err := json.Unmarshal([]byte(text), &e); err != nil {
		return Envelope{}, fmt.Errorf("the message attribute godwit is not an envelope: %w", err)
	}
	if e.Version < 1 || e.Version > Version {
		return Envelope{},
			fmt.Errorf("the envelope has version %d, and this reader knows versions up to %d: update the consumer",
				e.Version, Version)
	}
	return e, nil
}
