package ops_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/driver/memdriver"
	"github.com/godwitmq/godwit/ops"
)

// shop returns a backend with channels, and messages in some of them.
func shop(t *testing.T) *memdriver.Backend {
	t.Helper()
	b, err := memdriver.Open(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, ch := range []driver.Channel{{Queue: "orders"}, {Exchange: "events", Queue: "audit", Ordered: true}} {
		if err := b.Ensure(t.Context(), driver.ChannelSpec{Channel: ch, Owner: true}); err != nil {
			t.Fatal(err)
		}
	}
	s, err := b.Sender(t.Context(), driver.Channel{Queue: "orders"})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		p, err := s.Prepare(t.Context(), &driver.Message{Body: []byte("a kite")})
		if err == nil {
			err = s.Send(t.Context(), []driver.Prepared{p})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return b
}

func lines(all []ops.Listed) (ls []string) {
	for _, l := range all {
		ls = append(ls, fmt.Sprintf("%v %v %v %d", l.Channel, l.Channel.Role(), l.Channel.Ordered, l.Depth.Waiting))
	}
	return ls
}

// All channels are listed with what waits in them, or those of a pattern.
func TestList(t *testing.T) {
	b := shop(t)
	for match, want := range map[string][]string{
		"": {
			"events.* exchange true 0", "events.audit queue true 0", "events.audit@dlq dead-letters true 0",
			"orders queue false 3", "orders@dlq dead-letters false 0",
		},
		"ord*": {"orders queue false 3", "orders@dlq dead-letters false 0"},
		"none": nil,
	} {
		all, err := ops.List(t.Context(), b, &ops.ListOptions{Match: match})
		if diff := cmp.Diff(want, lines(all)); err != nil || diff != "" {
			t.Errorf("%q: %v (-want +got):\n%s", match, err, diff)
		}
	}
	all, err := ops.List(t.Context(), b, &ops.ListOptions{NoDepths: true})
	if err != nil || len(all) != 5 || all[3].Depth.Waiting != 0 {
		t.Errorf("without depths: %v, %v", lines(all), err)
	}
}

// partly is a backend where some channels cannot be looked at.
type partly struct{ *memdriver.Backend }

func (p partly) Operations() driver.Operations {
	do := p.Backend.Operations()
	do.Inspect = p.Inspect
	return do
}

func (p partly) Inspect(ctx context.Context, c driver.Channel) (driver.Depth, error) {
	switch {
	case c.DeadLetter:
		return driver.Depth{}, &driver.Error{Class: driver.NotFound, Err: errors.New("deleted meanwhile")}
	case c.Exchange != "":
		return driver.Depth{}, &driver.Error{Class: driver.Denied, Err: errors.New("denied")}
	}
	return p.Backend.Inspect(ctx, c)
}

// A channel that cannot be looked at is listed with its error, and one that is gone is not listed.
func TestListOfWhatCannotBeLookedAt(t *testing.T) {
	all, err := ops.List(t.Context(), partly{shop(t)}, nil)
	want := []string{"events.* exchange true 0", "events.audit queue true 0", "orders queue false 3"}
	if diff := cmp.Diff(want, lines(all)); err != nil || diff != "" {
		t.Fatalf("%v (-want +got):\n%s", err, diff)
	}
	if all[1].Err == nil || all[2].Err != nil {
		t.Errorf("errors %v and %v", all[1].Err, all[2].Err)
	}
}

// A wrong pattern, and a backend that lists nothing, are errors that say so.
func TestListRefuses(t *testing.T) {
	if _, err := ops.List(t.Context(), shop(t), &ops.ListOptions{Match: "["}); err == nil || !strings.Contains(
		err.Error(), "ListOptions.Match") {
		t.Errorf("%v", err)
	}
	if _, err := ops.List(t.Context(), struct{ driver.Backend }{}, nil); err == nil || !strings.Contains(err.Error(),
		"cannot list channels") {
		t.Errorf("%v", err)
	}
}

// A channel is found by its name, with its order. The error for another name names similar channels, or where to look.
func TestFind(t *testing.T) {
	b := shop(t)
	if c, err := ops.Find(t.Context(), b, "events.audit@dlq"); err != nil || !c.Channel.Ordered {
		t.Errorf("%+v, %v", c, err)
	}
	for name, want := range map[string]string{
		"order": "perhaps orders", "Orders": "perhaps orders", "events.audti": "perhaps events.audit",
		"bills": "there are 5 others",
	} {
		_, err := ops.Find(t.Context(), b, name)
		if driver.ClassOf(err) != driver.NotFound || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
}

// A backend without a log cannot rewind, and says why.
func TestRewindOfAQueue(t *testing.T) {
	_, err := ops.Rewind(t.Context(), shop(t), "orders", nil)
	if err == nil || !strings.Contains(err.Error(), "Kafka") {
		t.Errorf("%v", err)
	}
}
