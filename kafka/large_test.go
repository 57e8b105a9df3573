//go:build synctests

package kafka_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka"
)

// bodyOf reads the body of a delivery, wherever it is.
func (w *world) bodyOf(d driver.Delivery) []byte {
	w.Helper()
	if d.Opener == nil {
		return d.Body
	}
	r, _, err := d.Opener.Open(w.Context())
	if err != nil {
		w.Fatal(err)
	}
	body, err := io.ReadAll(r)
	if err = errors.Join(err, r.Close()); err != nil {
		w.Fatal(err)
	}
	return body
}

// A record that is larger than the topic's limit less 1 KiB has a pointer, which waits in tiers and dead letters as it
// is. The body is never deleted.
func TestLargeRecords(t *testing.T) {
	for name, o := range map[string]kafka.Options{
		"block": {}, "alone": {
			ChannelOptions: kafka.ChannelOptions{Retries: kafka.RetryAlone},
		}, "park": {ChannelOptions: kafka.ChannelOptions{Retries: kafka.RetryPark}}, "share": share(),
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				store := &bodies{}
				o.Store = store
				l := w.begin(o, driver.Events{})
				s, err := l.b.Sender(w.Context(), orders)
				if err != nil {
					w.Fatal(err)
				}
				const limit = 1_048_588
				overhead := 97 + 2 // of a batch and a record
				small := bytes.Repeat([]byte("s"), limit-1024-overhead-200)
				large := bytes.Repeat([]byte{0xff, 0, 'x'}, limit/3)
				for i, m := range []driver.Message{
					{Body: small},
					{Body: large, Header: []driver.Header{{Name: "locale", Value: "de"}}},
					{Reader: iotest.HalfReader(bytes.NewReader(large)), Size: int64(len(large))},
				} {
					p, err := s.Prepare(w.Context(), &m)
					if err == nil {
						err = s.Send(w.Context(), []driver.Prepared{p})
					}
					if err != nil || store.count() != i {
						w.Fatalf("message %d: %v, %d objects", i, err, store.count())
					}
				}
				ds := l.get(3)
				for i, d := range ds {
					if want := [][]byte{small, large, large}[i]; !bytes.Equal(w.bodyOf(d), want) {
						t.Errorf("message %d has %d bytes, want %d", i, len(w.bodyOf(d)), len(want))
					}
				}
				if h := ds[1].Header; len(h) != 1 || h[0].Value != "de" || len(ds[2].Header) != 0 ||
					ds[1].Size != int64(len(large)) {
					t.Errorf("headers %v and %v, size %d", h, ds[2].Header, ds[1].Size)
				}
				l.settle(driver.Done, ds[0], ds[2])
				if name != "block" {
					if err := l.recv.Settle(w.Context(), []driver.Settlement{
						{Handle: ds[1].Handle, Action: driver.Retry, After: 5 * time.Second, Attempt: 1},
					}); err != nil {
						t.Fatal(err)
					}
					ds[1] = l.within(1, time.Minute)[0]
					if !bytes.Equal(w.bodyOf(ds[1]), large) {
						t.Error("a retry has another body")
					}
				}
				if err := l.recv.Settle(w.Context(), []driver.Settlement{
					{Handle: ds[1].Handle, Action: driver.Reject, Death: &driver.Death{Error: "bad"}},
				}); err != nil {
					t.Fatal(err)
				}
				letter := l.deadLetter()
				if !bytes.Equal(w.bodyOf(letter), large) || letter.Origin.Death.Error != "bad" {
					t.Errorf("the dead letter has %d bytes: %+v", len(w.bodyOf(letter)), letter.Origin)
				}
				if store.deleted != 0 || store.count() != 2 {
					t.Errorf("%d bodies, %d deleted", store.count(), store.deleted)
				}
			})
		})
	}
}

