package mcpserver

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/driver/memdriver"
	"github.com/godwitmq/godwit/local/kafkalocal"
)

// unlisted is a service whose messages can only be received.
type unlisted struct{ *memdriver.Backend }

func (u unlisted) Operations() driver.Operations {
	do := u.Backend.Operations()
	do.Peek = nil
	return do
}

// die makes a dead letter.
func die(t *testing.T, b driver.Backend, body string) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	s, err := b.Sender(t.Context(), driver.Channel{Queue: "orders"})
	must(err)
	p, err := s.Prepare(t.Context(), &driver.Message{Body: []byte(body)})
	must(err)
	must(s.Send(t.Context(), []driver.Prepared{p}))
	must(s.Close(t.Context()))
	r, err := b.Receiver(t.Context(), driver.Channel{Queue: "orders"}, driver.ReceiverOptions{Concurrency: 1})
	must(err)
	var ds []driver.Delivery
	for ; len(ds) == 0; time.Sleep(time.Second) {
		ds, err = r.Receive(t.Context(), driver.Ask{Max: 1}, nil)
		must(err)
	}
	death := driver.Death{Kind: "timeout", Error: "slow", Channel: "orders", Attempts: 3, Last: time.Now()}
	must(r.Settle(t.Context(), []driver.Settlement{{Handle: ds[0].Handle, Action: driver.Reject, Death: &death}}))
	must(r.Close(t.Context()))
}

// A message that died after a plan stays when the plan is applied, also if the plan cannot name its messages. The plan
// says which of the two it is.
func TestLaterDeathsStay(t *testing.T) {
	memory := func(t *testing.T) *memdriver.Backend {
		b, err := memdriver.Open(nil)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	for _, c := range []struct {
		binds string
		open  func(t *testing.T) driver.Backend
	}{
		{bindsMessages, func(t *testing.T) driver.Backend { return memory(t) }},
		{bindsTime, func(t *testing.T) driver.Backend { return unlisted{memory(t)} }},
		{bindsMessages, func(t *testing.T) driver.Backend {
			b, err := kafkalocal.Open(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			return b
		}},
	} {
		synctest.Test(t, func(t *testing.T) {
			b := c.open(t)
			if closer, is := b.(interface{ Close(context.Context) error }); is {
				defer func() { _ = closer.Close(context.Background()) }()
			}
			if err := b.(driver.Provisioner).Ensure(t.Context(), driver.ChannelSpec{
				Channel: driver.Channel{Queue: "orders"}, Owner: true,
			}); err != nil {
				t.Fatal(err)
			}
			s, err := New(Options{Backend: b, Act: true, Folder: t.TempDir()})
			if err != nil {
				t.Fatal(err)
			}
			plan := func(most int) planned {
				t.Helper()
				p, err := s.plan(t.Context(), planning{Channel: "orders@dlq", All: true, Most: most})
				if err != nil || p.Binds != c.binds {
					t.Fatalf("%+v, %v; want a plan that binds %s", p, err, c.binds)
				}
				time.Sleep(time.Second)
				return p
			}
			apply := func(p planned) int64 {
				t.Helper()
				a, err := s.apply(t.Context(), applying{p.Token})
				if err != nil {
					t.Fatal(err)
				}
				return a.Sent
			}
			die(t, b, "1")
			die(t, b, "2")
			time.Sleep(time.Second)
			p := plan(0)
			if n := apply(plan(1)); p.Count != 2 || n != 1 {
				t.Fatalf("%d are planned, and %d of 1 is sent", p.Count, n)
			}
			die(t, b, "3")
			if n := apply(p); n != 1 {
				t.Errorf("%s: %d messages are sent, want the one that is left of the plan", c.binds, n)
			}
			dead := driver.Channel{Queue: "orders", DeadLetter: true}
			if d, err := driver.OperationsOf(b).Inspect(t.Context(), dead); err != nil || d.All() != 1 {
				t.Errorf("%s: %+v are left, %v", c.binds, d, err)
			}
		})
	}
}
