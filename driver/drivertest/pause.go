package drivertest

import (
	"errors"
	"time"

	"github.com/godwitmq/godwit/driver"
)

func pauseCases() []testCase {
	pauses := need("Operations.Pause and a driver.Provisioner", func(h *Harness) bool {
		return h.Can.Pauses && h.Can.Provisions
	})
	return []testCase{{
		name: "pause/receive", needs: pauses, run: pauseReceive,
		shows: "while a channel is paused, a receive is refused with ErrPaused, and all else works",
	}, {
		name: "pause/dry", needs: pauses, run: pauseDry,
		shows: "a dry run, and a pause of a paused channel, change nothing and say so",
	}, {
		name: "pause/provision", needs: pauses, run: pauseProvision,
		shows: "provisioning does not end a pause, and does not report it as a difference",
	}, {
		name: "pause/refused", needs: pauses, run: pauseRefused,
		shows: "a channel that does not exist cannot be paused, and neither can an exchange",
	}}
}

// pause pauses or resumes a channel.
func (k *kit) pause(ch driver.Channel, on, dry, changes bool) {
	k.Helper()
	p := k.do
	do, what := p.Resume, "resume"
	if on {
		do, what = p.Pause, "pause"
	}
	if got, err := do(k.ctx, ch, dry); err != nil || got != changes {
		k.Fatalf("%s %s (dry %v): changes %v, %v; want %v", what, ch, dry, got, err, changes)
	}
}

// refused fails the case unless a receive is refused because of a pause.
func (e *end) refused() {
	e.k.Helper()
	ds, err := e.recv.Receive(e.k.ctx, driver.Ask{Max: 1}, nil)
	if !errors.Is(err, driver.ErrPaused) || driver.ClassOf(err) != driver.Transient || len(ds) > 0 {
		e.k.Fatalf("received %s, %v, want ErrPaused of class %s", describe(ds), err, driver.Transient)
	}
}

func pauseReceive(k *kit) {
	e := k.queue("paused", false)
	e.put(bodies("a")...)
	held := e.get(1)
	k.pause(e.ch, true, false, true)
	e.put(bodies("b")...)
	e.refused()
	e.refused()
	e.settle(driver.Done, held...)
	k.pause(e.ch, false, false, true)
	e.sameSet(e.get(1), "b")
	e.nothing(2 * wait)
}

func pauseDry(k *kit) {
	e := k.queue("paused", false)
	e.put(bodies("a")...)
	k.pause(e.ch, false, false, false)
	k.pause(e.ch, true, true, true)
	ds := e.get(1)
	k.pause(e.ch, true, false, true)
	k.pause(e.ch, true, false, false)
	k.pause(e.ch, false, true, true)
	e.refused()
	k.pausedInCatalog(e.ch, true)
	k.pause(e.ch, false, false, true)
	k.pausedInCatalog(e.ch, false)
	e.settle(driver.Release, ds...)
	e.get(1)
}

// pausedInCatalog checks what the catalog says about a channel.
func (k *kit) pausedInCatalog(ch driver.Channel, want bool) {
	k.Helper()
	if !k.h.Can.Lists {
		return
	}
	all, err := k.do.Catalog(k.ctx)
	if err != nil {
		k.Fatal(err)
	}
	for _, c := range all {
		if c.Channel == ch && c.Paused != want {
			k.Errorf("the catalog lists %s with Paused %v, want %v", ch, c.Paused, want)
		}
	}
}

func pauseProvision(k *kit) {
	s := k.spec(driver.Channel{Queue: "paused"})
	e := k.open(s, driver.Filter{})
	k.pause(e.ch, true, false, true)
	s.Lease += time.Second // so that there is something to change
	k.ensure(s)
	e.refused()
	s.Mode = driver.Verify
	k.ensure(s)
	e.refused()
}

func pauseRefused(k *kit) {
	p := k.do
	_, err := p.Pause(k.ctx, driver.Channel{Queue: "none"}, false)
	if driver.ClassOf(err) != driver.NotFound || err == nil {
		k.Errorf("pause a channel that does not exist: %v, want it of class %s", err, driver.NotFound)
	}
	if !k.h.Can.Exchanges {
		return
	}
	ch := driver.Channel{Exchange: "paused", Queue: "one"}
	k.open(k.spec(ch), driver.Filter{})
	ch.Queue = ""
	for _, do := range []func() (bool, error){
		func() (bool, error) { return p.Pause(k.ctx, ch, false) },
		func() (bool, error) { return p.Resume(k.ctx, ch, false) },
	} {
		if _, err := do(); err == nil || driver.ClassOf(err) != driver.Permanent {
			k.Errorf("pause or resume an exchange: %v, want an error of class %s", err, driver.Permanent)
		}
	}
}
