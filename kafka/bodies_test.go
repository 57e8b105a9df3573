package kafka_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"sync"
	"time"

	"github.com/godwitmq/godwit/driver"
)

// bodies is a driver.Store in memory.
type bodies struct {
	lifetime time.Duration

	mu      sync.Mutex
	objects map[string][]byte
	written map[string]time.Time
	ensured []driver.Mode
	deleted int
}

func (s *bodies) Ensure(_ context.Context, mode driver.Mode) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ensured = append(s.ensured, mode)
	return nil
}

func (s *bodies) Put(_ context.Context, folder string, body io.Reader, size int64) (driver.Location, error) {
	all, err := io.ReadAll(body)
	if err == nil && size >= 0 && int64(len(all)) != size {
		err = &driver.Error{
			Class: driver.Permanent, Err: fmt.Errorf("%d bytes of %d: set Size to the number", len(all), size),
		}
	}
	if err != nil {
		return driver.Location{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.objects == nil {
		s.objects, s.written = map[string][]byte{}, map[string]time.Time{}
	}
	key := fmt.Sprint(folder, "/", len(s.objects))
	s.objects[key], s.written[key] = all, time.Now()
	return driver.Location{Bucket: "payloads", Key: key}, nil
}

func (s *bodies) Open(_ context.Context, at driver.Location) (io.ReadCloser, int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all, ok := s.objects[at.Key]
	if !ok {
		return nil, 0, &driver.Error{Class: driver.NotFound, Err: errors.New("NoSuchKey")}
	}
	return io.NopCloser(bytes.NewReader(all)), int64(len(all)), nil
}

func (s *bodies) Delete(_ context.Context, at []driver.Location) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.deleted += len(at)
	return nil
}

func (s *bodies) Lifetime() time.Duration { return s.lifetime }

func (s *bodies) List(_ context.Context, folder string) iter.Seq2[driver.Object, error] {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []driver.Object
	for key, body := range s.objects {
		if strings.HasPrefix(key, folder+"/") {
			at := driver.Location{Bucket: "payloads", Key: key}
			all = append(all, driver.Object{Location: at, Size: int64(len(body)), Written: s.written[key]})
		}
	}
	return func(yield func(driver.Object, error) bool) {
		for _, o := range all {
			if !yield(o, nil) {
				return
			}
		}
	}
}

// count is how many objects there are.
func (s *bodies) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.objects)
}

// bytes is how many bytes the objects have.
func (s *bodies) bytes() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, o := range s.objects {
		n += len(o)
	}
	return n
}
