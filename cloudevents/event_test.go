package cloudevents_test

import (
	"encoding/json"
	"errors"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/cloudevents"
)

// full is an event with all attributes.
func full() cloudevents.Event {
	return cloudevents.Event{
		ID: "1", Source: "/carts", Type: "com.example.paid", Subject: "cart 7",
		Time:            time.Date(2026, 11, 23, 16, 0, 0, 123456789, time.UTC),
		DataContentType: "application/json", DataSchema: "https://example.com/cart.json",
		Extensions: map[string]any{
			"partitionkey": "ada", "first": true, "amount": int32(-5), "raw": []byte{0, 255},
			"at":   time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
			"link": &url.URL{Scheme: "https", Host: "example.com", Path: "/a b"}, "none": nil,
		},
		Data: []byte(`{"total": 12.50, "note": "<now> & é"}`),
	}
}

// The JSON format has each value in its type, and the data byte for byte.
func TestJSON(t *testing.T) {
	e := full()
	got, err := e.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	want := `{"specversion":"1.0","id":"1","source":"/carts","type":"com.example.paid",` +
		`"datacontenttype":"application/json","dataschema":"https://example.com/cart.json","subject":"cart 7",` +
		`"time":"2026-11-23T16:00:00.123456789Z","amount":-5,"at":"2026-01-02T03:04:05Z","first":true,` +
		`"link":"https://example.com/a%20b","partitionkey":"ada","raw":"AP8=",` +
		`"data":{"total": 12.50, "note": "<now> & é"}}`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Error(diff)
	}
	var back cloudevents.Event
	if err := json.Unmarshal(got, &back); err != nil {
		t.Fatal(err)
	}
	same := full()
	same.Extensions = map[string]any{
		"partitionkey": "ada", "first": true, "amount": int32(-5), "raw": "AP8=", "at": "2026-01-02T03:04:05Z",
		"link": "https://example.com/a%20b",
	}
	if diff := cmp.Diff(same, back); diff != "" {
		t.Error(diff)
	}
	for name := range e.Extensions {
		if e.Extension(name) != back.Extension(name) {
			t.Errorf("extension %s: sent as %q, received as %q", name, e.Extension(name), back.Extension(name))
		}
	}
}

// Data is JSON, text or base64, as its content type says.
func TestDataInJSON(t *testing.T) {
	for _, c := range []struct {
		name, contentType, data, want string
		back                          string // the content type that is received; "": the same
	}{
		{"JSON", "application/json", `[1, 2]`, `"data":[1, 2]`, ""},
		{"JSON by suffix", "application/vnd.cart+json; charset=utf-8", `"x"`, `"data":"x"`, ""},
		{"JSON without a content type", "", `null`, `"data":null`, "application/json"},
		{"text", "text/plain", `no "JSON"`, `"data":"no \"JSON\""`, ""},
		{"XML", "application/xml", `<a/>`, `"data":"\u003ca/\u003e"`, ""},
		{"text that is none", "text/plain", "\xff", `"data_base64":"/w=="`, ""},
		{"text of another charset", "text/plain; charset=latin1", "a", `"data_base64":"YQ=="`, ""},
		{"bytes", "application/protobuf", "\x08\x05", `"data_base64":"CAU="`, ""},
		{"bytes without a content type", "", "\x08\x05", `"data_base64":"CAU="`, ""},
		{"empty text", "text/plain", "", `"data":""`, ""},
	} {
		e := cloudevents.Event{ID: "1", Source: "s", Type: "t", DataContentType: c.contentType, Data: []byte(c.data)}
		text, err := e.MarshalJSON()
		if err != nil || !strings.HasSuffix(string(text), ","+c.want+"}") {
			t.Errorf("%s: %s, %v; want %s", c.name, text, err, c.want)
			continue
		}
		var back cloudevents.Event
		if err := json.Unmarshal(text, &back); err != nil || back.Data == nil || string(back.Data) != c.data {
			t.Errorf("%s: received as %q, %v", c.name, back.Data, err)
		}
		if c.back == "" {
			c.back = c.contentType
		}
		if back.DataContentType != c.back {
			t.Errorf("%s: the received content type is %s", c.name, back.DataContentType)
		}
	}
	text, err := cloudevents.Event{ID: "1", Source: "s", Type: "t"}.MarshalJSON()
	if err != nil || strings.Contains(string(text), "data") {
		t.Errorf("without data: %s, %v", text, err)
	}
}

