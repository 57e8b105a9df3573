package disk

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
)

// A batch in a file: its mark, the length of its body, the checksum of both, and its body. The body is a list of
// changes: the kind, the key and, unless the record is deleted, the value, both with their lengths in front.
const (
	batchMark   = "\xf1GwB"
	batchHeader = 12
)

// The kinds of a change.
const (
	kindSet        = 1
	kindAttachment = 2 // the value is the number, the length and the checksum of the attachment
	kindDelete     = 3
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// change is a change as it stands in a file.
type change struct {
	kind  byte
	key   string
	value []byte
}

// size is what a record adds to a file.
func (c change) size() int64 { return int64(len(c.key) + len(c.value) + 4) }

// batch is changes that are written together.
type batch struct {
	changes     []change
	attachments []attachment // to write first
}

// encode appends a batch to b.
func encode(b []byte, changes []change) []byte {
	start := len(b)
	b = append(b, batchMark+"\x00\x00\x00\x00\x00\x00\x00\x00"...)
	for _, c := range changes {
		b = append(b, c.kind)
		b = binary.AppendUvarint(b, uint64(len(c.key)))
		b = append(b, c.key...)
		if c.kind != kindDelete {
			b = binary.AppendUvarint(b, uint64(len(c.value)))
			b = append(b, c.value...)
		}
	}
	header := b[start:]
	binary.LittleEndian.PutUint32(header[4:], uint32(len(header)-batchHeader))
	binary.LittleEndian.PutUint32(header[8:], checksum(header))
	return b
}

// checksum returns the checksum of a batch, over its length and its body.
func checksum(b []byte) uint32 {
	return crc32.Update(crc32.Checksum(b[4:8], castagnoli), castagnoli, b[batchHeader:])
}

// decode returns the first batch of b, and its length in the file; a length of 0 means that it cannot be read, and why.
// The values are parts of b.
func decode(b []byte) (changes []change, length int, why string) {
	if len(b) < batchHeader || string(b[:4]) != batchMark {
		return nil, 0, "there is no batch"
	}
	n := int64(binary.LittleEndian.Uint32(b[4:])) + batchHeader
	if n > int64(len(b)) {
		return nil, 0, "the file ends before the batch"
	}
	b = b[:n]
	if checksum(b) != binary.LittleEndian.Uint32(b[8:]) {
		return nil, 0, "the checksum is wrong"
	}
	for rest := b[batchHeader:]; len(rest) > 0; {
		c := change{kind: rest[0]}
		key, rest2, ok := cutBytes(rest[1:])
		if ok && c.kind != kindDelete {
			c.value, rest2, ok = cutBytes(rest2)
		}
		if !ok || c.kind == 0 || c.kind > kindDelete {
			return nil, 0, "the change is of an unknown form"
		}
		c.key, rest = string(key), rest2
		changes = append(changes, c)
	}
	return changes, int(n), ""
}

// cutBytes returns the bytes behind their length, and the rest.
func cutBytes(b []byte) (value, rest []byte, ok bool) {
	n, w := binary.Uvarint(b)
	if w <= 0 || n > uint64(len(b)-w) {
		return nil, nil, false
	}
	return b[w : w+int(n) : w+int(n)], b[w+int(n):], true
}

// nextBatch returns where the next batch that can be read begins in b; -1: there is none.
func nextBatch(b []byte) int {
	for at := 0; ; at++ {
		i := bytes.Index(b[at:], []byte(batchMark))
		if i < 0 {
			return -1
		}
		at += i
		if _, n, _ := decode(b[at:]); n > 0 {
			return at
		}
	}
}
