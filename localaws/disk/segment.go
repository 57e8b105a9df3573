package disk

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"hash/crc32"
)

// segmentSize is the size from which the next batch goes to a new segment: small enough that a short backlog needs
// little disk and that compaction does not delay calls, large enough that files are few.
const segmentSize = 8 << 20

// A segment begins with its mark, its number, the number of the segment before it, where that one ends, and a checksum.
// An earlier segment may be longer than its end says. The bytes beyond were never synced, and this segment has the same
// records again.
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
	before = cmp.Or(before, &segment{})
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
