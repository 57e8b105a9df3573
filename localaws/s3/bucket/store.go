package bucket

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"
)

// Store holds the buckets of all accounts and regions, which share their names. It is safe for concurrent use.
type Store struct {
	keeper *keeper // nil: nothing is kept

	mu      sync.RWMutex
	buckets map[string]*Bucket
}

// NewStore returns a store without buckets.
func NewStore() *Store { return &Store{buckets: map[string]*Bucket{}} }

// Create creates a bucket. If there is one with this name, it returns that one and ErrExists.
func (s *Store) Create(account, name, region string, now time.Time, set *Settings) (*Bucket, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if b := s.buckets[name]; b != nil {
		return b, ErrExists
	}
	b := newBucket(account, name, region, now, set)
	b.keeper = s.keeper
	b.keeper.bucket(b)
	s.buckets[name] = b
	return b, nil
}

// Whole returns the content of a whole blob, and takes over its first user.
func (s *Store) Whole(b Blob, size int64) Content { return Whole(s.keeper.blob(b, size), size) }

// Bucket returns the bucket with a name, or nil.
func (s *Store) Bucket(name string) *Bucket {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.buckets[name]
}

// Buckets returns the buckets by name.
func (s *Store) Buckets() []*Bucket {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return slices.SortedFunc(maps.Values(s.buckets), func(a, b *Bucket) int { return cmp.Compare(a.name, b.name) })
}

// Delete deletes a bucket without objects. Its uploads are dropped.
func (s *Store) Delete(name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.buckets[name]
	if b == nil {
		return ErrNoBucket
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.objects.count > 0 {
		return ErrNotEmpty
	}
	delete(s.buckets, name)
	return b.apply(closeBucket{})
}

// Close frees what is in memory. What is kept stays.
func (s *Store) Close() {
	if s.keeper != nil {
		s.keeper.closed.Store(true)
	}
	s.Reset()
}

// Reset deletes every bucket with its content.
func (s *Store) Reset() {
	s.mu.Lock()
	old := s.buckets
	s.buckets = map[string]*Bucket{}
	s.mu.Unlock()
	for _, b := range old {
		_ = b.change(closeBucket{}) // only a bucket that is gone refuses it
	}
}
