package drivertest

import (
	"bytes"
	"strings"
	"time"

	"github.com/godwitmq/godwit/driver"
)

func sendCases() []testCase {
	return []testCase{
		{name: "send/arrives", shows: "a message arrives with all its properties", run: sendArrives},
		{name: "send/receipt", shows: "a receipt, where one is requested, has the delivery's id", run: sendReceipt},
		{name: "send/anybytes", shows: "a body may be any bytes, also none", run: sendAnyBytes},
		{name: "send/batch", shows: "a batch within the limits arrives whole", run: sendBatch},
		{name: "send/toolarge", shows: "a message that is too large is refused by Prepare", run: sendTooLarge},
		{
			name: "send/badheader", run: sendBadHeader,
			shows: "Prepare refuses a header that cannot be sent, and names it",
		},
		{
			name: "send/delay", run: sendDelay,
			needs: need("delays", func(h *Harness) bool { return h.Can.Delays }),
			shows: "a delayed message is not delivered before it is due, and has the time when it was due",
		},
		{
			name: "send/at", run: sendAt,
			needs: need("delays", func(h *Harness) bool { return h.Can.Delays }),
			shows: "a message with a time is not delivered before it, also if it was prepared earlier, and at once after it",
		},
		{
			name: "send/later", run: sendLater,
			needs: need("delays on ordered channels", func(h *Harness) bool { return h.Can.Ordered && h.Can.Later }),
			shows: "a delayed message of an ordered channel comes when it is due, and later ones of its key before it",
		},
		{
			name: "send/cancel", run: sendCancel,
			needs: need("Operations.Cancel", func(h *Harness) bool { return h.Can.Cancels }),
			shows: "a cancelled message never comes, one that it was too late for comes, and both answers stay",
		},
		{
			name: "send/cancelid", run: sendCancelID,
			needs: need("Operations.Cancel", func(h *Harness) bool { return h.Can.Cancels }),
			shows: "an id that is none, and one of another channel, is an error that repeating cannot help",
		},
		{
			name: "send/now", run: sendNow,
			needs: need("Operations.SendNow", func(h *Harness) bool { return h.Can.Expedites && h.Can.Cancels }),
			shows: "a message that waits is sent on at once, once, and not cancelled any more; a cancelled one is not sent on",
		},
		{
			name: "send/tick", run: sendTick,
			needs: need("Operations.Clock", func(h *Harness) bool { return h.Can.Ticks }),
			shows: "of the sends of one tick of a schedule the channel gets one, with and without order, and the next tick comes",
		},
		{
			name: "send/clock", run: sendClock,
			needs: need("Operations.Clock", func(h *Harness) bool { return h.Can.Ticks }),
			shows: "the service tells its time, which goes on",
		},
		{
			name: "send/partial", run: sendPartial,
			needs: need("Faults.FailEntry", func(h *Harness) bool { return h.Faults.FailEntry != nil }),
			shows: "a batch answers per entry, and the entries that did not fail arrive",
		},
		{
			name: "send/throttled", run: sendThrottled,
			needs: need("Faults.Throttle", func(h *Harness) bool { return h.Faults.Throttle != nil }),
			shows: "the error of a call that is refused as too frequent is of class Throttled",
		},
		{
			name: "send/denied", run: sendDenied,
			needs: need("Faults.Deny", func(h *Harness) bool { return h.Faults.Deny != nil }),
			shows: "the error of a call without permission is of class Denied",
		},
		{
			name: "send/answerlost", run: sendAnswerLost,
			needs: need("Faults.LoseAnswer", func(h *Harness) bool { return h.Faults.LoseAnswer != nil }),
			shows: "the error of a call whose answer was lost is of class Transient",
		},
	}
}

