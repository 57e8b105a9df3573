package drivertest

import (
	"time"

	"github.com/godwitmq/godwit/driver"
)

// countsWithin is how late a service may count what has happened.
const countsWithin = 3 * time.Minute

func activityCases() []testCase {
	meters := need("Operations.Activity, in virtual time", func(h *Harness) bool {
		return h.Can.Meters && h.Bubble != nil
	})
	return []testCase{{
		name: "activity/counts", needs: meters, run: activityCounts,
		shows: "what was sent, received and deleted is counted or unknown, for several channels in their order",
	}, {
		name: "activity/oldest", needs: meters, run: activityOldest,
		shows: "the age of the oldest message is that of one that waits, and 0 if none does",
	}, {
		name: "activity/since", needs: meters, run: activitySince,
		shows: "only what has happened since the time is counted, and the future is refused",
	}, {
		name:  "activity/members",
		shows: "a process that receives is a member of the channel until its receiver is closed",
		needs: need("Operations.Members", func(h *Harness) bool { return h.Can.Members }),
		run:   activityMembers,
	}, {
		name: "activity/past", run: activityPast,
		needs: need("Operations.Past, in virtual time", func(h *Harness) bool {
			return h.Can.Remembers && h.Bubble != nil
		}),
		shows: "each minute has what was sent, finished and waiting in it, and a time without counts has no minutes",
	}}
}

// activity asks for the activity of channels.
func (k *kit) activity(since time.Time, cs ...driver.Channel) []driver.Activity {
	k.Helper()
	all, err := k.do.Activity(k.ctx, cs, since)
	if err != nil || len(all) != len(cs) {
		k.Fatalf("the activity of %v: %v, %v", cs, all, err)
	}
	for i, a := range all {
		if a.Channel != cs[i] || a.Since.After(since) || a.Until.Before(since) {
			k.Errorf("the activity [%d] is of %v, from %v to %v; want %v since %v", i, a.Channel, a.Since, a.Until, cs[i],
				since)
		}
	}
	return all
}

// reads checks a number that must be right if it is known; an unknown one must have a class and say why.
func (k *kit) reads(what string, r driver.Reading[int64], want int64) {
	k.Helper()
	switch {
	case r.Known() && r.Value != want:
		k.Errorf("%s is %d, want %d", what, r.Value, want)
	case !r.Known() && r.Err.Error() == "":
		k.Errorf("%s is unknown without a reason", what)
	}
}

func activityCounts(k *kit) {
	begun := time.Now()
	busy, quiet := k.queue("busy", false), k.queue("quiet", false)
	busy.put(bodies("a", "b", "c")...)
	busy.settle(driver.Done, busy.get(3)...)
	time.Sleep(countsWithin)
	all := k.activity(begun, quiet.ch, busy.ch)
	for i, want := range []int64{0, 3} {
		a := all[i]
		if !a.Sent.Known() {
			k.Errorf("%s: what was sent is unknown: %v", a.Channel, a.Sent.Err)
		}
		for what, r := range map[string]driver.Reading[int64]{
			"sent": a.Sent, "received": a.Received, "deleted": a.Deleted,
		} {
			k.reads(a.Channel.String()+": "+what, r, want)
		}
		if a.Consumers.Known() && a.Consumers.Value == 0 {
			k.Errorf("%s: there are no consumers, but it has a receiver", a.Channel)
		}
		if n := a.SentBytes; n.Known() && n.Value < want { // a byte each, and what the backend adds
			k.Errorf("%s: %d bytes were sent, want at least %d", a.Channel, n.Value, want)
		}
		for what, r := range map[string]driver.Reading[int64]{"delivered": a.Delivered, "failed": a.Failed} {
			if r.Known() {
				k.Errorf("%s: %s is %d, but it is no exchange", a.Channel, what, r.Value)
			}
		}
	}
	if !k.h.Can.Exchanges {
		return
	}
	e := k.open(k.spec(driver.Channel{Exchange: "busier", Queue: "one"}), driver.Filter{})
	e.put(bodies("a", "b")...)
	time.Sleep(countsWithin)
	a := k.activity(begun, driver.Channel{Exchange: "busier"})[0]
	if !a.Sent.Known() {
		k.Errorf("what was published is unknown: %v", a.Sent.Err)
	}
	k.reads("published", a.Sent, 2)
	k.reads("delivered", a.Delivered, 2)
	k.reads("failed", a.Failed, 0)
}

