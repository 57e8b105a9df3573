package rest

import (
	"io"
	"os"
	"sync/atomic"
)

// maxMemory is the largest body that is kept in memory; larger ones are in a temporary file.
const maxMemory = 1 << 20

// Blob is stored bytes, in memory or in a temporary file without a name. It is created with one user, and freed when
// the last user has released it.
type Blob struct {
	users  atomic.Int64
	memory []byte
	file   *os.File
	name   string // of a file that could not be removed while it is open; "": it is removed
}

// newBlob returns a blob for size bytes, which the caller writes before anybody reads.
func newBlob(size int64) (*Blob, error) {
	b := &Blob{}
	b.users.Store(1)
	if size <= maxMemory {
		b.memory = make([]byte, 0, size)
		return b, nil
	}
	file, err := os.CreateTemp("", "localaws-*")
	if err != nil {
		return nil, err
	}
	b.file = file
	if os.Remove(file.Name()) != nil {
		b.name = file.Name()
	}
	return b, nil
}

// memoryPiece is the most that is read at once into a blob in memory.
const memoryPiece = 4 * bufferSize

// Storage returns a blob of size bytes, which WriteAt fills before anybody reads.
func Storage(size int64) (*Blob, error) {
	b, err := newBlob(size)
	if err == nil && b.file == nil {
		b.memory = b.memory[:size]
	}
	return b, err
}

// WriteAt fills a part of a blob of Storage.
func (b *Blob) WriteAt(p []byte, offset int64) (int, error) {
	if b.file != nil {
		return b.file.WriteAt(p, offset)
	}
	if offset+int64(len(p)) > int64(len(b.memory)) {
		return 0, io.ErrShortWrite
	}
	return copy(b.memory[offset:], p), nil
}

// room returns where the next bytes are read to: the blob itself, or scratch.
func (b *Blob) room(scratch []byte, left int64) []byte {
	if b.file == nil {
		scratch = b.memory[len(b.memory):min(cap(b.memory), len(b.memory)+memoryPiece)]
	}
	return scratch[:min(int64(len(scratch)), left)]
}

// wrote adds the bytes that were read to room.
func (b *Blob) wrote(p []byte) error {
	if b.file == nil {
		b.memory = b.memory[:len(b.memory)+len(p)]
		return nil
	}
	_, err := b.file.Write(p)
	return err
}

// Bytes returns the whole blob if it is in memory; nil: it is in a file.
func (b *Blob) Bytes() []byte { return b.memory }

// ReadAt reads from an offset.
func (b *Blob) ReadAt(p []byte, offset int64) (int, error) {
	if b.file != nil {
		return b.file.ReadAt(p, offset)
	}
	if offset >= int64(len(b.memory)) {
		return 0, io.EOF
	}
	n := copy(p, b.memory[offset:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// Retain adds a user.
func (b *Blob) Retain() { b.users.Add(1) }

// Release removes a user.
func (b *Blob) Release() {
	if b.users.Add(-1) > 0 || b.file == nil {
		return
	}
	_ = b.file.Close() // what was written is not needed any more
	if b.name != "" {
		_ = os.Remove(b.name)
	}
}
