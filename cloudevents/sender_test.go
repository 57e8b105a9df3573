package cloudevents_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/google/go-cmp/cmp"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/cloudevents"
	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/godwittest"
	"github.com/godwitmq/godwit/local"
	"github.com/godwitmq/godwit/local/kafkalocal"
	"github.com/godwitmq/godwit/localaws"
	"github.com/godwitmq/godwit/snssqs"
)

// config is the configuration of clients of the embedded server.
func config() aws.Config {
	return aws.Config{
		Region: "us-east-1", BaseEndpoint: aws.String("http://localaws.internal"),
		Credentials: credentials.NewStaticCredentialsProvider("k", "s", ""),
	}
}

// onAWS opens a backend of SQS and SNS whose headers travel in the given form.
func onAWS(t *testing.T, as snssqs.HeaderForm) godwit.Backend {
	t.Helper()
	b, _ := onServer(t, as)
	return b
}

// onServer is onAWS for tests that also need the server.
func onServer(t *testing.T, as snssqs.HeaderForm) (godwit.Backend, *localaws.Server) {
	t.Helper()
	server, err := localaws.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	conf := config()
	b, err := snssqs.Open(t.Context(), &snssqs.Options{
		AWS: &conf, Transport: server.Transport(), Attributes: snssqs.Attributes{Headers: as},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(context.Background()); err != nil {
			t.Error(err)
		}
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	return b, server
}

// producer makes a producer of the channel carts.
func producer(t *testing.T, b godwit.Backend) *godwit.Producer {
	t.Helper()
	p, err := godwit.NewProducer(t.Context(), b, "carts", nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close(context.Background()) })
	return p
}

func sender(t *testing.T, p *godwit.Producer, m cloudevents.Mode) *cloudevents.Sender {
	t.Helper()
	s, err := cloudevents.NewSender(p, &cloudevents.SenderOptions{Mode: m})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// names are the names of a message's headers, in order.
func names(hs godwit.Headers) (all []string) {
	for _, h := range hs {
		all = append(all, h.Name)
	}
	return all
}

// On SQS the content type is an attribute; on Kafka it is the message's own.
func TestMessages(t *testing.T) {
	kafka, err := kafkalocal.Open(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer kafka.Close(context.Background())
	aws, err := local.Open(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer aws.Close(context.Background())
	e := full()
	text, err := e.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	required := []string{"own", "ce_specversion", "ce_id", "ce_source", "ce_type"}
	others := []string{
		"ce_dataschema", "ce_subject", "ce_time", "ce_amount", "ce_at", "ce_first", "ce_link", "ce_partitionkey",
		"ce_raw",
	}
	const structured = "application/cloudevents+json"
	for _, c := range []struct {
		name    string
		backend godwit.Backend
		mode    cloudevents.Mode
		kind    string
		body    string
		headers []string
		dedup   string
	}{
		{"structured on SQS", aws, cloudevents.Structured, structured, string(text), []string{"own"}, "/carts\n1"},
		{"structured on Kafka", kafka, cloudevents.Structured, structured, string(text), []string{"own"}, ""},
		{
			"binary on SQS", aws, cloudevents.Binary, "", string(e.Data),
			append(append(required[:5:5], "ce_datacontenttype"), others...), "/carts\n1",
		},
		{
			"binary on Kafka", kafka, cloudevents.Binary, "application/json", string(e.Data),
			append(required[:5:5], others...), "",
		},
	} {
		p, err := godwit.NewProducer(t.Context(), c.backend, "carts", &godwit.ProducerOptions{Ordered: true})
		if err != nil {
			t.Fatal(err)
		}
		m, err := sender(t, p, c.mode).Message(e, godwit.Message{
			Headers: godwit.Headers{{Name: "own", Value: "x"}}, RoutingKey: "PAID", Body: []byte("replaced"),
		})
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if m.ContentType != c.kind || string(m.Body) != c.body || m.DedupID != c.dedup || m.OrderKey != "ada" ||
			m.RoutingKey != "PAID" {
			t.Errorf("%s: %+v", c.name, m)
		}
		if diff := cmp.Diff(c.headers, names(m.Headers)); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
		if err := p.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// The partition key is the order key, unless the message has one, and does not stop being an attribute.
func TestThePartitionKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := godwittest.New(t, nil)
		s := sender(t, h.Producer("carts", &godwit.ProducerOptions{Ordered: true}), cloudevents.Structured)
		for want, given := range map[string]string{"ada": "", "bob": "bob"} {
			m, err := s.Message(full(), godwit.Message{OrderKey: given})
			if err != nil || m.OrderKey != want || !strings.Contains(string(m.Body), `"partitionkey":"ada"`) {
				t.Errorf("%+v, %v", m, err)
			}
		}
	})
}

// Two events with the same data are two messages of an ordered channel, and the same event sent again is one.
func TestDuplicates(t *testing.T) {
	for _, mode := range []cloudevents.Mode{cloudevents.Structured, cloudevents.Binary} {
		synctest.Test(t, func(t *testing.T) {
			h := godwittest.New(t, nil)
			s := sender(t, h.Producer("carts", &godwit.ProducerOptions{Ordered: true}), mode)
			for _, id := range []string{"1", "2", "2", "1"} {
				e := full()
				e.ID, e.Time = id, time.Now()
				if err := s.Send(t.Context(), e, godwit.Message{}); err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Second)
			}
			var got []string
			h.Run(h.Consumer("carts", &godwit.ConsumerOptions{Ordered: true}), cloudevents.Handle(
				func(_ context.Context, d godwit.Typed[cloudevents.Event]) error {
					got = append(got, d.Value.ID)
					return nil
				}))
			h.AwaitHandled("carts", 2)
			h.AssertNothingLeft()
			if diff := cmp.Diff([]string{"1", "2"}, got); diff != "" {
				t.Errorf("mode %d: %s", mode, diff)
			}
		})
	}
}

// SQS accepts ten attributes. One event too many is an error of its sender that names them.
func TestTooManyAttributes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := producer(t, onAWS(t, snssqs.HeadersNative))
		err := sender(t, p, cloudevents.Binary).Send(t.Context(), full(), godwit.Message{})
		for _, want := range []string{"ce_partitionkey", "accepts 10"} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("binary: %v", err)
			}
		}
		if err := sender(t, p, cloudevents.Structured).Send(t.Context(), full(), godwit.Message{}); err != nil {
			t.Errorf("structured: %v", err)
		}
	})
}

