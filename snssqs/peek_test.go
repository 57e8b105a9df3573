package snssqs_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/google/go-cmp/cmp"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/localaws"
	"github.com/godwitmq/godwit/snssqs"
)

func (w *world) peek(ch driver.Channel, from driver.PeekFrom, most int) []driver.Peeked {
	w.Helper()
	all, err := w.b.Peek(w.Context(), ch, from, most)
	if err != nil {
		w.Fatal(err)
	}
	return all
}

// A look shows what a receive would, with attributes of every type, and no message notices it: neither one that waits,
// nor one in flight, nor a delayed one.
func TestPeek(t *testing.T) {
	inWorld(t, localaws.Options{}, func(w *world) {
		w.ensure(owner(orders))
		w.put("orders", seen{Body: "<é>\t", Attributes: everyType(10), Group: "tenant", Trace: trace})
		r, lr := w.receiver(orders, driver.Filter{}), w.receiver(dead(orders), driver.Filter{})
		looked := w.peek(orders, driver.PeekFrom{}, 10)
		d := w.receive(r, 1)[0]
		same := func(looked driver.Peeked, d driver.Delivery, r driver.Receiver) {
			t.Helper()
			if diff := cmp.Diff(rawOf(r, d.Handle), looked.Raw); diff != "" {
				t.Errorf("raw (-received +looked at):\n%s", diff)
			}
			d.Handle, d.Source, d.LeaseEnds, d.Received = driver.Handle{}, nil, time.Time{}, d.Received-1
			if diff := cmp.Diff(d, looked.Delivery); diff != "" {
				t.Errorf("delivery (-received +looked at):\n%s", diff)
			}
		}
		same(looked[0], d, r)
		if got := w.peek(orders, driver.PeekFrom{}, 10); len(got) != 1 || got[0].Delivery.Received != 1 {
			t.Errorf("a message in flight is shown as %+v", got)
		}
		w.reject(r, "no", d)
		looked = w.peek(dead(orders), driver.PeekFrom{}, 10)
		letter := w.receive(lr, 1)[0]
		same(looked[0], letter, lr)
		if o := looked[0].Delivery.Origin; o == nil || o.ID != d.ID || o.Death.Error != "no" {
			t.Errorf("the dead letter's origin is %+v", o)
		}
		w.send(w.sender(orders), driver.Message{Body: []byte("later"), Delay: time.Minute})
		if got := w.peek(orders, driver.PeekFrom{}, 10); len(got) != 1 || got[0].Delivery.Due.IsZero() {
			t.Errorf("a delayed message is shown as %+v", got)
		}
	})
}

// More messages than a page are looked at, from either end.
func TestPeekAtManyMessages(t *testing.T) {
	inWorld(t, localaws.Options{}, func(w *world) {
		w.ensure(owner(orders))
		s := w.sender(orders)
		for i := range 250 {
			w.send(s, driver.Message{Body: []byte{byte(i)}})
		}
		all := w.peek(orders, driver.PeekFrom{}, 1000)
		last := w.peek(orders, driver.PeekFrom{Last: true}, 120)
		from := w.peek(orders, driver.PeekFrom{ID: all[149].Delivery.ID}, 2)
		none := w.peek(orders, driver.PeekFrom{}, 0)
		if len(all) != 250 || len(last) != 120 || last[0].Delivery.Body[0] != 130 || len(from) != 2 ||
			from[1].Delivery.Body[0] != 150 || len(none) != 0 {
			t.Errorf("%d, %d, %d and %d messages", len(all), len(last), len(from), len(none))
		}
	})
}

// A server in another process is looked at through its address. AWS and other servers can only receive.
func TestPeekByAddress(t *testing.T) {
	server, err := localaws.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	pages := server.Handler()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/_localaws/") {
			pages.ServeHTTP(w, r)
			return
		}
		server.Handler().ServeHTTP(w, r)
	}))
	defer web.Close()
	conf := aws.Config{
		Region: "us-east-1", BaseEndpoint: &web.URL,
		Credentials: credentials.NewStaticCredentialsProvider("k", "s", ""),
	}
	open := func() *snssqs.Backend {
		b, err := snssqs.Open(t.Context(), &snssqs.Options{AWS: &conf})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = b.Close(t.Context()) })
		return b
	}
	b := open()
	sorted := driver.Channel{Queue: "sorted", Ordered: true}
	if err := b.Ensure(t.Context(), owner(sorted)); err != nil {
		t.Fatal(err)
	}
	s, err := b.Sender(t.Context(), sorted)
	if err != nil {
		t.Fatal(err)
	}
	p, err := s.Prepare(t.Context(), &driver.Message{Body: []byte("\x00"), OrderKey: "ada"})
	if err == nil {
		err = s.Send(t.Context(), []driver.Prepared{p})
	}
	if err != nil {
		t.Fatal(err)
	}
	got, err := b.Peek(t.Context(), sorted, driver.PeekFrom{}, 10)
	if err != nil || len(got) != 1 || got[0].Delivery.OrderKey != "ada" || string(got[0].Delivery.Body) != "\x00" {
		t.Errorf("looked at %+v, %v", got, err)
	}
	for _, answer := range []string{"<html>", `{"status":"ok"}`, ""} {
		pages = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(answer)) })
		if _, err = b.Peek(t.Context(), sorted, driver.PeekFrom{}, 10); !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("a server that answers %q: %v", answer, err)
		}
	}
	pages = http.NotFoundHandler()
	if _, err = b.Peek(t.Context(), sorted, driver.PeekFrom{}, 10); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("another server: %v", err)
	}
	pages = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) })
	if _, err = b.Peek(t.Context(), sorted, driver.PeekFrom{}, 10); driver.ClassOf(err) != driver.Transient {
		t.Errorf("a server that fails: %v", err)
	}
	conf.BaseEndpoint = nil
	if _, err = open().Peek(t.Context(), sorted, driver.PeekFrom{}, 10); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("AWS: %v", err)
	}
	if _, err = b.Peek(t.Context(), driver.Channel{Exchange: "news"}, driver.PeekFrom{}, 1); err == nil ||
		errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("an exchange: %v", err)
	}
}
