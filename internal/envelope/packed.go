package envelope

import (
	"encoding/json"
	"strings"
	"time"
)

// Packed is a message attribute of another program for which there is no room beside the envelope. It keeps its type
// and its bytes, so that it can be an attribute again.
type Packed struct {
	Name   string `json:"n"`
	Type   string `json:"t"`
	Text   string `json:"s,omitempty"`
	Binary []byte `json:"b,omitempty"`
}

// Is reports whether a text has the form of an envelope, of this version or a later one.
func Is(text string) bool {
	var fields map[string]json.RawMessage
	return json.Unmarshal([]byte(text), &fields) == nil && fields["v"] != nil
}

// Pack adds attributes to the text of an envelope, beside those that it has.
func Pack(envelope string, more []Packed) string {
	if len(more) == 0 {
		return envelope
	}
	fields := open(envelope)
	fields["a"] = raw(append(packed(fields), more...))
	return JSON(fields)
}

// Unpack returns the attributes in an envelope, and the envelope without them.
func Unpack(envelope string) (string, []Packed) {
	fields := open(envelope)
	out := packed(fields)
	if len(out) == 0 {
		return envelope, nil
	}
	delete(fields, "a")
	return JSON(fields), out
}

func packed(fields map[string]json.RawMessage) []Packed {
	var all []Packed
	if json.Unmarshal(fields["a"], &all) != nil {
		return nil // a value that is not a list of attributes has none
	}
	return all
}

// WithoutDelay returns an envelope without the delay of a message that is sent again and does not wait again.
func WithoutDelay(envelope string) string {
	if !strings.Contains(envelope, `"dl"`) && !strings.Contains(envelope, `"at"`) {
		return envelope
	}
	fields := open(envelope)
	delete(fields, "dl")
	delete(fields, "at")
	return JSON(fields)
}

// WithEncoding returns an envelope for a body with another encoding. The envelope of a foreign message, which has none,
// is "", and stays so if the encoding needs none.
func WithEncoding(envelope string, e Encoding) string {
	if envelope == "" && e == Plain {
		return ""
	}
	fields := open(envelope)
	if e == Plain && fields["e"] == nil {
		return envelope
	}
	delete(fields, "e")
	if e != Plain {
		fields["e"] = raw(e)
	}
	return JSON(fields)
}

// WithFirst returns an envelope with the time of its message's first acceptance. One that it already has stays.
func WithFirst(envelope string, at time.Time) string {
	fields := open(envelope)
	if at.IsZero() || fields["fa"] != nil {
		return envelope
	}
	fields["fa"] = raw(at.UnixMilli())
	return JSON(fields)
}

// WithoutFirst returns an envelope without that time, of a message whose next acceptance counts as its first.
func WithoutFirst(envelope string) string {
	fields := open(envelope)
	if fields["fa"] == nil {
		return envelope
	}
	delete(fields, "fa")
	return JSON(fields)
}

// OnlyHistory reports whether an envelope has nothing but deaths and the time of the first acceptance: the message of
// another program has no envelope before it dies.
func OnlyHistory(envelope string) bool {
	fields := open(envelope)
	delete(fields, "v")
	delete(fields, "d")
	delete(fields, "fa")
	return len(fields) == 0
}
