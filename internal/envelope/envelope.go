package envelope

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/godwitmq/godwit/driver"
)

// Version is what is written. It moves only when an older reader would misunderstand what it reads; a field may be added
// without it, under a name that differs from the others by more than its case, which encoding/json does not look at.
const Version = 1

// Envelope is what travels beside a body. Zero fields are left out.
type Envelope struct {
	Version     int               `json:"v"`
	Headers     map[string]string `json:"h,omitempty"`
	OrderKey    string            `json:"k,omitempty"` // where the service's own field cannot hold it
	ContentType string            `json:"ct,omitempty"`
	Type        string            `json:"t,omitempty"`
	TypeVersion int               `json:"tv,omitempty"`
	Encoding    Encoding          `json:"e,omitempty"`
	Delay       int32             `json:"dl,omitempty"` // in seconds, that the message itself asked for
	Wrapped     bool              `json:"w,omitempty"`  // the body is a notification in SNS's own JSON, whose inside counts
	Deaths      []Death           `json:"d,omitempty"`  // oldest first
}

// Death is one time a message was moved to dead letters.
type Death struct {
	Error    string    `json:"err"`
	Kind     string    `json:"kind"`
	Consumer string    `json:"by"`
	Channel  string    `json:"ch"`
	ID       string    `json:"id"` // of the message that died
	OrderKey string    `json:"k,omitempty"`
	Attempts int32     `json:"n"`
	First    time.Time `json:"first"`
	Last     time.Time `json:"last"`
}

const (
	// maxErrorText bounds an error's text in a death, so that a dead letter stays within the service's limits; maxName
	// bounds its other texts.
	maxErrorText = 1024
	maxName      = 256
	// maxDeaths bounds the history of a message that is requeued and dies again and again: the newest are kept.
	maxDeaths = 10
	// original is the header that keeps a text which stood in the envelope's place and is none.
	original = "godwit"
)

// New packs what a message says of itself.
func New(m *driver.Message) Envelope {
	e := Envelope{Version: Version, ContentType: m.ContentType, Type: m.Type, TypeVersion: m.Version}
	if len(m.Header) > 0 {
		e.Headers = make(map[string]string, len(m.Header))
		for _, h := range m.Header {
			e.Headers[h.Name] = h.Value
		}
	}
	return e
}

// bare is the text of an envelope that says nothing, which is that of most messages.
const bare = `{"v":1}`

// String is the text that travels. Characters that a service refuses travel in JSON's escapes.
func (e Envelope) String() string {
	if e.saysNothing() {
		return bare
	}
	return text(e)
}

// saysNothing says whether nothing is set but the version.
func (e *Envelope) saysNothing() bool {
	return e.Version == 1 && len(e.Headers) == 0 && e.OrderKey == "" && e.ContentType == "" && e.Type == "" &&
		e.TypeVersion == 0 && e.Encoding == Plain && e.Delay == 0 && !e.Wrapped && len(e.Deaths) == 0
}

// Parse reads a text. One of a newer version is an error, since its meaning is not known.
func Parse(text string) (Envelope, error) {
	var e Envelope
	if err := json.Unmarshal([]byte(text), &e); err != nil {
		return Envelope{}, fmt.Errorf("the godwit attribute is not an envelope: %w", err)
	}
	if e.Version < 1 || e.Version > Version {
		return Envelope{}, fmt.Errorf("the envelope has version %d; this reader knows up to %d: update the consumer", e.Version, Version)
	}
	return e, nil
}
