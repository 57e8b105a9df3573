package metric

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Store holds metrics. It is safe for concurrent use. The zero value is not usable; call NewStore.
type Store struct {
	room *Room

	mu     sync.Mutex
	series map[string]*series             // by key
	keep   func(key string, value []byte) // nil: in memory alone
}

// Room counts about how many bytes the metrics of stores take that share it. It is safe for concurrent use.
type Room struct{ taken atomic.Int64 }

// Taken returns about how many bytes the metrics take.
func (r *Room) Taken() int64 { return r.taken.Load() }

// series is one metric with its units.
type series struct {
	id      ID
	tracks  []*track
	seen    time.Time // when a sample arrived last
	counted int       // what the room holds of it
}

// count tells the room how much memory a series takes now; 0: it is gone.
func (s *Store) count(one *series, bytes int) {
	s.room.taken.Add(int64(bytes - one.counted))
	one.counted = bytes
}

// bytes returns about how much memory the series takes: its key twice, and its tracks.
func (one *series) bytes(key string) int {
	const empty = 192
	bytes := empty + 2*len(key)
	for _, t := range one.tracks {
		bytes += t.bytes()
	}
	return bytes
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

// NewStore returns an empty store; nil: its room is its own.
func NewStore(room *Room) *Store {
	room = cmp.Or(room, &Room{})
	return &Store{room: room, series: map[string]*series{}}
}

// Put adds samples. It is the only method that adds any.
func (s *Store) Put(now time.Time, samples ...Sample) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range samples {
		s.put(now, &samples[i])
	}
}

func (s *Store) put(now time.Time, x *Sample) {
	one, key := s.of(x.ID)
	one.seen = now
	unit := x.Unit
	unit = cmp.Or(unit, NoUnit)
	t := one.track(unit)
	t.put(x.At.Unix(), x.Stats, x.Fine)
	s.count(one, one.bytes(key))
	s.note(one, t, x.At.Unix())
}

// of returns the metric with an ID and its key, and creates it if necessary.
func (s *Store) of(id ID) (one *series, key string) {
	key = id.key()
	one = s.series[key]
	if one == nil {
		id.Dimensions = slices.Clone(id.Dimensions)
		one = &series{id: id}
		s.series[key] = one
	}
	return one, key
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
	key := r.ID.key()
	one := s.series[key]
	if one == nil {
		return nil
	}
	defer func() { s.count(one, one.bytes(key)) }()
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
		s.count(one, one.bytes(key))
		if len(one.tracks) == 0 {
			s.count(one, 0)
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
		s.count(one, 0)
		for _, t := range one.tracks {
			s.forget(one, t, math.MaxInt64)
		}
	}
	s.series = map[string]*series{}
}