// A store must keep bodies for as long as records and dead letters point to them.
func TestTheStoreOutlastsItsTopic(t *testing.T) {
	const day = 24 * time.Hour
	for name, c := range map[string]struct {
		lifetime time.Duration
		config   map[string]string
		want     []string // nil: it does
	}{
		"long enough": {lifetime: 21 * day, config: map[string]string{"retention.ms": "604800000"}},
		"too short": {
			lifetime: 20 * day, config: map[string]string{"retention.ms": "604800000"},
			want: []string{"for 7 days", "14 more", "after 20 days", "to 21 days"},
		},
		"a long retention": {
			lifetime: 60 * day, config: map[string]string{"retention.ms": "2678400000"},
			want: []string{"for 31 days", "after 60 days", "to 62 days"},
		},
		"no limit": {
			lifetime: 60 * day, config: map[string]string{"retention.ms": "-1"},
			want: []string{"retention.ms is -1", "after 60 days", "prefix of its own"},
		},
		"compacted": {
			lifetime: 60 * day, config: map[string]string{"cleanup.policy": "compact"},
			want: []string{"cleanup.policy is compact", "after 60 days", "prefix of its own"},
		},
		"no limit, and a store without one":  {config: map[string]string{"retention.ms": "-1"}},
		"compacted, and a store without one": {config: map[string]string{"cleanup.policy": "compact"}},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				o := kafka.Options{
					Store: &bodies{lifetime: c.lifetime}, ChannelOptions: kafka.ChannelOptions{TopicConfig: c.config},
				}
				l := w.begin(o, driver.Events{})
				_, err := l.b.Sender(w.Context(), orders)
				if (err != nil) != (c.want != nil) || err != nil && driver.ClassOf(err) != driver.Permanent {
					t.Fatalf("%v", err)
				}
				for _, want := range c.want {
					if !strings.Contains(err.Error(), want) {
						t.Errorf("%q is not in: %v", want, err)
					}
				}
			})
		})
	}
}

// What is wrong with a large message is said before its body is written. A bad pointer is one bad record.
func TestLargeRecordsThatAreRefused(t *testing.T) {
	inWorld(t, func(w *world) {
		store := &bodies{}
		l := w.begin(kafka.Options{Store: store}, driver.Events{})
		s, err := l.b.Sender(w.Context(), orders)
		if err != nil {
			w.Fatal(err)
		}
		large := make([]byte, 2<<20)
		for want, m := range map[string]driver.Message{
			"max.message.bytes": {Body: large, Header: []driver.Header{{Name: "h", Value: strings.Repeat("x", 1<<20)}}},
			"give the header another name": {
				Body: large, Header: []driver.Header{{Name: "SQSLargePayloadSize", Value: "1"}},
			},
		} {
			if _, err := s.Prepare(w.Context(), &m); err == nil || !strings.Contains(err.Error(), want) ||
				store.count() != 0 {
				t.Errorf("want %q: %v, %d objects", want, err, store.count())
			}
		}
		for _, size := range []string{"5", "x"} {
			if err := w.client.ProduceSync(w.Context(), &kgo.Record{
				Topic: "orders", Value: []byte("no pointer"),
				Headers: []kgo.RecordHeader{{Key: "ExtendedPayloadSize", Value: []byte(size)}},
			}).FirstErr(); err != nil {
				t.Fatal(err)
			}
		}
		w.send(0, "good")
		ds := l.get(3)
		for _, d := range ds[:2] {
			var fault *driver.PayloadError
			if !errors.As(d.Err, &fault) || fault.Fault != driver.PayloadPointer || string(d.Body) != "no pointer" {
				t.Errorf("%q: %v", d.Body, d.Err)
			}
		}
		if ds[2].Err != nil || string(ds[2].Body) != "good" {
			t.Errorf("%q: %v", ds[2].Body, ds[2].Err)
		}
		l.settle(driver.Done, ds...)
	})
}

