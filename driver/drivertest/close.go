package drivertest

import (
	"context"
	"errors"

	"github.com/godwitmq/godwit/driver"
)

func closeCases() []testCase {
	return []testCase{
		{
			name: "close/ends", run: closeEnds,
			shows: "a closed sender and receiver answer ErrClosed, and closing twice is no error",
		},
		{name: "close/backend", shows: "a closed backend opens nothing", run: closeBackend},
		{
			name: "close/unsettled", run: closeUnsettled,
			shows: "messages that were not settled at Close are delivered again",
		},
	}
}

func closeEnds(k *kit) {
	e := k.queue("closeends", false)
	p := e.prepare(bodies("late")[0])
	for range 2 {
		if err := errors.Join(e.send.Close(k.ctx), e.recv.Close(k.ctx)); err != nil {
			k.Errorf("close: %v", err)
		}
	}
	if err := e.send.Send(k.ctx, []driver.Prepared{p}); !errors.Is(err, driver.ErrClosed) {
		k.Errorf("send after close: %v, want %v", err, driver.ErrClosed)
	}
	if _, err := e.recv.Receive(k.ctx, driver.Ask{Max: 1}, nil); !errors.Is(err, driver.ErrClosed) {
		k.Errorf("receive after close: %v, want %v", err, driver.ErrClosed)
	}
}

func closeBackend(k *kit) {
	e := k.queue("closebackend", false)
	_ = errors.Join(e.send.Close(k.ctx), e.recv.Close(k.ctx))
	for range 2 {
		if err := k.backend.Close(context.Background()); err != nil {
			k.Errorf("close: %v", err)
		}
	}
	_, serr := k.backend.Sender(k.ctx, e.ch)
	_, rerr := k.backend.Receiver(k.ctx, e.ch, driver.ReceiverOptions{Concurrency: 1})
	errs := []error{serr, rerr}
	if p, ok := k.backend.(driver.Provisioner); ok {
		errs = append(errs, p.Ensure(k.ctx, k.spec(e.ch)))
	}
	for _, err := range errs {
		if !errors.Is(err, driver.ErrClosed) {
			k.Errorf("use after close: %v, want %v", err, driver.ErrClosed)
		}
	}
}

func closeUnsettled(k *kit) {
	e := k.queue("closeunsettled", false)
	e.put(bodies("a")...)
	e.get(1)
	if err := e.recv.Close(k.ctx); err != nil {
		k.Fatal(err)
	}
	e.recv = k.receiver(e.ch, driver.Filter{})
	if ds := e.upTo(1, k.h.lease()+patience); len(ds) != 1 {
		k.Errorf("received %s, want the message that was not settled", describe(ds))
	}
}
