package s3store_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"testing/synctest"

	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/google/go-cmp/cmp"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/localaws"
	"github.com/godwitmq/godwit/localaws/s3"
	"github.com/godwitmq/godwit/s3store"
)

// breaks makes reads break after these numbers of bytes, one after another. It returns the ranges that were requested.
func (w *world) breaks(after ...int64) (ranges *[]string) {
	ranges = new([]string)
	var mu sync.Mutex
	w.server.Control("s3.GetObject", func(_ context.Context, r *localaws.Request) (o localaws.Outcome) {
		mu.Lock()
		defer mu.Unlock()
		*ranges = append(*ranges, r.Input.(*s3.GetObjectInput).Range)
		if len(after) > 0 {
			o.BreakResponse, after = after[0], after[1:]
		}
		return o
	})
	return ranges
}

// A body whose connection breaks is read on from there. Only breaks without progress end the reading.
func TestReadingIsResumed(t *testing.T) {
	const mib = 1 << 20
	for name, c := range map[string]struct {
		breaks []int64
		ranges []string
		failed bool
	}{
		"once": {breaks: []int64{5 * mib}, ranges: []string{"", "bytes=5242880-"}},
		"with progress": {
			breaks: []int64{mib, mib, mib, mib, mib, mib},
			ranges: []string{
				"", "bytes=1048576-", "bytes=2097152-", "bytes=3145728-", "bytes=4194304-", "bytes=5242880-",
				"bytes=6291456-",
			},
		},
		"with little progress": {
			breaks: []int64{100, 100, 100}, ranges: []string{"", "bytes=100-", "bytes=200-", "bytes=300-"},
		},
		"without progress": {
			breaks: []int64{100, 100, 100, 100, 100},
			ranges: []string{"", "bytes=100-", "bytes=200-", "bytes=300-"}, failed: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				s := w.ready(s3store.Options{})
				at := w.put(s, large())
				ranges := w.breaks(c.breaks...)
				got, err := w.read(s, at)
				if (err != nil) != c.failed || !c.failed && !bytes.Equal(got, large()) {
					t.Errorf("read %d of %d bytes, %v", len(got), len(large()), err)
				}
				if c.failed && (!strings.Contains(err.Error(), "broke 4 times") || len(got) != 400) {
					t.Errorf("%d bytes, %v", len(got), err)
				}
				if diff := cmp.Diff(c.ranges, *ranges); diff != "" {
					t.Errorf("ranges (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// An object that is gone, or another one, when its connection breaks is not read on. The error is that of the broken
// connection: whether the object is missing, the next attempt finds out.
func TestReadingOfAnObjectThatChanges(t *testing.T) {
	inWorld(t, func(w *world) {
		s := w.ready(s3store.Options{})
		open := func() (io.ReadCloser, driver.Location) {
			t.Helper()
			at := w.put(s, large())
			w.breaks(1 << 20)
			r, size, err := s.Open(w.Context(), at)
			if err != nil || size != 17<<20 {
				t.Fatal(size, err)
			}
			return r, at
		}
		for name, change := range map[string]func(at driver.Location){
			"replaced": func(at driver.Location) {
				if _, err := w.s3.PutObject(w.Context(), &awss3.PutObjectInput{
					Bucket: &at.Bucket, Key: &at.Key, Body: bytes.NewReader(make([]byte, 17<<20)),
				}); err != nil {
					t.Error(err)
				}
			},
			"deleted": func(at driver.Location) {
				if err := s.Delete(w.Context(), []driver.Location{at}); err != nil {
					t.Error(err)
				}
			},
		} {
			r, at := open()
			change(at)
			got, err := io.ReadAll(iotest.OneByteReader(io.LimitReader(r, 10)))
			if err != nil || len(got) != 10 {
				t.Fatalf("%s: %v", name, err)
			}
			got, err = io.ReadAll(r)
			var known *driver.Error
			if err == nil || errors.As(err, &known) || len(got) != 1<<20-10 {
				t.Errorf("%s: %d bytes, %v", name, len(got), err)
			}
			if again, err2 := r.Read(make([]byte, 1)); again != 0 || err2 == nil {
				t.Errorf("%s: read again: %d, %v", name, again, err2)
			}
			_ = r.Close()
		}
	})
}

// Close ends the reading, also while it is resumed.
func TestCloseWhileReadingIsResumed(t *testing.T) {
	inWorld(t, func(w *world) {
		s := w.ready(s3store.Options{})
		at := w.put(s, large())
		hangs := make(chan struct{})
		n := 0
		w.server.Control("s3.GetObject", func(ctx context.Context, _ *localaws.Request) localaws.Outcome {
			if n++; n == 1 {
				return localaws.Outcome{BreakResponse: 100}
			}
			close(hangs)
			<-ctx.Done()
			return localaws.Outcome{}
		})
		ctx, cancel := context.WithCancel(w.Context())
		r, _, err := s.Open(ctx, at)
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 1)
		go func() {
			_, err := io.Copy(io.Discard, r)
			done <- err
		}()
		<-hangs
		_ = r.Close()
		cancel()
		synctest.Wait()
		if err := <-done; err == nil {
			t.Error("the object was read to its end")
		}
	})
}
