package share

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/godwitmq/godwit/driver"
)

// What comes is handed over in order, at most as much as is asked for; an error is returned once.
func TestQueueHandsOver(t *testing.T) {
	q, failed := newQueue(), errors.New("failed")
	q.put([]driver.Delivery{{ID: "a"}, {ID: "b"}, {ID: "c"}}, nil)
	q.put(nil, failed)
	for _, want := range []struct {
		ids string
		err error
	}{{"ab", failed}, {"c", nil}, {"", nil}} {
		ds, err := q.take(2, nil)
		ids := ""
		for _, d := range ds {
			ids += d.ID
		}
		if ids != want.ids || err != want.err {
			t.Errorf("took %q, %v, want %q, %v", ids, err, want.ids, want.err)
		}
	}
}

// Members wait while nobody receives, and the tiers wait while the queue is full.
func TestQueueHoldsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue()
		q.begin()
		q.begin()
		q.end()
		if !q.await(t.Context()) {
			t.Error("one still receives")
		}
		q.end()
		wanted, room := false, false
		go func() { wanted = q.await(t.Context()) }()
		q.put(make([]driver.Delivery, 2), nil)
		go func() { room = q.room(t.Context(), 2) }()
		synctest.Wait()
		if wanted || room {
			t.Errorf("nobody receives, and the queue is full: wanted %v, room %v", wanted, room)
		}
		q.begin()
		if _, err := q.take(1, nil); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		if !wanted || !room {
			t.Errorf("somebody receives, and took one: wanted %v, room %v", wanted, room)
		}
		ended, end := context.WithCancel(t.Context())
		end()
		q.end()
		if q.await(ended) || q.room(ended, 1) {
			t.Error("the wait goes on after the receiver's end")
		}
	})
}
