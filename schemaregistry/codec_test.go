package schemaregistry_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/sr"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/godwitproto"
	"github.com/godwitmq/godwit/schemaregistry"
)

// A body is the magic byte, the id and the payload, for other programs too.
func TestCodec(t *testing.T) {
	r := newRegistry(t)
	r.SeedSchema("orders-value", 1, 258, *orderSchema())
	subject := &schemaregistry.Options{Subject: schemaregistry.TopicName("orders")}
	var seen []schemaregistry.Schema
	serde := schemaregistry.Payload(godwit.JSON)
	decode := serde.Decode
	serde.Decode = func(s schemaregistry.Schema, payload []byte, v any) error {
		seen = append(seen, s)
		return decode(s, payload, v)
	}
	c := r.codec(serde, subject)
	body, err := c.Encode(order{"a kite"})
	if err != nil {
		t.Fatal(err)
	}
	if want := "\x00\x00\x00\x01\x02" + `{"item":"a kite"}`; string(body) != want {
		t.Errorf("%q, want %q", body, want)
	}
	var got order
	if err := c.Decode(body, &got); err != nil || got.Item != "a kite" {
		t.Errorf("%+v, %v", got, err)
	}
	want := []schemaregistry.Schema{{Schema: *orderSchema(), ID: 258}}
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Errorf("the Serde got another schema: %s", diff)
	}
	if c.ContentType() != "" {
		t.Errorf("content type %s", c.ContentType())
	}
}

// The subjects follow Confluent's strategies.
func TestSubjects(t *testing.T) {
	for want, got := range map[string]string{
		"orders-value":       schemaregistry.TopicName("orders"),
		"shop.Order":         schemaregistry.RecordName("shop.Order"),
		"orders-shop.Order":  schemaregistry.TopicRecordName("orders", "shop.Order"),
		"shop.orders-value":  schemaregistry.TopicName("shop.orders"),
		"shop.orders-a.b.C1": schemaregistry.TopicRecordName("shop.orders", "a.b.C1"),
	} {
		if got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// The schema of sent values is the latest of its subject, or the given one, which is registered only if the options
// say so.
func TestTheSchemaOfSentValues(t *testing.T) {
	r := newRegistry(t)
	r.SeedSchema("orders-value", 1, 7, *orderSchema())
	newer := sr.Schema{Type: sr.TypeJSON, Schema: `{"title":"order","type":"object"}`}
	r.SeedSchema("orders-value", 2, 8, newer)
	other := &sr.Schema{Type: sr.TypeJSON, Schema: `{"title":"another"}`}
	for _, c := range []struct {
		name string
		o    schemaregistry.Options
		id   byte
		err  string
	}{
		{"the latest", schemaregistry.Options{Subject: "orders-value"}, 8, ""},
		{"the given one", schemaregistry.Options{Subject: "orders-value", Schema: orderSchema()}, 7, ""},
		{"not registered", schemaregistry.Options{Subject: "orders-value", Schema: other}, 0, "set Options.Register"},
		{"no subject", schemaregistry.Options{Subject: "order-value"}, 0, "register a schema under the subject"},
		{"registers", schemaregistry.Options{Subject: "orders-value", Schema: other, Register: true}, 9, ""},
		{"registered now", schemaregistry.Options{Subject: "orders-value", Schema: other}, 9, ""},
		{"only decodes", schemaregistry.Options{}, 0, "set Options.Subject"},
	} {
		codec := r.codec(schemaregistry.Payload(godwit.JSON), &c.o)
		body, err := codec.Encode(order{"a kite"})
		switch {
		case c.err != "":
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%s: %v; want %q", c.name, err, c.err)
			}
		case err != nil:
			t.Errorf("%s: %v", c.name, err)
		case body[4] != c.id:
			t.Errorf("%s: schema %d, want %d", c.name, body[4], c.id)
		}
	}
}

// A sender gets the error of a registry at once, and may send when the registry works again.
func TestEncodeDuringAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRegistry(t)
		c := r.codec(schemaregistry.Payload(godwit.JSON), &schemaregistry.Options{Subject: "orders-value"})
		for name, fault := range map[string]func(*http.Request) (*http.Response, error){
			"unreachable": unreachable, "hangs": hangs, "unavailable": answers(503, ""),
			"denied": answers(401, `{"error_code":401,"message":"Unauthorized"}`),
		} {
			r.fails(fault)
			if _, err := c.Encode(order{}); err == nil || !strings.Contains(err.Error(), "orders-value") {
				t.Errorf("%s: %v", name, err)
			}
			time.Sleep(time.Minute)
		}
		r.fails(nil)
		if _, err := c.Encode(order{}); err == nil {
			t.Error("the subject is not known yet")
		}
		r.SeedSchema("orders-value", 1, 7, *orderSchema())
		if _, err := c.Encode(order{}); err != nil {
			t.Error(err)
		}
	})
}

