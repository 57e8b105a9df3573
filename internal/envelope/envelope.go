package envelope

import (
	"encoding/json"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/godwitmq/godwit/driver"
)

// Version is what is written. It moves only when an older reader would misunderstand what it reads.
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
	Deaths      []Death           `json:"d,omitempty"` // oldest first
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
	// maxErrorText bounds an error's text in a death, so that a dead letter stays within the service's limits.
	maxErrorText = 1024
	// maxDeaths bounds the history of a message that is requeued and dies again and again: the newest are kept.
	maxDeaths = 10
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

// String is the text that travels.
func (e Envelope) String() string {
	text, err := json.Marshal(e)
	if err != nil {
		panic(err) // maps and slices of strings and numbers cannot fail
	}
	return string(text)
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

// Bury adds a death to a text, keeping every field it does not know. A text that is no envelope is replaced.
func Bury(text string, d Death) string {
	d.Error = cut(d.Error, maxErrorText)
	fields := map[string]json.RawMessage{}
	if json.Unmarshal([]byte(text), &fields) != nil || fields == nil {
		fields = map[string]json.RawMessage{}
	}
	if _, versioned := fields["v"]; !versioned {
		fields["v"], _ = json.Marshal(Version)
	}
	var deaths []json.RawMessage
	_ = json.Unmarshal(fields["d"], &deaths) // what is no list of deaths is dropped
	death, _ := json.Marshal(d)
	deaths = append(deaths, death)
	if len(deaths) > maxDeaths {
		deaths = deaths[len(deaths)-maxDeaths:]
	}
	fields["d"], _ = json.Marshal(deaths)
	out, _ := json.Marshal(fields)
	return string(out)
}

// cut shortens a text to at most n bytes of valid UTF-8.
func cut(s string, n int) string {
	if !utf8.ValidString(s) {
		s = string([]rune(s))
	}
	if len(s) <= n {
		return s
	}
	const more = "…"
	n -= len(more)
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + more
}
