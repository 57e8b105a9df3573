package snssqs_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sns"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/localaws"
)

// largest finds the longest body that Prepare accepts, by bisection.
func largest(w *world, s driver.Sender, m driver.Message) driver.Message {
	w.Helper()
	checkMapping, over := 0, 2<<20
	for over-checkMapping > 1 {
		m.Body = bytes.Repeat([]byte("x"), (checkMapping+over)/2)
		if _, err := s.Prepare(w.Context(), &m); err == nil {
			checkMapping = len(m.Body)
		} else if over = len(m.Body); driver.ClassOf(err) != driver.TooLarge {
			w.Fatalf("%d bytes: %v, of class %s", len(m.Body), err, driver.ClassOf(err))
		}
	}
	m.Body = bytes.Repeat([]byte("x"), checkMapping)
	return m
}

// Sizes are counted as the service counts them: the largest message that Prepare accepts is the largest that the
// service accepts, for queues and topics, whatever their limit.
func TestSizesAreCountedAsTheServiceDoes(t *testing.T) {
	inWorld(t, localaws.Options{}, func(w *world) {
		small := driver.Channel{Queue: "small"}
		raised, plain := driver.Channel{Exchange: "raised"}, driver.Channel{Exchange: "plain"}
		for _, ch := range []driver.Channel{
			orders, small,
			{Exchange: "raised", Queue: "q"},
			{Exchange: "plain", Queue: "q"},
		} {
			w.ensure(owner(ch))
		}
		w.set("small", map[string]string{"MaximumMessageSize": "2048"})
		if _, err := w.sns.SetTopicAttributes(w.Context(), &sns.SetTopicAttributesInput{
			TopicArn:      aws.String(topicARN + "raised"),
			AttributeName: aws.String("MaximumMessageSize"), AttributeValue: aws.String("1048576"),
		}); err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			ch         driver.Channel
			limit, sum int
			drain      driver.Channel
		}{
			{orders, 1 << 20, 1 << 20, orders},
			{small, 2048, 1 << 20, small},
			{plain, 256 << 10, 256 << 10, driver.Channel{Exchange: "plain", Queue: "q"}},
			{raised, 1 << 20, 1 << 20, driver.Channel{Exchange: "raised", Queue: "q"}},
		} {
			s := w.sender(c.ch)
			m := largest(w, s,
				driver.Message{
					RoutingKey: "A.ä", ContentType: "text/plain",
					Header: []driver.Header{{Name: "locale", Value: `"ä"`}},
				})
			p, err := s.Prepare(w.Context(), &m)
			if err != nil || p.Size != c.limit || s.Limits().Bytes != c.sum {
				t.Errorf("%s: the largest counts %d bytes, %v, and a batch takes %d; want %d and %d", c.ch, p.Size, err,
					s.Limits().Bytes, c.limit, c.sum)
			}
			if err := s.Send(w.Context(), []driver.Prepared{p}); err != nil {
				t.Errorf("%s: the largest message of %d bytes: %v", c.ch, p.Size, err)
			}
			w.receive(w.receiver(c.drain, driver.Filter{}), 1)
		}
		// A batch of exactly the maximum is accepted, too.
		for _, ch := range []driver.Channel{orders, plain} {
			s := w.sender(ch)
			var batch []driver.Prepared
			room := s.Limits().Bytes
			for i := range 10 {
				one, err := s.Prepare(w.Context(), &driver.Message{})
				if err != nil {
					t.Fatal(err)
				}
				body := make([]byte, room/(10-i)-one.Size+20)
				for j := range body {
					body[j] = 'x'
				}
				p, err := s.Prepare(w.Context(), &driver.Message{Body: body})
				for ; err == nil && p.Size > room/(10-i); p, err = s.Prepare(w.Context(), &driver.Message{Body: body}) {
					body = body[1:]
				}
				if err != nil {
					t.Fatal(err)
				}
				room -= p.Size
				batch = append(batch, p)
			}
			if err := s.Send(w.Context(), batch); room != 0 || err != nil {
				t.Errorf("%s: a batch with %d bytes to spare: %v", ch, room, err)
			}
		}
	})
}