// Messages of protocol buffers have their position in the file behind the id.
func TestProtocolBuffers(t *testing.T) {
	r := newRegistry(t)
	r.SeedSchema("ranges", 1, 3, sr.Schema{Type: sr.TypeProtobuf, Schema: "syntax = \"proto2\";"})
	serde := schemaregistry.Payload(godwitproto.Binary{})
	index, err := godwitproto.Index((*descriptorpb.DescriptorProto_ReservedRange)(nil))
	if err != nil {
		t.Fatal(err)
	}
	start := int32(5)
	sent := &descriptorpb.DescriptorProto_ReservedRange{Start: &start}
	for _, c := range []struct {
		index []int
		want  string // of the body
	}{
		{nil, "\x00\x00\x00\x00\x03" + "\x00" + "\x08\x05"},
		{[]int{0}, "\x00\x00\x00\x00\x03" + "\x00" + "\x08\x05"},
		{index, "\x00\x00\x00\x00\x03" + "\x04\x04\x02" + "\x08\x05"}, // two numbers: 2 and 1, in zigzag
	} {
		codec := r.codec(serde, &schemaregistry.Options{Subject: "ranges", Index: c.index})
		body, err := codec.Encode(sent)
		if err != nil || string(body) != c.want {
			t.Errorf("%v: %q, %v; want %q", c.index, body, err, c.want)
		}
		var got *descriptorpb.DescriptorProto_ReservedRange
		if err := codec.Decode(body, &got); err != nil || got.GetStart() != 5 {
			t.Errorf("%v: %v, %v", c.index, got, err)
		}
	}
	codec := r.codec(serde, &schemaregistry.Options{Index: []int{0}})
	var got *descriptorpb.DescriptorProto_ReservedRange
	err = codec.Decode([]byte("\x00\x00\x00\x00\x03\x04\x04\x02\x08\x05"), &got)
	if err == nil || !strings.Contains(err.Error(), "message [2 1] of schema 3") {
		t.Errorf("another message: %v", err)
	}
}

// A body that is not in the wire format says what is wrong with it, and needs no registry.
func TestBodiesOfOtherFormats(t *testing.T) {
	r := newRegistry(t)
	r.SeedSchema("ranges", 1, 3, sr.Schema{Type: sr.TypeProtobuf, Schema: "syntax = \"proto2\";"})
	r.SeedSchema("orders", 1, 4, *orderSchema())
	c := r.codec(schemaregistry.Payload(godwit.JSON), nil)
	for _, one := range []struct{ body, want string }{
		{"", "has no body"},
		{`{"item":"a kite"}`, "begins with the byte 0x7b"},
		{"\x00\x00\x00", "has 3 bytes"},
		{"\x00\x00\x00\x00\x03", "ends inside of the index"},
		{"\x00\x00\x00\x00\x03\x02", "ends inside of the index"},
		{"\x00\x00\x00\x00\x03\x02\x01", "has the number -1"},
		{"\x00\x00\x00\x00\x03\xfe\xff\xff\xff\x0f", "has 2147483647 numbers"},
		{"\x00\x00\x00\x00\x03\x01", "has -1 numbers"},
		{"\x00\x00\x00\x00\x04no JSON", "decode with schema 4"},
	} {
		err := c.Decode([]byte(one.body), new(order))
		if err == nil || !strings.Contains(err.Error(), one.want) {
			t.Errorf("%q: %v; want %q", one.body, err, one.want)
		}
	}
}

