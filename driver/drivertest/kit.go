package drivertest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/godwitmq/godwit/driver"
)

// patience is how long the kit waits for an expected event, beyond the duration of the case itself. In a bubble it
// costs no real time.
const patience = 5 * time.Second

// wait is the duration of one long poll of the kit.
const wait = time.Second

// kit is the environment of a case: a backend, and everything that the case opened on it.
type kit struct {
	testing.TB
	h       *Harness
	ctx     context.Context
	backend driver.Backend
	do      driver.Operations
	opened  []interface{ Close(context.Context) error }
}

// end is one channel, opened for sending and for receiving.
type end struct {
	k    *kit
	ch   driver.Channel
	send driver.Sender
	recv driver.Receiver
}

func newKit(t testing.TB, h *Harness) *kit {
	t.Helper()
	b := h.Open(t)
	return &kit{TB: t, h: h, ctx: t.Context(), backend: b, do: driver.OperationsOf(b)}
}

// closeAll closes what the case has opened.
func (k *kit) closeAll() {
	k.Helper()
	for i := len(k.opened) - 1; i >= 0; i-- {
		if err := k.opened[i].Close(context.Background()); err != nil && !errors.Is(err, driver.ErrClosed) {
			k.Errorf("close: %v", err)
		}
	}
	k.opened = nil
}

func (k *kit) close() {
	k.closeAll()
	if err := k.backend.Close(context.Background()); err != nil && !errors.Is(err, driver.ErrClosed) {
		k.Errorf("close the backend: %v", err)
	}
}

// queue provisions a one-to-one channel and opens its sender and receiver.
func (k *kit) queue(name string, ordered bool) *end {
	k.Helper()
	return k.open(k.spec(driver.Channel{Queue: name, Ordered: ordered}), driver.Filter{})
}

// spec returns the ChannelSpec of a consumer of the kit.
func (k *kit) spec(ch driver.Channel) driver.ChannelSpec {
	return driver.ChannelSpec{
		Channel: ch, Owner: true, Lease: k.h.lease(), MaxReceives: 100,
		NoDeadLetters: !k.h.Can.DeadLetters,
	}
}

func (k *kit) open(s driver.ChannelSpec, f driver.Filter) *end {
	k.Helper()
	k.ensure(s)
	e := &end{k: k, ch: s.Channel}
	to := s.Channel
	if to.Exchange != "" {
		to.Queue = ""
	}
	e.send = k.sender(to)
	e.recv = k.receiver(s.Channel, f)
	return e
}

func (k *kit) ensure(s driver.ChannelSpec) {
	k.Helper()
	if p, ok := k.backend.(driver.Provisioner); ok {
		if err := p.Ensure(k.ctx, s); err != nil {
			k.Fatalf("provision %s: %v", s.Channel, err)
		}
	}
}

func (k *kit) sender(to driver.Channel) driver.Sender {
	k.Helper()
	s, err := k.backend.Sender(k.ctx, to)
	if err != nil {
		k.Fatalf("open the sender to %s: %v", to, err)
	}
	k.opened = append(k.opened, s)
	return s
}

func (k *kit) receiver(from driver.Channel, f driver.Filter) driver.Receiver {
	k.Helper()
	return k.receiverFor(from, driver.ReceiverOptions{Filter: f})
}

// receiverFor is receiver with more options.
func (k *kit) receiverFor(from driver.Channel, o driver.ReceiverOptions) driver.Receiver {
	k.Helper()
	o.Concurrency, o.Wait, o.Lease = 10, wait, k.h.lease()
	r, err := k.backend.Receiver(k.ctx, from, o)
	if err != nil {
		k.Fatalf("open the receiver of %s: %v", from, err)
	}
	k.opened = append(k.opened, r)
	return r
}

// put sends messages one at a time, in order.
func (e *end) put(ms ...driver.Message) {
	e.k.Helper()
	for _, m := range ms {
		p := e.prepare(m)
		if err := e.send.Send(e.k.ctx, []driver.Prepared{p}); err != nil {
			e.k.Fatalf("send: %v", err)
		}
	}
}

