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
//	uvarint  the latest leader epoch of a record that is told of, plus one
//	uvarint  n, how many finished stretches there are; an unfinished one stands before each. The first counts the offset before
//	         the committed one as well, and so is never empty
//	byte     the Rice parameter
//	uvarint  how many exceptions there are; for each two uvarints: how many stretches lie between it and the one before, and
//	         its length less one
//	bits     2n lengths less one: high part in unary (ones, closed by a zero), then the low bits, most significant first;
//	         those of exceptions are zero. Filled up with zeros
//	uvarints attempts, pairs up to the checksum: how far the record lies beyond the one before, and its starts
//	4 bytes  CRC-32C, big endian, over all of the above, the log's identity, and the committed offset (8 bytes, big endian)

const (
	version = "g1."
	// maxMetadata is the broker's default for offset.metadata.max.bytes. It counts UTF-16 units, so the text is ASCII.
	maxMetadata = 4096
	// minMetadata is the shortest limit worth keeping: below it hardly a stretch has room, and admission would crawl.
	minMetadata = 64
	// checksumBytes is the length of the checksum.
	checksumBytes = 4
	// frameBytes is all that is neither bits nor an exception nor an attempt: 5 bytes for the epoch, 3 for either count, 1 for
	// the parameter.
	frameBytes = 5 + 3 + 1 + 3 + checksumBytes
	// maxLow keeps a decoded length within 63 bits.
	maxLow = 62
)

// said is what a text is to say.
type said struct {
	pieces []int64 // lengths of stretches, unfinished and finished in turn, beginning with the offset before the committed one
	tries  []try   // ascending
	epoch  int32
}

// metadataBytes is how many bytes a text of so many characters holds.
func metadataBytes(limit int) int { return max(0, limit-len(version)) * 6 / 8 }

// encoder keeps the room in which texts are put together.
type encoder struct{ bytes, text []byte }

// encode writes what a commit of the offset base says into at most limit characters. What has no room is left out: attempts
// first, pieces from the far end. Nothing to say is "".
func (e *encoder) encode(s said, base int64, identity string, limit int) string {
	pieces := plain(s.pieces)
	if limit == 0 || len(pieces) == 0 && len(s.tries) == 0 {
		return ""
	}
	room := metadataBytes(limit)
	n, low := fit(pieces, int64(8*(room-frameBytes)))
	out := binary.AppendUvarint(e.bytes[:0], uint64(s.epoch+1))
	out = appendStretches(out, pieces[:n], low)
	bare := len(out)
	if n == len(pieces) {
		out = appendTries(out, s.tries, base, room-checksumBytes)
	}
	if n == 0 && len(out) == bare {
		return ""
	}
	e.bytes = binary.BigEndian.AppendUint32(out, checksum(identity, base, out))
	e.text = base64.RawURLEncoding.AppendEncode(append(e.text[:0], version...), e.bytes)
	return string(e.text)
}

// plain takes off what needs no telling: a last unfinished stretch.
func plain(pieces []int64) []int64 { return pieces[:len(pieces)&^1] }

// fit chooses the parameter by which the most pieces have room, and among equals the cheapest.
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

// exceptional says that a stretch is cheaper apart.
func exceptional(length int64, low uint) bool { return (length-1)>>low > exceptionBits }

// appendTries writes as many attempts as there is room for, the oldest first.
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
	// It goes over one slice, in the room behind the payload: many small ones would be an allocation each.
	all := binary.BigEndian.AppendUint64(append(payload, identity...), uint64(base))
	return crc32.Checksum(all, crc32.MakeTable(crc32.Castagnoli)) // the table is one for all, made once by the library
}

// decode reads a metadata text that belongs to a committed offset. What is odd in any way is nothing.
func decode(text string, base int64, identity string) told {
	nothing := told{epoch: -1}
	encoded, ok := strings.CutPrefix(text, version)
	// The decoder of base64 passes over line ends.
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
	k := told{base: base}
	if !k.readAll(payload) {
		return nothing
	}
	k.price()
	return k
}
