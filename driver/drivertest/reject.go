package drivertest

import (
	"time"

	"github.com/godwitmq/godwit/driver"
)

func rejectCases() []testCase {
	dead := need("dead letters", func(h *Harness) bool { return h.Can.DeadLetters })
	return []testCase{
		{
			name: "reject/copied", run: rejectCopied, needs: dead,
			shows: "a rejected message is a dead letter with the reasons, otherwise unchanged",
		},
		{
			name:  "reject/found",
			shows: "opening dead letters finds them as they are, and creates nothing",
			run:   rejectFound,
			needs: need("dead letters and a driver.Provisioner",
				func(h *Harness) bool { return h.Can.DeadLetters && h.Can.Provisions }),
		},
		{
			name:  "reject/ordered",
			shows: "rejecting twice on an ordered channel leaves one dead letter",
			run:   rejectOrdered,
			needs: need("dead letters, ordered channels and leases",
				func(h *Harness) bool { return h.Can.DeadLetters && h.Can.Ordered && h.Can.Leases }),
		},
	}
}

func rejectCopied(k *kit) {
	e := k.queue("rejectcopied", false)
	e.put(driver.Message{
		Body: []byte("bad"), RoutingKey: "A.B",
		Header: []driver.Header{{Name: "locale", Value: "de"}},
	})
	d := e.get(1)[0]
	at := time.Now().Truncate(time.Second)
	death := &driver.Death{
		Error: "no such user", Kind: "permanent", Consumer: "billing", Channel: e.ch.String(),
		Attempts: 3, First: at.Add(-time.Minute), Last: at,
	}
	if err := e.recv.Settle(k.ctx,
		[]driver.Settlement{{Handle: d.Handle, Action: driver.Reject, Attempt: 3, Death: death}}); err != nil {
		k.Fatal(err)
	}
	letters := e.letters()
	got := letters.get(1)[0]
	if string(got.Body) != "bad" || got.RoutingKey != "A.B" || len(got.Header) != 1 || got.Header[0].Value != "de" {
		k.Errorf("the dead letter is %q with routing key %q and headers %v", got.Body, got.RoutingKey, got.Header)
	}
	o := got.Origin
	if o == nil {
		k.Fatal("the dead letter has no origin")
	}
	if o.Channel != e.ch || o.ID != d.ID {
		k.Errorf("its origin is channel %s, id %s; want channel %s, id %s", o.Channel, o.ID, e.ch, d.ID)
	}
	if x := o.Death; x.Error != death.Error || x.Kind != death.Kind || x.Consumer != death.Consumer ||
		x.Channel != death.Channel ||
		x.Attempts != 3 || !x.First.Equal(death.First) || !x.Last.Equal(death.Last) {
		k.Errorf("its Death is %+v, want %+v", x, *death)
	}
	e.nothing(k.h.lease() + wait)
}

// letters opens the dead letters of a channel.
func (e *end) letters() *end {
	e.k.Helper()
	ch := e.ch
	ch.DeadLetter = true
	return &end{k: e.k, ch: ch, recv: e.k.receiver(ch, driver.Filter{})}
}

func rejectFound(k *kit) {
	p := k.backend.(driver.Provisioner)
	kinds := []bool{false}
	if k.h.Can.Ordered {
		kinds = append(kinds, true)
	}
	for _, ordered := range kinds {
		ch := driver.Channel{Queue: "none", Ordered: ordered, DeadLetter: true}
		k.ensure(driver.ChannelSpec{Channel: ch, Owner: true, Mode: driver.Never})
		for _, owner := range []bool{false, true} {
			err := p.Ensure(k.ctx, driver.ChannelSpec{Channel: ch, Owner: owner})
			if driver.ClassOf(err) != driver.NotFound || err == nil {
				k.Errorf("provision dead letters that no consumer has created: %v, of class %s, want %s", err,
					driver.ClassOf(err), driver.NotFound)
			}
		}
		if _, err := p.Find(k.ctx, ch); driver.ClassOf(err) != driver.NotFound || err == nil {
			k.Errorf("find dead letters that do not exist: %v, of class %s, want %s", err, driver.ClassOf(err),
				driver.NotFound)
		}
	}
	for i, ordered := range kinds {
		e := k.queue([]string{"found", "foundordered"}[i], ordered)
		dead := e.ch
		dead.DeadLetter = true
		for _, asked := range kinds {
			dead.Ordered = asked
			found, err := p.Find(k.ctx, dead)
			if err != nil {
				k.Fatalf("find %s as ordered %v: %v", dead, asked, err)
			}
			if found.Queue != dead.Queue || !found.DeadLetter {
				k.Errorf("found %s, asked for %s", found, dead)
			}
			if want := k.h.Can.TellsOrder && ordered || !k.h.Can.TellsOrder && asked; found.Ordered != want {
				k.Errorf("dead letters of a channel with Ordered %v, requested with Ordered %v, were found with %v",
					ordered,
					asked, found.Ordered)
			}
		}
	}
}

func rejectOrdered(k *kit) {
	e := k.queue("rejectordered", true)
	e.put(keyed("ada", "bad")...)
	d := e.get(1)[0]
	s := []driver.Settlement{{Handle: d.Handle, Action: driver.Reject, Death: &driver.Death{Error: "first"}}}
	if err := e.recv.Settle(k.ctx, s); err != nil {
		k.Fatal(err)
	}
	_ = e.recv.Settle(k.ctx, s) // as after a lost answer; the delete may report that the message is gone
	letters := e.letters()
	e.sameOrder(letters.get(1), "bad")
	letters.nothing(wait)
}
