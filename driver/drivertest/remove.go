package drivertest

import (
	"slices"
	"time"

	"github.com/godwitmq/godwit/driver"
)

func removeCases() []testCase {
	removes := func(h *Harness) bool { return h.Can.Removes && h.Can.Lists && h.Can.Provisions && h.Can.DeadLetters }
	return []testCase{{
		name:  "remove/queue",
		shows: "a queue is removed alone, then its dead letters; a dry run removes nothing",
		run:   removeQueue,
		needs: need("Operations.Remove, Operations.Catalog, a driver.Provisioner and dead letters", removes),
	}, {
		name:  "remove/exchange",
		shows: "an exchange is removed only when its queues are; a removed queue gets nothing more",
		run:   removeExchange,
		needs: need("Operations.Remove, Operations.Catalog, a driver.Provisioner, dead letters and exchanges",
			func(h *Harness) bool { return removes(h) && h.Can.Exchanges }),
	}, {
		name:  "remove/none",
		shows: "a channel that does not exist cannot be removed",
		run:   removeNone,
		needs: need("Operations.Remove", func(h *Harness) bool { return h.Can.Removes }),
	}}
}

// remove removes a channel.
func (k *kit) remove(ch driver.Channel, dry bool) driver.Removed {
	k.Helper()
	r, err := k.do.Remove(k.ctx, ch, dry)
	for try := 0; err != nil && driver.ClassOf(err).Passing() && try < 10; try++ { // a new broker may need a moment
		time.Sleep(time.Second)
		r, err = k.do.Remove(k.ctx, ch, dry)
	}
	if err != nil || len(r.Resources) == 0 {
		k.Fatalf("remove %s (dry %v): %+v, %v", ch, dry, r, err)
	}
	return r
}

// exists checks which of some channels the catalog lists, after a while: a catalog may be late.
func (k *kit) exists(of []string, want ...string) {
	k.Helper()
	got := k.listed(of...)
	for begun := time.Now(); !slices.Equal(got, want); got = k.listed(of...) {
		if time.Since(begun) > 2*patience {
			k.Fatalf("listed %v, want %v", got, want)
		}
		time.Sleep(wait)
	}
}

func removeQueue(k *kit) {
	all := []string{"other", "other@dlq", "removed", "removed@dlq"}
	e := k.queue("removed", false)
	k.queue("other", false)
	e.put(bodies("a", "b")...)
	for _, d := range e.get(2) {
		e.settle(driver.Done, d)
	}
	e.put(bodies("c")...)
	k.closeAll()
	k.exists(all, all...)
	planned := k.remove(e.ch, true)
	k.exists(all, all...)
	// The count is approximate: brokers may still count finished records of a share group.
	if done := k.remove(e.ch, false); !slices.Equal(done.Resources, planned.Resources) || done.Messages < 1 {
		k.Errorf("removed %+v, planned %+v, with 1 message", done, planned)
	}
	k.exists(all, "other", "other@dlq", "removed@dlq")
	k.remove(deadOf(e.ch), false)
	k.exists(all, "other", "other@dlq")
}

func removeExchange(k *kit) {
	all := []string{"removed.*", "removed.one", "removed.two"}
	one, two := driver.Channel{Exchange: "removed", Queue: "one"}, driver.Channel{Exchange: "removed", Queue: "two"}
	e := k.open(k.spec(one), driver.Filter{})
	other := k.open(k.spec(two), driver.Filter{})
	e.put(bodies("a")...)
	for _, x := range []*end{e, other} {
		x.settle(driver.Done, x.get(1)...)
	}
	k.closeAll()
	whole := driver.Channel{Exchange: "removed"}
	_, err := k.do.Remove(k.ctx, whole, false)
	if err == nil || driver.ClassOf(err) != driver.Permanent {
		k.Fatalf("remove an exchange with queues: %v, want an error of class %s", err, driver.Permanent)
	}
	k.exists(all, all...)
	k.remove(one, false)
	k.remove(deadOf(one), false)
	k.exists(all, "removed.*", "removed.two")
	again := &end{k: k, ch: two, send: k.sender(whole), recv: k.receiver(two, driver.Filter{})}
	again.put(bodies("b")...)
	ds := again.get(1)
	again.sameSet(ds, "b")
	again.settle(driver.Done, ds...)
	k.closeAll()
	for _, ch := range []driver.Channel{two, deadOf(two), whole} {
		k.remove(ch, false)
	}
	k.exists(all)
}

func deadOf(ch driver.Channel) driver.Channel {
	ch.DeadLetter = true
	return ch
}

func removeNone(k *kit) {
	for _, ch := range []driver.Channel{{Queue: "none"}, {Exchange: "none"}, {Queue: "none", DeadLetter: true}} {
		if k.h.Can.Exchanges || ch.Exchange == "" {
			_, err := k.do.Remove(k.ctx, ch, false)
			if err == nil || driver.ClassOf(err) != driver.NotFound {
				k.Errorf("remove %s, which does not exist: %v, want it of class %s", ch, err, driver.NotFound)
			}
		}
	}
}