// Callers that need the same schema at the same time share one request, and each schema is asked for once, unless the
// cache has no room for all.
func TestSchemasAreAskedForOnce(t *testing.T) {
	r := newRegistry(t)
	for id := 1; id <= 3; id++ {
		r.SeedSchema(fmt.Sprint("subject", id), 1, id, sr.Schema{
			Type: sr.TypeJSON, Schema: fmt.Sprintf(`{"title":"%d"}`, id),
		})
	}
	body := func(id int) []byte { return append([]byte{0, 0, 0, 0, byte(id)}, "{}"...) }
	c := r.codec(schemaregistry.Payload(godwit.JSON), &schemaregistry.Options{Cache: 2})
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			if err := c.Decode(body(1), new(order)); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := r.asked(); n != 1 {
		t.Errorf("%d requests for one schema", n)
	}
	for _, step := range []struct{ id, asked int }{{1, 0}, {2, 1}, {1, 0}, {3, 1}, {1, 0}, {2, 1}} {
		if err := c.Decode(body(step.id), new(order)); err != nil {
			t.Error(err)
		}
		if n := r.asked(); n != step.asked {
			t.Errorf("%d requests for schema %d, want %d", n, step.id, step.asked)
		}
	}
}

// A caller whose context ends does not make others believe that the registry does not work, and one of them asks in
// its place.
func TestACallerThatGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRegistry(t)
		r.SeedSchema("orders", 1, 4, *orderSchema())
		c := r.codec(schemaregistry.Payload(godwit.JSON), &schemaregistry.Options{Timeout: time.Minute})
		body := []byte("\x00\x00\x00\x00\x04{}")
		ctx, cancel := context.WithCancelCause(t.Context())
		first, second := make(chan error, 1), make(chan error, 1)
		r.fails(hangs)
		go func() { first <- c.DecodeContext(ctx, body, new(order)) }()
		synctest.Wait()
		go func() { second <- c.DecodeContext(t.Context(), body, new(order)) }()
		synctest.Wait()
		r.fails(nil)
		stop := errors.New("the consumer stops")
		cancel(stop)
		if err := <-first; err == nil {
			t.Error("the first one has decoded")
		}
		if err := <-second; err != nil {
			t.Error(err)
		}
	})
}

// While the registry does not answer, one caller finds out whether it works again, and no other waits for a timeout.
func TestOneCallerProbes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRegistry(t)
		c := r.codec(schemaregistry.Payload(godwit.JSON), nil)
		decode := func(id byte) error { return c.Decode([]byte{0, 0, 0, 0, id, '{', '}'}, new(order)) }
		r.fails(hangs)
		if err := decode(1); err == nil {
			t.Fatal("decoded")
		}
		time.Sleep(time.Minute)
		r.asked()
		var probe sync.WaitGroup
		defer probe.Wait()
		probe.Go(func() {
			if err := decode(1); err == nil {
				t.Error("decoded")
			}
		})
		synctest.Wait()
		begun := time.Now()
		for id := range byte(5) {
			if err := decode(id); err == nil {
				t.Error("decoded")
			}
		}
		if took, n := time.Since(begun), r.asked(); took != 0 || n != 1 {
			t.Errorf("%d requests, and the others waited for %v", n, took)
		}
	})
}

// Options that cannot be right are errors of New.
func TestInvalidOptions(t *testing.T) {
	r := newRegistry(t)
	good := schemaregistry.Payload(godwit.JSON)
	decodes := schemaregistry.Serde{Decode: good.Decode}
	for name, c := range map[string]struct {
		client *sr.Client
		serde  schemaregistry.Serde
		o      schemaregistry.Options
		want   string
	}{
		"no client":            {nil, good, schemaregistry.Options{}, "client"},
		"no functions":         {r.client(), schemaregistry.Serde{}, schemaregistry.Options{}, "Serde"},
		"no Encode":            {r.client(), decodes, schemaregistry.Options{Subject: "a"}, "Encode"},
		"a schema, no subject": {r.client(), good, schemaregistry.Options{Schema: orderSchema()}, "Subject"},
		"Register, no schema":  {r.client(), good, schemaregistry.Options{Subject: "a", Register: true}, "Schema"},
		"a negative cache":     {r.client(), good, schemaregistry.Options{Cache: -1}, "Options.Cache is -1"},
		"a long timeout":       {r.client(), good, schemaregistry.Options{Timeout: time.Hour}, "Timeout is 1h0m0s"},
		"a negative index":     {r.client(), good, schemaregistry.Options{Index: []int{-1}}, "Options.Index"},
	} {
		_, err := schemaregistry.New(c.client, c.serde, &c.o)
		if !errors.Is(err, godwit.ErrInvalid) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; want %q", name, err, c.want)
		}
	}
}
