package offsets

import (
	"encoding/base64"
	"encoding/binary"
	"hash/crc32"
	"math"
	"strings"
)

// The text is a version and, in base64, these bytes:
//
//	uvarint  the latest leader epoch of a record that the text describes, plus one
//	uvarint  the mark, plus one; not in version 1
//	uvarint  n, the number of finished stretches; an unfinished one precedes each. The first one includes the offset
//	         before the committed offset, and so is never empty
//	byte     the Rice parameter
//	uvarint  the number of exceptions; for each of them two uvarints: the number of stretches since the exception
//	         before, and its length minus one
//	bits     2n lengths minus one: the high part in unary (ones, ended by a zero), then the low bits, most significant
//	         first; numbers of exceptions are zero. Padded with zeros
//	uvarint  the number of blocks; for each of them the key's hash (8 bytes, big endian) and three uvarints: the
//	         distance of the first record from the committed offset, its number of attempts, and the number of
//	         records. Not in version 1
//	uvarints attempts, in pairs up to the checksum: the distance from the record before, and the number of attempts
//	4 bytes  CRC-32C, big endian, over all of the above, the log's identity, and the committed offset (8 bytes, big
//	         endian)

const (
	version = "g2."
	// versionOne is still read. Such a text has no mark, and a commit without completions had no text.
	versionOne = "g1."
	// maxMetadata is the broker's default for offset.metadata.max.bytes, which counts UTF-16 units; so the text is
	// ASCII.
	maxMetadata = 4096
	// minMetadata is the smallest useful limit: below it, there is hardly room for a stretch, and few records would be
	// admitted.
	minMetadata = 96
	// checksumBytes is the length of the checksum.
	checksumBytes = 4
	// frameBytes is the size of everything except bits, exceptions and attempts: 5 bytes for the epoch, 9 for the mark,
	// 3 for each count of stretches, 1 for the parameter, 1 for the number of blocks.
	frameBytes = 5 + 9 + 3 + 1 + 3 + 1 + checksumBytes
	// maxLow keeps a decoded length within 63 bits.
	maxLow = 62
)

// said is the content of a metadata text.
type said struct {
	// pieces are the lengths of stretches, alternately unfinished and finished, beginning with the offset before the
	// committed one.
	pieces []int64
	blocks []block
	tries  []try // ascending
	epoch  int32
	mark   int64 // -1: none
}

// extend appends a number of offsets to the pieces. Pieces at odd indexes are finished.
func (x *said) extend(finished bool, length int64) {
	if length <= 0 {
		return
	}
	n := len(x.pieces)
	if last := n%2 == 0; n > 0 && last == finished {
		x.pieces[n-1] += length
		return
	}
	x.pieces = append(x.pieces, length)
}

// metadataBytes returns how many bytes fit into a text with a number of characters.
func metadataBytes(limit int) int { return max(0, limit-len(version)) * 6 / 8 }

// encoder holds reusable memory for texts.
type encoder struct{ bytes, text []byte }

// encode returns the text for a commit of the offset base, with at most limit characters. If there is not enough room,
// it omits attempts first, then pieces from the far end, but blocks never while there are pieces: these say that the
// records of blocked keys are finished. Without any room the text is "".
func (e *encoder) encode(s said, base int64, identity string, limit int) string {
	if limit == 0 {
		return ""
	}
	pieces := plain(s.pieces)
	room := metadataBytes(limit)
	blocked := 0
	for _, b := range s.blocks {
		blocked += len(appendBlock(e.bytes[:0], b, base))
	}
	n, low := fit(pieces, int64(8*(room-frameBytes-blocked)))
	out := binary.AppendUvarint(e.bytes[:0], uint64(s.epoch+1))
	out = binary.AppendUvarint(out, uint64(s.mark+1))
	out = appendStretches(out, pieces[:n], low)
	if n == 0 {
		s.blocks = nil
	}
	out = binary.AppendUvarint(out, uint64(len(s.blocks)))
	for _, b := range s.blocks {
		out = appendBlock(out, b, base)
	}
	if n == len(pieces) {
		out = appendTries(out, s.tries, base, room-checksumBytes)
	}
	e.bytes = binary.BigEndian.AppendUint32(out, checksum(identity, base, out))
	e.text = base64.RawURLEncoding.AppendEncode(append(e.text[:0], version...), e.bytes)
	return string(e.text)
}

