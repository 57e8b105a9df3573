package wire

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/claim"
	"github.com/godwitmq/godwit/internal/envelope"
	"github.com/godwitmq/godwit/snssqs/internal/client"
)

// setHeaders divides the headers of a message: those that can be attributes of their own, if the destination has these,
// and the others, which the envelope that is returned has. A name, an empty value or a character that the service does
// not accept is no reason to refuse a message that Godwit's consumers can read.
func (w *prepared) setHeaders(m *driver.Message, as Form, topic bool) (envelope.Envelope, error) {
	if !slices.ContainsFunc(m.Header, func(h driver.Header) bool { return as.Native || h.Type != "" }) {
		return envelope.New(m), nil // the usual case
	}
	rest := *m
	rest.Header = nil
	var typed []envelope.Packed
	for _, h := range m.Header {
		one, err := attributeOf(h)
		switch {
		case err != nil:
			return envelope.Envelope{}, err
		case as.Native && h.Name != as.Routing && !reserved(h.Name) && checkAttribute(one, topic) == nil:
			w.native = append(w.native, one)
		case one.Type != stringType && (h.Name == as.Routing || reserved(h.Name)):
			return envelope.Envelope{}, fmt.Errorf("header %s of type %s has the name of an attribute that Godwit uses itself: "+
				"rename it", h.Name, h.Type)
		case one.Type != stringType:
			typed = append(typed, packedHeader(one))
		default:
			rest.Header = append(rest.Header, h)
		}
	}
	env := envelope.New(&rest)
	env.Typed = typed
	return env, nil
}

// attributeOf is a header as an attribute, or an error if its value does not fit its type.
func attributeOf(h driver.Header) (driver.RawHeader, error) {
	out := driver.RawHeader{Name: h.Name, Type: h.Type, Value: []byte(h.Value)}
	if h.Type == "" {
		out.Type = stringType
	}
	base, _, _ := strings.Cut(out.Type, ".")
	switch base {
	case "String":
	case "Number":
		if !isNumber(h.Value) {
			return out, fmt.Errorf("header %s has type %s, and its value %q is no number that SQS accepts", h.Name, h.Type,
				h.Value)
		}
	case "Binary":
		value, err := base64.StdEncoding.DecodeString(h.Value)
		if err != nil {
			return out, fmt.Errorf("header %s has type %s, and its value is not base64: %w", h.Name, h.Type, err)
		}
		out.Value = value
	default:
		return out, fmt.Errorf("header %s has type %q: it must begin with String, Number or Binary", h.Name, h.Type)
	}
	if len(out.Type) > 256 || !envelope.Text(out.Type) {
		return out, fmt.Errorf("header %s has type %q, which SQS does not accept: use at most 256 characters", h.Name, h.Type)
	}
	return out, nil
}

// isNumber reports whether SQS accepts a text as a number: decimal, with at most 38 digits, and not too large or small.
func isNumber(s string) bool {
	if strings.Trim(s, "0123456789+-.eE") != "" {
		return false
	}
	f, err := strconv.ParseFloat(s, 64)
	digits, _, _ := strings.Cut(strings.ToLower(strings.TrimLeft(s, "+-")), "e")
	digits = strings.Trim(strings.Replace(digits, ".", "", 1), "0")
	const least, most = 1e-128, 1e126
	return err == nil && len(digits) <= 38 && (f == 0 || f >= least && f <= most || f <= -least && f >= -most)
}

func packedHeader(h driver.RawHeader) envelope.Packed {
	p := envelope.Packed{Name: h.Name, Type: h.Type}
	if Binary(h.Type) {
		p.Binary = h.Value
	} else {
		p.Text = string(h.Value)
	}
	return p
}

