package interop_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/IBM/sarama"
	binding "github.com/cloudevents/sdk-go/protocol/kafka_sarama/v2"
	sdk "github.com/cloudevents/sdk-go/v2"
	sdkbinding "github.com/cloudevents/sdk-go/v2/binding"
	sdkevent "github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/cloudevents"
	"github.com/godwitmq/godwit/kafka"
	"github.com/godwitmq/godwit/local/kafkalocal"
)

// bySuffix is a kind of event that the SDK refuses to read from JSON, though CloudEvents prescribes it
// (cloudevents/sdk-go#797 and #1273).
const bySuffix = "JSON by suffix"

// refused reports whether the SDK did not read an event that it does not know how to read, as expected.
func refused(t *testing.T, kind string, err error) bool {
	t.Helper()
	if kind == bySuffix && err == nil {
		t.Error("the SDK now reads JSON by suffix: remove this exception, and the sentence in docs/codecs.md")
	}
	return kind == bySuffix
}

// kinds are events of every kind that both sides can express.
func kinds() map[string]cloudevents.Event {
	at := time.Date(2026, 11, 23, 16, 0, 0, 123456789, time.UTC)
	with := func(change func(e *cloudevents.Event)) cloudevents.Event {
		e := cloudevents.Event{ID: "A-1", Source: "https://example.com/carts", Type: "com.example.paid"}
		change(&e)
		return e
	}
	return map[string]cloudevents.Event{
		"the least": with(func(*cloudevents.Event) {}),
		"all attributes": with(func(e *cloudevents.Event) {
			e.Subject, e.DataSchema, e.Time = "cart 7 é", "https://example.com/cart.json", at
			e.DataContentType, e.Data = "application/json", []byte(`{"total":12.5,"note":"<é>"}`)
			e.Extensions = map[string]any{"partitionkey": "ada", "first": true, "size": int32(-5), "note": "a \"b\" é"}
		}),
		bySuffix: with(func(e *cloudevents.Event) {
			e.DataContentType, e.Data = "application/vnd.cart+json", []byte(`[1,2]`)
		}),
		"text": with(func(e *cloudevents.Event) { e.DataContentType, e.Data = "text/plain", []byte("no \"JSON\"") }),
		"XML":  with(func(e *cloudevents.Event) { e.DataContentType, e.Data = "application/xml", []byte("<a>é</a>") }),
		"bytes": with(func(e *cloudevents.Event) {
			e.DataContentType, e.Data = "application/protobuf", []byte{0, 1, 0xff, '\n'}
		}),
		"a time with a zone": with(func(e *cloudevents.Event) {
			e.Time = at.In(time.FixedZone("", 5*3600+1800))
		}),
	}
}