// Without a store, a large message is an error that says how to get one, and a pointer is rejected.
func TestLargeRecordsWithoutAStore(t *testing.T) {
	inWorld(t, func(w *world) {
		l := w.begin(kafka.Options{}, driver.Events{})
		s, err := l.b.Sender(w.Context(), orders)
		if err != nil {
			w.Fatal(err)
		}
		_, err = s.Prepare(w.Context(), &driver.Message{Body: make([]byte, 2<<20)})
		if driver.ClassOf(err) != driver.TooLarge || !strings.Contains(err.Error(), "kafka.Options.Store") {
			t.Errorf("%v", err)
		}
		if err := w.client.ProduceSync(w.Context(), &kgo.Record{
			Topic: "orders", Value: []byte("[]"),
			Headers: []kgo.RecordHeader{{Key: "ExtendedPayloadSize", Value: []byte("5")}},
		}).FirstErr(); err != nil {
			t.Fatal(err)
		}
		d := l.get(1)[0]
		if d.Err == nil || !strings.Contains(d.Err.Error(), "kafka.Options.Store") {
			t.Errorf("%v", d.Err)
		}
		l.settle(driver.Done, d)
	})
}

// A compressed body comes back as it was, also from a tier and a dead letter. Channels choose. Consumers read them
// whatever they choose.
func TestCompressedBodies(t *testing.T) {
	for _, zip := range []bool{true, false} {
		t.Run(fmt.Sprint("compressed ", zip), func(t *testing.T) {
			inWorld(t, func(w *world) {
				store := &bodies{}
				o := kafka.Options{Store: store, ChannelOptions: kafka.ChannelOptions{Retries: kafka.RetryAlone}}
				l := w.begin(o, driver.Events{})
				o.BodyCompression = kafka.BodyCompressionZstd
				if !zip {
					o.Channels = map[string]kafka.ChannelOptions{
						"orders": {BodyCompression: kafka.BodyCompressionNone},
					}
				}
				s, err := w.backend(o).Sender(w.Context(), orders)
				if err != nil {
					t.Fatal(err)
				}
				body := bytes.Repeat([]byte(`{"order":"4711","state":"paid"},`), 40_000)
				for _, m := range []driver.Message{
					{Body: body}, {Reader: iotest.HalfReader(bytes.NewReader(body)), Size: int64(len(body))},
				} {
					p, err := s.Prepare(w.Context(), &m)
					if err == nil {
						err = s.Send(w.Context(), []driver.Prepared{p})
					}
					if err != nil {
						t.Fatal(err)
					}
				}
				if small := store.bytes() < len(body)/5; small != zip || store.count() != 2 {
					t.Errorf("%d bodies of %d bytes have %d in the store", store.count(), len(body), store.bytes())
				}
				ds := l.get(2)
				if err := l.recv.Settle(w.Context(), []driver.Settlement{
					{Handle: ds[0].Handle, Action: driver.Retry, After: 5 * time.Second, Attempt: 1},
					{Handle: ds[1].Handle, Action: driver.Reject, Death: &driver.Death{Error: "bad"}},
				}); err != nil {
					t.Fatal(err)
				}
				for _, d := range append(ds, l.within(1, time.Minute)[0], l.deadLetter()) {
					if got := w.bodyOf(d); !bytes.Equal(got, body) || d.Size != int64(len(body)) {
						t.Errorf("%d bytes, and a size of %d", len(got), d.Size)
					}
				}
				_, err = s.Prepare(w.Context(),
					&driver.Message{Reader: bytes.NewReader(body), Size: int64(len(body)) + 1})
				if driver.ClassOf(err) != driver.Permanent || err == nil ||
					!strings.Contains(err.Error(), "set Size") || store.count() != 2 {
					t.Errorf("a Reader that ends early: %v, %d objects", err, store.count())
				}
			})
		})
	}
}

