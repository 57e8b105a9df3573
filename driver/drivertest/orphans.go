package drivertest

import (
	"time"

	"github.com/godwitmq/godwit/driver"
)

func orphansCases() []testCase {
	return []testCase{{
		name:  "orphans/pointed",
		shows: "the body of a message that was never sent is an orphan; those of waiting, done and rejected ones are not",
		run:   orphansPointed,
		needs: need("Operations.Orphans", func(h *Harness) bool { return h.Can.Orphans && h.Can.DeadLetters }),
	}}
}

func orphansPointed(k *kit) {
	e := k.queue("orphans", false)
	body := largeBody()
	e.put(driver.Message{Body: body}, driver.Message{Body: body})
	k.orphans(0, time.Now().Add(time.Hour))
	ds := e.get(2)
	if err := e.recv.Settle(k.ctx, []driver.Settlement{
		{Handle: ds[0].Handle, Action: driver.Done},
		{Handle: ds[1].Handle, Action: driver.Reject, Death: &driver.Death{Error: "bad", Kind: "permanent"}},
	}); err != nil {
		k.Fatal(err)
	}
	e.nothing(wait)
	k.orphans(0, time.Now().Add(time.Hour))
	if _, err := e.send.Prepare(k.ctx, &driver.Message{Body: body}); err != nil {
		k.Fatal(err)
	}
	k.orphans(0, time.Now().Add(-time.Hour))
	for _, o := range k.orphans(1, time.Now().Add(time.Hour)) {
		if age := time.Since(o.Written); o.Address == "" || o.Key == "" || o.Size <= 0 || age.Abs() > time.Hour {
			k.Errorf("the orphan is %+v, written %v ago", o, age)
		}
	}
}

// orphans checks how many orphans there are.
func (k *kit) orphans(want int, before time.Time) []driver.Orphan {
	k.Helper()
	all, err := k.do.Orphans(k.ctx, before)
	if err != nil {
		k.Fatal(err)
	}
	if len(all) != want {
		k.Errorf("%d orphans: %+v, want %d", len(all), all, want)
	}
	return all
}
