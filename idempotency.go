package godwit

import (
	"container/list"
	"context"
	"crypto/rand"
	"errors"
	"sync"
	"time"
)

// IdempotencyStore stores which keys are finished, and which are claimed. A claim that is neither finished nor
// abandoned ends after the time given to Begin, because its process may have crashed. A store must be safe for
// concurrent use.
type IdempotencyStore interface {
	// Begin claims a key for owner, a string that no other call of Begin uses.
	Begin(ctx context.Context, key, owner string, atMost time.Duration) (Claim, error)
	// Finish records that the key's work is done, no matter who has claimed it. The store keeps this as long as it can.
	Finish(ctx context.Context, key string) error
	// Abandon ends the claim of owner, so that the key can be claimed again at once. If the key is finished, or claimed
	// by another owner, Abandon does nothing.
	Abandon(ctx context.Context, key, owner string) error
}

// Claim is the result of IdempotencyStore.Begin.
type Claim struct {
	State ClaimState
	Until time.Time // with ClaimBusy: when the other claim ends by itself; zero: unknown
}

// ClaimState is the state of a key.
type ClaimState uint8

const (
	ClaimStarted  ClaimState = iota // the caller has claimed it and may do the work
	ClaimFinished                   // the work is done
	ClaimBusy                       // another owner has claimed it and does the work now
)

const (
	// busyPoll is how often the store is asked again about a busy key, because a claim usually ends long before its
	// time.
	busyPoll = 2 * time.Second
	// storeTimeout bounds calls of the store that are necessary after the end of the handler's context.
	storeTimeout = 10 * time.Second
)

// ErrBusy is the error of a delivery whose key another handler has claimed. It does not count as an attempt. The
// consumer holds the delivery, renews its lease, and asks the store again, independent of its policy.
var ErrBusy = errors.New("the same message is being handled elsewhere")

// busyError is ErrBusy with the time after which to ask the store again.
type busyError struct{ wait time.Duration }

func (e *busyError) Error() string { return ErrBusy.Error() }
func (e *busyError) Unwrap() error { return ErrBusy }

// busyWait is the time after which to ask the store again about a busy key.
func busyWait(err error) time.Duration {
	var busy *busyError
	if errors.As(err, &busy) {
		return busy.wait
	}
	return busyPoll // ErrBusy of another middleware
}

// Idempotent handles each key once, as long as the store keeps it. key returns the key of a delivery. nil means the
// service's message id, which detects redeliveries, but not a message that was sent twice. atMost is how long a claim
// lasts whose process has crashed; choose more than the longest duration of the handler. 0: 30 minutes, the longest
// processing timeout.
//
//   - The handler returns nil, or settles the delivery by Done: the key is finished, and later deliveries of it are
//     done without the handler.
//   - The handler settles it by Retry, Release or Reject, returns an error, panics, or exceeds its processing timeout:
//     the key can be claimed again at once.
//   - The process crashes, or the handler ignores its timeout: the key can be claimed after atMost. If a handler takes
//     longer than atMost, another one may run for the same key.
//   - Another delivery of the key arrives meanwhile: the consumer holds it until the claim ends, and no attempt is
//     counted.
//   - Finish fails: the policy gets its error, although the work is done, and the next delivery repeats the work. A
//     delivery that is settled by Done stays so.
//   - The key is empty: the delivery is rejected, because all messages with an empty key would count as one.
func Idempotent(store IdempotencyStore, key func(*Delivery) string, atMost time.Duration) Middleware {
	if store == nil {
		return nil // NewConsumer returns an error
	}
	if key == nil {
		key = func(d *Delivery) string { return d.ID }
	}
	if atMost <= 0 {
		atMost = maxProcessingTimeout
	}
	return func(next Handler) Handler {
		return func(ctx context.Context, d *Delivery) error {
			k := key(d)
			if k == "" {
				return Permanent(errors.New("the idempotency key of the message is empty: return a key for every message from the key function of Idempotent"))
			}
			return once(ctx, store, d, d.Channel+"/"+k, atMost, next)
		}
	}
}

