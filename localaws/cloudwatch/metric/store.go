package metric

import (
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"time"
)

// Store holds metrics. It is safe for concurrent use. The zero value is not usable; call NewStore.
type Store struct {
	mu     sync.Mutex
	series map[string]*series             // by key
	keep   func(key string, value []byte) // nil: in memory alone
}

// series is one metric with its units.
type series struct {
	id     ID
	tracks []*track
	seen   time.Time // when a sample arrived last
}

// Sample is what a client reports for one time.
type Sample struct {
	ID    ID
	At    time.Time
	Unit  string // "": None
	Stats Stats
	Fine  bool // storage resolution of a second
}

// Point is what was reported in one period, with one unit.
type Point struct {
	At    time.Time
	Unit  string
	Stats Stats
}

// NoUnit is the unit of samples without one.
const NoUnit = "None"

// NewStore returns an empty store.
func NewStore() *Store { return &Store{series: map[string]*series{}} }

// Put adds samples. It is the only method that adds any.
func (s *Store) Put(now time.Time, samples ...Sample) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range samples {
		s.put(now, &samples[i])
	}
}

func (s *Store) put(now time.Time, x *Sample) {
	one := s.of(x.ID)
	one.seen = now
	unit := x.Unit
	if unit == "" {
		unit = NoUnit
	}
	t := one.track(unit)
	t.put(x.At.Unix(), x.Stats, x.Fine)
	s.note(one, t, x.At.Unix())
}

// of returns the metric with an ID, and creates it if necessary.
func (s *Store) of(id ID) *series {
	key := id.key()
	one := s.series[key]
	if one == nil {
		id.Dimensions = slices.Clone(id.Dimensions)
		one = &series{id: id}
		s.series[key] = one
	}
	return one
}

// track returns the track of a unit, and creates it if necessary.
func (one *series) track(unit string) *track {
	i, found := slices.BinarySearchFunc(one.tracks, unit, func(t *track, unit string) int {
		return strings.Compare(t.unit, unit)
	})
	if !found {
		one.tracks = slices.Insert(one.tracks, i, newTrack(unit))
	}
	return one.tracks[i]
}

// Reading says what to read.
type Reading struct {
	ID     ID
	Unit   string // "": all
	From   time.Time
	To     time.Time // exclusive
	Period time.Duration
}

// Read returns the points of a metric by unit, each in order of time. A point has the time of its period's begin; the
// first period begins at From. Units without points are left out.
func (s *Store) Read(now time.Time, r Reading) [][]Point {
	s.mu.Lock()
	defer s.mu.Unlock()
	one := s.series[r.ID.key()]
	if one == nil {
		return nil
	}
	from := r.From
	if r.Period < time.Minute && from.Before(now.Add(-keepFinest)) {
		from = now.Add(-keepFinest).Truncate(r.Period)
	}
	var all [][]Point
	for _, t := range one.tracks {
		if r.Unit != "" && r.Unit != t.unit {
			continue
		}
		t.trim(now)
		points := t.read(from.Unix(), ceiling(r.To), int64(r.Period/time.Second))
		if len(points) > 0 {
			all = append(all, points)
		}
	}
	return all
}

// ceiling returns the first whole second at or after a time.
func ceiling(at time.Time) int64 {
	if at.Nanosecond() > 0 {
		return at.Unix() + 1
	}
	return at.Unix()
}

// Trim removes points that are older than AWS keeps them, and metrics without points.
func (s *Store) Trim(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, one := range s.series {
		for _, t := range one.tracks {
			t.trim(now)
			if s.forget(one, t, now.Add(-keepCoarse).Unix()-hour); t.empty() {
				s.forget(one, t, math.MaxInt64)
			}
		}
		one.tracks = slices.DeleteFunc(one.tracks, (*track).empty)
		if len(one.tracks) == 0 {
			delete(s.series, key)
		}
	}
}

// Listed is a metric in a list.
type Listed struct {
	ID    ID
	Key   string    // the lists' order
	Seen  time.Time // when a sample arrived last
	Units []string
}

// List returns up to limit metrics behind a key, in order of their keys, for which want is true; 0: no limit.
func (s *Store) List(after string, limit int, want func(Listed) bool) []Listed {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []Listed
	for _, key := range slices.Sorted(maps.Keys(s.series)) {
		if key <= after && after != "" {
			continue
		}
		one := s.series[key]
		l := Listed{ID: one.id, Key: key, Seen: one.seen}
		if want != nil && !want(l) {
			continue
		}
		for _, t := range one.tracks {
			l.Units = append(l.Units, t.unit)
		}
		if found = append(found, l); len(found) == limit {
			break
		}
	}
	return found
}

// Len returns the number of metrics.
func (s *Store) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.series)
}

// Reset removes everything.
func (s *Store) Reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range s.series {
		for _, t := range one.tracks {
			s.forget(one, t, math.MaxInt64)
		}
	}
	s.series = map[string]*series{}
}
