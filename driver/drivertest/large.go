package drivertest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"time"

	"github.com/godwitmq/godwit/driver"
)

func largeCases() []testCase {
	large := need("a store", func(h *Harness) bool { return h.Can.Large })
	return []testCase{
		{
			name: "large/whole", run: largeWhole, needs: large,
			shows: "a large body, also that of a Reader, is read by its Opener, as often as needed",
		},
		{
			name: "large/done", run: largeDone, needs: large,
			shows: "the body is deleted after its message is done, and not before; on a log, not at all",
		},
		{
			name: "large/rejected", run: largeRejected,
			needs: need("a store and dead letters", func(h *Harness) bool { return h.Can.Large && h.Can.DeadLetters }),
			shows: "a dead letter has the body of its message",
		},
		{
			name: "large/fanout", run: largeFanout,
			needs: need("a store and exchanges", func(h *Harness) bool { return h.Can.Large && h.Can.Exchanges }),
			shows: "a body that several queues read is not deleted with the message of one of them",
		},
		{
			name: "large/duplicate", run: largeDuplicate,
			needs: need("a store and ordered channels", func(h *Harness) bool { return h.Can.Large && h.Can.Ordered }),
			shows: "the body of a Reader makes two messages one, as other bodies do",
		},
	}
}

// largeBody is larger than what any service of the kit takes, and is not text.
func largeBody() []byte { return bytes.Repeat([]byte{0, 0xff, 'x'}, 1<<20) }

// reader is a message with the body in a Reader that has nothing but Read.
func reader(body []byte, k *kit, s driver.Sender) driver.Message {
	k.Helper()
	if apart := s.Limits().Apart; apart <= 0 || apart >= int64(len(body)) {
		k.Fatalf("the sender's limit for bodies is %d", apart)
	}
	return driver.Message{Reader: io.MultiReader(bytes.NewReader(body)), Size: int64(len(body))}
}

// read reads the body of a delivery.
func (k *kit) read(d driver.Delivery) ([]byte, error) {
	k.Helper()
	if d.Opener == nil {
		k.Fatalf("the delivery has no Opener; its body has %d bytes", len(d.Body))
	}
	r, size, err := d.Opener.Open(k.ctx)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(r)
	if err = errors.Join(err, r.Close()); err == nil && size >= 0 && size != int64(len(body)) {
		k.Errorf("the body has %d bytes, and Open says %d", len(body), size)
	}
	return body, err
}

// whole checks that a delivery has the large body.
func (k *kit) whole(d driver.Delivery) {
	k.Helper()
	body, err := k.read(d)
	if err != nil || !bytes.Equal(body, largeBody()) || d.Size != int64(len(body)) || d.Body != nil || d.Err != nil {
		k.Errorf("read %d bytes, %v; the delivery has size %d, %d bytes, %v", len(body), err, d.Size, len(d.Body),
			d.Err)
	}
}

// gone checks what has become of the body of a message that is done.
func (k *kit) gone(d driver.Delivery) {
	k.Helper()
	if k.h.Can.KeepsBodies {
		k.whole(d)
		return
	}
	k.missing(d)
}

// missing checks that the body of a delivery is deleted, for which the backend has some time.
func (k *kit) missing(d driver.Delivery) {
	k.Helper()
	var err error
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(patience / 50) {
		var fault *driver.PayloadError
		_, err = k.read(d)
		gone := errors.Is(err, driver.ErrFinished) || errors.As(err, &fault) && fault.Fault == driver.PayloadMissing
		if gone && driver.ClassOf(err) == driver.Permanent {
			return
		}
	}
	k.Errorf("the body can still be read: %v", err)
}

func largeWhole(k *kit) {
	e := k.queue("largewhole", false)
	e.put(
		driver.Message{Body: largeBody(), RoutingKey: "A.B", Header: []driver.Header{{Name: "locale", Value: "de"}}},
		reader(largeBody(), k, e.send),
	)
	e.put(bodies("small")...)
	withHeader := 0
	for _, d := range e.get(3) {
		if d.Opener == nil {
			e.sameSet([]driver.Delivery{d}, "small")
			continue
		}
		if len(d.Header) == 1 && d.Header[0].Value == "de" && d.RoutingKey == "A.B" {
			withHeader++
		} else if len(d.Header) > 0 {
			k.Errorf("the delivery has headers %v", d.Header)
		}
		k.whole(d)
		k.whole(d)
		r, _, err := d.Opener.Open(k.ctx)
		if err != nil {
			k.Fatal(err)
		}
		if err := r.Close(); err != nil {
			k.Errorf("close a body that was not read: %v", err)
		}
	}
	if withHeader != 1 {
		k.Errorf("%d deliveries have the header and routing key of the first message", withHeader)
	}
}

func largeDone(k *kit) {
	e := k.queue("largedone", false)
	e.put(driver.Message{Body: largeBody()})
	d := e.get(1)[0]
	if k.h.Can.Leases { // a log delivers what is released to the next receiver
		e.settle(driver.Release, d)
		d = e.get(1)[0]
		k.whole(d)
	}
	if k.h.Can.Retries {
		e.settle(driver.Retry, d)
		d = e.get(1)[0]
	}
	k.whole(d)
	e.settle(driver.Done, d)
	e.nothing(k.h.lease() + wait)
	k.gone(d)
}

func largeRejected(k *kit) {
	e := k.queue("largerejected", false)
	e.put(driver.Message{Body: largeBody()})
	d := e.get(1)[0]
	if err := e.recv.Settle(k.ctx, []driver.Settlement{
		{Handle: d.Handle, Action: driver.Reject, Death: &driver.Death{Error: "bad", Kind: "permanent"}},
	}); err != nil {
		k.Fatal(err)
	}
	e.nothing(wait)
	k.whole(d)
	letters := e.letters()
	dead := letters.get(1)[0]
	if dead.Origin == nil || dead.Origin.Death.Error != "bad" {
		k.Errorf("the dead letter's origin is %+v", dead.Origin)
	}
	k.whole(dead)
	letters.settle(driver.Done, dead)
	k.gone(dead)
}

func largeFanout(k *kit) {
	one := k.open(k.spec(driver.Channel{Exchange: "largenews", Queue: "one"}), driver.Filter{})
	two := k.open(k.spec(driver.Channel{Exchange: "largenews", Queue: "two"}), driver.Filter{})
	one.put(driver.Message{Body: largeBody()})
	d := one.get(1)[0]
	k.whole(d)
	one.settle(driver.Done, d)
	if err := one.recv.Close(context.WithoutCancel(k.ctx)); err != nil { // after it no delete is in flight
		k.Fatal(err)
	}
	k.whole(two.get(1)[0])
}

func largeDuplicate(k *kit) {
	e := k.queue("largeduplicate", true)
	e.put(driver.Message{Body: largeBody()}, reader(largeBody(), k, e.send), reader(largeBody()[1:], k, e.send))
	first := e.get(1)
	k.whole(first[0])
	e.settle(driver.Done, first...)
	second := e.get(1)
	if body, err := k.read(second[0]); err != nil || !bytes.Equal(body, largeBody()[1:]) {
		k.Errorf("the second message has %d bytes, %v", len(body), err)
	}
	e.settle(driver.Done, second...)
	e.nothing(wait)
}
