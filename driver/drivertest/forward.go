package drivertest

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/godwitmq/godwit/driver"
)

func forwardCases() []testCase {
	forwards := need("driver.Forwarders", func(h *Harness) bool { return h.Can.Forwards })
	dead := need("dead letters that can be forwarded", func(h *Harness) bool {
		return h.Can.Forwards && h.Can.DeadLetters
	})
	return []testCase{
		{
			name: "forward/unchanged", run: forwardUnchanged, needs: forwards,
			shows: "a message that is forwarded arrives with all its properties, and can be forwarded again",
		},
		{
			name: "forward/edited", run: forwardEdited, needs: forwards,
			shows: "an edited body replaces the body, and nothing else changes",
		},
		{
			name: "forward/refused", run: forwardRefused, needs: forwards,
			shows: "raw messages of another format, and those that are too large, are refused one by one",
		},
		{
			name:  "forward/ordered",
			shows: "on an ordered channel, a message that is forwarded twice arrives once, and keys keep their order",
			run:   forwardOrdered,
			needs: need("ordered channels and driver.Forwarders",
				func(h *Harness) bool { return h.Can.Forwards && h.Can.Ordered }),
		},
		{
			name:  "forward/one",
			shows: "a message to one queue of an exchange reaches only that queue, past its filter",
			run:   forwardToOne,
			needs: need("a way to one queue of an exchange",
				func(h *Harness) bool { return h.Can.Forwards && h.Can.Exchanges && h.Can.ToOneQueue }),
		},
		{
			name:  "forward/large",
			shows: "a body in a store is forwarded by its pointer, and is not deleted with the original",
			run:   forwardLarge,
			needs: need("a store, and driver.Forwarders",
				func(h *Harness) bool { return h.Can.Forwards && h.Can.Large }),
		},
		{
			name: "return/revived", run: returnRevived, needs: dead,
			shows: "a dead letter goes back without its death, and the next one knows how often it died",
		},
		{
			name: "return/letters", run: returnLetters, needs: dead,
			shows: "a dead letter that is forwarded to dead letters keeps its reasons",
		},
		{
			name:  "return/alone",
			shows: "a dead letter of one consumer of an exchange goes back to this consumer alone",
			run:   returnAlone,
			needs: need("dead letters of an exchange, and a way to one of its queues", func(h *Harness) bool {
				return h.Can.Forwards && h.Can.DeadLetters && h.Can.Exchanges && h.Can.ToOneQueue
			}),
		},
		{
			name: "return/missing", run: returnMissing, needs: dead,
			shows: "the way back of dead letters that do not exist is an error, and creates nothing",
		},
	}
}

// forwarder opens a sender for raw messages.
func (k *kit) forwarder(to driver.Channel) driver.Forwarder {
	k.Helper()
	f, ok := k.sender(to).(driver.Forwarder)
	if !ok {
		k.Fatalf("the sender to %s is no driver.Forwarder", to)
	}
	return f
}

// raw returns the raw message of a delivery.
func (e *end) raw(d driver.Delivery) (raw driver.Raw) {
	e.k.Helper()
	if !e.recv.As(d.Handle, &raw) {
		e.k.Fatalf("As of the receiver of %s does not know *driver.Raw", e.ch)
	}
	return raw
}

// forward sends a delivery on, and finishes it.
func (e *end) forward(to driver.Forwarder, d driver.Delivery, f driver.Forward) {
	e.k.Helper()
	f.Raw, f.ID = e.raw(d), d.ID
	p, err := to.Forward(e.k.ctx, &f)
	if err == nil {
		err = to.Send(e.k.ctx, []driver.Prepared{p})
	}
	if err != nil {
		e.k.Fatalf("forward: %v", err)
	}
	e.finish(d)
}

// finish settles a delivery whose message was forwarded.
func (e *end) finish(d driver.Delivery) {
	e.k.Helper()
	if err := e.recv.Settle(e.k.ctx, []driver.Settlement{{Handle: d.Handle, KeepBody: true}}); err != nil {
		e.k.Fatalf("settle: %v", err)
	}
}

// same compares what a consumer sees of two messages.
func (k *kit) same(got, want driver.Delivery) {
	k.Helper()
	type properties struct {
		OrderKey, Tenant, RoutingKey, ContentType, Type string
		Version                                         int
		Header                                          []driver.Header
		Body                                            []byte
		Size                                            int64
	}
	visible := func(d driver.Delivery) properties {
		if !k.h.Can.Ordered {
			d.OrderKey = "" // it may be the source's name
		}
		return properties{
			OrderKey: d.OrderKey, Tenant: d.Tenant, RoutingKey: d.RoutingKey, ContentType: d.ContentType, Type: d.Type,
			Version: d.Version, Header: d.Header, Body: d.Body, Size: d.Size,
		}
	}
	if was, is := visible(want), visible(got); !reflect.DeepEqual(was, is) {
		k.Errorf("the message was %+v, and is %+v", was, is)
	}
}