// A compressed object cannot become more than 1,000 times larger, and not larger than announced.
func TestCompressedBodiesAreBounded(t *testing.T) {
	inWorld(t, func(w *world) {
		store := &bodies{}
		l := w.begin(kafka.Options{
			Store: store, ChannelOptions: kafka.ChannelOptions{BodyCompression: kafka.BodyCompressionZstd},
		}, driver.Events{})
		s, err := l.b.Sender(w.Context(), orders)
		if err != nil {
			t.Fatal(err)
		}
		p, err := s.Prepare(w.Context(), &driver.Message{Body: bytes.Repeat([]byte("spam"), 1<<20)})
		if err != nil {
			t.Fatal(err)
		}
		r := p.Wire.(*kgo.Record)
		const size = `"size":4194304`
		for other, fault := range map[string]driver.PayloadFault{
			"9999999999": driver.PayloadRatio, "4194303": driver.PayloadLong, "4194305": driver.PayloadShort,
		} {
			forged := kgo.Record{
				Topic: "orders", Value: bytes.ReplaceAll(r.Value, []byte(size), []byte(`"size":`+other)),
				Headers: []kgo.RecordHeader{{Key: "ExtendedPayloadSize", Value: []byte(other)}},
			}
			if err := w.client.ProduceSync(w.Context(), &forged).FirstErr(); err != nil {
				t.Fatal(err)
			}
			d := l.get(1)[0]
			body, _, err := d.Opener.Open(w.Context())
			if err == nil {
				_, err = io.Copy(io.Discard, body)
				_ = body.Close()
			}
			var payload *driver.PayloadError
			if !errors.As(err, &payload) || payload.Fault != fault {
				t.Errorf("with a size of %s: %v, want %s", other, err, fault)
			}
			l.settle(driver.Done, d)
		}
	})
}

// Transform reads large deliveries and publishes large results.
func TestLargeTransform(t *testing.T) {
	inWorld(t, func(w *world) {
		w.setFeature("transaction.version", 2)
		store := &bodies{}
		l := w.begin(kafka.Options{Store: store}, driver.Events{})
		l.end()
		b := w.backend(kafka.Options{Store: store, ChannelOptions: kafka.ChannelOptions{Partitions: 1}})
		ctx := w.Context()
		in, err := godwit.NewProducer(ctx, b, "orders", nil)
		if err != nil {
			t.Fatal(err)
		}
		out, err := godwit.NewProducer(ctx, b, "results", nil)
		if err != nil {
			t.Fatal(err)
		}
		c, err := godwit.NewConsumer(ctx, b, "orders", nil)
		if err != nil {
			t.Fatal(err)
		}
		results, err := godwit.NewConsumer(ctx, b, "results", nil)
		if err != nil {
			t.Fatal(err)
		}
		body := bytes.Repeat([]byte("abc"), 1<<20)
		if err := in.Send(ctx, godwit.Message{Body: body}); err != nil {
			t.Fatal(err)
		}
		running, stop := context.WithCancel(ctx)
		transformed := make(chan error, 1)
		go func() {
			_, err := godwit.Transform(running, c, out,
				func(_ context.Context, d *godwit.Delivery) ([]godwit.Message, error) {
					upper := bytes.ToUpper(d.Body)
					streamed := godwit.Message{Reader: bytes.NewReader(upper), Size: int64(len(upper))}
					return []godwit.Message{{Body: upper}, streamed}, nil
				})
			transformed <- err
		}()
		var got atomic.Int32
		if _, err := results.Run(running, func(_ context.Context, d *godwit.Delivery) error {
			if !bytes.Equal(d.Body, bytes.ToUpper(body)) {
				t.Errorf("a result has %d bytes", len(d.Body))
			}
			if got.Add(1) == 2 {
				stop()
			}
			return nil
		}); err != nil {
			t.Error(err)
		}
		if err := <-transformed; err != nil {
			t.Error(err)
		}
		if got.Load() != 2 || store.count() != 3 {
			t.Errorf("%d results, %d bodies", got.Load(), store.count())
		}
		_, _ = in.Close(ctx), out.Close(ctx)
	})
}
