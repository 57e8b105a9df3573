package disk

import (
	"cmp"
	"fmt"
	"slices"
)

// recover reads the segments, and fills the index.
func (s *Store) recover() error {
	names, err := s.files.list(logFolder)
	if err != nil {
		return err
	}
	type found struct {
		*segment
		header
	}
	var all []found
	for _, name := range names {
		g := &segment{}
		if _, err := fmt.Sscanf(name, "%d.log", &g.number); err != nil {
			continue
		}
		b, err := readHead(s.files, g)
		if err != nil {
			return err
		}
		s.numbered = max(s.numbered, g.number)
		all = append(all, found{segment: g, header: decodeHeader(b, g.number)})
	}
	slices.SortFunc(all, func(a, b found) int { return cmp.Compare(a.number, b.number) })
	// The newest segment first: it says which one is before it, and where that one ends.
	var chain []found
	for i := len(all) - 1; i >= 0; i-- {
		f := all[i]
		if len(chain) > 0 {
			if next := chain[0].header; next.ok && f.number > next.before {
				// Its creation had failed, so that the next one followed an earlier one.
				if err := s.files.remove(f.name()); err != nil {
					return err
				}
				continue
			} else if next.ok && f.number == next.before {
				f.size = min(f.size, next.endsBeforeAll)
			} else if next.ok {
				if err := s.reader.missing(next.before); err != nil {
					return err
				}
			}
		}
		chain = slices.Insert(chain, 0, f)
	}
	for i, f := range chain {
		if !f.ok && f.size <= segmentHeader && i == len(chain)-1 {
			// The process has ended while it created the file.
			if err := s.files.remove(f.name()); err != nil {
				return err
			}
			continue
		}
		if err := s.replay(f.segment, f.header.ok); err != nil {
			return err
		}
	}
	return nil
}

// readHead returns the header of a segment, and notes its size.
func readHead(fs files, g *segment) ([]byte, error) {
	f, err := fs.open(g.name())
	if err != nil {
		return nil, err
	}
	defer f.Close() // it is only read
	if g.size, err = f.size(); err != nil {
		return nil, err
	}
	b := make([]byte, min(g.size, segmentHeader))
	if len(b) == 0 {
		return nil, nil
	}
	_, err = f.ReadAt(b, 0)
	return b, err
}

// replay makes the changes of a segment in the index.
func (s *Store) replay(g *segment, headed bool) error {
	b, err := s.reader.read(g)
	if err != nil {
		return err
	}
	s.segments = append(s.segments, g)
	if !headed {
		if err := s.reader.setAside(Damage{
			File: g.name(), Length: int64(min(len(b), segmentHeader)), Cause: "the header of the segment is wrong",
		}, b[:min(len(b), segmentHeader)]); err != nil {
			return err
		}
	}
	return scan(b, func(at int, changes []change) {
		for _, c := range changes {
			s.note(c, g, at)
		}
	}, func(at, end int, why string, tail bool) error {
		if tail {
			g.size = int64(at) // as the next segment will say
		}
		return s.reader.setAside(Damage{
			File: g.name(), Offset: int64(at), Length: int64(end - at), Cause: why, Tail: tail,
		}, b[at:end])
	})
}

// note makes a change in the index, and returns the attachment that is not needed any more; 0: none.
func (s *Store) note(c change, g *segment, at int) (unused uint64) {
	old, there := s.index[c.key]
	if there {
		old.segment.live -= int64(old.size)
	}
	number := numberOf(c)
	if c.kind == kindDelete {
		delete(s.index, c.key)
	} else {
		s.index[c.key] = place{segment: g, offset: uint32(at), size: uint32(c.size()), attachment: number}
		g.live += c.size()
	}
	if old.attachment != number {
		return old.attachment
	}
	return 0
}

// sweep removes attachments to which no record refers. If something cannot be read, a record of an attachment may be
// part of it: then none is removed.
func (s *Store) sweep() error {
	names, err := s.files.list(attachmentsFolder)
	if err != nil {
		return err
	}
	used := map[uint64]bool{}
	for _, p := range s.index {
		used[p.attachment] = true
		s.attachments = max(s.attachments, p.attachment)
	}
	for _, name := range names {
		var number uint64
		if _, err := fmt.Sscanf(name, "%d.value", &number); err != nil {
			continue
		}
		s.attachments = max(s.attachments, number)
		if !used[number] && len(s.reader.all()) == 0 {
			if err := s.files.remove(attachmentsFolder + "/" + name); err != nil {
				return err
			}
		}
	}
	return nil
}