// full is a message with every property.
func full(key, body string) driver.Message {
	return driver.Message{
		OrderKey: key, RoutingKey: "MOBILE.APPLE", ContentType: "text/plain", Type: "wish", Version: 3,
		Header: []driver.Header{{Name: "empty", Value: ""}, {Name: "locale", Value: "de\tß"}}, Body: []byte(body),
	}
}

func forwardUnchanged(k *kit) {
	from, to := k.queue("forwardfrom", false), k.queue("forwardto", false)
	way, back := k.forwarder(to.ch), k.forwarder(from.ch)
	for _, body := range []string{"a kite", "\x00\xff\xfe binary", ""} {
		from.put(full("ada", body))
		d := from.get(1)[0]
		raw := from.raw(d)
		from.forward(way, d, driver.Forward{})
		there := to.get(1)[0]
		k.same(there, d)
		if is := to.raw(there); !reflect.DeepEqual(raw, is) {
			k.Errorf("the raw message was %+v, and is %+v", raw, is)
		}
		to.forward(back, there, driver.Forward{})
		again := from.get(1)[0]
		k.same(again, d)
		from.settle(driver.Done, again)
	}
	from.nothing(wait)
	to.nothing(wait)
}

func forwardEdited(k *kit) {
	from, to := k.queue("editfrom", false), k.queue("editto", false)
	way := k.forwarder(to.ch)
	for _, c := range []struct{ was, is string }{
		{"a kite", "two kites"}, {"text", "\x00\xffbinary"}, {"\x00\xffbinary", "text"}, {"text", ""}, {"", "text"},
	} {
		from.put(full("ada", c.was))
		d := from.get(1)[0]
		from.forward(way, d, driver.Forward{Edited: true, Body: []byte(c.is)})
		there := to.get(1)[0]
		d.Body = []byte(c.is)
		if c.is == "" && len(there.Body) == 0 {
			d.Body, there.Body = nil, nil // both are an empty body
		}
		k.same(there, d)
		to.settle(driver.Done, there)
	}
}

func forwardRefused(k *kit) {
	e := k.queue("forwardrefused", false)
	way := k.forwarder(e.ch)
	_, err := way.Forward(k.ctx, &driver.Forward{Raw: driver.Raw{Format: "carrier pigeon", Body: []byte("x")}, ID: "1"})
	if err == nil || driver.ClassOf(err) != driver.Permanent {
		k.Errorf("a raw message of an unknown format: %v, want an error of class %s", err, driver.Permanent)
	}
	e.put(full("", "x"))
	d := e.get(1)[0]
	raw := e.raw(d)
	raw.Body = bytes.Repeat([]byte("x"), 9<<20)
	if k.h.Can.Large {
		return // the pointer of a large body is small
	}
	if _, err := way.Forward(k.ctx, &driver.Forward{Raw: raw, ID: "1"}); driver.ClassOf(err) != driver.TooLarge {
		k.Errorf("a raw message of 9 MiB: %v, want an error of class %s", err, driver.TooLarge)
	}
}

func forwardOrdered(k *kit) {
	from, to := k.queue("orderfrom", true), k.queue("orderto", true)
	way := k.forwarder(to.ch)
	from.put(keyed("ada", "1", "2", "3")...)
	var batch []driver.Prepared
	for range 3 { // a receiver may wait for one before it returns the next of its key
		d := from.get(1)[0]
		p, err := way.Forward(k.ctx, &driver.Forward{Raw: from.raw(d), ID: d.ID})
		if err == nil {
			err = way.Send(k.ctx, []driver.Prepared{p})
		}
		if err != nil {
			k.Fatal(err)
		}
		batch = append(batch, p)
		from.finish(d)
	}
	if k.h.Can.Leases { // a queue, whose service removes duplicates
		for _, p := range batch {
			if err := way.Send(k.ctx, []driver.Prepared{p}); err != nil {
				k.Fatal(err)
			}
		}
	}
	var got []driver.Delivery
	for range 3 {
		d := to.get(1)[0]
		d.Body = bytes.Clone(d.Body)
		got = append(got, d)
		to.settle(driver.Done, d)
	}
	to.sameOrder(got, "1", "2", "3")
	if got[0].OrderKey != "ada" {
		k.Errorf("the order key is %q", got[0].OrderKey)
	}
	to.nothing(wait)
}

func forwardToOne(k *kit) {
	one := k.queueOf("wide", "one", false, driver.Filter{Exact: []string{"MOBILE.NOKIA"}})
	other := k.queueOf("wide", "other", false, driver.Filter{})
	from := k.queue("forwardone", false)
	from.put(full("", "x"))
	d := from.get(1)[0]
	from.forward(k.forwarder(one.ch), d, driver.Forward{})
	other.nothing(wait)
	k.closing(one.recv)
	one.recv = k.receiver(one.ch, driver.Filter{})
	k.same(one.get(1)[0], d)
}

