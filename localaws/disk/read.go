package disk

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
)

// reading is one call of Read. Records that were written together are read together.
type reading struct {
	s       *Store
	segment *segment // whose file is open; nil: none
	file    file
	offset  uint32 // of the last batch
	changes []change
}

func (r *reading) end() {
	if r.file != nil {
		_ = r.file.Close() // it is only read
	}
	r.file, r.segment, r.changes = nil, nil, nil
}

// moves bounds how often a record is looked up again because its file was removed meanwhile: its new file may be
// compacted as well, but far later.
const moves = 10

// value returns the value of a record; nil: there is none.
func (r *reading) value(key string) (value []byte, err error) {
	for range moves {
		pending, at, there := r.s.find(key)
		switch {
		case !there:
			return nil, nil
		case pending != nil:
			return pending, nil
		}
		if value, err = r.stored(key, at); !errors.Is(err, os.ErrNotExist) {
			return value, err
		}
		r.end()
	}
	return nil, err
}

// valueOf returns the value of a change of the batch.
func (b batch) valueOf(c change) []byte {
	number := numberOf(c)
	for _, a := range b.attachments {
		if number > 0 && a.number == number {
			return a.value
		}
	}
	return c.value
}

// stored reads the value of a record from its place.
func (r *reading) stored(key string, at place) ([]byte, error) {
	if err := r.load(at); err != nil {
		return nil, err
	}
	for _, c := range slices.Backward(r.changes) {
		if c.key != key {
			continue
		}
		if c.kind != kindAttachment {
			return c.value, nil
		}
		value, ok, err := r.s.reader.attached(c)
		if err == nil && !ok {
			err = fmt.Errorf("%s cannot be read", attachmentName(numberOf(c)))
		}
		return value, err
	}
	return nil, fmt.Errorf("%s: the record is not in the batch at offset %d", at.segment.name(), at.offset)
}

// load reads the batch of a place, unless it is the last that was read.
func (r *reading) load(at place) error {
	if r.segment == at.segment && r.offset == at.offset && r.changes != nil {
		return nil
	}
	if r.segment != at.segment {
		r.end()
		f, err := r.s.files.open(at.segment.name())
		if err != nil {
			return err
		}
		r.file, r.segment = f, at.segment
	}
	const most = 16 << 10 // far more than most batches have
	b, err := r.bytes(at, most)
	if err == nil && len(b) == most {
		if length := int(binary.LittleEndian.Uint32(b[4:])) + batchHeader; length > most {
			b, err = r.bytes(at, length)
		}
	}
	if err != nil {
		return err
	}
	changes, length, why := decode(b)
	if length == 0 {
		return fmt.Errorf("%s cannot be read at offset %d: %s", at.segment.name(), at.offset, why)
	}
	r.offset, r.changes = at.offset, changes
	return nil
}

// bytes reads up to n bytes from a place on.
func (r *reading) bytes(at place, n int) ([]byte, error) {
	b := make([]byte, n)
	n, err := r.file.ReadAt(b, int64(at.offset))
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return b[:n], err
}
