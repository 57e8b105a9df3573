package snssqs_test

import (
	"strings"
	"testing"
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/localaws"
)

// SQS moves all dead letters by itself, at a rate, and stops when it is told to.
func TestMove(t *testing.T) {
	inWorld(t, localaws.Options{}, func(w *world) {
		other := driver.Channel{Queue: "other"}
		w.ensure(owner(orders))
		w.ensure(owner(other))
		r, or := w.receiver(orders, driver.Filter{}), w.receiver(other, driver.Filter{})
		for range 10 {
			w.foreign("orders", "x", everyType(10))
		}
		w.reject(r, "no", w.receive(r, 10)...)
		if tasks, err := w.b.Moves(w.Context(), dead(orders)); err != nil || len(tasks) > 0 {
			t.Fatalf("tasks before the first: %v, %v", tasks, err)
		}
		if err := w.b.Move(w.Context(), dead(orders), other, 1); err != nil {
			t.Fatal(err)
		}
		time.Sleep(3*time.Second + time.Millisecond)
		tasks, err := w.b.Moves(w.Context(), dead(orders))
		if err != nil || len(tasks) != 1 || !tasks[0].Running || tasks[0].Moved != 3 || tasks[0].Total != 10 ||
			tasks[0].Status != "RUNNING" || tasks[0].ID == "" {
			t.Fatalf("tasks %+v, %v", tasks, err)
		}
		if err := w.b.CancelMove(w.Context(), tasks[0].ID); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		w.receive(or, 3)
		if err := w.b.Move(w.Context(), dead(orders), other, 0); err != nil {
			t.Fatal(err)
		}
		w.receive(or, 7)
		if tasks, err = w.b.Moves(w.Context(), dead(orders)); err != nil || len(tasks) != 2 || tasks[0].Running ||
			tasks[0].Status != "COMPLETED" || tasks[0].Moved != 7 || tasks[1].Running || tasks[1].Moved != 3 {
			t.Errorf("tasks %+v, %v", tasks, err)
		}
	})
}

func TestMoveRefuses(t *testing.T) {
	inWorld(t, localaws.Options{}, func(w *world) {
		w.ensure(owner(orders))
		for _, c := range []struct {
			from, to driver.Channel
			rate     int
			class    driver.Class
			says     string
		}{
			{dead(orders), orders, 501, driver.Permanent, "500"},
			{dead(orders), orders, -1, driver.Permanent, "500"},
			{dead(orders), driver.Channel{Exchange: "news"}, 0, driver.Permanent, "exchange"},
			{orders, dead(orders), 0, driver.Permanent, "Dead Letter Queue"},
			{dead(orders), driver.Channel{Queue: "missing"}, 0, driver.NotFound, "missing"},
			{driver.Channel{Queue: "missing"}, orders, 0, driver.NotFound, "missing"},
		} {
			err := w.b.Move(w.Context(), c.from, c.to, c.rate)
			if err == nil || driver.ClassOf(err) != c.class || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%s to %s, %d: %v (%v)", c.from, c.to, c.rate, err, driver.ClassOf(err))
			}
		}
		if err := w.b.CancelMove(w.Context(), "nonsense"); driver.ClassOf(err) != driver.Permanent || err == nil {
			t.Errorf("cancel a task that does not exist: %v", err)
		}
	})
}
