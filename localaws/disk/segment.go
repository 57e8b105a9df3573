package disk

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"strings"
)

// segmentSize is the size from which the next batch goes to a new segment: small enough that a short backlog needs
// little disk and that compaction does not delay calls, large enough that files are few.
const segmentSize = 8 << 20

// A segment begins with its mark, its number, the number of the segment before it, where that one ends, and a checksum.
// Bytes of an earlier segment beyond its end were never synced; what they had is in this segment.
const (
	segmentMark   = "GwLog\x01\r\n"
	segmentHeader = 36
)

// segment is one file of the log.
type segment struct {
	number uint64
	size   int64
	live   int64 // bytes of records that are the newest of their key
}

func (s *segment) name() string { return fmt.Sprintf("%s/%012d.log", logFolder, s.number) }

// place is where the newest record of a key is.
type place struct {
	segment    *segment
	offset     uint32 // of its batch
	size       uint32 // of the record
	attachment uint64 // 0: none
}

func encodeHeader(number uint64, before *segment) []byte {
	b := []byte(segmentMark)
	b = binary.LittleEndian.AppendUint64(b, number)
	if before == nil {
		before = &segment{}
	}
	b = binary.LittleEndian.AppendUint64(b, before.number)
	b = binary.LittleEndian.AppendUint64(b, uint64(before.size))
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

// header is a segment's header.
type header struct {
	ok            bool
	before        uint64 // 0: none
	endsBeforeAll int64  // where the segment before ends
}

func decodeHeader(b []byte, number uint64) header {
	if len(b) < segmentHeader || string(b[:8]) != segmentMark ||
		crc32.Checksum(b[:32], castagnoli) != binary.LittleEndian.Uint32(b[32:]) ||
		binary.LittleEndian.Uint64(b[8:]) != number {
		return header{}
	}
	return header{
		ok: true, before: binary.LittleEndian.Uint64(b[16:]),
		endsBeforeAll: int64(binary.LittleEndian.Uint64(b[24:])),
	}
}

// Damage is a part of a file that cannot be read. Its bytes are in the file Aside as well, where they stay.
type Damage struct {
	File   string // below the folder
	Offset int64
	Length int64 // 0: the whole file is missing
	Cause  string
	Aside  string // below the folder; "": nothing is there to be set aside
	// Tail says that nothing that can be read follows: the process has ended while it wrote, before it acknowledged, or
	// the end of the file is damaged.
	Tail bool
}

func (d Damage) Error() string {
	text := fmt.Sprintf("disk: %s cannot be read at offset %d (%d bytes): %s", d.File, d.Offset, d.Length, d.Cause)
	if d.Aside != "" {
		text += "; a copy is in " + d.Aside
	}
	return text
}

// setAside copies bytes that cannot be read, unless an earlier start has done so, and notes the damage.
func (s *Store) setAside(d Damage, b []byte) error {
	if len(b) > 0 {
		base := strings.ReplaceAll(d.File, "/", "-")
		d.Aside = fmt.Sprintf("%s/%s-%d-%08x", asideFolder, base, d.Offset, crc32.Checksum(b, castagnoli))
		if f, err := s.files.open(d.Aside); err == nil {
			_ = f.Close()
		} else if err := writeFile(s.files, d.Aside, b); err != nil {
			return fmt.Errorf("disk: set aside what cannot be read of %s: %w", d.File, err)
		}
	}
	s.mu.Lock()
	s.damage = append(s.damage, d)
	s.mu.Unlock()
	s.log.Error("some stored data cannot be read; the rest is served", "file", d.File, "offset", d.Offset,
		"bytes", d.Length, "cause", d.Cause, "aside", d.Aside, "tail", d.Tail)
	return nil
}

// scan calls batch for every batch of a segment that can be read. What cannot be read is passed to bad.
func scan(b []byte, batch func(at int, changes []change), bad func(at, end int, why string, tail bool) error) error {
	for at := segmentHeader; at < len(b); {
		changes, n, why := decode(b[at:])
		if n > 0 {
			batch(at, changes)
			at += n
			continue
		}
		end, tail := len(b), true
		if next := nextBatch(b[at+1:]); next >= 0 {
			end, tail = at+1+next, false
		}
		if err := bad(at, end, why, tail); err != nil {
			return err
		}
		at = end
	}
	return nil
}

// read returns the bytes of a segment, up to its end.
func (s *Store) read(g *segment) ([]byte, error) {
	f, err := s.files.open(g.name())
	if err != nil {
		return nil, err
	}
	defer f.Close() // it is only read
	b := make([]byte, g.size)
	_, err = io.ReadFull(io.NewSectionReader(f, 0, g.size), b)
	return b, err
}