// checkCount refuses a message with more attributes than the service accepts, before its body is uploaded. pointer is
// the attribute that will announce the body; "": there is none.
func (w *prepared) checkCount(pointer string) error {
	const ours = 3 // the routing key, the pointer and the envelope
	if len(w.native)+ours <= maxAttributes {
		return nil
	}
	names := make([]string, 0, len(w.native)+ours)
	for _, h := range w.native {
		names = append(names, h.Name)
	}
	if w.routingKey != "" {
		names = append(names, w.routing)
	}
	if pointer != "" {
		names = append(names, pointer)
	}
	if w.envelope != "" {
		names = append(names, EnvelopeAttribute)
	}
	if len(names) <= maxAttributes {
		return nil
	}
	slices.Sort(names)
	return client.Permanent("the message would have %d message attributes, and SQS accepts %d (%s): send fewer headers, or all of "+
		"them in one attribute (HeadersPacked in snssqs.Options.AttributesOf)", len(names), maxAttributes,
		strings.Join(names, ", "))
}

// attributeTexts are the attributes of a received message as text, and the types of those that are not String.
type attributeTexts struct {
	text  map[string]string
	kinds map[string]string // nil: all are String
}

func (a *attributeTexts) set(name, kind, text string) {
	a.text[name] = text
	if kind == stringType || kind == "" {
		delete(a.kinds, name)
		return
	}
	if a.kinds == nil {
		a.kinds = map[string]string{}
	}
	a.kinds[name] = kind
}

// headersOf returns the headers of a message: the envelope's, and the attributes that are not ours.
func headersOf(env envelope.Envelope, attributes attributeTexts, routing string) []driver.Header {
	n := len(env.Headers) + len(attributes.text)
	if n == 0 {
		return nil
	}
	hs := make([]driver.Header, 0, n)
	for name, value := range env.Headers {
		hs = append(hs, driver.Header{Name: name, Value: value})
	}
	for name, value := range attributes.text {
		_, ours := env.Headers[name]
		if ours || name == EnvelopeAttribute || name == ExpiresAttribute || name == routing {
			continue
		}
		hs = append(hs, driver.Header{Name: name, Value: value, Type: attributes.kinds[name]})
	}
	slices.SortFunc(hs, func(a, b driver.Header) int { return strings.Compare(a.Name, b.Name) })
	return hs
}

func checkAttribute(h driver.RawHeader, topic bool) error {
	lower := strings.ToLower(h.Name)
	legal := func(c rune) bool {
		return c == '_' || c == '-' || c == '.' || (unicode.IsLetter(c) || unicode.IsNumber(c)) && (!topic || c < 0x80)
	}
	if h.Name == "" || len(h.Name) > 256 || strings.HasPrefix(lower, "aws.") || strings.HasPrefix(lower, "amazon.") ||
		h.Name[0] == '.' || strings.HasSuffix(h.Name, ".") || strings.Contains(h.Name, "..") ||
		strings.ContainsFunc(h.Name, func(c rune) bool { return !legal(c) }) {
		return client.Permanent("%q is not the name of an attribute that the service accepts", h.Name)
	}
	base, _, _ := strings.Cut(h.Type, ".")
	switch {
	case base != "String" && base != "Number" && base != "Binary" || len(h.Type) > 256 || !envelope.Text(h.Type):
		return client.Permanent("attribute %s has type %q: it must begin with String, Number or Binary", h.Name, h.Type)
	case len(h.Value) == 0:
		return client.Permanent("attribute %s has no value, which SQS does not accept", h.Name)
	case base != "Binary" && !envelope.Text(string(h.Value)):
		return client.Permanent("the value of attribute %s has characters that SQS does not accept", h.Name)
	}
	return nil
}

// Form is Attributes of one destination, without defaults.
type Form struct {
	Native  bool
	Routing string
}

// LegalAttribute reports whether SQS and SNS accept a name for an attribute, and it has no meaning of its own.
func LegalAttribute(name string) bool {
	return !reserved(name) && checkAttribute(driver.RawHeader{Name: name, Type: stringType, Value: []byte("x")},
		true) == nil
}

// reserved reports whether an attribute of this name has a meaning of its own, so that no header can be one.
func reserved(name string) bool {
	return name == EnvelopeAttribute || name == ExpiresAttribute || claim.Announces(name)
}
