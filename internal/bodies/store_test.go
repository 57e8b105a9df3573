package bodies

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/calls"
)

// source is an opener of a text; a nil one hangs until its context ends.
type source struct {
	text *string
	size int64
	err  error
}

func (s source) Open(ctx context.Context) (io.ReadCloser, int64, error) {
	if s.text == nil && s.err == nil {
		<-ctx.Done()
		return nil, 0, ctx.Err()
	}
	if s.err != nil {
		return nil, 0, s.err
	}
	return io.NopCloser(strings.NewReader(*s.text)), s.size, nil
}

// A download counts the size that the store says, and takes it back when the body cannot be read. A passing error has a
// time for the next attempt, which the log of the consumer gets; others have none.
func TestDownload(t *testing.T) {
	text := "a body"
	fault := &driver.PayloadError{Fault: driver.PayloadMissing}
	for name, c := range map[string]struct {
		from source
		held int64
		wait bool
		told int
	}{
		"as announced":    {source{text: &text, size: 6}, 6, false, 0},
		"of unknown size": {source{text: &text, size: -1}, 6, false, 0},
		"too short":       {source{text: &text, size: 7}, 0, false, 0},
		"hangs":           {source{}, 0, true, 1},
		"missing":         {source{err: fault}, 0, false, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			var held int64
			var told int
			s := NewStore(1<<20, time.Minute, new(calls.Log), func(error) { told++ })
			body, err := s.Download(t.Context(), &Body{Opener: c.from, Size: 6}, func(by int64) { held += by })
			if ok := c.held > 0; ok != (err == nil) || ok && string(body) != text {
				t.Errorf("%s: %q, %v", name, body, err)
			}
			var failed *Error
			errors.As(err, &failed)
			if held != c.held || told != c.told || c.wait != (failed != nil && failed.Wait > 0) {
				t.Errorf("%s: %d bytes are held, the log has %d lines, %v", name, held, told, err)
			}
			if (FaultOf(err) != nil) != (c.from.err != nil) {
				t.Errorf("%s: the fault is %v", name, FaultOf(err))
			}
		})
	}
}

// A store that makes progress, and is too slow for the handler's processing timeout, fails with a time for the next
// attempt, while the handler's own context goes on. The end of that context is no failure of the store.
func TestDownloadBeforeHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		told := 0
		s := NewStore(1<<20, time.Minute, new(calls.Log), func(error) { told++ })
		download := func(ctx context.Context) (err *Error) {
			soon, cancel := s.Before(ctx)
			defer cancel()
			_, got := s.Download(soon, &Body{Opener: trickle{}, Size: 60}, func(int64) {})
			if !errors.As(got, &err) {
				t.Fatalf("the error is %v", got)
			}
			return err
		}
		began := time.Now()
		if err := download(t.Context()); err.Wait == 0 || !err.Passing() || !errors.Is(err, errSlow) || told != 1 {
			t.Errorf("a slow store: %v, wait %v, told %d times", err, err.Wait, told)
		}
		if took := time.Since(began); took != time.Minute/handlerPart {
			t.Errorf("it took %v", took)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := download(ctx); err.Wait != 0 || errors.Is(err, errSlow) || told != 1 {
			t.Errorf("a caller that ends: %v, wait %v, told %d times", err, err.Wait, told)
		}
	})
}

// trickle is a store that sends a byte a second.
type trickle struct{}

func (trickle) Open(ctx context.Context) (io.ReadCloser, int64, error) {
	return io.NopCloser(trickling{ctx}), 60, nil
}

type trickling struct{ ctx context.Context }

func (t trickling) Read(to []byte) (int, error) {
	select {
	case <-time.After(time.Second):
		to[0] = 'x'
		return 1, nil
	case <-t.ctx.Done():
		return 0, t.ctx.Err()
	}
}
