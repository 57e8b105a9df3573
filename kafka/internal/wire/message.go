package wire

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/godwitmq/godwit/driver"
)

// The headers of Godwit. The headers of a message, and of its trace, have their own names beside these.
const (
	routingHeader     = "routing_key" // the same name as on other backends, for other producers
	contentTypeHeader = "content-type"
	typeHeader        = OwnPrefix + "type"
	versionHeader     = OwnPrefix + "version" // of the type, in decimal
	DueHeader         = OwnPrefix + "due"     // when a record that waits may be handled, in milliseconds since 1970
	// expiresHeader is how long after its first acceptance a record expires, in milliseconds. FirstHeader is the time
	// of that acceptance, in milliseconds since 1970, of a record that was sent again.
	expiresHeader = OwnPrefix + "expires"
	FirstHeader   = OwnPrefix + "first"
	dedupHeader   = OwnPrefix + "dedup" // the sender's de-duplication id, which Kafka ignores

	// OwnPrefix begins the names that are reserved for Godwit.
	OwnPrefix = "godwit-"
	// DeadPrefix begins the headers of a dead letter, with the names that brokers use (KIP-1191). It is reserved, too.
	DeadPrefix = "__dlq.errors."
	// DeadGroupHeader is the group that rejected the record of a dead letter.
	DeadGroupHeader = DeadPrefix + "group"
)

// Encode encodes a message as a record, without its delay. The sender sets the topic. A message without a body becomes
// a tombstone.
func Encode(m *driver.Message) (*kgo.Record, error) {
	if err := checkHeaders(m.Header); err != nil {
		return nil, err
	}
	if m.Version < 0 {
		return nil, fmt.Errorf("message version %d is negative: use zero or more", m.Version)
	}
	r := &kgo.Record{Value: m.Body, Headers: make([]kgo.RecordHeader, 0, len(m.Header)+4)}
	if m.OrderKey != "" {
		r.Key = []byte(m.OrderKey)
	}
	add := func(name, value string) {
		if value != "" {
			r.Headers = append(r.Headers, kgo.RecordHeader{Key: name, Value: []byte(value)})
		}
	}
	add(routingHeader, m.RoutingKey)
	add(contentTypeHeader, m.ContentType)
	add(typeHeader, m.Type)
	add(dedupHeader, m.DedupID)
	if m.Version != 0 {
		add(versionHeader, strconv.Itoa(m.Version))
	}
	if m.Expires > 0 {
		add(expiresHeader, strconv.FormatInt(m.Expires.Milliseconds(), 10))
	}
	if !m.First.IsZero() {
		add(FirstHeader, strconv.FormatInt(m.First.UnixMilli(), 10))
	}
	for _, h := range m.Header {
		r.Headers = append(r.Headers, kgo.RecordHeader{Key: h.Name, Value: []byte(h.Value)})
	}
	return r, nil
}

// checkHeaders returns an error for a header name that would be read as something else.
func checkHeaders(hs []driver.Header) error {
	for i, h := range hs {
		switch {
		case h.Name == "":
			return fmt.Errorf("header %d has no name: give it one", i)
		case !utf8.ValidString(h.Name):
			return fmt.Errorf("header name %q is not UTF-8, which Kafka requires", h.Name)
		case h.Name == routingHeader, h.Name == contentTypeHeader:
			return fmt.Errorf("header %s: set the field of the message instead", h.Name)
		case reserved(h.Name):
			return fmt.Errorf("header %s: names that begin with %s or %s are reserved", h.Name, OwnPrefix, DeadPrefix)
		}
	}
	return nil
}

// reserved reports whether only Godwit may write a header of this name.
func reserved(name string) bool {
	return strings.HasPrefix(name, OwnPrefix) || strings.HasPrefix(name, DeadPrefix)
}

// Decoder decodes deliveries from records. Their texts share large strings, because one string for each record would be
// one allocation for each.
type Decoder struct {
	// TimedBySender: a record expires, and the time from which that counts is of the clock of its sender.
	TimedBySender bool

	expected int
	now      time.Time
	texts    strings.Builder
}

// NewDecoder returns a decoder for about this number of records.
func NewDecoder(expected int) *Decoder { return &Decoder{expected: expected, now: time.Now()} }

// maxTexts bounds a string that deliveries share, because the delivery that is held longest keeps all of it.
const maxTexts = 4 << 10

