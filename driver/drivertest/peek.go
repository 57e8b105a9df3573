package drivertest

import (
	"fmt"
	"reflect"
	"time"

	"github.com/godwitmq/godwit/driver"
)

func peekCases() []testCase {
	peeks := need("Operations.Peek", func(h *Harness) bool { return h.Can.Peeks })
	return []testCase{
		{
			name:  "peek/untouched",
			shows: "a peek returns messages with all properties, and neither receives nor hides them",
			run:   peekUntouched,
			needs: peeks,
		},
		{
			name:  "peek/positions",
			shows: "a peek begins at the start, at an id or at a time, or returns the last messages",
			run:   peekPositions,
			needs: peeks,
		},
		{
			name:  "peek/missing",
			shows: "a peek at a channel or an id that does not exist is an error, and creates nothing",
			run:   peekMissing,
			needs: peeks,
		},
	}
}

func (k *kit) peek(ch driver.Channel, from driver.PeekFrom, most int) []driver.Peeked {
	k.Helper()
	ps, err := k.do.Peek(k.ctx, ch, from, most)
	if err != nil {
		k.Fatalf("peek at %s: %v", ch, err)
	}
	return ps
}

func peekUntouched(k *kit) {
	e := k.queue("peeked", false)
	e.put(full("ada", "\x00binary"))
	var seen []driver.Peeked
	for range 3 {
		seen = k.peek(e.ch, driver.PeekFrom{}, 10)
		if len(seen) != 1 {
			k.Fatalf("%d messages, want 1", len(seen))
		}
	}
	d := e.get(1)[0]
	k.same(seen[0].Delivery, d)
	if d.ID != seen[0].Delivery.ID || d.Received > 1 {
		k.Errorf("id %s and %d receives; the peek saw id %s", d.ID, d.Received, seen[0].Delivery.ID)
	}
	if k.h.Can.Forwards {
		if got := e.raw(d); !reflect.DeepEqual(got, seen[0].Raw) {
			k.Errorf("received %+v, and peeked %+v", got, seen[0].Raw)
		}
	}
	e.settle(driver.Done, d)
}

func peekPositions(k *kit) {
	e := k.queue("positions", false)
	var middle time.Time
	for i := range 10 {
		if i == 5 {
			time.Sleep(1500 * time.Millisecond) // services keep seconds or milliseconds
			middle = time.Now().Add(-700 * time.Millisecond)
		}
		e.put(driver.Message{Body: fmt.Append(nil, i), OrderKey: "ada"}) // one partition, where there are several
	}
	all := k.peek(e.ch, driver.PeekFrom{}, 100)
	if len(all) != 10 {
		k.Fatalf("%d messages, want 10", len(all))
	}
	for _, c := range []struct {
		name string
		from driver.PeekFrom
		most int
		want string
	}{
		{"first", driver.PeekFrom{}, 3, "012"},
		{"last", driver.PeekFrom{Last: true}, 3, "789"},
		{"id", driver.PeekFrom{ID: all[4].Delivery.ID}, 3, "456"},
		{"time", driver.PeekFrom{Time: middle}, 3, "567"},
		{"after all", driver.PeekFrom{Time: time.Now().Add(time.Hour)}, 3, ""},
	} {
		var got []byte
		for _, p := range k.peek(e.ch, c.from, c.most) {
			got = append(got, p.Delivery.Body...)
		}
		if string(got) != c.want {
			k.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func peekMissing(k *kit) {
	_, err := k.do.Peek(k.ctx, driver.Channel{Queue: "unpeeked"}, driver.PeekFrom{}, 1)
	if err == nil || driver.ClassOf(err) != driver.NotFound {
		k.Errorf("a channel that does not exist: %v, want an error of class %s", err, driver.NotFound)
	}
	e := k.queue("peekmissing", false)
	e.put(bodies("x")...)
	_, err = k.do.Peek(k.ctx, e.ch, driver.PeekFrom{ID: "none"}, 1)
	if err == nil || driver.ClassOf(err) != driver.NotFound {
		k.Errorf("an id that does not exist: %v, want an error of class %s", err, driver.NotFound)
	}
	if k.h.Can.Lists {
		if got := k.listed("unpeeked"); len(got) > 0 {
			k.Errorf("%v was created by a look", got)
		}
	}
}
