package claim

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"

	"github.com/godwitmq/godwit/driver"
)

const (
	// zstdEncoding is the name of the encoding in a pointer.
	zstdEncoding = "zstd"
	// zstdWindow is the memory that a body is compressed with, and the most that one may need to be read. A reader with
	// a smaller one cannot read what is in stores already.
	zstdWindow = 1 << 20
	// maxRatio is how many times larger than its object a body may be. A few kilobytes in a store cannot become
	// gigabytes in a handler then. A writer fills objects that would be smaller, so a reader can refuse them.
	maxRatio = 1000
	// zstdChunk is how much of a body is compressed at a time.
	zstdChunk = 64 << 10
	// skippable begins a frame that readers of zstd skip; its length follows, in four bytes.
	skippable       = 0x184D2A50
	skippableHeader = 8
)

// packer is the compressed form of a body, as a reader.
type packer struct {
	from  io.Reader
	enc   *zstd.Encoder // nil: the body has ended
	out   bytes.Buffer  // compressed and not read yet
	chunk []byte
	in    int64 // bytes of the body
	done  int64 // bytes of the object
	ended bool
}

func newPacker(from io.Reader) (*packer, error) {
	p := &packer{from: from, chunk: make([]byte, zstdChunk)}
	enc, err := zstd.NewWriter(&p.out, zstd.WithWindowSize(zstdWindow), zstd.WithEncoderConcurrency(1),
		zstd.WithLowerEncoderMem(true), zstd.WithEncoderCRC(false)) // the pointer has a hash
	if err != nil {
		return nil, err
	}
	p.enc = enc
	return p, nil
}

// Read implements io.Reader.
func (p *packer) Read(to []byte) (int, error) {
	for p.out.Len() == 0 && !p.ended {
		if err := p.fill(); err != nil {
			return 0, err
		}
	}
	if p.out.Len() == 0 {
		return 0, io.EOF
	}
	n, err := p.out.Read(to)
	p.done += int64(n)
	return n, err
}

// fill compresses more of the body.
func (p *packer) fill() error {
	if p.enc == nil {
		p.pad()
		return nil
	}
	n, err := p.from.Read(p.chunk)
	p.in += int64(n)
	if n > 0 {
		if _, err := p.enc.Write(p.chunk[:n]); err != nil {
			return err
		}
	}
	switch {
	case err == nil:
		return nil
	case !errors.Is(err, io.EOF):
		return err
	}
	err = p.enc.Close()
	p.enc = nil
	return err
}

// pad makes the object larger, a piece at a time, if the body is more than maxRatio times its size.
func (p *packer) pad() {
	missing := (p.in+maxRatio-1)/maxRatio - p.done - int64(p.out.Len())
	if missing <= 0 {
		p.ended = true
		return
	}
	n := min(max(missing-skippableHeader, 0), zstdChunk)
	head := binary.LittleEndian.AppendUint32(nil, skippable)
	head = binary.LittleEndian.AppendUint32(head, uint32(n)) //nolint:gosec // at most zstdChunk
	p.out.Write(head)
	p.out.Write(make([]byte, n))
}

// credible compares the sizes of a body and its compressed object.
func credible(size, stored int64) error {
	switch {
	case stored > size+size/100+skippableHeader<<10:
		return fault(driver.PayloadLong, "the compressed object has %d bytes, and its body %d", stored, size)
	case size/maxRatio > stored:
		return fault(driver.PayloadRatio, "the body has %d bytes, more than %d times those of its compressed object, which "+
			"has %d", size, maxRatio, stored)
	}
	return nil
}

// unpacker reads a compressed object.
type unpacker struct {
	dec *zstd.Decoder
	src *object
}

func newUnpacker(src *object) (*unpacker, error) {
	dec, err := zstd.NewReader(src, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxWindow(zstdWindow),
		zstd.WithDecoderMaxMemory(1<<62)) // that is a limit of the size, which body checks
	if err != nil {
		if src.err != nil && !errors.Is(src.err, io.EOF) {
			return nil, src.err
		}
		return nil, undecodable(err)
	}
	return &unpacker{dec, src}, nil
}

// Read implements io.Reader.
func (u *unpacker) Read(to []byte) (int, error) {
	n, err := u.dec.Read(to)
	switch {
	case err == nil, errors.Is(err, io.EOF) && errors.Is(u.src.err, io.EOF):
		return n, err
	case u.src.err != nil && !errors.Is(u.src.err, io.EOF):
		return n, u.src.err
	}
	return n, undecodable(err)
}

// Close implements io.Closer.
func (u *unpacker) Close() error {
	u.dec.Close()
	return u.src.Close()
}

func undecodable(err error) error {
	return fault(driver.PayloadAltered, "the object cannot be decompressed: %w", err)
}

// sized is a body whose sender has said how many bytes it has.
type sized struct {
	from io.Reader
	size int64
	at   int64
}

// Read implements io.Reader.
func (s *sized) Read(to []byte) (int, error) {
	n, err := s.from.Read(to)
	s.at += int64(n)
	switch {
	case s.at > s.size:
		return 0, &driver.Error{Class: driver.Permanent, Err: fmt.Errorf(
			"the Reader has more than the %d bytes that Size says: set Size to the number of bytes", s.size)}
	case errors.Is(err, io.EOF) && s.at < s.size:
		return n, &driver.Error{Class: driver.Permanent, Err: fmt.Errorf(
			"the Reader ended after %d bytes, and Size says %d: set Size to the number of bytes", s.at, s.size)}
	}
	return n, err
}