// once handles a delivery whose key is neither finished nor claimed.
func once(
	ctx context.Context, store IdempotencyStore, d *Delivery, key string, atMost time.Duration, handler Handler,
) error {
	owner := rand.Text()
	claim, err := store.Begin(ctx, key, owner, atMost)
	switch {
	case err != nil:
		return err
	case claim.State == ClaimFinished:
		return nil
	case claim.State == ClaimBusy:
		return &busyError{claim.wait(time.Now())}
	}
	end := func(done bool) error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
		defer cancel()
		if done {
			return store.Finish(ctx, key)
		}
		return store.Abandon(ctx, key, owner)
	}
	returned := false
	defer func() {
		if !returned { // the handler panicked, or ended its goroutine
			_ = end(false) // otherwise the claim ends by itself
		}
	}()
	err = handler(ctx, d)
	returned = true
	return errors.Join(err, end(d.IsDone(err)))
}

// wait is the time after which to ask again.
func (c Claim) wait(now time.Time) time.Duration {
	if c.Until.IsZero() {
		return busyPoll
	}
	return min(max(c.Until.Sub(now), time.Millisecond), busyPoll)
}

// memoryKeys is how many keys a MemoryStore keeps by default.
const memoryKeys = 100_000

// MemoryStore is an IdempotencyStore for one process. It keeps a number of finished keys, the newest. Its zero value is
// a store of the default size.
type MemoryStore struct {
	size int // 0: memoryKeys

	mu    sync.Mutex
	keys  map[string]*list.Element
	order list.List // of *memoryKey, oldest first
}

type memoryKey struct {
	key      string
	finished bool
	owner    string    // of the claim
	until    time.Time // when the claim ends by itself
}

// NewMemoryStore makes a store for size keys; 0: 100,000.
func NewMemoryStore(size int) *MemoryStore {
	setDefault(&size, memoryKeys)
	return &MemoryStore{size: max(size, 1)}
}

// Begin implements IdempotencyStore.
func (s *MemoryStore) Begin(_ context.Context, key, owner string, atMost time.Duration) (Claim, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	k := s.element(key).Value.(*memoryKey)
	switch {
	case k.finished:
		return Claim{State: ClaimFinished}, nil
	case now.Before(k.until):
		return Claim{State: ClaimBusy, Until: k.until}, nil
	}
	k.owner, k.until = owner, now.Add(atMost)
	return Claim{State: ClaimStarted}, nil
}

// Finish implements IdempotencyStore.
func (s *MemoryStore) Finish(_ context.Context, key string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.element(key)
	e.Value.(*memoryKey).finished = true
	s.order.MoveToBack(e)
	s.trim()
	return nil
}

// Abandon implements IdempotencyStore.
func (s *MemoryStore) Abandon(_ context.Context, key, owner string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.keys[key]; e != nil && !e.Value.(*memoryKey).finished && e.Value.(*memoryKey).owner == owner {
		s.order.Remove(e)
		delete(s.keys, key)
	}
	return nil
}

// element returns the element of a key, which is made if there is none. The caller holds s.mu.
func (s *MemoryStore) element(key string) *list.Element {
	e := s.keys[key]
	if e == nil {
		if s.keys == nil {
			s.keys = map[string]*list.Element{}
		}
		e = s.order.PushBack(&memoryKey{key: key})
		s.keys[key] = e
	}
	return e
}

// trim removes the oldest keys that are finished, or whose claim has ended. The caller holds s.mu.
func (s *MemoryStore) trim() {
	size := s.size
	setDefault(&size, memoryKeys)
	for e := s.order.Front(); e != nil && len(s.keys) > size; {
		next := e.Next()
		if k := e.Value.(*memoryKey); k.finished || time.Now().After(k.until) {
			s.order.Remove(e)
			delete(s.keys, k.key)
		}
		e = next
	}
}
