package drivertest

import "github.com/godwitmq/godwit/driver"

func purgeCases() []testCase {
	return []testCase{{
		name:  "purge/all",
		shows: "a purge deletes all messages of the channel, and nothing of others; a dry run counts them",
		run:   purgeAll,
		needs: need("Operations.Purge and Operations.Inspect", func(h *Harness) bool {
			return h.Can.Purges && h.Can.Inspects
		}),
	}, {
		name:  "purge/deadletters",
		shows: "dead letters are purged apart from their channel",
		run:   purgeDeadLetters,
		needs: need("Operations.Purge and dead letters", func(h *Harness) bool {
			return h.Can.Purges && h.Can.DeadLetters
		}),
	}, {
		name:  "purge/refused",
		shows: "a channel that does not exist, and an exchange, cannot be purged",
		run:   purgeRefused,
		needs: need("Operations.Purge", func(h *Harness) bool { return h.Can.Purges }),
	}}
}

// purge purges a channel.
func (k *kit) purge(ch driver.Channel, dry bool, want int64) {
	k.Helper()
	p, err := k.do.Purge(k.ctx, ch, dry)
	if err != nil || p.Messages != want || len(p.Others) > 0 {
		k.Fatalf("purge %s (dry %v): %+v, %v, want %d messages and no others", ch, dry, p, err, want)
	}
}

func purgeAll(k *kit) {
	e, other := k.queue("purged", false), k.queue("unpurged", false)
	e.put(bodies("a", "b", "c")...)
	other.put(bodies("x")...)
	held := e.get(3)[:1] // the others are in flight, too
	k.purge(e.ch, true, 3)
	k.purge(e.ch, false, 3)
	// The service's answer for a message that is gone may be an error; the backend does not take it for one.
	_ = e.recv.Settle(k.ctx, []driver.Settlement{{Handle: held[0].Handle, Action: driver.Done}})
	e.put(bodies("d")...)
	ds := e.get(1)
	e.sameSet(ds, "d")
	e.settle(driver.Done, ds...)
	e.nothing(k.h.lease() + 2*wait)
	other.sameSet(other.get(1), "x")
}

func purgeDeadLetters(k *kit) {
	e := k.queue("purged", false)
	e.put(bodies("a")...)
	if err := e.recv.Settle(k.ctx, []driver.Settlement{
		{Handle: e.get(1)[0].Handle, Action: driver.Reject, Death: &driver.Death{Error: "bad", Kind: "permanent"}},
	}); err != nil {
		k.Fatal(err)
	}
	e.put(bodies("b")...)
	k.purge(deadOf(e.ch), true, 1)
	k.purge(deadOf(e.ch), false, 1)
	e.sameSet(e.get(1), "b")
	e.letters().nothing(2 * wait)
}

func purgeRefused(k *kit) {
	p := k.do
	_, err := p.Purge(k.ctx, driver.Channel{Queue: "none"}, false)
	if err == nil || driver.ClassOf(err) != driver.NotFound {
		k.Errorf("purge a channel that does not exist: %v, want it of class %s", err, driver.NotFound)
	}
	if !k.h.Can.Exchanges {
		return
	}
	ch := driver.Channel{Exchange: "purged", Queue: "one"}
	k.open(k.spec(ch), driver.Filter{})
	ch.Queue = ""
	if _, err := p.Purge(k.ctx, ch, false); err == nil || driver.ClassOf(err) != driver.Permanent {
		k.Errorf("purge an exchange: %v, want an error of class %s", err, driver.Permanent)
	}
}