func sendArrives(k *kit) {
	e := k.queue("arrives", false)
	before := time.Now().Add(-time.Second)
	e.put(driver.Message{
		Body: []byte(`{"n":1}`), ContentType: "application/json", Type: "order", Version: 2, RoutingKey: "A.B",
		Header: []driver.Header{{Name: "locale", Value: "de"}, {Name: "quote", Value: `"ä" \ <x>`}},
	})
	d := e.get(1)[0]
	if string(d.Body) != `{"n":1}` {
		k.Errorf("body %q", d.Body)
	}
	if d.ContentType != "application/json" || d.Type != "order" || d.Version != 2 || d.RoutingKey != "A.B" {
		k.Errorf("content type %q, type %q, version %d, routing key %q", d.ContentType, d.Type, d.Version, d.RoutingKey)
	}
	got := map[string]string{}
	for _, h := range d.Header {
		got[h.Name] = h.Value
	}
	if len(got) != 2 || got["locale"] != "de" || got["quote"] != `"ä" \ <x>` {
		k.Errorf("headers %v", got)
	}
	if d.ID == "" || d.Source == nil || d.Err != nil {
		k.Errorf("id %q, source %v, error %v", d.ID, d.Source, d.Err)
	}
	if d.Received > 1 || d.Attempt != 0 {
		k.Errorf("received %d times and started %d times before", d.Received, d.Attempt)
	}
	if !d.SentAt.IsZero() && (d.SentAt.Before(before) || d.SentAt.After(time.Now().Add(time.Second))) {
		k.Errorf("sent at %v, now is %v", d.SentAt, time.Now())
	}
}

func sendReceipt(k *kit) {
	e := k.queue("receipt", false)
	post, posts := e.send.(driver.Poster)
	for _, posted := range []bool{false, true} {
		if posted && !posts {
			continue
		}
		p := e.prepare(bodies("asked")[0])
		p.Receipt = &driver.Receipt{ID: "of before", Duplicate: true}
		batch := []driver.Prepared{p}
		answer := make(chan error, 1)
		if posted {
			post.Post(k.ctx, batch, func(_ int, err error) { answer <- err })
		} else {
			answer <- e.send.Send(k.ctx, batch)
		}
		if err := <-answer; err != nil {
			k.Fatalf("send, posted %v: %v", posted, err)
		}
		d := e.get(1)[0]
		if p.Receipt.ID != d.ID || p.Receipt.Duplicate {
			k.Errorf("posted %v: the receipt is %+v, the delivery's id %q", posted, *p.Receipt, d.ID)
		}
		e.settle(driver.Done, d)
	}
}

func sendAnyBytes(k *kit) {
	e := k.queue("anybytes", false)
	every := make([]byte, 256)
	for i := range every {
		every[i] = byte(i)
	}
	for _, body := range [][]byte{every, nil, {0}, []byte("\uFFFE"), []byte("ä\t\r\n"), []byte("-"), []byte(" ")} {
		e.put(driver.Message{Body: body})
		d := e.get(1)[0]
		if !bytes.Equal(d.Body, body) || d.Err != nil {
			k.Errorf("sent %q, received %q, %v", body, d.Body, d.Err)
		}
		e.settle(driver.Done, d)
	}
}

func sendBatch(k *kit) {
	e := k.queue("batch", false)
	n := min(max(e.send.Limits().Batch, 1), 100)
	var batch []driver.Prepared
	var want []string
	for i := range n {
		text := strings.Repeat("x", i+1)
		want = append(want, text)
		batch = append(batch, e.prepare(driver.Message{Body: []byte(text)}))
	}
	if err := e.send.Send(k.ctx, batch); err != nil {
		k.Fatal(err)
	}
	e.sameSet(e.get(n), want...)
}

func sendTooLarge(k *kit) {
	e := k.queue("toolarge", false)
	m := driver.Message{Body: make([]byte, 64<<20)}
	if k.h.Can.Large { // no body is too large then, but headers are
		m.Body, m.Header = nil, []driver.Header{{Name: "large", Value: strings.Repeat("x", 64<<20)}}
	}
	_, err := e.send.Prepare(k.ctx, &m)
	if driver.ClassOf(err) != driver.TooLarge || err == nil {
		k.Errorf("prepare 64 MiB: %v, of class %s, want %s", err, driver.ClassOf(err), driver.TooLarge)
	}
	e.put(bodies("small")...)
	e.sameSet(e.get(1), "small")
}

