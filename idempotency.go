package godwit

import (
	"container/list"
	"context"
	"errors"
	"sync"
	"time"
)

// Store remembers which keys are finished, or being worked on. A key that is begun and neither finished nor abandoned
// becomes free again after the time given to Begin, because its process may have died. Safe for concurrent use.
type Store interface {
	// Begin claims a key. Started: it is the caller's. Finished: nothing is left to do. Busy: someone works on it.
	Begin(ctx context.Context, key string, atMost time.Duration) (Claim, error)
	// Finish says that the key's work is done, and is remembered as long as the store remembers.
	Finish(ctx context.Context, key string) error
	// Abandon gives the key up, so that it can be begun again at once.
	Abandon(ctx context.Context, key string) error
}

// Claim is the answer of Store.Begin.
type Claim uint8

const (
	Started Claim = iota
	Finished
	Busy
)

// ErrBusy is the error of a delivery whose key is being worked on elsewhere; its policy decides when it comes back.
var ErrBusy = errors.New("the same message is being handled elsewhere")

// Idempotent handles each key once, as far as the store remembers. key names what a delivery is about; nil: the
// service's message id, which catches redeliveries but not a message that was sent twice. Work that is done counts as
// done also where Finish fails: the error then goes to the policy, and the next delivery may do it again.
func Idempotent(store Store, key func(*Delivery) string, atMost time.Duration) Middleware {
	if key == nil {
		key = func(d *Delivery) string { return d.ID }
	}
	return func(next Handler) Handler {
		return func(ctx context.Context, d *Delivery) error {
			k := d.Channel + "/" + key(d)
			claim, err := store.Begin(ctx, k, atMost)
			switch {
			case err != nil:
				return err
			case claim == Finished:
				return nil
			case claim == Busy:
				return ErrBusy
			}
			if err := next(ctx, d); err != nil {
				return errors.Join(err, store.Abandon(context.WithoutCancel(ctx), k))
			}
			return store.Finish(context.WithoutCancel(ctx), k)
		}
	}
}

// MemoryStore is a Store for one process: it remembers so many finished keys, the newest.
type MemoryStore struct {
	size int

	mu    sync.Mutex
	keys  map[string]*list.Element
	order *list.List // of *memoryKey, oldest first; only finished ones are forgotten
}

type memoryKey struct {
	key      string
	finished bool
	until    time.Time // when a begun one is free again
}

// NewMemoryStore makes a store of a size; 0: 100,000 keys.
func NewMemoryStore(size int) *MemoryStore {
	setDefault(&size, 100_000)
	return &MemoryStore{size: max(size, 1), keys: map[string]*list.Element{}, order: list.New()}
}

// Begin is Store's.
func (s *MemoryStore) Begin(_ context.Context, key string, atMost time.Duration) (Claim, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.keys[key]; e != nil {
		k := e.Value.(*memoryKey)
		switch {
		case k.finished:
			return Finished, nil
		case time.Now().Before(k.until):
			return Busy, nil
		}
		k.until = time.Now().Add(atMost)
		return Started, nil
	}
	s.keys[key] = s.order.PushBack(&memoryKey{key: key, until: time.Now().Add(atMost)})
	return Started, nil
}

// Finish is Store's.
func (s *MemoryStore) Finish(_ context.Context, key string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.keys[key]
	if e == nil {
		e = s.order.PushBack(&memoryKey{key: key})
		s.keys[key] = e
	}
	e.Value.(*memoryKey).finished = true
	s.order.MoveToBack(e)
	s.trim()
	return nil
}

// Abandon is Store's.
func (s *MemoryStore) Abandon(_ context.Context, key string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.keys[key]; e != nil && !e.Value.(*memoryKey).finished {
		s.order.Remove(e)
		delete(s.keys, key)
	}
	return nil
}

// trim forgets the oldest keys that are finished, or begun by someone who never came back. The caller holds s.mu.
func (s *MemoryStore) trim() {
	for e := s.order.Front(); e != nil && len(s.keys) > s.size; {
		next := e.Next()
		if k := e.Value.(*memoryKey); k.finished || time.Now().After(k.until) {
			s.order.Remove(e)
			delete(s.keys, k.key)
		}
		e = next
	}
}
