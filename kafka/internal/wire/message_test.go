package wire

import (
	"bytes"
	"math"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/godwitmq/godwit/driver"
)

// Texts that share memory do not change, however many and long they are.
func TestDecodedTextsStay(t *testing.T) {
	c := Decoder{expected: 500}
	ds := make([]driver.Delivery, 1000)
	for i := range ds {
		key := bytes.Repeat([]byte{byte(i)}, i*7%600)
		c.Decode(&kgo.Record{Topic: "t", Offset: int64(i), Key: key}, &ds[i])
		clear(key)
	}
	for i := range ds {
		if want := "t/0/" + strconv.Itoa(i); ds[i].ID != want || ds[i].OrderKey != string(bytes.Repeat([]byte{byte(i)},
			i*7%600)) {
			t.Fatalf("delivery %d became %q, %q", i, ds[i].ID, ds[i].OrderKey)
		}
	}
}

func TestAMessageArrivesAsItWasSent(t *testing.T) {
	m := driver.Message{
		OrderKey: "ada", RoutingKey: "A.B", ContentType: "text/plain", Type: "wish", Version: 3, Body: []byte("book"),
		DedupID: "once", Expires: time.Minute,
		Header: []driver.Header{
			{Name: "traceparent", Value: "00-ab-cd-01"},
			{Name: "bytes", Value: "\xff\x00"},
			{Name: "empty"},
		},
	}
	r, err := Encode(&m)
	if err != nil {
		t.Fatal(err)
	}
	r.Topic, r.Partition, r.Offset, r.Timestamp = "prod.orders", 7, 1234, time.UnixMilli(99)
	var got driver.Delivery
	Decode(r, &got)
	want := driver.Delivery{
		ID: "prod.orders/7/1234", OrderKey: "ada", RoutingKey: "A.B", ContentType: "text/plain", Type: "wish",
		Version: 3,
		Body:    []byte("book"), Header: m.Header, SentAt: time.UnixMilli(99),
		Expires: time.Minute, First: time.UnixMilli(99),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if string(LastHeader(r.Headers, dedupHeader)) != "once" {
		t.Error("the de-duplication id is missing")
	}
}

// The age of a record counts from its first acceptance, which is never later than its receive.
func TestTheFirstAcceptance(t *testing.T) {
	now := time.Now()
	sent, earlier := now.Add(-time.Minute).Truncate(time.Millisecond), now.Add(-time.Hour).Truncate(time.Millisecond)
	header := func(name, value string) []kgo.RecordHeader {
		return []kgo.RecordHeader{{Key: name, Value: []byte(value)}}
	}
	const longest = math.MaxInt64 / time.Millisecond * time.Millisecond
	tier := header(SentHeader, strconv.Itoa(int(earlier.UnixMilli())))
	again, err := Encode(&driver.Message{First: earlier})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		headers []kgo.RecordHeader
		at      time.Time
		first   time.Time
		expires time.Duration
		tells   bool
	}{
		"a sender's clock":        {nil, sent, sent, 0, false},
		"it expires":              {header(expiresHeader, "1500"), sent, sent, 1500 * time.Millisecond, true},
		"a clock that is ahead":   {nil, now.Add(time.Hour), now, 0, false},
		"sent again":              {again.Headers, sent, earlier, 0, false},
		"in a tier":               {tier, sent, earlier, 0, false},
		"no number":               {header(expiresHeader, "soon"), sent, sent, 0, false},
		"no time":                 {header(FirstHeader, "-5"), sent, sent, 0, false},
		"longer than a Duration":  {header(expiresHeader, "99999999999999"), sent, sent, longest, true},
		"longer than can be read": {header(expiresHeader, "9999999999999999"), sent, sent, 0, false},
	} {
		var d driver.Delivery
		decoder := NewDecoder(1)
		decoder.Decode(&kgo.Record{Timestamp: c.at, Headers: c.headers}, &d)
		if d.First.Sub(c.first).Abs() > time.Second || d.Expires != c.expires || decoder.TimedBySender != c.tells {
			t.Errorf("%s: accepted at %v, expires after %v, told %v; want %v, %v, %v", name, d.First, d.Expires,
				decoder.TimedBySender, c.first, c.expires, c.tells)
		}
	}
	r := &kgo.Record{Headers: again.Headers}
	if KeepFirst(r, now); Header(r, FirstHeader) != strconv.FormatInt(earlier.UnixMilli(), 10) {
		t.Errorf("an earlier acceptance was replaced: %v", r.Headers)
	}
	if ForgetFirst(r); len(r.Headers) != 0 || len(again.Headers) != 1 {
		t.Errorf("forgotten: %v, of %v", r.Headers, again.Headers)
	}
}

