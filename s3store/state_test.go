package s3store_test

import (
	"errors"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/s3store"
)

func (w *world) state() *s3store.State {
	w.Helper()
	s, err := s3store.OpenState(w.Context(), &s3store.StateOptions{
		Bucket: bucket, Key: "godwit/alerts.json", AWS: &w.conf,
	})
	if err != nil {
		w.Fatal(err)
	}
	return s
}

// Of programs that change a state at the same time, none overwrites the change of another.
func TestStateIsConditional(t *testing.T) {
	inWorld(t, func(w *world) {
		w.create(bucket)
		const programs, changes = 6, 10
		var wg sync.WaitGroup
		for range programs {
			s := w.state()
			wg.Go(func() {
				for n := 0; n < changes; {
					text, version, err := s.Load(w.Context())
					if err != nil {
						w.Error(err)
						return
					}
					count, _ := strconv.Atoi(string(text))
					err = s.Store(w.Context(), []byte(strconv.Itoa(count+1)), version)
					if err == nil {
						n++
					} else if !errors.Is(err, driver.ErrConflict) {
						w.Error(err)
						return
					}
				}
			})
		}
		wg.Wait()
		if text, _, err := w.state().Load(w.Context()); err != nil || string(text) != strconv.Itoa(programs*changes) {
			w.Errorf("%s, %v; want %d", text, err, programs*changes)
		}
	})
}

// A state that was deleted is a conflict for a program that has read it. What is denied says what is missing.
func TestStateThatIsGoneOrDenied(t *testing.T) {
	inWorld(t, func(w *world) {
		s := w.state()
		if _, _, err := s.Load(w.Context()); driver.ClassOf(err) != driver.NotFound {
			w.Errorf("without a bucket: %v", err)
		}
		w.create(bucket)
		if err := s.Store(w.Context(), []byte("a"), ""); err != nil {
			w.Fatal(err)
		}
		_, version, err := s.Load(w.Context())
		if err != nil {
			w.Fatal(err)
		}
		if err := s.Store(w.Context(), []byte("b"), ""); !errors.Is(err, driver.ErrConflict) {
			w.Errorf("a second first one: %v", err)
		}
		_, err = w.s3.DeleteObject(w.Context(), &s3.DeleteObjectInput{
			Bucket: aws.String(bucket), Key: aws.String("godwit/alerts.json"),
		})
		if err != nil {
			w.Fatal(err)
		}
		if err := s.Store(w.Context(), []byte("b"), version); !errors.Is(err, driver.ErrConflict) {
			w.Errorf("after the delete: %v", err)
		}
		w.refuse("s3.PutObject")
		if err := s.Store(w.Context(), []byte("b"), ""); driver.ClassOf(err) != driver.Denied ||
			!strings.Contains(err.Error(), "s3:PutObject") {
			w.Errorf("denied: %v", err)
		}
	})
}

// A key that names no object is refused.
func TestStateOptions(t *testing.T) {
	for _, key := range []string{"", "/a", "a/", "a/../b"} {
		_, err := s3store.OpenState(t.Context(), &s3store.StateOptions{Bucket: bucket, Key: key, AWS: &aws.Config{}})
		if err == nil || !strings.Contains(err.Error(), "StateOptions.Key") {
			t.Errorf("%q: %v", key, err)
		}
	}
	if _, err := s3store.OpenState(t.Context(), nil); err == nil {
		t.Error("no options were taken")
	}
}
