package share

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/godwitmq/godwit/driver"
)

// What comes is handed over in order, at most as much as is asked for; an error is returned once.
func TestQueueHandsOver(t *testing.T) {
	q, failed := newQueue(always), errors.New("failed")
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

// Sessions request nothing while nobody receives, and the tiers wait while the queue is full.
func TestQueueHoldsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(always)
		q.put(make([]driver.Delivery, 2), nil)
		for _, c := range []struct{ want, lacks int }{{5, 3}, {1, 4}, {-5, 0}, {-1, 0}} {
			q.want(c.want)
			if _, lacks := q.lacks(); lacks != c.lacks {
				t.Errorf("with %+d wanted, the queue lacks %d deliveries, want %d", c.want, lacks, c.lacks)
			}
		}
		room := false
		go func() { room = q.room(t.Context(), 2) }()
		synctest.Wait()
		if room {
			t.Error("the queue is full, and has room")
		}
		if _, err := q.take(1, nil); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		if !room {
			t.Error("one was taken, and there is no room")
		}
		ended, end := context.WithCancel(t.Context())
		end()
		if q.room(ended, 1) {
			t.Error("the wait goes on after the receiver's end")
		}
	})
}

// A delivery whose lock has ended on the queue is not ours any more.
func TestQueueDropsWhatHasEnded(t *testing.T) {
	q := newQueue(always)
	locked, lost, later := driver.Handle{Ref: &lock{run: &run{}}}, &run{}, time.Now().Add(time.Hour)
	lost.lost.Store(true)
	q.put([]driver.Delivery{
		{ID: "ended", Handle: locked, LeaseEnds: time.Now()},
		{ID: "lost", Handle: driver.Handle{Ref: &lock{run: lost}}, LeaseEnds: later},
		{ID: "ours", Handle: locked, LeaseEnds: later},
		{ID: "of a tier"},
	}, nil)
	ds, err := q.take(4, nil)
	if err != nil || len(ds) != 2 || ds[0].ID != "ours" || ds[1].ID != "of a tier" {
		t.Errorf("took %v, %v, want the last two", ds, err)
	}
}

func always(driver.Handle) bool { return true }

// A delivery of a tier whose partition has gone to another process, while it was on the queue, is dropped.
func TestQueueDropsWhatAnotherProcessHas(t *testing.T) {
	gone := new(int)
	q := newQueue(func(h driver.Handle) bool { return h.Ref != gone })
	q.put([]driver.Delivery{{ID: "a"}, {ID: "b", Handle: driver.Handle{Ref: gone}}, {ID: "c"}}, nil)
	ds, err := q.take(5, nil)
	if len(ds) != 2 || ds[0].ID != "a" || ds[1].ID != "c" || err != nil {
		t.Errorf("took %+v, %v, want a and c", ds, err)
	}
}
