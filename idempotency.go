package godwit

import (
	"container/list"
	"context"
	"crypto/rand"
	"errors"
	"sync"
	"time"
)

// IdempotencyStore remembers which keys are finished, or being worked on. A claim that is neither finished nor abandoned
// ends after the time given to Begin, because its process may have died. Safe for concurrent use.
type IdempotencyStore interface {
	// Begin claims a key for owner, a string that no other call of Begin uses.
	Begin(ctx context.Context, key, owner string, atMost time.Duration) (Claim, error)
	// Finish says that the key's work is done, whoever has claimed it; the store remembers that as long as it can.
	Finish(ctx context.Context, key string) error
	// Abandon ends the claim of owner, so that the key can be claimed again at once. Where the key is finished, or
	// claimed by another owner, it does nothing.
	Abandon(ctx context.Context, key, owner string) error
}

// Claim is the answer of IdempotencyStore.Begin.
type Claim struct {
	State ClaimState
	Until time.Time // ClaimBusy: when the other claim ends by itself; zero: unknown
}

// ClaimState says whose a key is.
type ClaimState uint8

const (
	ClaimStarted  ClaimState = iota // the caller's: it may do the work
	ClaimFinished                   // nobody's: the work is done
	ClaimBusy                       // another owner's, who does the work now
)

const (
	// busyPoll is how often a delivery whose key is busy asks the store again: a claim usually ends long before its time.
	busyPoll = 2 * time.Second
	// storeTimeout bounds what must be said to a store after the handler's context may have ended.
	storeTimeout = 10 * time.Second
)

// ErrBusy is the error of a delivery whose key is being worked on elsewhere. It is no attempt: the consumer holds the
// delivery under its lease and asks again, whatever its policy is.
var ErrBusy = errors.New("the same message is being handled elsewhere")

// busyError is ErrBusy with the time until it is worth asking again.
type busyError struct{ wait time.Duration }

func (e *busyError) Error() string { return ErrBusy.Error() }
func (e *busyError) Unwrap() error { return ErrBusy }

// busyWait is how long it is until it is worth asking again for a key that is busy.
func busyWait(err error) time.Duration {
	var busy *busyError
	if errors.As(err, &busy) {
		return busy.wait
	}
	return busyPoll // ErrBusy of somebody else's middleware
}

// Idempotent handles each key once, as far as the store remembers. key names what a delivery is about; nil: the
// service's message id, which catches redeliveries but not a message that was sent twice. atMost is how long a claim
// lasts whose process has died; choose more than a handler may take. 0: 30 minutes, the longest processing timeout.
//
//   - The handler returns nil: the key is finished, and a later delivery of it is done without the handler.
//   - It returns an error or panics, or its processing timeout ends it: the key is free again at once.
//   - Its process crashes, or it ignores its timeout: the key is free after atMost. A handler that takes longer than
//     atMost may run beside another one for the same key.
//   - A duplicate arrives meanwhile: it is held under its lease until the claim ends, and that is no attempt.
//   - Finish fails: the work is done all the same; its error goes to the policy, and the next delivery does it again.
//   - The key is empty: the delivery is rejected, because all empty keys would count as one.
func Idempotent(store IdempotencyStore, key func(*Delivery) string, atMost time.Duration) Middleware {
	if store == nil {
		return nil // which NewConsumer refuses
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
				return Permanent(errors.New("the idempotency key of the message is empty: let the key function name what the message is about"))
			}
			return once(ctx, store, d.Channel+"/"+k, atMost, func() error { return next(ctx, d) })
		}
	}
}

// once does work that nobody has done and nobody does.
func once(ctx context.Context, store IdempotencyStore, key string, atMost time.Duration, work func() error) error {
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
	say := func(f func(context.Context) error) error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
		defer cancel()
		return f(ctx)
	}
	abandon := func(ctx context.Context) error { return store.Abandon(ctx, key, owner) }
	returned := false
	defer func() {
		if !returned { // it panicked, or ended its goroutine
			_ = say(abandon) // else the claim ends by itself
		}
	}()
	err = work()
	returned = true
	if err != nil {
		return errors.Join(err, say(abandon))
	}
	return say(func(ctx context.Context) error { return store.Finish(ctx, key) })
}

// wait is how long it is until it is worth asking again.
func (c Claim) wait(now time.Time) time.Duration {
	if c.Until.IsZero() {
		return busyPoll
	}
	return min(max(c.Until.Sub(now), time.Millisecond), busyPoll)
}

// MemoryStore is an IdempotencyStore for one process: it remembers so many finished keys, the newest.
type MemoryStore struct {
	size int

	mu    sync.Mutex
	keys  map[string]*list.Element
	order *list.List // of *memoryKey, oldest first; only finished ones are forgotten
}

type memoryKey struct {
	key      string
	finished bool
	owner    string    // of a claim
	until    time.Time // when the claim ends by itself
}

// NewMemoryStore makes a store of a size; 0: 100,000 keys.
func NewMemoryStore(size int) *MemoryStore {
	setDefault(&size, 100_000)
	return &MemoryStore{size: max(size, 1), keys: map[string]*list.Element{}, order: list.New()}
}

// Begin is IdempotencyStore's.
func (s *MemoryStore) Begin(_ context.Context, key, owner string, atMost time.Duration) (Claim, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	e := s.keys[key]
	if e == nil {
		e = s.order.PushBack(&memoryKey{key: key})
		s.keys[key] = e
	}
	k := e.Value.(*memoryKey)
	switch {
	case k.finished:
		return Claim{State: ClaimFinished}, nil
	case now.Before(k.until):
		return Claim{State: ClaimBusy, Until: k.until}, nil
	}
	k.owner, k.until = owner, now.Add(atMost)
	return Claim{State: ClaimStarted}, nil
}

// Finish is IdempotencyStore's.
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

// Abandon is IdempotencyStore's.
func (s *MemoryStore) Abandon(_ context.Context, key, owner string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.keys[key]; e != nil && !e.Value.(*memoryKey).finished && e.Value.(*memoryKey).owner == owner {
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
