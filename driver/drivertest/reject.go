package drivertest

import (
	"time"

	"github.com/godwitmq/godwit/driver"
)

func rejectCases() []testCase {
	dead := need("dead letters", func(h *Harness) bool { return h.Can.DeadLetters })
	return []testCase{
		{name: "reject/copied", shows: "a rejected message waits in the dead letters with its reasons, as it was", run: rejectCopied, needs: dead},
		{name: "reject/ordered", shows: "rejecting twice on an ordered channel leaves one dead letter", run: rejectOrdered,
			needs: need("dead letters, ordered channels and leases", func(h *Harness) bool { return h.Can.DeadLetters && h.Can.Ordered && h.Can.Leases })},
	}
}

func rejectCopied(k *kit) {
	e := k.queue("rejectcopied", false)
	e.put(driver.Message{Body: []byte("bad"), RoutingKey: "A.B", Header: []driver.Header{{Name: "locale", Value: "de"}}})
	d := e.get(1)[0]
	at := time.Now().Truncate(time.Second)
	death := &driver.Death{Error: "no such user", Kind: "permanent", Consumer: "billing", Channel: e.ch.String(), Attempts: 3, First: at.Add(-time.Minute), Last: at}
	if err := e.recv.Settle(k.ctx, []driver.Settlement{{Handle: d.Handle, Action: driver.Reject, Attempt: 3, Death: death}}); err != nil {
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
		k.Errorf("it says that it comes from %s as %s, was %s as %s", o.Channel, o.ID, e.ch, d.ID)
	}
	if x := o.Death; x.Error != death.Error || x.Kind != death.Kind || x.Consumer != death.Consumer || x.Channel != death.Channel ||
		x.Attempts != 3 || !x.First.Equal(death.First) || !x.Last.Equal(death.Last) {
		k.Errorf("it died of %+v, want %+v", x, *death)
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

func rejectOrdered(k *kit) {
	e := k.queue("rejectordered", true)
	e.put(keyed("ada", "bad")...)
	d := e.get(1)[0]
	s := []driver.Settlement{{Handle: d.Handle, Action: driver.Reject, Death: &driver.Death{Error: "first"}}}
	if err := e.recv.Settle(k.ctx, s); err != nil {
		k.Fatal(err)
	}
	_ = e.recv.Settle(k.ctx, s) // as after a lost answer; the delete may well say that the message is gone
	letters := e.letters()
	e.sameOrder(letters.get(1), "bad")
	letters.nothing(wait)
}