func sendBadHeader(k *kit) {
	e := k.queue("badheader", false)
	_, err := e.send.Prepare(k.ctx, &driver.Message{Header: []driver.Header{{Name: "culprit", Value: "\xff"}}})
	if err == nil || !strings.Contains(err.Error(), "culprit") {
		k.Errorf("prepare a header that is not UTF-8: %v, want an error that names it", err)
	}
	if driver.ClassOf(err).Passing() {
		k.Errorf("the error is of class %s, but repeating cannot help", driver.ClassOf(err))
	}
}

func sendDelay(k *kit) {
	e := k.queue("delay", false)
	due := time.Now().Add(4 * time.Second)
	e.put(driver.Message{Body: []byte("later"), Delay: 4 * time.Second}, driver.Message{Body: []byte("at once")})
	at := e.get(1)
	e.sameSet(at, "at once")
	e.nothing(2 * time.Second)
	later := e.get(1)
	e.sameSet(later, "later")
	if !at[0].Due.IsZero() {
		k.Errorf("a message without a delay is due at %v", at[0].Due)
	}
	if off := later[0].Due.Sub(due).Abs(); off > time.Second {
		k.Errorf("the delayed message has Due %v, want %v", later[0].Due, due)
	}
}

func sendAt(k *kit) {
	e := k.queue("at", false)
	due := time.Now().Add(4 * time.Second)
	waits := e.prepare(driver.Message{Body: []byte("at its time"), At: due})
	e.put(driver.Message{Body: []byte("over"), At: time.Now().Add(-time.Hour)})
	over := e.get(1)
	e.sameSet(over, "over")
	if !over[0].Due.IsZero() {
		k.Errorf("a message whose time was over when it was sent is due at %v", over[0].Due)
	}
	e.settle(driver.Done, over...)
	e.nothing(2 * time.Second)
	if err := e.send.Send(k.ctx, []driver.Prepared{waits}); err != nil {
		k.Fatal(err)
	}
	if time.Until(due) > time.Second { // otherwise the service was slow
		e.nothing(time.Until(due) - time.Second)
	}
	later := e.get(1)
	e.sameSet(later, "at its time")
	if late := time.Since(due); late < -time.Second || late > 2*time.Second {
		k.Errorf("a message that was sent 2s after it was prepared came %v after its time", late)
	}
	if off := later[0].Due.Sub(due).Abs(); off > time.Second {
		k.Errorf("the message has Due %v, want %v", later[0].Due, due)
	}
}

func sendLater(k *kit) {
	e := k.queue("delayed", true)
	producer := k.spec(driver.Channel{Queue: "delayed", Ordered: true})
	producer.Owner = false
	k.ensure(producer)
	e.put(driver.Message{Body: []byte("later"), OrderKey: "k", Delay: 4 * time.Second},
		driver.Message{Body: []byte("at once"), OrderKey: "k"})
	ds := e.get(1)
	e.sameSet(ds, "at once")
	e.settle(driver.Done, ds...)
	e.nothing(2 * time.Second)
	ds = e.get(1)
	e.sameSet(ds, "later")
	if ds[0].OrderKey != "k" {
		k.Errorf("the delayed message has the order key %q", ds[0].OrderKey)
	}
}

// putCancellable sends a message, and returns the id that cancels it.
func putCancellable(e *end, m driver.Message) string {
	e.k.Helper()
	m.Cancellable = true
	p := e.prepare(m)
	p.Receipt = &driver.Receipt{}
	if err := e.send.Send(e.k.ctx, []driver.Prepared{p}); err != nil {
		e.k.Fatal(err)
	}
	if p.Receipt.CancelID == "" || p.Receipt.CancelID == p.Receipt.ID {
		e.k.Fatalf("the receipt of a cancellable message is %+v", *p.Receipt)
	}
	return p.Receipt.CancelID
}

