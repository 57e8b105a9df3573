package kafka

import (
	"testing"
	"testing/synctest"
	"time"
)

// Who wakes ends the wait under way, or the next one.
func TestWakeupEndsAWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w wakeup
		ctx, cancel := w.begin(t.Context(), time.Minute)
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
		w.done()
		cancel()
		if took := time.Since(begun); took != 2*time.Second {
			t.Errorf("it took %v", took)
		}
		if ctx, _ := w.begin(t.Context(), time.Minute); ctx != nil {
			t.Error("somebody woke before the wait began, and it waits") // await did
		}
		w.done()
		w.await() // nothing is under way
		if ctx, _ := w.begin(t.Context(), time.Minute); ctx != nil {
			t.Error("it waits")
		}
		w.done()
		ctx, cancel = w.begin(t.Context(), time.Minute)
		if ctx == nil {
			t.Fatal("nobody woke, and it does not wait")
		}
		cancel()
		w.done()
		if ctx, _ := w.begin(t.Context(), 0); ctx != nil {
			t.Error("it waits for no time")
		}
		w.done()
		synctest.Wait()
	})
}