// closing closes something before the end of the case.
func (k *kit) closing(c driver.Receiver) {
	k.Helper()
	if err := c.Close(k.ctx); err != nil {
		k.Fatal(err)
	}
}

func forwardLarge(k *kit) {
	from, to := k.queue("largefrom", false), k.queue("largeto", false)
	way := k.forwarder(to.ch)
	text := largeBody()
	from.put(driver.Message{Body: text})
	d := from.get(1)[0]
	if d.Opener == nil {
		k.Fatalf("a body of %d bytes is not in the store", len(text))
	}
	from.forward(way, d, driver.Forward{})
	there := to.get(1)[0]
	if there.Opener == nil {
		k.Fatal("the forwarded message has no pointer")
	}
	if got, err := k.read(there); err != nil || !bytes.Equal(got, text) {
		k.Errorf("the body has %d bytes, want the %d that were sent: %v", len(got), len(text), err)
	}
	to.settle(driver.Done, there)
}

// die rejects a delivery, and returns its dead letter.
func (e *end) die(letters *end, d driver.Delivery) driver.Delivery {
	e.k.Helper()
	now := time.Now().Truncate(time.Second)
	death := &driver.Death{Error: "no such user", Kind: "permanent", Attempts: 3, First: now, Last: now}
	if err := e.recv.Settle(e.k.ctx,
		[]driver.Settlement{{Handle: d.Handle, Action: driver.Reject, Attempt: 3, Death: death}}); err != nil {
		e.k.Fatal(err)
	}
	return letters.get(1)[0]
}

// home opens the way back for the dead letters of a channel.
func (k *kit) home(dead driver.Channel, alone bool) driver.Home {
	k.Helper()
	h, err := k.do.Return(k.ctx, dead, alone)
	if err != nil {
		k.Fatalf("open the way back from %s: %v", dead, err)
	}
	if h.Address == "" {
		k.Errorf("the way back from %s has no address", dead)
	}
	k.opened = append(k.opened, h.Forwarder)
	return h
}

func returnRevived(k *kit) {
	e := k.queue("revived", false)
	letters := e.letters()
	home := k.home(letters.ch, false).Forwarder
	e.put(full("ada", "bad"))
	first := e.get(1)[0]
	d := first
	var earlier []string
	for n := 1; n <= 4; n++ {
		letter := e.die(letters, d)
		if letter.Origin == nil || letter.Origin.Deaths != n {
			k.Fatalf("the origin after %d deaths is %+v", n, letter.Origin)
		}
		if o := letter.Origin; !slices.Equal(o.Earlier, earlier) {
			k.Errorf("the earlier ids after %d deaths are %q, want %q", n, o.Earlier, earlier)
		}
		earlier = append(earlier, letter.Origin.ID)
		letters.forward(home, letter, driver.Forward{Revive: true})
		d = e.get(1)[0]
		if d.Origin != nil || d.Attempt != 0 {
			k.Errorf("back with origin %+v and %d attempts", d.Origin, d.Attempt)
		}
		k.same(d, first)
	}
	e.settle(driver.Done, d)
}

func returnLetters(k *kit) {
	e := k.queue("letters", false)
	letters := e.letters()
	e.put(full("ada", "bad"))
	letter := e.die(letters, e.get(1)[0])
	letters.forward(k.forwarder(letters.ch), letter, driver.Forward{})
	again := letters.get(1)[0]
	k.same(again, letter)
	if again.Origin == nil {
		k.Fatal("the dead letter has no origin any more")
	}
	if was, is := fmt.Sprintf("%+v", *letter.Origin), fmt.Sprintf("%+v", *again.Origin); was != is {
		k.Errorf("the reasons were %s, and are %s", was, is)
	}
}

func returnAlone(k *kit) {
	one := k.queueOf("returning", "one", false, driver.Filter{})
	other := k.queueOf("returning", "other", false, driver.Filter{})
	one.put(full("ada", "bad"))
	other.settle(driver.Done, other.get(1)...)
	letters := one.letters()
	first := one.get(1)[0]
	letter := one.die(letters, first)
	home := k.home(letters.ch, true)
	if home.Shared {
		k.Error("the way back alone says that it is shared")
	}
	letters.forward(home.Forwarder, letter, driver.Forward{Revive: true})
	k.same(one.get(1)[0], first)
	other.nothing(wait)
}

func returnMissing(k *kit) {
	dead := driver.Channel{Queue: "neverwas", DeadLetter: true}
	_, err := k.do.Return(k.ctx, dead, false)
	if err == nil || driver.ClassOf(err) != driver.NotFound {
		k.Errorf("the way back from %s: %v, want an error of class %s", dead, err, driver.NotFound)
	}
	if k.h.Can.Lists {
		if got := k.listed("neverwas", "neverwas@dlq"); len(got) > 0 {
			k.Errorf("%v was created by a look", got)
		}
	}
}