func sendCancel(k *kit) {
	e := k.queue("cancel", false)
	producer := k.spec(e.ch)
	producer.Owner = false
	k.ensure(producer)
	answers := func(id string, want bool) {
		k.Helper()
		for range 2 {
			if cancelled, err := k.do.Cancel(k.ctx, e.ch, id); err != nil || cancelled != want {
				k.Errorf("cancelled: %v, %v; want %v", cancelled, err, want)
			}
		}
	}
	delay := 3 * time.Second
	gone := putCancellable(e, driver.Message{Body: []byte("gone"), Delay: delay})
	stays := putCancellable(e, driver.Message{Body: []byte("stays"), Delay: delay})
	at := putCancellable(e, driver.Message{Body: []byte("at"), At: time.Now().Add(delay)})
	over := putCancellable(e, driver.Message{Body: []byte("over"), At: time.Now().Add(-time.Second)})
	ds := e.get(1)
	e.sameSet(ds, "over")
	e.settle(driver.Done, ds...)
	answers(over, false)
	answers(gone, true)
	ds = e.get(2)
	e.sameSet(ds, "stays", "at")
	e.settle(driver.Done, ds...)
	answers(stays, false)
	answers(at, false)
	answers(gone, true)
	e.nothing(patience)
}

func sendCancelID(k *kit) {
	e, other := k.queue("cancelid", false), k.queue("cancelother", false)
	for _, ch := range []driver.Channel{e.ch, other.ch} {
		producer := k.spec(ch)
		producer.Owner = false
		k.ensure(producer)
	}
	id := putCancellable(e, driver.Message{Body: []byte("x"), Delay: 2 * time.Second})
	for _, wrong := range []string{"x", id + "x", id[1:], "../" + id} {
		if _, err := k.do.Cancel(k.ctx, e.ch, wrong); err == nil || driver.ClassOf(err) != driver.Permanent {
			k.Errorf("%q: %v", wrong, err)
		}
	}
	if _, err := k.do.Cancel(k.ctx, other.ch, id); err == nil || driver.ClassOf(err) != driver.Permanent {
		k.Errorf("the id of another channel: %v", err)
	}
	ds := e.get(1)
	e.sameSet(ds, "x")
	e.settle(driver.Done, ds...)
}

func sendNow(k *kit) {
	e := k.queue("now", false)
	producer := k.spec(e.ch)
	producer.Owner = false
	k.ensure(producer)
	answers := func(id string, want bool) {
		k.Helper()
		if sends, err := k.do.SendNow(k.ctx, e.ch, id); err != nil || sends != want {
			k.Errorf("sent on: %v, %v; want %v", sends, err, want)
		}
	}
	wait := 5 * time.Minute
	p := e.prepare(driver.Message{Body: []byte("plain"), Delay: time.Hour})
	if err := e.send.Send(k.ctx, []driver.Prepared{p}); err != nil {
		k.Fatal(err)
	}
	waits := k.peek(driver.Channel{Queue: e.ch.Queue, Later: true}, driver.PeekFrom{}, 10)
	if len(waits) != 1 || waits[0].Cancellable {
		k.Fatalf("%+v waits", waits)
	}
	sooner := putCancellable(e, driver.Message{Body: []byte("sooner"), Delay: wait})
	gone := putCancellable(e, driver.Message{Body: []byte("gone"), Delay: wait})
	plain := waits[0].Delivery.ID
	answers(plain, true)
	answers(sooner, true)
	for id, want := range map[string]bool{sooner: false, gone: true} {
		if cancelled, err := k.do.Cancel(k.ctx, e.ch, id); err != nil || cancelled != want {
			k.Errorf("cancelled: %v, %v; want %v", cancelled, err, want)
		}
	}
	answers(gone, false)
	ds := e.get(2)
	e.sameSet(ds, "plain", "sooner")
	e.settle(driver.Done, ds...)
	e.nothing(patience)
	answers(plain, false)
	answers(sooner, false)
	for _, wrong := range []string{"x", sooner + "x", plain + "x"} {
		if _, err := k.do.SendNow(k.ctx, e.ch, wrong); err == nil || driver.ClassOf(err) != driver.Permanent {
			k.Errorf("%q: %v", wrong, err)
		}
	}
}

