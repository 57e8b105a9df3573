package drivertest

import (
	"strings"

	"github.com/godwitmq/godwit/driver"
)

func repeatCases() []testCase {
	return []testCase{
		{
			name:  "reject/repeated",
			shows: "repeating a reject whose second step failed leaves one dead letter",
			run:   rejectRepeated,
			needs: need("dead letters and Faults.Throttle",
				func(h *Harness) bool { return h.Can.DeadLetters && h.Faults.Throttle != nil }),
		},
		{
			name: "reject/anytext", run: rejectAnyText,
			needs: need("dead letters", func(h *Harness) bool { return h.Can.DeadLetters }),
			shows: "the reasons may be any text of any length",
		},
	}
}

func rejectRepeated(k *kit) {
	e := k.queue("rejectrepeated", false)
	e.put(bodies("bad")...)
	s := []driver.Settlement{{Handle: e.get(1)[0].Handle, Action: driver.Reject, Death: &driver.Death{Error: "no"}}}
	k.h.Faults.Throttle(SettleDone)
	// The fault may affect the call that finishes the original, or no call if the backend needs none for that.
	_ = e.recv.Settle(k.ctx, s)
	if err := e.recv.Settle(k.ctx, s); err != nil {
		k.Fatal(err)
	}
	letters := e.letters()
	letters.settle(driver.Done, letters.get(1)...)
	letters.nothing(wait)
	e.nothing(wait)
}

func rejectAnyText(k *kit) {
	e := k.queue("rejectanytext", false)
	letters := e.letters()
	for _, text := range []string{"", "\x00\x1b\uFFFE\xff", strings.Repeat("ä\x00", 100_000)} {
		e.put(bodies("bad")...)
		s := []driver.Settlement{{
			Handle: e.get(1)[0].Handle, Action: driver.Reject,
			Death: &driver.Death{Error: text, Kind: "permanent"},
		}}
		if err := e.recv.Settle(k.ctx, s); err != nil {
			k.Fatalf("reject with the reason %.20q: %v", text, err)
		}
		d := letters.get(1)[0]
		if d.Origin == nil || d.Origin.Death.Kind != "permanent" || string(d.Body) != "bad" || d.Err != nil {
			k.Errorf("with the reason %.20q the dead letter is %q with origin %+v and error %v", text, d.Body, d.Origin,
				d.Err)
		}
		letters.settle(driver.Done, d)
	}
}
