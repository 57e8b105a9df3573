package drivertest

import (
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/godwitmq/godwit/driver"
)

func snapshotCases() []testCase {
	able := func(h *Harness) bool {
		return h.Can.Snapshots && h.Can.Removes && h.Can.Provisions && h.Can.DeadLetters
	}
	return []testCase{{
		name:  "snapshot/queue",
		shows: "a removed queue is made again, with its dead letters and tags; a second restore changes nothing",
		run:   snapshotQueue,
		needs: need("Operations.Snapshot, Operations.Remove, a driver.Provisioner and dead letters", able),
	}, {
		name:  "snapshot/exchange",
		shows: "a removed exchange and its queue are made again, with the filter of the queue",
		run:   snapshotExchange,
		needs: need("Operations.Snapshot, Operations.Remove, a driver.Provisioner, dead letters and exchanges",
			func(h *Harness) bool { return able(h) && h.Can.Exchanges }),
	}, {
		name:  "snapshot/none",
		shows: "a channel that does not exist has no snapshot; a text that is none cannot be restored",
		run:   snapshotNone,
		needs: need("Operations.Snapshot", func(h *Harness) bool { return h.Can.Snapshots }),
	}}
}

// snapshot takes a snapshot of a channel.
func (k *kit) snapshot(ch driver.Channel) driver.Snapshot {
	k.Helper()
	s, err := k.do.Snapshot(k.ctx, ch)
	if err != nil || s.Address == "" || len(s.Data) == 0 {
		k.Fatalf("snapshot of %s: %+v, %v", ch, s, err)
	}
	return s
}

// restore restores a snapshot, later if the service says so.
func (k *kit) restore(s driver.Snapshot) driver.Restored {
	k.Helper()
	for range 3 {
		r, err := k.do.Restore(k.ctx, s.Data)
		if err == nil {
			return r
		}
		var later *driver.Error
		if !errors.As(err, &later) || later.After == 0 {
			k.Fatalf("restore %s: %v", s.Address, err)
		}
		time.Sleep(later.After)
	}
	k.Fatalf("%s could not be restored", s.Address)
	return driver.Restored{}
}

// remade restores snapshots twice: the first time all of them are made, the second time none.
func (k *kit) remade(shots ...driver.Snapshot) {
	k.Helper()
	for _, s := range shots {
		if r := k.restore(s); !slices.Contains(r.Made, s.Address) {
			k.Fatalf("restored %+v, want %s made", r, s.Address)
		}
	}
	for _, s := range shots {
		if r := k.restore(s); len(r.Made) > 0 || !slices.Contains(r.Found, s.Address) {
			k.Errorf("restored again: %+v", r)
		}
	}
}

func snapshotQueue(k *kit) {
	ch := driver.Channel{Queue: "remade"}
	spec := k.spec(ch)
	spec.Tags = map[string]string{"owner": "shop"}
	k.open(spec, driver.Filter{})
	k.closeAll()
	own, dead := k.snapshot(ch), k.snapshot(deadOf(ch))
	for _, tags := range []map[string]string{own.Tags, dead.Tags} {
		if tags != nil && tags["owner"] != "shop" {
			k.Errorf("tags %v", tags)
		}
	}
	k.remove(ch, false)
	k.remove(deadOf(ch), false)
	k.remade(dead, own)
	if again := k.snapshot(ch); !maps.Equal(again.Tags, own.Tags) || string(again.Data) != string(own.Data) {
		k.Errorf("the snapshot was\n%s\nand after the restore it is\n%s", own.Data, again.Data)
	}
	e := &end{k: k, ch: ch, send: k.sender(ch), recv: k.receiver(ch, driver.Filter{})}
	e.put(bodies("a")...)
	e.settle(driver.Reject, e.get(1)...)
}

func snapshotExchange(k *kit) {
	one := driver.Channel{Exchange: "remade", Queue: "one"}
	whole := driver.Channel{Exchange: "remade"}
	filter := driver.Filter{Exact: []string{"kept"}}
	spec := k.spec(one)
	spec.Filter = filter
	k.open(spec, filter)
	k.closeAll()
	own := k.snapshot(one)
	if s := k.snapshot(whole); !slices.Equal(s.Subscribers, []string{own.Address}) {
		k.Errorf("subscribers %v, want %s", s.Subscribers, own.Address)
	}
	k.remove(one, false)
	topic := k.snapshot(whole)
	if len(topic.Subscribers) > 0 {
		k.Errorf("subscribers %v of an exchange without queues", topic.Subscribers)
	}
	k.remove(whole, false)
	k.remade(topic, own)
	e := &end{k: k, ch: one, send: k.sender(whole), recv: k.receiver(one, filter)}
	e.put(driver.Message{Body: []byte("a"), RoutingKey: "other"}, driver.Message{Body: []byte("b"), RoutingKey: "kept"})
	ds := e.get(1)
	e.sameSet(ds, "b")
	e.settle(driver.Done, ds...)
}

func snapshotNone(k *kit) {
	sn := k.do
	for _, ch := range []driver.Channel{{Queue: "none"}, {Exchange: "none"}, {Queue: "none", DeadLetter: true}} {
		if k.h.Can.Exchanges || ch.Exchange == "" {
			if s, err := sn.Snapshot(k.ctx, ch); err == nil || driver.ClassOf(err) != driver.NotFound {
				k.Errorf("snapshot of %s, which does not exist: %+v, %v, want it of class %s", ch, s, err, driver.NotFound)
			}
		}
	}
	for _, text := range []string{"", "{}", "a kite"} {
		if r, err := sn.Restore(k.ctx, []byte(text)); err == nil || driver.ClassOf(err) != driver.Permanent {
			k.Errorf("restore %q: %+v, %v, want it of class %s", text, r, err, driver.Permanent)
		}
	}
}
