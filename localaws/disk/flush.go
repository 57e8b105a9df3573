package disk

import (
	"errors"
	"fmt"
	"time"
)

// run writes what is pending, until Close. It is the only goroutine that writes files.
func (s *Store) run() {
	defer close(s.ended)
	timer := time.NewTimer(lag)
	defer timer.Stop()
	allowed := int64(garbage)
	for {
		more := s.compact(allowed)
		s.mu.Lock()
		waiting, failing := len(s.pending) > 0, s.failure != nil
		s.mu.Unlock()
		var due, rested <-chan time.Time
		switch {
		case failing:
			timer.Reset(retry)
			due = timer.C
		case waiting:
			timer.Reset(lag)
			due = timer.C
		case more:
			timer.Reset(0)
			due = timer.C
		case allowed > 0:
			timer.Reset(idle)
			rested = timer.C
		}
		urgent := s.urgent
		if failing {
			urgent = nil // so that callers cannot make it try again and again
		}
		select {
		case <-urgent:
			s.flush()
		case <-due:
			s.flush()
		case <-rested:
			allowed = 0
		case <-s.first:
			allowed = garbage
		case <-s.closing:
			s.flush()
			s.end()
			return
		}
	}
}

// retry is how long a disk that takes no changes is left alone.
const retry = 200 * time.Millisecond

func (s *Store) end() {
	if s.current != nil {
		_ = s.current.Close() // it is synced
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.round)
	s.round = make(chan struct{})
}

// flush writes and syncs the pending batches. If that fails, they stay pending.
func (s *Store) flush() {
	s.mu.Lock()
	batches, upTo := s.pending, s.written
	s.pending, s.flushing = nil, s.pending
	s.mu.Unlock()
	done, unused := 0, []uint64(nil)
	var err error
	for done < len(batches) && err == nil {
		var n int
		n, err = s.append(batches[done:], &unused)
		done += n
	}
	s.mu.Lock()
	was := s.failure
	s.failure, s.flushing = nil, nil
	if err == nil {
		s.synced = upTo
	} else {
		s.pending = append(batches[done:], s.pending...)
		s.failure = fmt.Errorf("disk: changes cannot be written: %w", err)
	}
	is := s.failure
	close(s.round)
	s.round = make(chan struct{})
	s.mu.Unlock()
	for _, number := range unused {
		_ = s.files.remove(attachmentName(number)) // the next Open removes what is left
	}
	switch {
	case is != nil && was == nil:
		s.log.Error("the disk takes no changes: calls that change something fail until it does", "err", err)
	case is == nil && was != nil:
		s.log.Info("the disk takes changes again")
	}
}

// append writes batches to the last segment until it is full, and syncs them. It returns how many batches are on disk,
// and adds the attachments that are not needed any more to unused.
func (s *Store) append(batches []batch, unused *[]uint64) (n int, err error) {
	g := s.last()
	if s.current == nil || g.size >= segmentSize {
		if err := s.begin(); err != nil {
			return 0, err
		}
		g = s.last()
	}
	s.buffer = s.buffer[:0]
	var at []int
	for _, b := range batches {
		if g.size+int64(len(s.buffer)) >= segmentSize {
			break
		}
		for _, a := range b.attachments {
			if err := s.attach(a); err != nil {
				return 0, err
			}
		}
		at = append(at, int(g.size)+len(s.buffer))
		s.buffer = encode(s.buffer, b.changes)
	}
	if _, err = s.current.Write(s.buffer); err == nil {
		err = s.current.Sync()
	}
	if err != nil {
		// Whether the bytes will be on disk is not known. The next segment says where this one ends.
		_ = s.current.Close()
		s.current = nil
		return 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	g.size += int64(len(s.buffer))
	for i, offset := range at {
		for _, c := range batches[i].changes {
			if number := s.note(c, g, offset); number > 0 {
				*unused = append(*unused, number)
			}
		}
	}
	if cap(s.buffer) > maxBuffer {
		s.buffer = nil
	}
	return len(at), nil
}

// maxBuffer is how much memory is kept for the next flush: more than one needs, but after many changes that nobody has
// waited for.
const maxBuffer = 1 << 20

// attach writes an attachment, unless an earlier attempt has done so. That one may have failed to sync the folder.
func (s *Store) attach(a attachment) error {
	if f, err := s.files.open(a.name()); err == nil {
		return errors.Join(f.Close(), s.files.syncFolder(attachmentsFolder))
	}
	return writeFile(s.files, a.name(), a.value)
}

// last returns the last segment, or nil.
func (s *Store) last() *segment {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.segments) == 0 {
		return nil
	}
	return s.segments[len(s.segments)-1]
}

// begin creates the next segment.
func (s *Store) begin() error {
	if s.current != nil {
		_ = s.current.Close() // it is synced
		s.current = nil
	}
	s.numbered++
	g := &segment{number: s.numbered, size: segmentHeader}
	f, err := s.files.create(g.name())
	if err != nil {
		return err
	}
	_, err = f.Write(encodeHeader(g.number, s.last()))
	if err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = s.files.syncFolder(logFolder)
	}
	if err != nil {
		return errors.Join(err, f.Close(), s.files.remove(g.name()))
	}
	s.current = f
	s.mu.Lock()
	defer s.mu.Unlock()
	s.segments = append(s.segments, g)
	return nil
}
