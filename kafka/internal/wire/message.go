package wire

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/godwitmq/godwit/driver"
)

// Headers of ours. A message's own travel beside them under their own names, those of traces as well.
const (
	routingHeader     = "routing_key" // as on the other backends: foreign producers write it too
	contentTypeHeader = "content-type"
	typeHeader        = OwnPrefix + "type"
	versionHeader     = OwnPrefix + "version" // of the type, in decimal
	DueHeader         = OwnPrefix + "due"     // when a delayed record may be handled, in milliseconds since 1970
	dedupHeader       = OwnPrefix + "dedup"   // the sender's de-duplication id: carried, and nothing is done about it

	// OwnPrefix is reserved.
	OwnPrefix = "godwit-"
	// DeadPrefix begins the headers of a dead letter, under the names that brokers write themselves (KIP-1191). It is
	// reserved, too.
	DeadPrefix = "__dlq.errors."
)

// Encode makes a record of a message. Its topic is the sender's matter. Without a body it is a tombstone.
func Encode(m *driver.Message) (*kgo.Record, error) {
	if err := checkHeaders(m.Header); err != nil {
		return nil, err
	}
	if m.Version < 0 {
		return nil, fmt.Errorf("message version %d: it cannot be negative", m.Version)
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
	if m.Delay > 0 {
		add(DueHeader, strconv.FormatInt(time.Now().Add(m.Delay).UnixMilli(), 10))
	}
	for _, h := range m.Header {
		r.Headers = append(r.Headers, kgo.RecordHeader{Key: h.Name, Value: []byte(h.Value)})
	}
	return r, nil
}

// checkHeaders refuses names that would be read as something else.
func checkHeaders(hs []driver.Header) error {
	for i, h := range hs {
		switch {
		case h.Name == "":
			return fmt.Errorf("header %d has no name", i)
		case !utf8.ValidString(h.Name):
			return fmt.Errorf("header name %q is not UTF-8, as Kafka's names are", h.Name)
		case h.Name == routingHeader || h.Name == contentTypeHeader:
			return fmt.Errorf("header %s: use the field of the message that it stands for", h.Name)
		case reserved(h.Name):
			return fmt.Errorf("header %s: names that begin with %s or %s are reserved", h.Name, OwnPrefix, DeadPrefix)
		}
		for _, before := range hs[:i] {
			if before.Name == h.Name {
				return fmt.Errorf("header %s is there twice: names are unique", h.Name)
			}
		}
	}
	return nil
}

// reserved says that a header is Godwit's, or as good as.
func reserved(name string) bool {
	return strings.HasPrefix(name, OwnPrefix) || strings.HasPrefix(name, DeadPrefix)
}

// Decoder makes deliveries of records, so many as are expected. Their texts share pieces of memory: for each its own
// would be an allocation a record.
type Decoder struct {
	expected int
	texts    strings.Builder
}

// NewDecoder returns a decoder for so many records.
func NewDecoder(expected int) *Decoder { return &Decoder{expected: expected} }

// maxTexts bounds a piece of memory that deliveries share, since the one that is held longest holds all of it.
const maxTexts = 4 << 10

// Decode fills a delivery from a record: all but its Source, Handle, Attempt and Origin. The body is the record's own
// memory.
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
	d.Due, _ = Due(r)
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
}

// Decode is decoder.decode for one record alone.
func Decode(r *kgo.Record, d *driver.Delivery) { NewDecoder(1).Decode(r, d) }

// text is b as a string.
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

// take puts one header where it belongs.
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
			return fmt.Errorf("header %s is %q, not a number: whoever sent this does not write as Godwit does", name,
				value)
		}
	default:
		if !reserved(name) {
			d.Header = append(d.Header, driver.Header{Name: name, Value: value})
		}
	}
	return nil
}

// overridden says that a later header has the same name: names of records can repeat, and the last one counts.
func overridden(hs []kgo.RecordHeader, i int) bool {
	for k := len(hs) - 1; k > i; k-- {
		if hs[k].Key == hs[i].Key {
			return true
		}
	}
	return false
}

// LastHeader is the value of a header; nil: there is none.
func LastHeader(hs []kgo.RecordHeader, name string) []byte {
	for i := len(hs) - 1; i >= 0; i-- {
		if hs[i].Key == name {
			return hs[i].Value
		}
	}
	return nil
}

// Due is when a record may be handled, if it says so.
func Due(r *kgo.Record) (time.Time, bool) {
	return headerTime(r, DueHeader) // without it, the record may be handled now
}

// headerTime reads a header that is a time in milliseconds.
func headerTime(r *kgo.Record, name string) (at time.Time, ok bool) {
	ms, err := strconv.ParseInt(string(LastHeader(r.Headers, name)), 10, 64)
	if err != nil || ms <= 0 || ms > maxTime {
		return at, false
	}
	return time.UnixMilli(ms), true
}

// maxTime is the end of the year 9999: nobody means a later time.
const maxTime = 253_402_300_799_999

// AppendPosition spells where a record lies, which is also its id.
func AppendPosition(b []byte, topic string, partition int32, offset int64) []byte {
	b = append(append(b, topic...), '/')
	b = append(strconv.AppendInt(b, int64(partition), 10), '/')
	return strconv.AppendInt(b, offset, 10)
}

// Header is the value of a header as text; "": there is none.
func Header(r *kgo.Record, name string) string { return string(LastHeader(r.Headers, name)) }

// SetHeader gives a record a header in the place of those of its name. Other records may share the headers that it had.
func SetHeader(r *kgo.Record, name, value string) {
	hs := make([]kgo.RecordHeader, 0, len(r.Headers)+1) // never in place: copies share their headers with what came
	for _, h := range r.Headers {
		if h.Key != name {
			hs = append(hs, h)
		}
	}
	r.Headers = append(hs, kgo.RecordHeader{Key: name, Value: []byte(value)})
}
