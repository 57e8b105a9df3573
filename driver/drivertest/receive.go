package drivertest

import (
	"context"
	"time"

	"github.com/godwitmq/godwit/driver"
)

func receiveCases() []testCase {
	longPolls := need("long polls", func(h *Harness) bool { return h.Can.LongPolls })
	return []testCase{
		{name: "receive/most", shows: "a receive returns no more than it was asked for", run: receiveMost},
		{name: "receive/appends", shows: "a receive appends to what it was given", run: receiveAppends},
		{name: "receive/empty", shows: "an empty poll ends without an error when its wait is over", run: receiveEmpty},
		{
			name: "receive/wakes", run: receiveWakes, needs: longPolls,
			shows: "an open poll returns as soon as a message is sent",
		},
		{
			name: "receive/cancel", run: receiveCancel,
			shows: "a canceled poll returns without an error and loses nothing",
		},
		{
			name: "receive/throttled", run: receiveThrottled,
			needs: need("Faults.Throttle", func(h *Harness) bool { return h.Faults.Throttle != nil }),
			shows: "the error of a poll that is refused as too frequent is of class Throttled",
		},
		{name: "receive/stalls", shows: "a receiver that returns messages complains of no stall", run: receiveStalls},
		{
			name: "receive/native", run: receiveNative,
			shows: "As knows the provenance of what is held, and no type of another package",
		},
		{
			name: "receive/uncommitted", run: receiveUncommitted,
			shows: "a driver.Log counts what is finished, and nothing else",
		},
	}
}

func receiveStalls(k *kit) {
	e := k.queue("stalls", false)
	s, ok := e.recv.(driver.Log)
	if !ok {
		return // nothing holds it up
	}
	e.put(bodies("a", "b")...)
	e.settle(driver.Done, e.get(2)...)
	if times, complaints := s.Stalls(time.Now().Add(driver.StallLasts)); times > 0 || len(complaints) > 0 {
		k.Errorf("%d stalls, complaints %q", times, complaints)
	}
}

func receiveNative(k *kit) {
	e := k.queue("native", false)
	e.put(bodies("a", "b")...)
	ds := e.get(2)
	var first, second driver.Provenance
	if !e.recv.As(ds[0].Handle, &first) || !e.recv.As(ds[1].Handle, &second) {
		k.Error("As does not know *driver.Provenance of a held delivery")
	}
	if first == second && first.Partition != "" {
		k.Errorf("two messages are at the same position: %+v", first)
	}
	type foreign struct{}
	if e.recv.As(ds[0].Handle, &foreign{}) || e.recv.As(ds[0].Handle, nil) {
		k.Error("As has accepted a type that it cannot know")
	}
	e.settle(driver.Done, ds...)
}

func receiveUncommitted(k *kit) {
	e := k.queue("uncommitted", false)
	log, ok := e.recv.(driver.Log)
	if !ok {
		return // nothing finished is delivered again
	}
	e.put(bodies("a", "b")...)
	ds := e.get(2)
	if n := log.Uncommitted(); n != 0 {
		k.Errorf("%d messages are finished, and none was settled", n)
	}
	e.settle(driver.Done, ds...)
	if n := log.Uncommitted(); n < 0 || n > 2 {
		k.Errorf("%d messages are finished and not committed, and two were settled", n)
	}
}

func receiveMost(k *kit) {
	e := k.queue("most", false)
	e.put(bodies("a", "b", "c", "d")...)
	ds, err := e.recv.Receive(k.ctx, driver.Ask{Max: 2}, nil)
	if err != nil || len(ds) > 2 {
		k.Errorf("asked for 2, received %s, %v", describe(ds), err)
	}
	e.sameSet(append(ds, e.get(4-len(ds))...), "a", "b", "c", "d")
}

func receiveAppends(k *kit) {
	e := k.queue("appends", false)
	e.put(bodies("new")...)
	ds := []driver.Delivery{{Body: []byte("old")}}
	for end := time.Now().Add(patience); len(ds) == 1 && time.Now().Before(end); {
		var err error
		if ds, err = e.recv.Receive(k.ctx, driver.Ask{Max: 1}, ds); err != nil {
			k.Fatal(err)
		}
	}
	e.sameOrder(ds, "old", "new")
}

func receiveEmpty(k *kit) {
	e := k.queue("empty", false)
	begun := time.Now()
	ds, err := e.recv.Receive(k.ctx, driver.Ask{Max: 1}, nil)
	if err != nil || len(ds) > 0 {
		k.Errorf("received %s, %v", describe(ds), err)
	}
	if took := time.Since(begun); took > wait+patience {
		k.Errorf("an empty poll of %v took %v", wait, took)
	}
}

func receiveWakes(k *kit) {
	e := k.queue("wakes", false)
	p := e.prepare(bodies("now")[0])
	sent := make(chan error, 1)
	go func() {
		time.Sleep(wait / 4)
		sent <- e.send.Send(k.ctx, []driver.Prepared{p})
	}()
	begun := time.Now()
	ds, err := e.recv.Receive(k.ctx, driver.Ask{Max: 1}, nil)
	took := time.Since(begun)
	if err := <-sent; err != nil {
		k.Fatal(err)
	}
	if err != nil || len(ds) != 1 {
		k.Fatalf("received %s, %v", describe(ds), err)
	}
	if took > wait*3/4 {
		k.Errorf("the poll returned after %v; the message was sent after %v", took, wait/4)
	}
}

func receiveCancel(k *kit) {
	e := k.queue("cancel", false)
	ctx, cancel := context.WithTimeout(k.ctx, wait/4)
	defer cancel()
	ds, err := e.recv.Receive(ctx, driver.Ask{Max: 1}, nil)
	if err != nil || len(ds) > 0 {
		k.Errorf("received %s, %v", describe(ds), err)
	}
	if ds, err = e.recv.Receive(ctx, driver.Ask{Max: 1}, nil); err != nil || len(ds) > 0 {
		k.Errorf("with a context that had ended before: received %s, %v", describe(ds), err)
	}
	e.put(bodies("kept")...)
	e.sameSet(e.get(1), "kept")
}

func receiveThrottled(k *kit) {
	e := k.queue("receivethrottled", false)
	k.h.Faults.Throttle(Receive)
	if _, err := e.recv.Receive(k.ctx, driver.Ask{Max: 1}, nil); driver.ClassOf(err) != driver.Throttled || err == nil {
		k.Errorf("receive: %v, of class %s, want %s", err, driver.ClassOf(err), driver.Throttled)
	}
}
