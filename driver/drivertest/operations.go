package drivertest

import "github.com/godwitmq/godwit/driver"

func operationsCases() []testCase {
	return []testCase{{
		name:  "operations/complete",
		shows: "a backend has the operations of its abilities, and none without those that belong to it",
		run:   operationsComplete,
	}, {
		name:  "operations/access",
		shows: "the credentials of a backend that works are accepted, and the calls that were tried are named",
		needs: need("Operations.Access", func(h *Harness) bool { return h.Can.Access }),
		run:   operationsAccess,
	}, {
		name:  "operations/replicas",
		shows: "a plan to require replicas changes nothing, and after it was carried out, nothing is left of it",
		needs: need("Operations.RequireReplicas", func(h *Harness) bool { return h.Can.Replicates }),
		run:   operationsReplicas,
	}}
}

func operationsComplete(k *kit) {
	do, can := k.do, k.h.Can
	for _, one := range []struct {
		name       string
		able, has  bool
		partner    string // the operation that belongs to it
		hasPartner bool
	}{
		{"Catalog", can.Lists, do.Catalog != nil, "", true},
		{"Inspect", can.Inspects, do.Inspect != nil, "", true},
		{"Activity", can.Meters, do.Activity != nil, "", true},
		{"Access", can.Access, do.Access != nil, "", true},
		{"Members", can.Members, do.Members != nil, "", true},
		{"RequireReplicas", can.Replicates, do.RequireReplicas != nil, "", true},
		{"Past", can.Remembers, do.Past != nil, "Activity", do.Activity != nil},
		{"Stored", false, do.Stored != nil, "Activity", do.Activity != nil},
		{"Cancel", can.Cancels, do.Cancel != nil, "", true},
		{"SendNow", can.Expedites, do.SendNow != nil, "Peek", do.Peek != nil},
		{"Clock", can.Ticks, do.Clock != nil, "", true},
		{"Peek", can.Peeks, do.Peek != nil, "", true},
		{"Follow", can.Follows, do.Follow != nil, "", true},
		{"Return", can.Forwards && can.DeadLetters, do.Return != nil, "", true},
		{"Purge", can.Purges, do.Purge != nil, "", true},
		{"Plan", can.Plans, do.Plan != nil, "", true},
		{"Wanted", false, do.Wanted != nil, "Plan", do.Plan != nil},
		{"Specs", false, do.Specs != nil, "Plan", do.Plan != nil},
		{"Tag", can.Tags, do.Tag != nil, "Plan", do.Plan != nil},
		{"Remove", can.Removes, do.Remove != nil, "", true},
		{"Rewind", can.Rewinds, do.Rewind != nil, "", true},
		{"Orphans", can.Orphans, do.Orphans != nil, "", true},
		{"Snapshot", can.Snapshots, do.Snapshot != nil, "Restore", do.Restore != nil},
		{"Restore", can.Snapshots, do.Restore != nil, "Snapshot", do.Snapshot != nil},
		{"Pause", can.Pauses, do.Pause != nil, "Resume", do.Resume != nil},
		{"Resume", can.Pauses, do.Resume != nil, "Pause", do.Pause != nil},
		{"Move", false, do.Move != nil, "Moves", do.Moves != nil},
		{"Moves", false, do.Moves != nil, "CancelMove", do.CancelMove != nil},
		{"CancelMove", false, do.CancelMove != nil, "Move", do.Move != nil},
	} {
		if one.able && !one.has {
			k.Errorf("Harness.Can says that the backend has Operations.%s, which is nil", one.name)
		}
		if one.has && !one.hasPartner {
			k.Errorf("the backend has Operations.%s, and not Operations.%s", one.name, one.partner)
		}
	}
}

func operationsAccess(k *kit) {
	a, err := k.do.Access(k.ctx)
	if err != nil || a.Err != nil || len(a.Calls) == 0 {
		k.Fatalf("the access is %+v (%v)", a, err)
	}
	for _, call := range a.Calls {
		if call.Name == "" || call.Needs == "" || call.Err != nil {
			k.Errorf("%+v: want an allowed call with its name and what needs it", call)
		}
	}
	if a.Ahead.Known() && a.Ahead.Value.Abs() > countsWithin {
		k.Errorf("the clock is ahead by %v of a service on this machine", a.Ahead.Value)
	}
}

func operationsReplicas(k *kit) {
	ch := driver.Channel{Queue: "replicated"}
	k.ensure(k.spec(ch))
	require := func(dry bool) []driver.Difference {
		all, err := k.do.RequireReplicas(k.ctx, ch, dry)
		if err != nil {
			k.Fatalf("require replicas of %s: %v", ch, err)
		}
		for _, d := range all {
			if d.Kind != driver.DiffersValue || d.Name == "" || d.From == d.To {
				k.Errorf("%+v: want a change of a resource", d)
			}
		}
		return all
	}
	planned := len(require(true))
	if n := len(require(false)); n != planned {
		k.Errorf("%d changes were made, and %d were planned", n, planned)
	}
	if left := require(true); len(left) > 0 {
		k.Errorf("after the changes, %+v are left", left)
	}
	_, err := k.do.RequireReplicas(k.ctx, driver.Channel{Queue: "none"}, true)
	if driver.ClassOf(err) != driver.NotFound {
		k.Errorf("replicas of a channel that does not exist: %v, want an error of class NotFound", err)
	}
}
