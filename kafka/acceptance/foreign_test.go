//go:build synctests

package acceptance

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/kafka"
	"github.com/godwitmq/godwit/ops"
)

// foreign are records as other programs write them, sent at a time of the past.
func foreign(topic string, sent time.Time) []*kgo.Record {
	header := func(key string, value []byte) kgo.RecordHeader { return kgo.RecordHeader{Key: key, Value: value} }
	return []*kgo.Record{
		{Topic: topic, Timestamp: sent, Key: []byte("tombstone")},
		{Topic: topic, Timestamp: sent.Add(time.Millisecond), Key: []byte("empty"), Value: []byte{}},
		{Topic: topic, Timestamp: sent.Add(2 * time.Millisecond), Value: []byte("no key")},
		{Topic: topic, Timestamp: sent.Add(3 * time.Millisecond), Key: []byte{}, Value: []byte("an empty key")},
		{
			Topic: topic, Timestamp: sent.Add(4 * time.Millisecond),
			Key: []byte{0, 0xff, 0xfe}, Value: []byte{0, 0xc3, 0x28},
			Headers: []kgo.RecordHeader{
				header("trace", []byte("1")), header("__TypeId__", []byte("com.acme.Order")), header("trace", nil),
				header("trace", []byte{}), header("trace", []byte("1")), header("", []byte("a name without a letter")),
				header("schema", []byte{0, 0, 0, 0, 7}), header("routing_key", []byte("A.B")),
				header("ünï", []byte{0xff}),
			},
		},
	}
}

// same compares a record with another one: nil is not empty, and headers have an order and may repeat.
func same(what string, got, want *kgo.Record) error {
	var errs []error
	differ := func(field string, got, want []byte) {
		if !bytes.Equal(got, want) || (got == nil) != (want == nil) {
			errs = append(errs, fmt.Errorf("%s: the %s is %#v, want %#v", what, field, got, want))
		}
	}
	differ("key", got.Key, want.Key)
	differ("value", got.Value, want.Value)
	if len(got.Headers) != len(want.Headers) {
		errs = append(errs, fmt.Errorf("%s: %d headers, want %d", what, len(got.Headers), len(want.Headers)))
		return errors.Join(errs...)
	}
	for i, h := range want.Headers {
		differ("name of header "+strconv.Itoa(i), []byte(got.Headers[i].Key), []byte(h.Key))
		differ("header "+h.Key, got.Headers[i].Value, h.Value)
	}
	return errors.Join(errs...)
}

// The mistake: what a consumer copies is decoded and encoded again, so that tombstones become empty records, repeated
// headers become one, and times become those of the copy. Here records of other programs are the same, byte for byte,
// when they are received, after a retry in a tier, as dead letters, and when they are sent back.
func TestForeignRecords(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		sent := time.Now().Add(-time.Minute).Truncate(time.Millisecond)
		w.create(1)
		want := foreign(w.topic(), sent)
		var mu sync.Mutex
		starts, finished := map[int64]int{}, 0
		handle := func(_ context.Context, d *godwit.Delivery) error {
			mu.Lock()
			defer mu.Unlock()
			var r *kgo.Record
			if !d.As(&r) {
				t.Error("no record")
				return nil
			}
			if r.Offset >= int64(len(want)) {
				finished++
				return nil
			}
			starts[r.Offset]++
			is := want[r.Offset]
			if err := same(fmt.Sprintf("attempt %d", d.Attempt), r, is); err != nil {
				t.Error(err)
			}
			if !r.Timestamp.Equal(sent.Add(time.Duration(r.Offset)*time.Millisecond)) || !d.SentAt.Equal(r.Timestamp) {
				t.Errorf("attempt %d of record %d was sent at %v, %v", d.Attempt, r.Offset, r.Timestamp, d.SentAt)
			}
			if d.Attempt == 1 {
				return godwit.RetryAfter(time.Second, errOfTest)
			}
			return godwit.Permanent(errOfTest)
		}
		for _, r := range want {
			one := *r
			w.produce(&one)
		}
		o := kafka.Options{
			ChannelOptions: kafka.ChannelOptions{Retries: kafka.RetryAlone, Tiers: []time.Duration{time.Second}},
		}
		p := w.start(o, godwit.ConsumerOptions{Concurrency: 10}, handle)
		w.eventually(time.Minute, "dead letters", func() bool { return w.end(w.deadLetters()) == int64(len(want)) })
		for i, letter := range w.byKey(w.readDeadLetters(), want) {
			own := len(want[i].Headers)
			for _, h := range letter.Headers[own:] {
				if !strings.HasPrefix(h.Key, "godwit-") && !strings.HasPrefix(h.Key, "__dlq.errors.") {
					t.Errorf("a dead letter has the header %s as well", h.Key)
				}
			}
			letter.Headers = letter.Headers[:own]
			if err := same("dead letter", letter, want[i]); err != nil {
				t.Error(err)
			}
		}
		r, err := ops.Requeue(t.Context(), p.backend, channel+"@dlq", &ops.RequeueOptions{})
		if err != nil || r.Moved != int64(len(want)) {
			t.Fatalf("moved %d, %v", r.Moved, err)
		}
		w.eventually(time.Minute, "all of them again", func() bool {
			mu.Lock()
			defer mu.Unlock()
			return finished == len(want)
		})
		for i, back := range w.byKey(w.read(w.topic())[len(want):], want) {
			last := len(back.Headers) - 2
			if back.Headers[last].Key != "godwit-history" || back.Headers[last+1].Key != "godwit-first" {
				t.Errorf("the last headers are %s and %s", back.Headers[last].Key, back.Headers[last+1].Key)
			}
			back.Headers = back.Headers[:last]
			if err := same("way back", back, want[i]); err != nil {
				t.Error(err)
			}
			if back.Timestamp.Before(sent.Add(30 * time.Second)) {
				t.Errorf("a record that was sent back has the time %v: brokers would delete it early", back.Timestamp)
			}
		}
		if _, err := p.stop(); err != nil {
			t.Error(err)
		}
		for offset, n := range starts {
			if n != 2 {
				t.Errorf("record %d was started %d times", offset, n)
			}
		}
	})
}

// byKey sorts records as others, by key and value.
func (w *world) byKey(rs, like []*kgo.Record) []*kgo.Record {
	w.t.Helper()
	all := make([]*kgo.Record, len(like))
	for i, l := range like {
		for _, r := range rs {
			if bytes.Equal(r.Key, l.Key) && bytes.Equal(r.Value, l.Value) && (r.Key == nil) == (l.Key == nil) {
				all[i] = r
			}
		}
		if all[i] == nil {
			w.t.Fatalf("there is no record with key %q", l.Key)
		}
	}
	return all
}
