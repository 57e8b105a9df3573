package offsets

import (
	"encoding/binary"
	"math"
)

// readAll reads the bytes between version and checksum, and reports whether they are as an encoder writes them. A text
// with a correct checksum can still be forged, so every value is checked.
func (k *told) readAll(data []byte, versionOne bool) bool {
	epoch, data, ok := uvarint(data)
	if !ok || epoch > math.MaxInt32 {
		return false
	}
	k.epoch = int32(epoch) - 1
	if !versionOne {
		var mark uint64
		if mark, data, ok = uvarint(data); !ok || mark > math.MaxInt64 {
			return false
		}
		k.mark = int64(mark) - 1
	}
	data, ok = k.readStretches(data)
	if ok && !versionOne {
		data, ok = k.readBlocks(data)
	}
	return ok && k.readTries(data)
}

// readBlocks reads the blocked keys.
func (k *told) readBlocks(data []byte) (rest []byte, ok bool) {
	n, data, ok := uvarint(data)
	if !ok || n > blocksMost {
		return nil, false
	}
	for range n {
		if len(data) < 8 {
			return nil, false
		}
		b := block{hash: binary.BigEndian.Uint64(data)}
		var distance, attempt, count uint64
		if distance, data, ok = uvarint(data[8:]); !ok || distance >= uint64(math.MaxInt64-k.base) {
			return nil, false
		}
		if attempt, data, ok = uvarint(data); !ok || attempt > math.MaxInt32 {
			return nil, false
		}
		if count, data, ok = uvarint(data); !ok || count > math.MaxInt32 {
			return nil, false
		}
		b.first, b.attempt, b.count = k.base+int64(distance), int32(attempt), int64(count)
		k.blocks = append(k.blocks, b)
	}
	return data, true
}

// readStretches reads the finished stretches.
func (k *told) readStretches(data []byte) (rest []byte, ok bool) {
	n, data, ok := uvarint(data)
	if !ok || len(data) == 0 || data[0] > maxLow || n > uint64(4*len(data)) {
		return nil, false // a stretch and its gap take at least two bits
	}
	low := uint(data[0])
	lengths := make([]int64, 2*n)
	data, ok = readExceptions(data[1:], lengths)
	if !ok {
		return nil, false
	}
	r := bitReader{in: data}
	for i := range lengths {
		length, ok := r.rice(low)
		if !ok || length != 0 && lengths[i] != 0 {
			return nil, false
		}
		lengths[i] = max(lengths[i], int64(length))
	}
	if !k.layOut(lengths) {
		return nil, false
	}
	return r.rest()
}

// readExceptions reads the lengths, minus one, of exceptions.
func readExceptions(data []byte, lengths []int64) (rest []byte, ok bool) {
	n, data, ok := uvarint(data)
	if !ok || n > uint64(len(lengths)) {
		return nil, false
	}
	at := uint64(0)
	for range n {
		var skipped, length uint64
		if skipped, data, ok = uvarint(data); !ok {
			return nil, false
		}
		if length, data, ok = uvarint(data); !ok || length == 0 || length >= math.MaxInt64 {
			return nil, false
		}
		left := uint64(len(lengths)) - at
		if skipped >= left {
			return nil, false
		}
		lengths[at+skipped] = int64(length)
		at += skipped + 1
	}
	return data, true
}

// layOut converts lengths, minus one, of alternately unfinished and finished stretches.
func (k *told) layOut(lengths []int64) bool {
	k.stretches = make([]stretch, 0, len(lengths)/2)
	at := k.base - 1
	for i, length := range lengths {
		if length >= math.MaxInt64-max(at, 0) {
			return false // beyond the largest possible offset
		}
		if i%2 == 1 {
			k.stretches = append(k.stretches, stretch{from: at, to: at + length})
		}
		at += length + 1
	}
	return true
}

// readTries reads the attempts, up to the end.
func (k *told) readTries(data []byte) bool {
	at := k.base
	for len(data) > 0 {
		var distance, attempt uint64
		var ok bool
		if distance, data, ok = uvarint(data); !ok || distance >= uint64(math.MaxInt64-at) {
			return false
		}
		if attempt, data, ok = uvarint(data); !ok || attempt == 0 || attempt > math.MaxInt32 {
			return false
		}
		if distance == 0 && len(k.tries) > 0 {
			return false
		}
		at += int64(distance)
		k.tries = append(k.tries, try{offset: at, attempt: int32(attempt)})
	}
	return true
}

func uvarint(data []byte) (v uint64, rest []byte, ok bool) {
	v, n := binary.Uvarint(data)
	if n <= 0 {
		return 0, nil, false
	}
	return v, data[n:], true
}
