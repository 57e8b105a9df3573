package engine

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/godwitmq/godwit/driver"
)

// The share of a tenant runs, as many items wait in places, more wait on the shelf while they start soon, and the rest
// is released. Another tenant is not affected.
func TestWhereATenantsItemsGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := bare(driver.ReceiveLimits{Window: 20, RetryMax: time.Hour, Lease: 30 * time.Second},
			&Config{MaxPerTenant: 2})
		counts := map[admission]int{}
		come := func(tenant string, n int) {
			for range n {
				it := kind{tenant: tenant}.arrive(f)
				to, pause := f.tenants.admit(it, false)
				counts[to]++
				switch to {
				case admitted:
					f.move(it, evReady)
				case waits, waitsBeside:
					if f.move(it, evWait); to == waitsBeside {
						f.ledger.shelve(it)
					}
				case surplus:
					if pause < minTenantPause || pause > maxTenantPause {
						t.Errorf("surplus is released for %v", pause)
					}
					f.move(it, evRelease)
				}
			}
		}
		come("ada", 2)
		time.Sleep(time.Minute) // none of her items has ended for so long that waiting ones do not start soon
		come("ada", 5)
		come("bob", 1)
		if counts[admitted] != 3 || counts[waits]+counts[waitsBeside] != 3 || counts[surplus] != 2 {
			t.Errorf("%d run, %d wait, %d on the shelf, %d are released; want 3, 3 in all, and 2",
				counts[admitted], counts[waits], counts[waitsBeside], counts[surplus])
		}
		if text := f.imbalance(); text != "" {
			t.Error(text)
		}
	})
}

// The heir of a share is the first waiting item, while there is a part of the share for it.
func TestTheHeirOfAShare(t *testing.T) {
	f := bare(driver.ReceiveLimits{Window: 20, RetryMax: time.Hour}, &Config{MaxPerTenant: 1})
	k := kind{tenant: "ada"}
	runs, first, second := k.arrive(f), k.arrive(f), k.arrive(f)
	f.move(runs, evReady)
	f.move(first, evWait)
	f.move(second, evWait)
	if it := f.tenants.heir(f.tenants.by["ada"]); it != nil {
		t.Error("there is an heir while the share is taken")
	}
	f.move(runs, evStart)
	f.move(runs, evFinish)
	if f.takeSteps(); first.state != queued || second.state != aside {
		t.Errorf("the first is %v, the second %v", first.state, second.state)
	}
	f.move(first, evLose)
	f.takeSteps()
	f.move(second, evLose)
	if len(f.tenants.by) != 0 || f.tenants.crowded() {
		t.Error("a tenant without items is still there")
	}
}
