package disk

import "time"

// garbage is how much of the log may be garbage, however little is in use, so that a short backlog is rarely written
// again.
const garbage = 3 * segmentSize

// idle is after how long without a change compaction goes on until no more is garbage than is in use, so that a drained
// queue gives its room back.
const idle = 15 * time.Second

// rest is how long compaction waits after it has failed.
const rest = 10 * time.Second

// compact removes the oldest segment if too much of the log is garbage, after it has written its live records again. It
// reports whether it should be called again at once. allowed bytes may be garbage, however little is in use.
func (s *Store) compact(allowed int64) (more bool) {
	s.mu.Lock()
	total, live := sizes(s.segments)
	if !s.loaded || len(s.segments) < 2 || total-live <= max(live, allowed) ||
		s.failure != nil && s.segments[0].live > 0 || time.Now().Before(s.resting) {
		s.mu.Unlock()
		return false
	}
	oldest := s.segments[0]
	s.mu.Unlock()
	if err := s.rewrite(oldest); err != nil {
		s.log.Warn("the log cannot be compacted now", "err", err)
		s.resting = time.Now().Add(rest)
		return false
	}
	return true
}

// rewrite writes the live records of the oldest segment again, and removes it.
func (s *Store) rewrite(oldest *segment) error {
	s.mu.Lock()
	live := oldest.live
	s.mu.Unlock()
	var copies []batch
	if live > 0 {
		b, err := s.reader.read(oldest)
		if err != nil {
			return err
		}
		err = scan(b, func(at int, changes []change) {
			var some batch
			for _, c := range changes {
				if c.kind != kindDelete && s.isNewest(c.key, oldest, at) {
					some.changes = append(some.changes, c)
				}
			}
			if len(some.changes) > 0 {
				copies = append(copies, some)
			}
		}, func(at, end int, why string, tail bool) error {
			return s.reader.setAside(Damage{
				File: oldest.name(), Offset: int64(at), Length: int64(end - at), Cause: why, Tail: tail,
			}, b[at:end])
		})
		if err != nil {
			return err
		}
	}
	for len(copies) > 0 {
		n, err := s.append(copies, new([]uint64))
		if err != nil {
			return err
		}
		copies = copies[n:]
	}
	if err := s.files.remove(oldest.name()); err != nil {
		return err
	}
	// The removal is on disk before that of the next segment, which may have deletions of records in this one.
	if err := s.files.syncFolder(logFolder); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.segments = s.segments[1:]
	return nil
}
