package drivertest

import (
	"time"

	"github.com/godwitmq/godwit/driver"
)

func leaseCases() []testCase {
	leases := need("leases", func(h *Harness) bool { return h.Can.Leases })
	return []testCase{
		{
			name: "lease/ends", run: leaseEnds, needs: leases,
			shows: "a message that is not settled is delivered again when its lease ends, not before",
		},
		{name: "lease/told", shows: "LeaseEnds is never later than the real end", run: leaseTold, needs: leases},
		{name: "lease/extend", shows: "an extended lease lasts", run: leaseExtend, needs: leases},
		{
			name: "lease/superseded", run: leaseSuperseded, needs: leases,
			shows: "a settle under a lost lease does not finish the new holder's delivery",
		},
		{
			name: "lease/finished", run: leaseFinished, needs: leases,
			shows: "a redelivery of a message that this receiver has finished is discarded",
		},
	}
}

func leaseEnds(k *kit) {
	e := k.queue("leaseends", false)
	e.put(bodies("a")...)
	first := e.get(1)[0]
	e.nothing(k.h.lease() - wait - wait/4)
	again := e.get(1)[0]
	if again.ID != first.ID || again.Received != 0 && again.Received != 2 {
		k.Errorf("received %s for the first time and %s with count %d", first.ID, again.ID, again.Received)
	}
}

func leaseTold(k *kit) {
	e := k.queue("leasetold", false)
	e.put(bodies("a")...)
	before := time.Now()
	d := e.get(1)[0]
	if d.LeaseEnds.IsZero() || d.LeaseEnds.Before(before) || d.LeaseEnds.After(time.Now().Add(k.h.lease())) {
		k.Errorf("received between %v and %v, the lease of %v ends %v", before, time.Now(), k.h.lease(), d.LeaseEnds)
	}
	if lim := e.recv.Limits(); lim.Lease != k.h.lease() {
		k.Errorf("Limits().Lease is %v, asked for %v", lim.Lease, k.h.lease())
	}
}

func leaseExtend(k *kit) {
	e := k.queue("extend", false)
	e.put(bodies("a")...)
	d := e.get(1)[0]
	x, ok := e.recv.(driver.Extender)
	if !ok {
		k.Fatal("the receiver has leases but is not a driver.Extender")
	}
	by := 3 * k.h.lease()
	asked := time.Now()
	ends, err := x.Extend(k.ctx, []driver.Handle{d.Handle}, by)
	if err != nil {
		k.Fatal(err)
	}
	if ends.Before(asked) || ends.After(time.Now().Add(by)) {
		k.Errorf("extended by %v at %v, Extend returned %v", by, asked, ends)
	}
	e.nothing(2 * k.h.lease())
	e.settle(driver.Done, d)
}

func leaseSuperseded(k *kit) {
	e := k.queue("superseded", false)
	other := &end{k: k, ch: e.ch, recv: k.receiver(e.ch, driver.Filter{})}
	e.put(bodies("a")...)
	old := e.get(1)[0]
	e.settle(driver.Release, old)
	held := other.get(1)[0]
	// Services differ in whether they report the lost lease; in either case the new holder's lease must last.
	_ = e.recv.Settle(k.ctx, []driver.Settlement{{Handle: old.Handle}})
	other.settle(driver.Release, held)
	other.sameSet(other.get(1), "a")
}

func leaseFinished(k *kit) {
	e := k.queue("finished", false)
	other := &end{k: k, ch: e.ch, recv: k.receiver(e.ch, driver.Filter{})}
	e.put(bodies("a")...)
	old := e.get(1)[0]
	e.settle(driver.Release, old)
	other.settle(driver.Release, other.get(1)[0])
	_ = e.recv.Settle(k.ctx, []driver.Settlement{{Handle: old.Handle}}) // late: finishes nothing at the service
	e.nothing(wait)
	other.nothing(k.h.lease() + wait)
}
