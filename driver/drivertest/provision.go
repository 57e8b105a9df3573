package drivertest

import (
	"time"

	"github.com/godwitmq/godwit/driver"
)

func provisionCases() []testCase {
	provisions := need("a driver.Provisioner", func(h *Harness) bool { return h.Can.Provisions })
	return []testCase{
		{name: "provision/twice", shows: "provisioning is idempotent", run: provisionTwice, needs: provisions},
		{
			name: "provision/verify", run: provisionVerify, needs: provisions,
			shows: "Verify creates nothing and reports what is missing, and a producer changes nothing of a consumer's",
		},
		{
			name: "provision/never", run: provisionNever, needs: provisions,
			shows: "Never makes no call",
		},
		{
			name: "provision/missing", run: provisionMissing, needs: provisions,
			shows: "the error for opening a channel that does not exist is of class NotFound",
		},
		{
			name:  "inspect/depth",
			shows: "the depth counts waiting messages and those in flight",
			run:   inspectDepth,
			needs: need("Operations.Inspect and leases",
				func(h *Harness) bool { return h.Can.Inspects && h.Can.Leases }),
		},
	}
}

func provisionTwice(k *kit) {
	e := k.queue("twice", false)
	e.put(bodies("kept")...)
	k.ensure(k.spec(e.ch))
	k.ensure(driver.ChannelSpec{Channel: e.ch})
	e.sameSet(e.get(1), "kept")
}

func provisionVerify(k *kit) {
	p := k.backend.(driver.Provisioner)
	s := k.spec(driver.Channel{Queue: "verify"})
	s.Mode = driver.Verify
	if err := p.Ensure(k.ctx, s); driver.ClassOf(err) != driver.NotFound || err == nil {
		k.Errorf("verify a channel that does not exist: %v, of class %s, want %s", err, driver.ClassOf(err),
			driver.NotFound)
	}
	s.Mode = driver.Auto
	k.ensure(s)
	k.ensure(driver.ChannelSpec{Channel: s.Channel}) // a producer, which asks for nothing
	s.Mode = driver.Verify
	if err := p.Ensure(k.ctx, s); err != nil {
		k.Errorf("verify the channel that was just created: %v", err)
	}
}

func provisionNever(k *kit) {
	s := k.spec(driver.Channel{Queue: "never"})
	s.Mode = driver.Never
	k.ensure(s)
	if _, err := k.backend.Sender(k.ctx, s.Channel); driver.ClassOf(err) != driver.NotFound || err == nil {
		k.Errorf("open a channel that Never should not have created: %v, of class %s, want %s", err,
			driver.ClassOf(err),
			driver.NotFound)
	}
}

func provisionMissing(k *kit) {
	ch := driver.Channel{Queue: "missing"}
	_, serr := k.backend.Sender(k.ctx, ch)
	_, rerr := k.backend.Receiver(k.ctx, ch, driver.ReceiverOptions{Concurrency: 1})
	for _, err := range []error{serr, rerr} {
		if driver.ClassOf(err) != driver.NotFound || err == nil {
			k.Errorf("open a channel that does not exist: %v, of class %s, want %s", err, driver.ClassOf(err),
				driver.NotFound)
		}
	}
}

func inspectDepth(k *kit) {
	e := k.queue("depth", false)
	e.put(bodies("a", "b", "c")...)
	e.get(1)
	var got driver.Depth
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(wait / 4) { // services count approximately
		var err error
		if got, err = k.do.Inspect(k.ctx, e.ch); err != nil {
			k.Fatal(err)
		}
		if got.Waiting == 2 && got.InFlight == 1 {
			return
		}
	}
	k.Errorf("depth %+v, want 2 waiting and 1 in flight", got)
}