// The error of an event that is not sent names the attribute.
func TestValidate(t *testing.T) {
	for _, c := range []struct {
		name  string // of the attribute
		want  string
		spoil func(e *cloudevents.Event)
	}{
		{"id", "is missing", func(e *cloudevents.Event) { e.ID = "" }},
		{"source", "is missing", func(e *cloudevents.Event) { e.Source = "" }},
		{"source", "no URI", func(e *cloudevents.Event) { e.Source = "https://a:b:c/%zz" }},
		{"type", "is missing", func(e *cloudevents.Event) { e.Type = "" }},
		{"type", "U+000A", func(e *cloudevents.Event) { e.Type = "a\nb" }},
		{"type", "U+0085", func(e *cloudevents.Event) { e.Type = "a\u0085" }},
		{"subject", "UTF-8", func(e *cloudevents.Event) { e.Subject = "\xff" }},
		{"subject", "U+FFFE", func(e *cloudevents.Event) { e.Subject = "\ufffe" }},
		{"time", "year 10000", func(e *cloudevents.Event) { e.Time = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC) }},
		{"dataschema", "absolute", func(e *cloudevents.Event) { e.DataSchema = "/cart.json" }},
		{"datacontenttype", "no media type", func(e *cloudevents.Event) { e.DataContentType = "JSON; ;" }},
		{"data", "is no JSON", func(e *cloudevents.Event) { e.Data = []byte("{") }},
		{"partitionkey", "is empty", func(e *cloudevents.Event) { e.Extensions["partitionkey"] = "" }},
		{"Cart", "a to z", func(e *cloudevents.Event) { e.Extensions["Cart"] = "7" }},
		{"cart_id", "a to z", func(e *cloudevents.Event) { e.Extensions["cart_id"] = "7" }},
		{"id", "set the field", func(e *cloudevents.Event) { e.Extensions["id"] = "7" }},
		{"data", "reserves", func(e *cloudevents.Event) { e.Extensions["data"] = "7" }},
		{`""`, "no name", func(e *cloudevents.Event) { e.Extensions[""] = "7" }},
		{"share", "type float64", func(e *cloudevents.Event) { e.Extensions["share"] = 0.5 }},
		{"size", "32 bits", func(e *cloudevents.Event) { e.Extensions["size"] = int64(1) << 31 }},
		{"link", "nil URL", func(e *cloudevents.Event) { e.Extensions["link"] = (*url.URL)(nil) }},
	} {
		e := full()
		c.spoil(&e)
		for _, err := range []error{e.Validate(), func() error { _, err := e.MarshalJSON(); return err }()} {
			var bad *cloudevents.AttributeError
			if !errors.As(err, &bad) || bad.Name != c.name || !strings.Contains(bad.Reason, c.want) {
				t.Errorf("%s, %s: %v", c.name, c.want, err)
			}
		}
	}
	good := full()
	if err := good.Validate(); err != nil {
		t.Error(err)
	}
}