// Decode fills a delivery from a record, except Source, Handle, Attempt and Origin. The body is not copied.
func (c *Decoder) Decode(r *kgo.Record, d *driver.Delivery) {
	var room [192]byte
	var some [16]int32
	b, which := AppendPosition(room[:0], r.Topic, r.Partition, r.Offset), some[:0]
	position := len(b)
	b = append(b, r.Key...)
	key, own := len(b), 0
	for i := range r.Headers {
		if h := &r.Headers[i]; !overridden(r.Headers, i) {
			b, which = append(b, h.Value...), append(which, int32(i))
			if !reserved(h.Key) {
				own++
			}
		}
	}
	text := c.text(b)
	d.ID, d.OrderKey = text[:position], text[position:key]
	d.Body, d.SentAt = r.Value, r.Timestamp
	if d.Due, _ = Due(r); d.Due.IsZero() {
		d.Due, _ = headerTime(r, waitedHeader)
	}
	if own > 0 {
		d.Header = make([]driver.Header, 0, own)
	}
	text = text[key:]
	for _, i := range which {
		n := len(r.Headers[i].Value)
		if err := take(d, r.Headers[i].Key, text[:n]); d.Err == nil {
			d.Err = err
		}
		text = text[n:]
	}
	if d.First.IsZero() {
		d.First = SentAt(r)
		c.TimedBySender = c.TimedBySender || d.Expires > 0 && r.Attrs.TimestampType() == 0
	}
	if d.First.After(c.now) { // a sender's clock may be ahead
		d.First = c.now
	}
}

// Decode decodes one record without a Decoder.
func Decode(r *kgo.Record, d *driver.Delivery) { NewDecoder(1).Decode(r, d) }

// text returns b as a string.
func (c *Decoder) text(b []byte) string {
	if c.texts.Cap()-c.texts.Len() < len(b) {
		c.texts = strings.Builder{}
		c.texts.Grow(max(len(b), min(c.expected*len(b), maxTexts)))
	}
	c.expected--
	from := c.texts.Len()
	c.texts.Write(b)
	return c.texts.String()[from:]
}

// take sets the delivery's field for a header.
func take(d *driver.Delivery, name, value string) (err error) {
	switch name {
	case routingHeader:
		d.RoutingKey = value
	case contentTypeHeader:
		d.ContentType = value
	case typeHeader:
		d.Type = value
	case versionHeader:
		if d.Version, err = strconv.Atoi(value); err != nil || d.Version < 0 {
			d.Version = 0
			return fmt.Errorf("header %s is %q and not a number: its producer must write Godwit's format, or none",
				name, value)
		}
	case expiresHeader:
		if ms, _ := strconv.ParseInt(value, 10, 64); ms > 0 && ms <= maxTime { // another value never expires
			d.Expires = min(time.Duration(ms), math.MaxInt64/time.Millisecond) * time.Millisecond
		}
	case FirstHeader:
		if ms, _ := strconv.ParseInt(value, 10, 64); ms > 0 && ms <= maxTime {
			d.First = time.UnixMilli(ms)
		}
	default:
		if !reserved(name) {
			d.Header = append(d.Header, driver.Header{Name: name, Value: value})
		}
	}
	return nil
}

// overridden reports whether a later header sets the same field of a delivery: the last one counts. All other headers
// reach the handler, also several of one name.
func overridden(hs []kgo.RecordHeader, i int) bool {
	if !field(hs[i].Key) {
		return false
	}
	for k := len(hs) - 1; k > i; k-- {
		if hs[k].Key == hs[i].Key {
			return true
		}
	}
	return false
}

// field reports whether a header is a field of a delivery.
func field(name string) bool {
	return name == routingHeader || name == contentTypeHeader || reserved(name)
}

// LastHeader is the value of the last header of a name; nil: there is none.
func LastHeader(hs []kgo.RecordHeader, name string) []byte {
	for i := len(hs) - 1; i >= 0; i-- {
		if hs[i].Key == name {
			return hs[i].Value
		}
	}
	return nil
}

// Due is when a record may be handled; false: it has no due time.
func Due(r *kgo.Record) (time.Time, bool) {
	return headerTime(r, DueHeader) // without it, the record may be handled now
}

// headerTime reads a header that is a time in milliseconds.
func headerTime(r *kgo.Record, name string) (at time.Time, ok bool) {
	text := LastHeader(r.Headers, name)
	if text == nil { // as in nearly all records; parsing nothing would allocate an error
		return at, false
	}
	ms, err := strconv.ParseInt(string(text), 10, 64)
	if err != nil || ms <= 0 || ms > maxTime {
		return at, false
	}
	return time.UnixMilli(ms), true
}

// maxTime is the end of the year 9999: a later time is an error of its writer.
const maxTime = 253_402_300_799_999

// AppendPosition appends a record's position as text, which is also the id of its deliveries.
func AppendPosition(b []byte, topic string, partition int32, offset int64) []byte {
	b = append(append(b, topic...), '/')
	b = append(strconv.AppendInt(b, int64(partition), 10), '/')
	return strconv.AppendInt(b, offset, 10)
}

// Header is the value of the last header of a name, as text; "": there is none.
func Header(r *kgo.Record, name string) string { return string(LastHeader(r.Headers, name)) }

// SetHeader sets a header, and removes others of that name. Other records may share the slice of headers.
func SetHeader(r *kgo.Record, name, value string) {
	hs := make([]kgo.RecordHeader, 0, len(r.Headers)+1) // not in place: copies share the slice
	for _, h := range r.Headers {
		if h.Key != name {
			hs = append(hs, h)
		}
	}
	r.Headers = append(hs, kgo.RecordHeader{Key: name, Value: []byte(value)})
}
