package drivertest

import "github.com/godwitmq/godwit/driver"

func rewindCases() []testCase {
	return []testCase{{
		name:  "rewind/start",
		shows: "after a rewind, finished messages are delivered again; a dry run and a refused rewind change nothing",
		run:   rewindStart,
		needs: need("Operations.Rewind", func(h *Harness) bool { return h.Can.Rewinds }),
	}}
}

func rewindStart(k *kit) {
	ch := driver.Channel{Queue: "rewound"}
	k.ensure(k.spec(ch))
	e := &end{k: k, ch: ch, send: k.sender(ch)}
	receive := func(want ...string) {
		r, err := k.backend.Receiver(k.ctx, ch, driver.ReceiverOptions{Concurrency: 10, Wait: wait, Lease: k.h.lease()})
		if err != nil {
			k.Fatal(err)
		}
		e.recv = r
		ds := e.get(len(want))
		e.sameSet(ds, want...)
		if _, err := k.rewind(ch, false); err == nil || driver.ClassOf(err).Passing() {
			k.Errorf("a rewind while a receiver is open: %v, want an error that does not pass", err)
		}
		e.settle(driver.Done, ds...)
		if err := r.Close(k.ctx); err != nil {
			k.Fatal(err)
		}
	}
	e.put(bodies("a", "b", "c")...)
	receive("a", "b", "c")
	for _, dry := range []bool{true, false} {
		ps, err := k.rewind(ch, dry)
		again := int64(0)
		for _, p := range ps {
			again += p.Again
		}
		if err != nil || again != 3 {
			k.Fatalf("dry %v: %v, %d again, want 3", dry, err, again)
		}
	}
	receive("a", "b", "c")
}

// rewind rewinds a channel to its start.
func (k *kit) rewind(ch driver.Channel, dry bool) ([]driver.PartitionRewind, error) {
	return k.do.Rewind(k.ctx, ch, driver.Position{From: driver.FromStart}, dry)
}