func (e *end) prepare(m driver.Message) driver.Prepared {
	e.k.Helper()
	p, err := e.send.Prepare(e.k.ctx, &m)
	if err != nil {
		e.k.Fatalf("prepare: %v", err)
	}
	return p
}

// bodies returns one message per text.
func bodies(texts ...string) []driver.Message {
	ms := make([]driver.Message, len(texts))
	for i, text := range texts {
		ms[i] = driver.Message{Body: []byte(text)}
	}
	return ms
}

// get receives until it has n deliveries, or fails.
func (e *end) get(n int) []driver.Delivery {
	e.k.Helper()
	ds := e.upTo(n, patience)
	if len(ds) != n {
		e.k.Fatalf("received %d of %d deliveries: %s", len(ds), n, describe(ds))
	}
	return ds
}

// upTo receives until it has n deliveries or the duration is over.
func (e *end) upTo(n int, within time.Duration) []driver.Delivery {
	e.k.Helper()
	var ds []driver.Delivery
	for end := time.Now().Add(within); len(ds) < n && time.Now().Before(end); {
		var err error
		if ds, err = e.recv.Receive(e.k.ctx, driver.Ask{Max: n - len(ds)}, ds); err != nil {
			e.k.Fatalf("receive: %v", err)
		}
	}
	return ds
}

// nothing fails the case if a message can be received within the duration.
func (e *end) nothing(within time.Duration) {
	e.k.Helper()
	if ds := e.upTo(1, within); len(ds) > 0 {
		e.k.Fatalf("received %s; nothing should have come", describe(ds))
	}
}

func (e *end) settle(action driver.Action, ds ...driver.Delivery) {
	e.k.Helper()
	if f, ok := e.recv.(driver.Finisher); ok && action == driver.Done { // as the core does
		for i := range ds {
			f.Finish(ds[i].Handle)
		}
		return
	}
	ss := make([]driver.Settlement, len(ds))
	for i := range ds {
		ss[i] = driver.Settlement{Handle: ds[i].Handle, Action: action}
	}
	if err := e.recv.Settle(e.k.ctx, ss); err != nil {
		e.k.Fatalf("settle as %s: %v", action, err)
	}
}

// sameSet checks that the deliveries have exactly these bodies, in any order.
func (e *end) sameSet(ds []driver.Delivery, want ...string) {
	e.k.Helper()
	left := map[string]int{}
	for _, w := range want {
		left[w]++
	}
	for _, d := range ds {
		left[string(d.Body)]--
	}
	for body, n := range left {
		if n != 0 {
			e.k.Errorf("received %s, want %q (%q came %d times too often)", describe(ds), want, body, -n)
			return
		}
	}
}

// sameOrder checks that the deliveries have exactly these bodies, in this order.
func (e *end) sameOrder(ds []driver.Delivery, want ...string) {
	e.k.Helper()
	for i := range max(len(ds), len(want)) {
		if i >= len(ds) || i >= len(want) || string(ds[i].Body) != want[i] {
			e.k.Errorf("received %s, want %q in this order", describe(ds), want)
			return
		}
	}
}

func describe(ds []driver.Delivery) string {
	texts := make([]string, len(ds))
	for i, d := range ds {
		texts[i] = fmt.Sprintf("%.40q", d.Body)
	}
	return fmt.Sprint(texts)
}

// entry returns the error of entry i, and fails the case if another entry has an error too.
func (k *kit) entry(err error, i int) error {
	k.Helper()
	var batch *driver.BatchError
	if !errors.As(err, &batch) {
		k.Fatalf("the answer is %v, want a *driver.BatchError", err)
	}
	if len(batch.Errs) != 1 || batch.Errs[i] == nil {
		k.Fatalf("the answer is %v, want entry %d alone to have failed", err, i)
	}
	return batch.Errs[i]
}