func activityOldest(k *kit) {
	e := k.queue("aging", false)
	e.put(bodies("a")...)
	time.Sleep(10 * time.Minute)
	a := k.activity(time.Now().Add(-time.Minute), e.ch)[0]
	if at := a.Oldest; !at.Known() || at.Value < 10*time.Minute-countsWithin || at.Value > 10*time.Minute {
		k.Errorf("the oldest message is %v old (%v), want 10 minutes", at.Value, at.Err)
	}
	e.settle(driver.Done, e.get(1)...)
	time.Sleep(countsWithin)
	if at := k.activity(time.Now().Add(-time.Minute), e.ch)[0].Oldest; !at.Known() || at.Value != 0 {
		k.Errorf("without a message, the oldest is %v old (%v)", at.Value, at.Err)
	}
}

func activitySince(k *kit) {
	e := k.queue("since", false)
	e.put(bodies("a", "b")...)
	time.Sleep(countsWithin)
	middle := time.Now()
	time.Sleep(countsWithin)
	e.put(bodies("c")...)
	time.Sleep(countsWithin)
	k.reads("what was sent since", k.activity(middle, e.ch)[0].Sent, 1)
	m := k.do
	if _, err := m.Activity(k.ctx, []driver.Channel{e.ch}, time.Now().Add(time.Hour)); err == nil {
		k.Error("the activity since a time in the future was answered")
	}
	if all, err := m.Activity(k.ctx, nil, middle); err != nil || len(all) > 0 {
		k.Errorf("the activity of no channels: %v, %v", all, err)
	}
}

func activityMembers(k *kit) {
	ch := driver.Channel{Queue: "watched"}
	k.ensure(k.spec(ch))
	e := &end{k: k, ch: ch, send: k.sender(ch)}
	count := func(want int) {
		members, err := k.do.Members(k.ctx, ch)
		if err != nil || len(members) != want {
			k.Errorf("the members are %+v (%v), want %d", members, err, want)
		}
		for _, m := range members {
			if m.ID == "" || m.Client == "" && m.Host == "" {
				k.Errorf("nobody could find the member %+v", m)
			}
		}
	}
	count(0)
	e.put(bodies("a")...)
	r, err := k.backend.Receiver(k.ctx, ch, driver.ReceiverOptions{Concurrency: 10, Wait: wait, Lease: k.h.lease()})
	if err != nil {
		k.Fatal(err)
	}
	e.recv = r
	ds := e.get(1)
	count(1)
	e.settle(driver.Done, ds...)
	if err := r.Close(k.ctx); err != nil {
		k.Fatal(err)
	}
	count(0)
	if _, err := k.do.Members(k.ctx, driver.Channel{Exchange: "watched"}); driver.ClassOf(err) != driver.Permanent {
		k.Errorf("the members of an exchange: %v, want an error of class Permanent", err)
	}
}

func activityPast(k *kit) {
	e := k.queue("remembered", false)
	begun := time.Now()
	e.put(bodies("a", "b", "c")...)
	time.Sleep(10 * time.Minute)
	e.settle(driver.Done, e.get(3)...)
	done := time.Now()
	time.Sleep(10 * time.Minute)
	all, err := k.do.Past(k.ctx, []driver.Channel{e.ch}, begun)
	if err != nil || len(all) != 1 || all[0].Channel != e.ch || all[0].Err != nil {
		k.Fatalf("the past of %v: %+v, %v", e.ch, all, err)
	}
	var sent, deleted int64
	last := begun.Add(-2 * time.Minute)
	for _, m := range all[0].Minutes {
		if !m.At.After(last) || m.At.After(time.Now()) {
			k.Errorf("a minute of %v follows one of %v", m.At, last)
		}
		last = m.At
		sent, deleted = sent+max(0, m.Sent), deleted+max(0, m.Deleted)
		between := m.At.After(begun.Add(time.Minute)) && m.At.Before(done.Add(-2*time.Minute))
		if age := m.At.Sub(begun); between && (m.Waiting != 3 || m.Oldest < age || m.Oldest > age+time.Minute) {
			k.Errorf("at %v, %d messages wait, the oldest for %v", age, m.Waiting, m.Oldest)
		}
		if m.At.After(done.Add(time.Minute)) && (m.Waiting != 0 || m.InFlight != 0 || m.Oldest != 0) {
			k.Errorf("when all is done: %+v", m)
		}
	}
	k.reads("what was sent", driver.Reading[int64]{Value: sent}, 3)
	k.reads("what was deleted", driver.Reading[int64]{Value: deleted}, 3)
	if n := len(all[0].Minutes); n < 15 || n > 22 {
		k.Errorf("%d minutes of twenty", n)
	}
	if _, err := k.do.Past(k.ctx, []driver.Channel{e.ch}, time.Now().Add(time.Hour)); err == nil {
		k.Error("the past since a time in the future was answered")
	}
}