func sendTick(k *kit) {
	for name, ordered := range map[string]bool{"tick": false, "tickordered": true} {
		if ordered && !k.h.Can.Ordered {
			continue
		}
		e := k.queue(name, ordered)
		producer := k.spec(e.ch)
		producer.Owner = false
		k.ensure(producer)
		tick := func(text, id string) driver.Message {
			return driver.Message{Body: []byte(text), Tick: true, OrderKey: "schedule/a", DedupID: "schedule/a/" + id}
		}
		e.put(tick("first", "1"))
		other := *e
		other.send = k.sender(e.ch)
		other.put(tick("first of another process", "1"))
		other.put(tick("second", "2"))
		e.put(tick("second of another process", "2"))
		for _, want := range []string{"first", "second"} {
			ds := e.get(1)
			e.sameSet(ds, want)
			e.settle(driver.Done, ds...)
		}
		e.nothing(patience)
	}
}

func sendClock(k *kit) {
	e := k.queue("clock", false)
	before, err := k.do.Clock(k.ctx, e.ch)
	if err != nil {
		k.Fatal(err)
	}
	e.nothing(3 * time.Second)
	after, err := k.do.Clock(k.ctx, e.ch)
	if passed := after.Sub(before); err != nil || passed < 2*time.Second || passed > time.Minute {
		k.Errorf("the service's clock was %v, and is %v more than 3s later: %v", before, after, err)
	}
}

func sendPartial(k *kit) {
	e := k.queue("partial", false)
	if e.send.Limits().Batch < 3 {
		k.Skip("not run: the backend batches by itself")
	}
	var batch []driver.Prepared
	for _, m := range bodies("a", "b", "c") {
		batch = append(batch, e.prepare(m))
	}
	k.h.Faults.FailEntry(Send, 1)
	failed := k.entry(e.send.Send(k.ctx, batch), 1)
	if !driver.ClassOf(failed).Passing() {
		k.Errorf("the entry's error %v is of class %s, want a passing class", failed, driver.ClassOf(failed))
	}
	ds := e.get(2)
	e.sameSet(ds, "a", "c")
	if err := e.send.Send(k.ctx, batch[1:2]); err != nil {
		k.Fatalf("a prepared message could not be sent again: %v", err)
	}
	e.sameSet(e.get(1), "b")
}

func sendThrottled(k *kit) {
	e := k.queue("throttled", false)
	p := []driver.Prepared{e.prepare(bodies("a")[0])}
	k.h.Faults.Throttle(Send)
	if err := e.send.Send(k.ctx, p); driver.ClassOf(err) != driver.Throttled || err == nil {
		k.Errorf("send: %v, of class %s, want %s", err, driver.ClassOf(err), driver.Throttled)
	}
	e.nothing(wait)
}

func sendDenied(k *kit) {
	e := k.queue("denied", false)
	k.h.Faults.Deny(Send)
	if err := e.send.Send(k.ctx, []driver.Prepared{e.prepare(bodies("a")[0])}); driver.ClassOf(err) != driver.Denied ||
		err == nil {
		k.Errorf("send: %v, of class %s, want %s", err, driver.ClassOf(err), driver.Denied)
	}
}

func sendAnswerLost(k *kit) {
	e := k.queue("answerlost", false)
	k.h.Faults.LoseAnswer(Send)
	if err := e.send.Send(k.ctx,
		[]driver.Prepared{e.prepare(bodies("a")[0])}); driver.ClassOf(err) != driver.Transient || err == nil {
		k.Errorf("send: %v, of class %s, want %s", err, driver.ClassOf(err), driver.Transient)
	}
	e.sameSet(e.get(1), "a")
}