// The error of an event that cannot be read names the attribute.
func TestBadJSON(t *testing.T) {
	const head = `{"specversion":"1.0","id":"1","source":"s","type":"t"`
	for _, c := range []struct{ text, name, want string }{
		{`{"id":"1","source":"s","type":"t"}`, "specversion", "is missing"},
		{`{"specversion":"0.3","id":"1","source":"s","type":"t"}`, "specversion", `is "0.3"`},
		{`{"specversion":"1.0","source":"s","type":"t"}`, "id", "is missing"},
		{`{"specversion":"1.0","id":1,"source":"s","type":"t"}`, "id", "must be a string"},
		{`{"specversion":"1.0","id":"1","source":null,"type":"t"}`, "source", "is missing"},
		{head + `,"time":"yesterday"}`, "time", "RFC 3339"},
		{head + `,"time":5}`, "time", "RFC 3339"},
		{head + `,"cart":{"id":1}}`, "cart", "must be a string, a number or a boolean"},
		{head + `,"size":1.5}`, "size", "32 bits"},
		{head + `,"size":2147483648}`, "size", "32 bits"},
		{head + `,"Cart":"x"}`, "Cart", "a to z"},
		{head + `,"subject":"a\u0000"}`, "subject", "U+0000"},
		{head + `,"data":1,"data_base64":"AA=="}`, "data", "twice"},
		{head + `,"data_base64":"?"}`, "data_base64", "base64"},
		{head + `,"data_base64":1}`, "data_base64", "must be a string"},
		{head + `,"datacontenttype":"text/plain","data":{}}`, "data", "must be a string"},
	} {
		e := cloudevents.Event{ID: "unchanged"}
		err := json.Unmarshal([]byte(c.text), &e)
		var bad *cloudevents.AttributeError
		if !errors.As(err, &bad) || bad.Name != c.name || !strings.Contains(bad.Reason, c.want) {
			t.Errorf("%s: %v; want %s %s", c.text, err, c.name, c.want)
		}
		if e.ID != "unchanged" {
			t.Errorf("%s: the event has been changed", c.text)
		}
	}
	for _, text := range []string{`[]`, `"x"`, `null`, `5`} {
		if err := new(cloudevents.Event).UnmarshalJSON([]byte(text)); err == nil {
			t.Errorf("%s was decoded", text)
		}
	}
	// What CloudEvents allows, and what readers should not be strict about.
	for _, text := range []string{
		head + `}`, head + `,"subject":null,"cart":null}`, head + `,"dataschema":"/cart"}`,
		head + `,"datacontenttype":"text/plain","data":null}`, head + `,"data_base64":null}`,
		head + `,"averylongnameofanextension":"x"}`,
	} {
		if err := new(cloudevents.Event).UnmarshalJSON([]byte(text)); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// Data goes through any codec.
func TestData(t *testing.T) {
	type cart struct{ Total float64 }
	var e cloudevents.Event
	if err := e.SetData(godwit.JSON, cart{12.5}); err != nil {
		t.Fatal(err)
	}
	var got cart
	if err := e.DataAs(godwit.JSON, &got); err != nil || got.Total != 12.5 || e.DataContentType != "application/json" {
		t.Errorf("%+v of %s, %v", got, e.DataContentType, err)
	}
	if err := e.SetData(godwit.JSON, func() {}); err == nil {
		t.Error("a function is no data")
	}
	if err := e.DataAs(godwit.JSON, new(int)); err == nil || !strings.Contains(err.Error(), "application/json") {
		t.Errorf("another type: %v", err)
	}
}

// No text makes the decoder panic, and an event that was read and can be sent is read again as it was.
func FuzzJSON(f *testing.F) {
	e := full()
	text, err := e.MarshalJSON()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(text))
	f.Add(`{"specversion":"1.0","id":"1","source":"s","type":"t","datacontenttype":"text/plain","data":"x","a":5}`)
	f.Add(`{"specversion":"1.0","id":"1","source":"s","type":"t","data_base64":"AA=="}`)
	f.Fuzz(func(t *testing.T, text string) {
		var e, again cloudevents.Event
		if json.Unmarshal([]byte(text), &e) != nil {
			return
		}
		out, err := e.MarshalJSON()
		if err != nil {
			return // readers are less strict than senders
		}
		if err := json.Unmarshal(out, &again); err != nil {
			t.Fatalf("%s: %v", out, err)
		}
		if diff := cmp.Diff(e, again); diff != "" {
			t.Errorf("%s: %s", out, diff)
		}
	})
}
