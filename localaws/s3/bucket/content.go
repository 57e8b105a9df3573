package bucket

import (
	"errors"
	"io"
)

// Blob is stored bytes. It is immutable, and safe for concurrent use. It is created with one user; when the last user
// has called Release, its storage is freed.
type Blob interface {
	io.ReaderAt
	Retain()
	Release()
	// Bytes returns the whole blob if it is in memory; nil: it is not.
	Bytes() []byte
}

// Slice is a part of a blob.
type Slice struct {
	Blob   Blob
	Offset int64
	Length int64
}

// Content is the bytes of an object or a part. The zero Content is empty. A Content is one user of each of its blobs.
type Content struct {
	slices []Slice
	size   int64
}

// Whole returns the content of a whole blob, and takes over its first user.
func Whole(b Blob, size int64) Content {
	return Content{slices: []Slice{{Blob: b, Length: size}}, size: size}
}

// Size returns the number of bytes.
func (c Content) Size() int64 { return c.size }

// Retain makes the caller a user of every blob.
func (c Content) Retain() {
	for _, s := range c.slices {
		s.Blob.Retain()
	}
}

// Release ends one use of every blob.
func (c Content) Release() {
	for _, s := range c.slices {
		s.Blob.Release()
	}
}

// Range returns length bytes from offset, which must be inside the content. The result is not a user of its own: it may
// be read while c is in use, or after Retain.
func (c Content) Range(offset, length int64) Content {
	out := Content{size: length}
	for _, s := range c.slices {
		if length == 0 {
			break
		}
		if offset >= s.Length {
			offset -= s.Length
			continue
		}
		n := min(s.Length-offset, length)
		out.slices = append(out.slices, Slice{s.Blob, s.Offset + offset, n})
		offset, length = 0, length-n
	}
	return out
}

// Join returns the contents, one after the other. The result takes over their users.
func Join(all []Content) Content {
	var out Content
	for _, c := range all {
		out.slices = append(out.slices, c.slices...)
		out.size += c.size
	}
	return out
}

// Reader returns a reader, which is a user of the content until it is closed.
func (c Content) Reader() *Reader {
	c.Retain()
	return &Reader{content: c, left: c.slices}
}

// Reader reads a content. It is not safe for concurrent use.
type Reader struct {
	content Content
	left    []Slice
	closed  bool
}

// Read reads the next bytes.
func (r *Reader) Read(p []byte) (int, error) {
	for len(r.left) > 0 && r.left[0].Length == 0 {
		r.left = r.left[1:]
	}
	switch {
	case r.closed:
		return 0, io.ErrClosedPipe
	case len(r.left) == 0:
		return 0, io.EOF
	case len(p) == 0:
		return 0, nil
	}
	s := r.left[0]
	n, err := s.Blob.ReadAt(p[:min(int64(len(p)), s.Length)], s.Offset)
	if n > 0 {
		r.left = append([]Slice{{s.Blob, s.Offset + int64(n), s.Length - int64(n)}}, r.left[1:]...)
		return n, nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return 0, err
}

// Memory returns the rest of the content, without copying it, if it is one slice in memory.
func (r *Reader) Memory() (b []byte, ok bool) {
	if r.closed || len(r.left) != 1 {
		return nil, false
	}
	s := r.left[0]
	whole := s.Blob.Bytes()
	if whole == nil {
		return nil, false
	}
	r.left = nil
	return whole[s.Offset : s.Offset+s.Length], true
}

// Close ends the use of the content. It may be called more than once.
func (r *Reader) Close() error {
	if !r.closed {
		r.closed = true
		r.content.Release()
	}
	return nil
}