// What cannot be sent is an error with the channel and the attribute.
func TestInvalidMessages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := godwittest.New(t, nil)
		p := h.Producer("carts", nil)
		for _, mode := range []cloudevents.Mode{cloudevents.Structured, cloudevents.Binary} {
			e := full()
			e.Type = ""
			err := sender(t, p, mode).Send(t.Context(), e, godwit.Message{})
			var bad *cloudevents.AttributeError
			if !errors.As(err, &bad) || bad.Name != "type" || !strings.Contains(err.Error(), "carts") {
				t.Errorf("mode %d: %v", mode, err)
			}
			taken := godwit.Headers{driver.Header{Name: "ce_id", Value: "2"}}
			err = sender(t, p, mode).Send(t.Context(), full(), godwit.Message{Headers: taken})
			if err == nil || !strings.Contains(err.Error(), "header ce_id") {
				t.Errorf("mode %d: %v", mode, err)
			}
		}
		if _, err := cloudevents.NewSender(p, &cloudevents.SenderOptions{Mode: 2}); !errors.Is(err, godwit.ErrInvalid) {
			t.Errorf("mode 2: %v", err)
		}
		if _, err := cloudevents.NewSender(nil, nil); !errors.Is(err, godwit.ErrInvalid) {
			t.Errorf("no producer: %v", err)
		}
	})
}
