package cloudevents_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/cloudevents"
	"github.com/godwitmq/godwit/godwittest"
	"github.com/godwitmq/godwit/snssqs"
)

// An event arrives as it was sent, in both modes, whether its headers are attributes or not.
func TestHandle(t *testing.T) {
	small := full()
	small.Extensions = map[string]any{"partitionkey": "ada"}
	empty := cloudevents.Event{ID: "2", Source: "/carts", Type: "com.example.cleared"}
	binary := full()
	binary.DataContentType, binary.Data = "application/protobuf", []byte{0, 1, 255}
	for name, form := range map[string]snssqs.HeaderForm{
		"packed": snssqs.HeadersPacked, "native": snssqs.HeadersNative,
	} {
		for _, mode := range []cloudevents.Mode{cloudevents.Structured, cloudevents.Binary} {
			synctest.Test(t, func(t *testing.T) {
				b := onAWS(t, form)
				sent := map[string]cloudevents.Event{}
				s := sender(t, producer(t, b), mode)
				for i, e := range []cloudevents.Event{small, empty, binary} {
					if form == snssqs.HeadersNative && i > 0 {
						e.Extensions = nil // there is no room for all of them
					}
					e.ID = string(rune('a' + i))
					sent[e.ID] = e
					if err := s.Send(t.Context(), e, godwit.Message{}); err != nil {
						t.Fatal(err)
					}
				}
				for _, got := range received(t, b, len(sent)) {
					want := sent[got.ID]
					for extension := range want.Extensions {
						if want.Extension(extension) != got.Extension(extension) {
							t.Errorf("%s, mode %d: extension %s is %q", name, mode, extension, got.Extension(extension))
						}
					}
					want.Extensions, got.Extensions = nil, nil
					if diff := cmp.Diff(want, got); diff != "" {
						t.Errorf("%s, mode %d: %s", name, mode, diff)
					}
				}
			})
		}
	}
}

// received handles n events of the channel carts.
func received(t *testing.T, b godwit.Backend, n int) (all []cloudevents.Event) {
	t.Helper()
	c, err := godwit.NewConsumer(t.Context(), b, "carts", &godwit.ConsumerOptions{Concurrency: 1})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	report, err := c.Run(ctx, cloudevents.Handle(func(_ context.Context, d godwit.Typed[cloudevents.Event]) error {
		if all = append(all, d.Value); len(all) == n {
			stop()
		}
		return nil
	}))
	if err != nil || len(all) != n {
		t.Errorf("%d events, %+v, %v", len(all), report, err)
	}
	return all
}

// Messages of other programs are recognized by their content type, their headers or, on SQS, their body.
func TestRead(t *testing.T) {
	const body = `{"specversion":"1.0","id":"1","source":"s","type":"t","data":{"a":1}}`
	const data = `{"a":1}`
	attributes := godwit.Headers{
		{Name: "ce_specversion", Value: "1.0"},
		{Name: "ce_id", Value: "0"},
		{Name: "ce_source", Value: "s"},
		{Name: "ce_type", Value: "t"},
		{Name: "other", Value: "x"},
		{Name: "ce_id", Value: "1"},
	}
	contentType := godwit.Headers{{Name: "content-type", Value: "application/cloudevents+json"}}
	typed := attributes.With("ce_datacontenttype", "application/json")
	want := cloudevents.Event{ID: "1", Source: "s", Type: "t", DataContentType: "application/json", Data: []byte(data)}
	for name, d := range map[string]*godwit.Delivery{
		"structured":             {ContentType: "application/cloudevents+json", Body: []byte(body)},
		"with a charset":         {ContentType: "Application/CloudEvents+JSON; charset=UTF-8", Body: []byte(body)},
		"content type as header": {Headers: contentType, Body: []byte(body)},
		"a body alone":           {Body: []byte(" " + body)},
		"a body of JSON":         {ContentType: "application/json", Body: []byte(body)},
		"binary":                 {ContentType: "application/json", Headers: attributes, Body: []byte(data)},
		"binary, by attribute":   {Headers: typed, Body: []byte(data)},
		"binary, by header":      {Headers: attributes.With("content-type", "application/json"), Body: []byte(data)},
	} {
		got, err := cloudevents.Read(d)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	broken := errors.New("broken")
	for name, c := range map[string]struct {
		d    *godwit.Delivery
		want string
	}{
		"no event":       {&godwit.Delivery{Body: []byte(data)}, "no CloudEvent"},
		"text":           {&godwit.Delivery{Body: []byte("text")}, "no CloudEvent"},
		"other content":  {&godwit.Delivery{ContentType: "text/plain", Body: []byte(body)}, "no CloudEvent"},
		"another format": {&godwit.Delivery{ContentType: "application/cloudevents+avro"}, "cloudevents+avro"},
		"a batch":        {&godwit.Delivery{ContentType: "application/cloudevents-batch+json"}, "cloudevents-batch"},
		"an old version": {&godwit.Delivery{Headers: attributes.With("ce_specversion", "0.3")}, "specversion"},
		"no id":          {&godwit.Delivery{Headers: attributes[:1]}, "attribute id"},
		"a bad time":     {&godwit.Delivery{Headers: attributes.With("ce_time", "now")}, "attribute time"},
		"a bad name":     {&godwit.Delivery{Headers: attributes.With("ce_A", "now")}, "attribute A"},
		"a bad body":     {&godwit.Delivery{Body: []byte(`{"specversion":"1.0","id":1}`)}, "attribute id"},
		"undecodable":    {&godwit.Delivery{Undecodable: broken}, "broken"},
	} {
		_, err := cloudevents.Read(c.d)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; want %q", name, err, c.want)
		}
	}
}

// A message that is no event is a dead letter at once, which says why.
func TestABadEventIsADeadLetter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := godwittest.New(t, nil)
		body := `{"specversion":"1.0","id":"1","source":"s"}`
		h.Send(h.Producer("carts", nil), godwittest.Bodies(body)...)
		h.Run(h.Consumer("carts", nil), cloudevents.Handle(
			func(context.Context, godwit.Typed[cloudevents.Event]) error { return nil }))
		h.AwaitDeadLettered("carts", 1)
		h.AssertDeadLettered("carts", godwittest.DeadLetter{
			Body: body, Kind: "undecodable", Cause: "attribute type of the CloudEvent is missing", Attempts: 1,
		})
	})
	if cloudevents.Handle(nil) != nil {
		t.Error("a handler without a function must be an error of Run")
	}
}
