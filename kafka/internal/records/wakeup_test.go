package records

import (
	"testing"
	"testing/synctest"
	"time"
)

// Who wakes ends the wait under way, or the next one.
func TestWakeupEndsAWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w Wakeup
		ctx, cancel := w.Begin(t.Context(), time.Minute)
		admitted := false
		begun := time.Now()
		go func() {
			time.Sleep(time.Second)
			w.await()
			if !admitted {
				t.Error("what the poll brought is not admitted")
			}
		}()
		<-ctx.Done()
		time.Sleep(time.Second)
		admitted = true
		w.Done()
		cancel()
		if took := time.Since(begun); took != 2*time.Second {
			t.Errorf("it took %v", took)
		}
		if ctx, _ := w.Begin(t.Context(), time.Minute); ctx != nil {
			t.Error("somebody woke before the wait began, and it waits") // await did
		}
		w.Done()
		w.await() // nothing is under way
		if ctx, _ := w.Begin(t.Context(), time.Minute); ctx != nil {
			t.Error("it waits")
		}
		w.Done()
		ctx, cancel = w.Begin(t.Context(), time.Minute)
		if ctx == nil {
			t.Fatal("nobody woke, and it does not wait")
		}
		cancel()
		w.Done()
		if ctx, _ := w.Begin(t.Context(), 0); ctx != nil {
			t.Error("it waits for no time")
		}
		w.Done()
		synctest.Wait()
	})
}
