package metric

import (
	"encoding/json"
	"strconv"
	"time"
)

// hour is the span of one record, in seconds: a sample rewrites the points of its hour.
const hour = 3600

// keptHour is the record of the points of a metric and a unit in an hour.
type keptHour struct {
	ID     ID
	Unit   string
	Hour   int64
	Seen   time.Time
	Minute []keptRun
	Second []keptRun `json:",omitempty"`
}

// keptRun is equal points that follow each other.
type keptRun struct {
	Start, Points int64
	Stats         Stats
}

// hourOf returns the record of the hour that begins at a time, and its key.
func (one *series) hourOf(t *track, at int64) (string, keptHour) {
	k := keptHour{ID: one.id, Unit: t.unit, Hour: at, Seen: one.seen}
	k.Minute, k.Second = runsOf(&t.minute, at), runsOf(&t.second, at)
	return one.hourKey(t, at), k
}

func (one *series) hourKey(t *track, at int64) string {
	return one.id.key() + "\x00" + t.unit + "\x00" + strconv.FormatInt(at, 10)
}

func runsOf(l *layer, at int64) []keptRun {
	var runs []keptRun
	l.each(at, at+hour, func(r *run, start, n int64) { runs = append(runs, keptRun{start, n, r.stats()}) })
	return runs
}

// note keeps the hour of a sample. The caller holds the store's lock.
func (s *Store) note(one *series, t *track, at int64) {
	if s.keep == nil {
		return
	}
	at = floor(at, hour)
	if t.hours == nil {
		t.hours = map[int64]struct{}{}
	}
	t.hours[at] = struct{}{}
	key, k := one.hourOf(t, at)
	b, err := json.Marshal(k)
	if err != nil { // texts and finite numbers
		panic("metric: a record cannot be written: " + err.Error())
	}
	s.keep(key, b)
}

// forget deletes the records of a track that are older than AWS keeps points, or all of them.
func (s *Store) forget(one *series, t *track, before int64) {
	for at := range t.hours {
		if at < before {
			s.keep(one.hourKey(t, at), nil)
			delete(t.hours, at)
		}
	}
}

// Keep makes the store call keep with every record that changes; a nil value deletes the record. It is called before
// anything else. keep may be called with a lock held.
func (s *Store) Keep(keep func(key string, value []byte)) { s.keep = keep }

// Restore adds the points of a record.
func (s *Store) Restore(value []byte) error {
	var k keptHour
	if err := json.Unmarshal(value, &k); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	one, seriesKey := s.of(k.ID)
	defer func() { s.count(one, one.bytes(seriesKey)) }()
	if k.Seen.After(one.seen) {
		one.seen = k.Seen
	}
	t := one.track(k.Unit)
	if t.hours == nil {
		t.hours = map[int64]struct{}{}
	}
	t.hours[k.Hour] = struct{}{}
	for l, runs := range map[*layer][]keptRun{&t.minute: k.Minute, &t.second: k.Second} {
		for _, r := range runs {
			for i := range r.Points {
				l.put(r.Start+i*l.period, r.Stats)
			}
		}
	}
	return nil
}