// plain removes a last unfinished stretch, which need not be stored.
func plain(pieces []int64) []int64 { return pieces[:len(pieces)&^1] }

// fit returns the number of pieces that fit, and the parameter for which most pieces fit; of equal ones, the cheapest.
func fit(pieces []int64, budget int64) (n int, low uint) {
	least := int64(math.MaxInt64)
	for _, l := range lowBits {
		fits, sum := 0, int64(0)
		for i := 1; i < len(pieces); i += 2 {
			both := price(pieces[i-1], l) + price(pieces[i], l)
			if sum+both > budget {
				break
			}
			fits, sum = i+1, sum+both
		}
		if fits > n || fits == n && sum < least {
			n, low, least = fits, l, sum
		}
	}
	return n, low
}

func appendStretches(out []byte, pieces []int64, low uint) []byte {
	out = binary.AppendUvarint(out, uint64(len(pieces)/2))
	out = append(out, byte(low))
	exceptions := 0
	for _, p := range pieces {
		if exceptional(p, low) {
			exceptions++
		}
	}
	out = binary.AppendUvarint(out, uint64(exceptions))
	after := 0
	for i, p := range pieces {
		if exceptional(p, low) {
			out = binary.AppendUvarint(out, uint64(i-after))
			out = binary.AppendUvarint(out, uint64(p-1))
			after = i + 1
		}
	}
	w := bitWriter{out: out}
	for _, p := range pieces {
		if exceptional(p, low) {
			w.rice(0, low)
		} else {
			w.rice(uint64(p-1), low)
		}
	}
	return w.flush()
}

// exceptional reports whether a stretch is cheaper as an exception.
func exceptional(length int64, low uint) bool { return (length-1)>>low > exceptionBits }

func appendBlock(out []byte, b block, base int64) []byte {
	out = binary.BigEndian.AppendUint64(out, b.hash)
	out = binary.AppendUvarint(out, uint64(b.first-base))
	out = binary.AppendUvarint(out, uint64(b.attempt))
	return binary.AppendUvarint(out, uint64(min(b.count, math.MaxInt32)))
}

// appendTries appends as many attempts as there is room for, the oldest first.
func appendTries(out []byte, tries []try, base int64, room int) []byte {
	var pair [2 * binary.MaxVarintLen64]byte
	for _, y := range tries {
		p := binary.AppendUvarint(pair[:0], uint64(y.offset-base))
		p = binary.AppendUvarint(p, uint64(y.attempt))
		if len(out)+len(p) > room {
			break
		}
		out = append(out, p...)
		base = y.offset
	}
	return out
}

func checksum(identity string, base int64, payload []byte) uint32 {
	// The input is one slice, in the free room behind the payload, because many small ones would need an allocation
	// each.
	all := binary.BigEndian.AppendUint64(append(payload, identity...), uint64(base))
	return crc32.Checksum(all, crc32.MakeTable(crc32.Castagnoli)) // the library creates the table once
}

// decode parses a metadata text for a committed offset. An invalid text gives an empty result.
func decode(text string, base int64, identity string) told {
	nothing := told{epoch: -1, mark: -1}
	encoded, ok := strings.CutPrefix(text, version)
	one := !ok
	if one {
		encoded, ok = strings.CutPrefix(text, versionOne)
	}
	// The base64 decoder ignores line ends.
	if !ok || len(text) > maxMetadata || strings.ContainsAny(text, "\r\n") {
		return nothing
	}
	data, err := base64.RawURLEncoding.Strict().DecodeString(encoded)
	if err != nil || len(data) < checksumBytes {
		return nothing
	}
	payload := data[:len(data)-checksumBytes]
	sum := binary.BigEndian.Uint32(data[len(payload):])
	if checksum(identity, base, payload) != sum {
		return nothing
	}
	k := told{base: base, genuine: true, mark: -1}
	if !k.readAll(payload, one) {
		return nothing
	}
	k.price()
	return k
}
