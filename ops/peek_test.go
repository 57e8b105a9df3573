package ops_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/ops"
)

// service is a backend whose service can only receive.
type service struct{ driver.Backend }

func (s service) Operations() driver.Operations {
	do := driver.OperationsOf(s.Backend)
	return driver.Operations{Catalog: do.Catalog, Inspect: do.Inspect}
}

func bodiesOf(es []ops.Entry) (all []string) {
	for i := range es {
		all = append(all, string(es[i].Delivery.Body))
	}
	return all
}

// A peek returns the first messages, or those of a position, and leaves them where they are.
func TestPeek(t *testing.T) {
	in(t, func(m *morgue) {
		for i := range 30 {
			m.put(orders, letter("", fmt.Sprintf("%02d", i)))
		}
		for want, o := range map[string]*ops.PeekOptions{
			"00 01 02 03 04 05 06 07 08 09": nil,
			"00 01":                         {Most: 2},
			"28 29":                         {Most: 2, From: driver.PeekFrom{Last: true}},
		} {
			es, err := ops.Peek(m.Context(), m.Backend, "orders", o)
			if diff := cmp.Diff(strings.Fields(want), bodiesOf(es)); err != nil || diff != "" {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		}
		if d := m.take(orders); len(d) != 30 || d[0].Received != 1 {
			t.Errorf("%d messages, received %d times", len(d), d[0].Received)
		}
	})
}

// Where the service can only receive, a peek says so first; then it receives, and releases them at once.
func TestPeekByReceiving(t *testing.T) {
	in(t, func(m *morgue) {
		s := service{m.Backend}
		for i := range 30 {
			m.put(orders, letter("", fmt.Sprint(i)))
		}
		if _, err := ops.Peek(m.Context(), s, "orders", nil); !errors.Is(err, ops.ErrMustReceive) {
			t.Errorf("%v", err)
		}
		_, err := ops.Peek(m.Context(), s, "orders", &ops.PeekOptions{Receive: true, From: driver.PeekFrom{Last: true}})
		if err == nil || !strings.Contains(err.Error(), "leave out") {
			t.Errorf("%v", err)
		}
		began := time.Now()
		es, err := ops.Peek(m.Context(), s, "orders", &ops.PeekOptions{Receive: true, Most: 25})
		if err != nil || len(es) != 25 || es[0].Raw.Format == "" || time.Since(began) > time.Second {
			t.Errorf("%d, %v after %v", len(es), err, time.Since(began))
		}
		if d := m.take(orders); len(d) != 30 {
			t.Errorf("%d messages", len(d))
		}
	})
}

// A look by receiving is refused where it would bring the service closer to moving a message to the dead letters.
func TestPeekLeavesReceives(t *testing.T) {
	in(t, func(m *morgue) {
		few, enough := driver.Channel{Queue: "few"}, driver.Channel{Queue: "enough"}
		for ch, n := range map[driver.Channel]int{few: 3, enough: 8} {
			s := driver.ChannelSpec{Channel: ch, Owner: true, MaxReceives: n}
			if err := m.Backend.(driver.Provisioner).Ensure(m.Context(), s); err != nil {
				t.Fatal(err)
			}
			m.put(ch, letter("", "a"))
		}
		look := func(c driver.Channel) error {
			_, err := ops.Peek(m.Context(), service{m.Backend}, c.String(), &ops.PeekOptions{Receive: true})
			return err
		}
		if err := look(few); err == nil || !strings.Contains(err.Error(), "maxReceiveCount") {
			t.Errorf("%v", err)
		}
		for n := range 5 {
			if err := look(enough); (err != nil) != (n >= 3) {
				t.Errorf("look %d: %v", n+1, err)
			}
		}
		m.want(few, "a")
		m.want(enough, "a")
	})
}

// Messages are grouped by kind, type and the shape of their errors, with their first and last deaths, and a group can
// be selected.
func TestGroups(t *testing.T) {
	in(t, func(m *morgue) {
		at := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
		for i, text := range []string{"refund 1: no", "yes", "refund 22: no"} {
			m.put(orders, letter("", text))
			m.reject(orders, driver.Death{Error: text, Kind: "permanent", Last: at.Add(time.Duration(i) * time.Hour)})
		}
		es, err := ops.Peek(m.Context(), m.Backend, "orders@dlq", nil)
		want := []ops.Group{
			{
				ID: es[0].Group(), Kind: "permanent", Shape: "refund <n>: no", Error: "refund 22: no", Count: 2,
				First: at, Last: at.Add(2 * time.Hour),
			},
			{
				ID: es[1].Group(), Kind: "permanent", Shape: "yes", Error: "yes", Count: 1, First: at.Add(time.Hour),
				Last: at.Add(time.Hour),
			},
		}
		if diff := cmp.Diff(want, ops.Groups(es)); err != nil || diff != "" {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
		if exact := ops.ExactGroups(es); len(exact) != 3 || exact[0].Error != "refund 1: no" || exact[0].ID != "" {
			t.Errorf("exact groups: %+v", exact)
		}
		r := m.requeue("orders@dlq", &ops.RequeueOptions{Select: ops.Selection{Group: want[0].ID}})
		if r.Moved != 2 || r.Stay.NotSelected != 1 {
			t.Errorf("%+v", r)
		}
	})
}
