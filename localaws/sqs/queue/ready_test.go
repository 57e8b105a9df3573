package queue_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/godwitmq/godwit/localaws/sqs/queue"
)

// order receives everything that is visible, without hiding it, and returns the ids.
func order(t *testing.T, q *queue.Queue) []string {
	t.Helper()
	got, err := q.Receive(t.Context(), queue.Receive{Max: 10})
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, m := range got {
		ids = append(ids, m.ID)
	}
	return ids
}

// A message whose visibility timeout ended stands where its age puts it, whether time ended it or a client.
func TestReturnedMessagesStandByAge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(t)
		for _, id := range []string{"a", "b", "c", "d"} {
			put(t, q, message(id, ""))
		}
		taken := receive(t, q, 3)
		if err := q.ChangeVisibility(taken[1].Handle, 0); err != nil {
			t.Fatal(err)
		}
		if got := order(t, q); !slices.Equal(got, []string{"b", "d"}) {
			t.Errorf("after b was released: %v", got)
		}
		time.Sleep(31 * time.Second)
		if got := order(t, q); !slices.Equal(got, []string{"a", "b", "c", "d"}) {
			t.Errorf("after the visibility timeout: %v", got)
		}
		if err := q.DeleteMessage(taken[0].Handle); err != nil {
			t.Fatal(err)
		}
		put(t, q, message("e", ""))
		if got := order(t, q); !slices.Equal(got, []string{"b", "c", "d", "e"}) {
			t.Errorf("after a was deleted: %v", got)
		}
		if s := q.Stats(); s.Visible != 4 || s.InFlight != 0 {
			t.Errorf("%+v", s)
		}
	})
}

// A delayed message stands behind those that were visible before it.
func TestDelayedMessagesStandByTheirDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(t)
		late := message("late", "")
		late.Delay = 5 * time.Second
		put(t, q, late)
		put(t, q, message("a", ""))
		time.Sleep(6 * time.Second)
		if got := order(t, q); !slices.Equal(got, []string{"a", "late"}) {
			t.Errorf("received %v", got)
		}
	})
}

// Only a receive that hides the message supersedes earlier handles, as recorded on AWS.
func TestOnlyAHidingReceiveSupersedes(t *testing.T) {
	for _, c := range []struct {
		name  string
		first time.Duration // visibility timeouts of two receives
		then  time.Duration
		gone  bool // the first handle deletes
	}{
		{"neither hides", 0, 0, true},
		{"the first hides", time.Second, 0, true},
		{"the second hides", 0, time.Second, false},
		{"both hide", time.Second, time.Second, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			q := newQueue(t)
			put(t, q, message("m", ""))
			var handles []string
			for _, d := range []time.Duration{c.first, c.then} {
				got, err := q.Receive(t.Context(), queue.Receive{Max: 1, Visibility: d})
				if err != nil || len(got) != 1 {
					t.Fatalf("%s: %v, %v", c.name, got, err)
				}
				handles = append(handles, got[0].Handle)
				time.Sleep(2 * time.Second)
			}
			if handles[0] == handles[1] {
				t.Errorf("%s: the handles are equal", c.name)
			}
			if err := q.DeleteMessage(handles[0]); err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
			if gone := q.Stats().Total() == 0; gone != c.gone {
				t.Errorf("%s: the first handle deletes: %v, want %v", c.name, gone, c.gone)
			}
		})
	}
}
