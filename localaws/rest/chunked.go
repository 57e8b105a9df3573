package rest

import (
	"bufio"
	"errors"
	"io"
	"strconv"
	"strings"
)

// The forms of aws-chunked, in x-amz-content-sha256. The chunks' signatures are not checked.
const (
	signedChunks      = "STREAMING-AWS4-HMAC-SHA256-PAYLOAD"
	signedTrailer     = "STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER"
	unsignedTrailer   = "STREAMING-UNSIGNED-PAYLOAD-TRAILER"
	asymmetricChunks  = "STREAMING-AWS4-ECDSA-P256-SHA256-PAYLOAD"
	asymmetricTrailer = "STREAMING-AWS4-ECDSA-P256-SHA256-PAYLOAD-TRAILER"
	maxLine           = 4 << 10 // a chunk's size with its signature, or a trailer
	maxTrailers       = 16
)

func isChunked(form string) bool {
	switch form {
	case signedChunks, signedTrailer, unsignedTrailer, asymmetricChunks, asymmetricTrailer:
		return true
	}
	return false
}

// The errors of an aws-chunked body.
var (
	errChunk   = errors.New("rest: the chunk is malformed")
	errTrailer = errors.New("rest: the trailer is malformed")
)

// chunkedReader decodes aws-chunked. After io.EOF, trailers holds what came behind the last chunk, by lower-case name.
type chunkedReader struct {
	r        *bufio.Reader
	left     int64 // of the current chunk
	started  bool
	trailers map[string]string
	err      error
}

func newChunkedReader(r io.Reader) *chunkedReader {
	return &chunkedReader{r: bufio.NewReaderSize(r, 2*maxLine), trailers: map[string]string{}}
}

func (c *chunkedReader) Read(p []byte) (int, error) {
	if c.err == nil && c.left == 0 {
		c.err = c.nextChunk()
	}
	if c.err != nil {
		return 0, c.err
	}
	n, err := c.r.Read(p[:min(int64(len(p)), c.left)])
	c.left -= int64(n)
	c.err = unexpected(err)
	return n, nil
}

// nextChunk reads the head of the next chunk, or what is behind the last.
func (c *chunkedReader) nextChunk() error {
	if c.started {
		if line, err := c.line(); err != nil || line != "" {
			return orError(err, errChunk)
		}
	}
	c.started = true
	line, err := c.line()
	if err != nil {
		return err
	}
	size, _, _ := strings.Cut(line, ";")
	n, err := strconv.ParseUint(strings.TrimSpace(size), 16, 62)
	if err != nil {
		return errChunk
	}
	c.left = int64(n) //nolint:gosec // 62 bits
	if c.left > 0 {
		return nil
	}
	return c.readTrailers()
}

// readTrailers reads the trailers, up to an empty line or the end.
func (c *chunkedReader) readTrailers() error {
	for {
		line, err := c.line()
		if errors.Is(err, io.ErrUnexpectedEOF) && line == "" {
			return io.EOF // some clients send no empty line
		}
		switch {
		case err != nil:
			return err
		case line == "" && !c.more():
			return io.EOF
		case line == "":
			continue // the end of the last chunk
		}
		name, value, ok := strings.Cut(line, ":")
		if !ok || len(c.trailers) == maxTrailers {
			return errTrailer
		}
		c.trailers[strings.ToLower(strings.TrimSpace(name))] = strings.TrimSpace(value)
	}
}

// more reports whether there are bytes left.
func (c *chunkedReader) more() bool {
	_, err := c.r.Peek(1)
	return err == nil
}

// line reads a line without its end.
func (c *chunkedReader) line() (string, error) {
	line, err := c.r.ReadSlice('\n')
	text := strings.TrimSuffix(strings.TrimSuffix(string(line), "\n"), "\r")
	if len(line) > maxLine || errors.Is(err, bufio.ErrBufferFull) {
		return "", errChunk
	}
	return text, unexpected(err)
}

func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

func orError(err, otherwise error) error {
	if err != nil {
		return err
	}
	return otherwise
}