// compare fails unless both events are the same. The SDK keeps types of extensions as we do in JSON; in headers all are
// texts.
func compare(t *testing.T, name string, ours *cloudevents.Event, theirs *sdkevent.Event) {
	t.Helper()
	if err := theirs.Validate(); err != nil {
		t.Errorf("%s: the SDK finds the event invalid: %v", name, err)
	}
	want := fields(ours.ID, ours.Source, ours.Type, ours.Subject, ours.DataSchema, ours.DataContentType, ours.Time,
		ours.Data)
	got := fields(theirs.ID(), theirs.Source(), theirs.Type(), theirs.Subject(), theirs.DataSchema(),
		theirs.DataContentType(), theirs.Time(), theirs.Data())
	for extension := range ours.Extensions {
		want["extension "+extension] = ours.Extension(extension)
	}
	for extension, v := range theirs.Extensions() {
		if !strings.HasPrefix(extension, "kafka") { // offset, partition and topic, which the SDK adds
			got["extension "+extension] = fmt.Sprint(v)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s: ours (-) and the SDK's (+) differ: %s", name, diff)
	}
}

func fields(id, source, kind, subject, schema, contentType string, at time.Time, data []byte) map[string]string {
	all := map[string]string{
		"id": id, "source": source, "type": kind, "subject": subject, "schema": schema, "content type": contentType,
		"data": string(data),
	}
	if !at.IsZero() {
		all["time"] = at.UTC().Format(time.RFC3339Nano)
	}
	return all
}

// theirs makes the same event with the SDK.
func theirs(t *testing.T, e *cloudevents.Event) sdkevent.Event {
	t.Helper()
	out := sdk.NewEvent()
	out.SetID(e.ID)
	out.SetSource(e.Source)
	out.SetType(e.Type)
	if e.Subject != "" {
		out.SetSubject(e.Subject)
	}
	if e.DataSchema != "" {
		out.SetDataSchema(e.DataSchema)
	}
	if !e.Time.IsZero() {
		out.SetTime(e.Time)
	}
	for name, v := range e.Extensions {
		out.SetExtension(name, v)
	}
	if e.Data != nil {
		if err := out.SetData(e.DataContentType, e.Data); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// The JSON format of each side is read by the other.
func TestJSON(t *testing.T) {
	for name, e := range kinds() {
		text, err := e.MarshalJSON()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var read sdkevent.Event
		switch err := json.Unmarshal(text, &read); {
		case refused(t, name, err):
		case err != nil:
			t.Errorf("%s: the SDK does not read %s: %v", name, text, err)
		default:
			compare(t, name+", read by the SDK", &e, &read)
		}

		written := theirs(t, &e)
		text, err = json.Marshal(written)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var back cloudevents.Event
		if err := json.Unmarshal(text, &back); err != nil {
			t.Errorf("%s: we do not read %s: %v", name, text, err)
			continue
		}
		compare(t, name+", written by the SDK", &back, &written)
	}
}

// broker is the embedded Kafka with one topic, carts, and a client beside Godwit.
type broker struct {
	*kafkalocal.Backend
	client *kgo.Client
}

func newBroker(t *testing.T) *broker {
	t.Helper()
	b, err := kafkalocal.Open(t.Context(), &kafkalocal.Options{
		Server: &kafkalocal.ServerOptions{Addr: "127.0.0.1:0"}, Kafka: &kafka.Options{
			ChannelOptions: kafka.ChannelOptions{Partitions: 1},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	p, err := godwit.NewProducer(t.Context(), b, "carts", nil) // creates the topic
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	client, err := kgo.NewClient(kgo.SeedBrokers(b.Server().Addr()), kgo.ConsumeTopics("carts"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		client.Close()
		if err := b.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return &broker{b, client}
}

// record returns the next record of the topic as the SDK's client would.
func (b *broker) record(t *testing.T) *sarama.ConsumerMessage {
	t.Helper()
	for {
		fetches := b.client.PollFetches(t.Context())
		if err := fetches.Err(); err != nil {
			t.Fatal(err)
		}
		for r := range fetches.RecordsAll() {
			m := &sarama.ConsumerMessage{
				Topic: r.Topic, Partition: r.Partition, Offset: r.Offset, Key: r.Key, Value: r.Value,
			}
			for _, h := range r.Headers {
				m.Headers = append(m.Headers, &sarama.RecordHeader{Key: []byte(h.Key), Value: h.Value})
			}
			return m
		}
	}
}

// What we send to Kafka, the SDK's Kafka binding reads, in both modes.
func TestTheSDKReadsOurs(t *testing.T) {
	b := newBroker(t)
	for mode, encoding := range map[cloudevents.Mode]sdkbinding.Encoding{
		cloudevents.Structured: sdkbinding.EncodingStructured, cloudevents.Binary: sdkbinding.EncodingBinary,
	} {
		p, err := godwit.NewProducer(t.Context(), b, "carts", nil)
		if err != nil {
			t.Fatal(err)
		}
		s, err := cloudevents.NewSender(p, &cloudevents.SenderOptions{Mode: mode})
		if err != nil {
			t.Fatal(err)
		}
		for kind, e := range kinds() {
			name := fmt.Sprintf("%s, %v", kind, encoding)
			if err := s.Send(t.Context(), e, godwit.Message{}); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			record := b.record(t)
			if want := e.Extension("partitionkey"); string(record.Key) != want {
				t.Errorf("%s: the key is %q, want %q", name, record.Key, want)
			}
			m := binding.NewMessageFromConsumerMessage(record)
			if m.ReadEncoding() != encoding {
				t.Errorf("%s: the SDK takes it for %v", name, m.ReadEncoding())
			}
			read, err := sdkbinding.ToEvent(t.Context(), m)
			switch {
			case mode == cloudevents.Structured && refused(t, kind, err):
			case err != nil:
				t.Errorf("%s: %v", name, err)
			default:
				compare(t, name, &e, read)
			}
		}
		if err := p.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// What the SDK's Kafka binding writes, our handlers read, in both modes.
func TestWeReadTheSDKs(t *testing.T) {
	b := newBroker(t)
	sent := map[string]sdkevent.Event{}
	for encoding, with := range map[string]func(context.Context) context.Context{
		"structured": sdkbinding.WithForceStructured, "binary": sdkbinding.WithForceBinary,
	} {
		for name, e := range kinds() {
			e.ID = name + ", " + encoding
			sent[e.ID] = theirs(t, &e)
			event := sent[e.ID]
			var m sarama.ProducerMessage
			err := binding.WriteProducerMessage(with(t.Context()), sdkbinding.ToMessage(&event), &m)
			if err != nil {
				t.Fatalf("%s: %v", e.ID, err)
			}
			r := &kgo.Record{Topic: "carts"}
			for _, h := range m.Headers {
				r.Headers = append(r.Headers, kgo.RecordHeader{Key: string(h.Key), Value: h.Value})
			}
			r.Key, r.Value = bytesOf(t, m.Key), bytesOf(t, m.Value)
			if err := b.client.ProduceSync(t.Context(), r).FirstErr(); err != nil {
				t.Fatal(err)
			}
		}
	}
	c, err := godwit.NewConsumer(t.Context(), b, "carts", &godwit.ConsumerOptions{Concurrency: 1})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), 30*time.Second)
	defer stop()
	left := len(sent)
	report, err := c.Run(ctx, cloudevents.Handle(func(_ context.Context, d godwit.Typed[cloudevents.Event]) error {
		original := sent[d.Value.ID]
		compare(t, d.Value.ID, &d.Value, &original)
		if key := d.Value.Extension("partitionkey"); d.OrderKey != key {
			t.Errorf("%s: the order key is %q, want %q", d.Value.ID, d.OrderKey, key)
		}
		if left--; left == 0 {
			stop()
		}
		return nil
	}))
	if err != nil || left != 0 || report.Rejected != 0 {
		t.Errorf("%d events are missing: %+v, %v", left, report, err)
	}
}

func bytesOf(t *testing.T, e sarama.Encoder) []byte {
	t.Helper()
	if e == nil {
		return nil
	}
	b, err := e.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return b
}