// Any text may be an order key, a tenant or a de-duplication id, on queues and topics, ordered or not.
func TestKeysOfAnyKind(t *testing.T) {
	keys := []string{
		"a", "with space", "ä", "-", strings.Repeat("k", 128), strings.Repeat("k", 129), "tab\there",
		`!"#$%&'()*+,-./:;<=>?@[\]^_{|}~` + "`",
	}
	for _, ordered := range []bool{false, true} {
		for _, exchange := range []string{"", "e"} {
			inWorld(t, localaws.Options{}, func(w *world) {
				ch := driver.Channel{Exchange: exchange, Queue: "q", Ordered: ordered}
				w.ensure(owner(ch))
				to := ch
				if exchange != "" {
					to.Queue = ""
				}
				s, r := w.sender(to), w.receiver(ch, driver.Filter{})
				for i, key := range keys {
					m := driver.Message{Body: []byte(fmt.Sprint(i)), OrderKey: key}
					if ordered {
						m.DedupID = key
					}
					w.send(s, m)
					d := w.receive(r, 1)[0]
					if got := d.OrderKey + d.Tenant; got != key || (d.OrderKey == "") == ordered {
						t.Errorf("%s, ordered %v: key %q arrived as order key %q, tenant %q", ch, ordered, key,
							d.OrderKey, d.Tenant)
					}
					if err := r.Settle(w.Context(), []driver.Settlement{{Handle: d.Handle}}); err != nil {
						t.Error(err)
					}
					if ordered { // the same id is a duplicate, whatever the body
						m.Body = []byte("again")
						w.send(s, m)
						if ds, err := r.Receive(w.Context(), driver.Ask{Max: 1}, nil); err != nil || len(ds) > 0 {
							t.Errorf("%s: dedup id %q was delivered twice: %v, %v", ch, key, ds, err)
						}
					}
				}
			})
		}
	}
}

// Without a DedupID, a message is identified for five minutes by its keys, type and body before encoding. Messages that
// differ in one of them are different, also if their concatenated texts are equal; headers make no difference.
func TestContentIsDeduplicated(t *testing.T) {
	inWorld(t, localaws.Options{}, func(w *world) {
		ch := driver.Channel{Queue: "q", Ordered: true}
		w.ensure(owner(ch))
		s, r := w.sender(ch), w.receiver(ch, driver.Filter{})
		count := func(want int, when string) {
			t.Helper()
			ds, err := r.Receive(w.Context(), driver.Ask{Max: 10}, nil)
			if err != nil || len(ds) != want {
				t.Errorf("%s: %d deliveries, %v; want %d", when, len(ds), err, want)
			}
			for _, d := range ds {
				if err := r.Settle(w.Context(), []driver.Settlement{{Handle: d.Handle}}); err != nil {
					t.Error(err)
				}
			}
		}
		m := driver.Message{Body: []byte{0, 1}, OrderKey: "a"}
		w.send(s, m,
			driver.Message{Body: []byte{0, 1}, OrderKey: "a", Header: []driver.Header{{Name: "n", Value: "1"}}})
		count(1, "the same at once, with another header")
		all := []driver.Message{
			{OrderKey: "b", Body: []byte{0, 1}},
			{OrderKey: "ab", RoutingKey: "c"},
			{OrderKey: "a", RoutingKey: "bc"},
			{RoutingKey: "abc"},
			{Type: "abc"},
			{Type: "ab", Version: 1},
			{Type: "ab", Version: 11},
			{Type: "ab", Version: 1, Body: []byte("1")},
			{Body: []byte("abc")},
			{},
		}
		w.send(s, all...)
		w.send(s, all...)
		count(len(all), "others, each twice")
		time.Sleep(4 * time.Minute)
		w.send(s, m)
		count(0, "after four minutes")
		time.Sleep(61 * time.Second)
		w.send(s, m)
		count(1, "after five minutes")
	})
}

// The error for a body that is too large mentions base64 if that makes it larger than its sender knows.
func TestTooLargeTellsOfBase64(t *testing.T) {
	inWorld(t, localaws.Options{}, func(w *world) {
		w.ensure(owner(orders))
		_, err := w.sender(orders).Prepare(w.Context(), &driver.Message{Body: make([]byte, 900_000)})
		if driver.ClassOf(err) != driver.TooLarge ||
			!strings.Contains(err.Error(), "sent as base64, which has 1200000 bytes") {
			t.Errorf("%v, of class %s", err, driver.ClassOf(err))
		}
	})
}
