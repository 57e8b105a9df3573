package bodies

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// One body may exceed the limit; others wait until it is gone, for a part of the processing timeout, or until their
// context ends. Only the end of the wait has a time for the next attempt.
func TestRoomBoundsBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &NewStore(100, time.Minute, nil, nil).Room
		if err := r.Enter(t.Context(), 500); err != nil {
			t.Fatal(err)
		}
		if err := r.Enter(t.Context(), 0); err != nil {
			t.Errorf("nothing needs no room: %v", err)
		}
		began := time.Now()
		var late *Error
		if err := r.Enter(t.Context(), 1); !errors.As(err, &late) || late.Wait == 0 || !late.Passing() {
			t.Errorf("without room: %v", err)
		}
		if took := time.Since(began); took != time.Minute/roomPart {
			t.Errorf("waited %v", took)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := r.Enter(ctx, 1); !errors.As(err, &late) || late.Wait != 0 || !errors.Is(err, context.Canceled) {
			t.Errorf("after the end of the context: %v", err)
		}
		go func() {
			time.Sleep(time.Second)
			r.Leave(500)
		}()
		if err := r.Enter(t.Context(), 60); err != nil {
			t.Errorf("with room again: %v", err)
		}
		if err := r.Enter(t.Context(), 40); err != nil {
			t.Errorf("just enough room: %v", err)
		}
	})
}
