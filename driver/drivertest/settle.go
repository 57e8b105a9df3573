package drivertest

import (
	"time"

	"github.com/godwitmq/godwit/driver"
)

func settleCases() []testCase {
	return []testCase{
		{name: "settle/done", shows: "a delivery that is done is not delivered again", run: settleDone},
		{
			name: "settle/release", run: settleRelease,
			needs: need("leases", func(h *Harness) bool { return h.Can.Leases }),
			shows: "a released delivery can be received again at once, with the same id",
		},
		{
			name: "settle/retry", run: settleRetry,
			needs: need("retries kept by the service", func(h *Harness) bool { return h.Can.Retries }),
			shows: "a retry is delivered again after its time, not before",
		},
		{
			name: "settle/mixed", run: settleMixed,
			needs: need("leases", func(h *Harness) bool { return h.Can.Leases }),
			shows: "one call may hold verdicts of every kind",
		},
		{
			name:  "settle/partial",
			shows: "a batch answers per entry, the other entries are settled, and the failed one can be repeated",
			run:   settlePartial,
			needs: need("Faults.FailEntry and leases",
				func(h *Harness) bool { return h.Faults.FailEntry != nil && h.Can.Leases }),
		},
		{
			name: "settle/throttled", run: settleThrottled,
			needs: need("Faults.Throttle", func(h *Harness) bool { return h.Faults.Throttle != nil }),
			shows: "a refused call can be repeated",
		},
	}
}

func settleDone(k *kit) {
	e := k.queue("done", false)
	e.put(bodies("a", "b", "c")...)
	e.settle(driver.Done, e.get(3)...)
	e.nothing(k.h.lease() + wait)
}

func settleRelease(k *kit) {
	e := k.queue("release", false)
	e.put(bodies("a")...)
	first := e.get(1)[0]
	e.settle(driver.Release, first)
	begun := time.Now()
	again := e.get(1)[0]
	if took := time.Since(begun); took > k.h.lease()/2 {
		k.Errorf("it was delivered again after %v, want at once", took)
	}
	if again.ID != first.ID {
		k.Errorf("it was delivered again as %s, want %s", again.ID, first.ID)
	}
	if again.Received != 0 && again.Received != first.Received+1 {
		k.Errorf("received %d times, then %d", first.Received, again.Received)
	}
}

func settleRetry(k *kit) {
	e := k.queue("retry", false)
	e.put(bodies("a")...)
	after := max(3*time.Second, e.recv.Limits().RetryMin)
	d, begun := e.get(1)[0], time.Now()
	failed := begun.Truncate(time.Millisecond)
	ss := []driver.Settlement{{
		Handle: d.Handle, Action: driver.Retry, After: after, Attempt: 1, FirstFailure: failed,
	}}
	if err := e.recv.Settle(k.ctx, ss); err != nil {
		k.Fatal(err)
	}
	ds := e.upTo(1, after+patience)
	if len(ds) != 1 {
		k.Fatalf("it was not delivered again within %v", after+patience)
	}
	if took := time.Since(begun); took < after-time.Second {
		k.Errorf("it was delivered again after %v, want %v", took, after)
	}
	if again := ds[0]; !again.SentAt.Equal(d.SentAt) {
		k.Errorf("it was sent at %v, and when it is delivered again, at %v", d.SentAt, again.SentAt)
	} else if at := again.FirstFailure; !at.IsZero() && !at.Equal(failed) {
		k.Errorf("it failed first at %v, and when it is delivered again, at %v", failed, at)
	}
}

func settleMixed(k *kit) {
	e := k.queue("mixed", false)
	e.put(bodies("a", "b", "c")...)
	var ss []driver.Settlement
	for _, d := range e.get(3) {
		s := driver.Settlement{Handle: d.Handle}
		if string(d.Body) == "b" {
			s.Action = driver.Release
		}
		ss = append(ss, s)
	}
	if err := e.recv.Settle(k.ctx, ss); err != nil {
		k.Fatal(err)
	}
	e.settle(driver.Done, e.get(1)...)
	e.nothing(k.h.lease() + wait)
}

func settlePartial(k *kit) {
	e := k.queue("settlepartial", false)
	e.put(bodies("a", "b", "c")...)
	ds := e.get(3)
	ss := make([]driver.Settlement, len(ds))
	for i := range ds {
		ss[i].Handle = ds[i].Handle
	}
	k.h.Faults.FailEntry(SettleDone, 2)
	failed := k.entry(e.recv.Settle(k.ctx, ss), 2)
	if !driver.ClassOf(failed).Passing() {
		k.Errorf("the entry's error %v is of class %s, want a passing class", failed, driver.ClassOf(failed))
	}
	if err := e.recv.Settle(k.ctx, ss[2:]); err != nil {
		k.Fatalf("the entry could not be settled again: %v", err)
	}
	e.nothing(k.h.lease() + wait)
}

func settleThrottled(k *kit) {
	e := k.queue("settlethrottled", false)
	e.put(bodies("a")...)
	ss := []driver.Settlement{{Handle: e.get(1)[0].Handle}}
	k.h.Faults.Throttle(SettleDone)
	err := e.recv.Settle(k.ctx, ss)
	if err == nil {
		k.Fatal("a refused call answered success")
	}
	if err := e.recv.Settle(k.ctx, ss); err != nil {
		k.Fatal(err)
	}
	e.nothing(k.h.lease() + wait)
}
