package drivertest

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/godwitmq/godwit/driver"
)

func peekCases() []testCase {
	peeks := need("Operations.Peek", func(h *Harness) bool { return h.Can.Peeks })
	return []testCase{
		{
			name: "peek/untouched", run: peekUntouched, needs: peeks,
			shows: "a peek returns messages with all properties, and neither receives nor hides them",
		},
		{
			name: "peek/positions", run: peekPositions, needs: peeks,
			shows: "a peek begins at the start, at an id or at a time, or returns the last messages",
		},
		{
			name: "peek/missing", run: peekMissing, needs: peeks,
			shows: "a peek at a channel or an id that does not exist is an error, and creates nothing",
		},
		{
			name: "peek/follow", run: peekFollow,
			needs: need("Operations.Follow", func(h *Harness) bool { return h.Can.Follows }),
			shows: "a follower gets what comes, or all from a time or an id on, and takes nothing from a consumer",
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

func peekFollow(k *kit) {
	e := k.queue("followed", false)
	begun := time.Now().Add(-time.Minute)
	e.put(driver.Message{Body: []byte("old"), OrderKey: "ada"}) // one partition, where there are several
	old := e.get(1)[0]
	follow := func(from driver.PeekFrom) (bodies <-chan string, ended <-chan error, stop context.CancelFunc) {
		ctx, cancel := context.WithCancel(k.ctx)
		texts, end, ready := make(chan string, 10), make(chan error, 1), make(chan struct{})
		go func() {
			begun := false
			end <- k.do.Follow(ctx, e.ch, from, func(ps []driver.Peeked) error {
				if !begun {
					begun = true
					close(ready)
				}
				for i := range ps {
					texts <- string(ps[i].Delivery.Body)
				}
				return nil
			})
		}()
		select {
		case <-ready:
		case err := <-end:
			k.Fatalf("follow %s: %v", e.ch, err)
		}
		return texts, end, cancel
	}
	now, nowEnded, stopNow := follow(driver.PeekFrom{})
	all, allEnded, stopAll := follow(driver.PeekFrom{Time: begun})
	byID, byIDEnded, stopByID := follow(driver.PeekFrom{ID: old.ID})
	e.put(driver.Message{Body: []byte("a"), OrderKey: "ada"}, driver.Message{Body: []byte("b"), OrderKey: "ada"})
	for name, one := range map[string]struct {
		got  <-chan string
		want string
	}{"from now": {now, "a b"}, "from a time": {all, "old a b"}, "from an id": {byID, "old a b"}} {
		var got []string
		for range strings.Count(one.want, " ") + 1 {
			got = append(got, <-one.got)
		}
		if text := strings.Join(got, " "); text != one.want {
			k.Errorf("%s: %q, want %q", name, text, one.want)
		}
	}
	e.settle(driver.Done, old)
	for range 2 { // some backends return only one of a key at a time
		e.settle(driver.Done, e.get(1)...)
	}
	for _, stop := range []context.CancelFunc{stopNow, stopAll, stopByID} {
		stop()
	}
	for _, ended := range []<-chan error{nowEnded, allEnded, byIDEnded} {
		if err := <-ended; !errors.Is(err, context.Canceled) {
			k.Errorf("it ended with %v", err)
		}
	}
	enough := errors.New("enough")
	if err := k.do.Follow(k.ctx, e.ch, driver.PeekFrom{}, func([]driver.Peeked) error { return enough }); !errors.Is(
		err, enough) {
		k.Errorf("it ended with %v, want the error of each", err)
	}
	err := k.do.Follow(k.ctx, driver.Channel{Queue: "unfollowed"}, driver.PeekFrom{},
		func([]driver.Peeked) error { return enough })
	if driver.ClassOf(err) != driver.NotFound {
		k.Errorf("a channel that does not exist: %v", err)
	}
	if err := k.do.Follow(k.ctx, e.ch, driver.PeekFrom{ID: "none"}, func([]driver.Peeked) error {
		return enough
	}); driver.ClassOf(err) != driver.NotFound {
		k.Errorf("an id that does not exist: %v", err)
	}
}