// Fields of a message have the documented header names.
func TestHeadersAreAsDocumented(t *testing.T) {
	r, err := Encode(&driver.Message{
		RoutingKey: "k", ContentType: "c", Type: "t", Version: 2,
		Header: []driver.Header{{Name: "own", Value: "o"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"routing_key": "k", "content-type": "c", "godwit-type": "t", "godwit-version": "2",
		"own": "o",
	}
	got := map[string]string{}
	for _, h := range r.Headers {
		got[h.Key] = string(h.Value)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if r.Key != nil || r.Value != nil || !r.Timestamp.IsZero() {
		t.Errorf("key %q, value %q, timestamp %v: want none", r.Key, r.Value, r.Timestamp)
	}
}

func TestHeadersThatCannotBe(t *testing.T) {
	for name, m := range map[string]driver.Message{
		"no name":          {Header: []driver.Header{{Value: "v"}}},
		"not UTF-8":        {Header: []driver.Header{{Name: "\xff"}}},
		"a routing key":    {Header: []driver.Header{{Name: "routing_key"}}},
		"a content type":   {Header: []driver.Header{{Name: "content-type"}}},
		"ours":             {Header: []driver.Header{{Name: "godwit-home", Value: "x/0/1"}}},
		"a dead letter's":  {Header: []driver.Header{{Name: "__dlq.errors.topic", Value: "x"}}},
		"negative version": {Version: -1},
	} {
		if r, err := Encode(&m); err == nil {
			t.Errorf("%s: encoded as %v", name, r.Headers)
		}
	}
}

func TestForeignHeaders(t *testing.T) {
	r := &kgo.Record{Topic: "t", Headers: []kgo.RecordHeader{
		{Key: "a", Value: []byte("first")},
		{Key: "routing_key", Value: []byte("old")},
		{Key: "a", Value: []byte("last")},
		{Key: "godwit-version", Value: []byte("seven")},
		{Key: "routing_key", Value: []byte("new")},
		{Key: "godwit-unknown", Value: []byte("later version")},
	}}
	var d driver.Delivery
	Decode(r, &d)
	want := []driver.Header{{Name: "a", Value: "first"}, {Name: "a", Value: "last"}}
	if diff := cmp.Diff(want, d.Header); diff != "" {
		t.Error(diff)
	}
	if d.RoutingKey != "new" || d.Err == nil {
		t.Errorf("routing key %q, error %v", d.RoutingKey, d.Err)
	}
}

func TestDueTimesThatAreNone(t *testing.T) {
	for _, value := range []string{"", "soon", "-5", "0", "9223372036854775807", "1e12"} {
		if at, ok := Due(&kgo.Record{Headers: []kgo.RecordHeader{{Key: "godwit-due", Value: []byte(value)}}}); ok {
			t.Errorf("%q is read as the time %v", value, at)
		}
	}
}

// A message that can be encoded is decoded unchanged.
func FuzzEncode(f *testing.F) {
	f.Add("key", "route", "type", 1, "name", "value", "other", []byte("body"))
	f.Fuzz(func(t *testing.T, key, route, kind string, version int, name, value, other string, body []byte) {
		m := driver.Message{
			OrderKey: key, RoutingKey: route, ContentType: kind, Type: kind, Version: version,
			Body:   body,
			Header: []driver.Header{{Name: name, Value: value}, {Name: other, Value: name}},
		}
		r, err := Encode(&m)
		if err != nil {
			return
		}
		var d driver.Delivery
		Decode(r, &d)
		got := driver.Message{
			OrderKey: d.OrderKey, RoutingKey: d.RoutingKey, ContentType: d.ContentType, Type: d.Type,
			Version: d.Version, Body: d.Body, Header: d.Header,
		}
		if diff := cmp.Diff(m, got); diff != "" || d.Err != nil {
			t.Errorf("%v %s", d.Err, diff)
		}
	})
}

// Any record is decoded without a panic, and all of its headers reach the handler, except fields and reserved names.
func FuzzDecode(f *testing.F) {
	f.Add([]byte("a\x00b\x00kafka_dlt-original-topic\x00orders\x00kafka_dlt-original-partition\x00\x00\x00\x00\x01"))
	f.Add([]byte("godwit-history\x00{\"v\":1,\"d\":[{\"id\":\"x/0/1\"}]}\x00__dlq.errors.topic\x00x\x00__dlq.errors.offset\x001"))
	f.Fuzz(func(t *testing.T, data []byte) {
		r := &kgo.Record{Key: data, Value: data}
		for i, parts := 0, bytes.Split(data, []byte{0}); i+1 < len(parts); i += 2 {
			r.Headers = append(r.Headers, kgo.RecordHeader{Key: string(parts[i]), Value: parts[i+1]})
		}
		var d driver.Delivery
		Decode(r, &d)
		own := 0
		for _, h := range r.Headers {
			if !field(h.Key) {
				own++
			}
		}
		reserves := func(h driver.Header) bool { return reserved(h.Name) }
		if len(d.Header) != own || slices.ContainsFunc(d.Header, reserves) {
			t.Errorf("%d of %d headers arrive: %v", len(d.Header), own, d.Header)
		}
		if d.Version < 0 || d.OrderKey != string(data) {
			t.Errorf("version %d, key %q", d.Version, d.OrderKey)
		}
	})
}

func BenchmarkDecode(b *testing.B) {
	for name, headers := range map[string]int{"headers=0": 0, "headers=5": 5} {
		b.Run(name, func(b *testing.B) {
			r := &kgo.Record{
				Topic: "wishlist_events", Partition: 12, Offset: 1_234_567, Key: []byte("user-1234"),
				Value: []byte("body"),
			}
			for i := range headers {
				r.Headers = append(r.Headers, kgo.RecordHeader{
					Key:   "header-" + strconv.Itoa(i),
					Value: []byte("value of a header"),
				})
			}
			b.ReportAllocs()
			c := Decoder{expected: 1 << 40}
			for b.Loop() {
				var d driver.Delivery
				c.Decode(r, &d)
			}
		})
	}
}
