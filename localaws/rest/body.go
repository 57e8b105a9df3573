package rest

import (
	"bytes"
	"crypto/md5" //nolint:gosec // S3's ETag, and Content-MD5
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/godwitmq/godwit/localaws/wire"
)

// Body is the body of a request, before it is read. It is used by one goroutine.
type Body struct {
	// Size is the number of bytes without aws-chunked; negative: the client did not say.
	Size int64

	raw     *wire.PacedReader
	chunks  *chunkedReader // nil: the body is not aws-chunked
	call    *wire.Call     // says where the body breaks
	md5     []byte         // Content-MD5
	digest  string         // Content-MD5 as a refusal shows it
	sha256  []byte         // x-amz-content-sha256, of a body that is not aws-chunked
	claim   claim
	buffers *sync.Pool
	fault   *Error // what is wrong with the headers
}

// claim is the checksum that the client says the body has.
type claim struct {
	algorithm string // "": none
	value     string
	trailer   bool // the value is in the trailer
}

// Received is a body that was read and verified.
type Received struct {
	Blob      *Blob
	Size      int64
	MD5       []byte
	Algorithm string // of the checksum
	Checksum  string // base64
	Claimed   bool   // the client sent the checksum
	Second    string // a second checksum, base64; "": none was wanted, or it is the first
}

// bufferSize is the size of the pieces in which bodies are read and written.
const bufferSize = 64 << 10

// newBody returns the body of a request. claims says that headers with checksums are about the body.
func newBody(w http.ResponseWriter, r *http.Request, buffers *sync.Pool, claims bool) *Body {
	b := &Body{Size: r.ContentLength, raw: wire.NewPacedReader(w, r.Body), buffers: buffers}
	form := r.Header.Get("X-Amz-Content-Sha256")
	if isChunked(form) {
		b.chunks = newChunkedReader(b.raw)
		size, err := strconv.ParseInt(r.Header.Get("X-Amz-Decoded-Content-Length"), 10, 64)
		if err != nil || size < 0 {
			b.fault = missingLength()
		}
		b.Size = size
	} else if digest, err := hex.DecodeString(form); err == nil && len(digest) == sha256.Size {
		b.sha256 = digest
	}
	if sent, ok := r.Header["Content-Md5"]; ok {
		b.digest = sent[0]
		if b.md5 = readMD5(b.digest); b.md5 == nil {
			b.fault = Refuse(400, "InvalidDigest", "The Content-MD5 you specified was invalid.",
				"Content-MD5", b.digest)
		}
		if !r.URL.Query().Has("partNumber") {
			b.digest = hex.EncodeToString(b.md5) // S3 shows the digest of a part only as it was sent
		}
	}
	if b.fault == nil && claims {
		b.fault = b.claim.read(r.Header)
	}
	return b
}

// readMD5 reads a digest in base64; nil: the text is not a digest.
func readMD5(text string) []byte {
	digest, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(digest) != md5.Size {
		return nil
	}
	return digest
}

func missingLength() *Error {
	return Refuse(411, "MissingContentLength", "You must provide the Content-Length HTTP header.")
}

// read reads the claim from the headers.
func (c *claim) read(h http.Header) *Error {
	for header, name := range checksumHeaders {
		values := h[header]
		if len(values) == 0 || values[0] == "" {
			continue
		}
		value := values[0]
		if c.algorithm != "" {
			return Refuse(400, "InvalidRequest",
				"Expecting a single x-amz-checksum- header. Multiple checksum Types are not allowed.")
		}
		c.algorithm, c.value = name, value
	}
	if c.algorithm != "" && !validChecksum(c.algorithm, c.value) {
		return Refuse(400, "InvalidRequest",
			"Value for "+checksumHeader+strings.ToLower(c.algorithm)+" header is invalid.")
	}
	for name := range strings.SplitSeq(h.Get("X-Amz-Trailer"), ",") {
		name, ok := strings.CutPrefix(strings.ToLower(strings.TrimSpace(name)), checksumHeader)
		if !ok {
			continue
		}
		if c.algorithm != "" {
			return Refuse(400, "InvalidRequest", "Expecting a single x-amz-checksum- header")
		}
		c.algorithm, c.trailer = strings.ToUpper(name), true
		if !KnownAlgorithm(c.algorithm) {
			return Refuse(400, "InvalidRequest", "The value specified in the x-amz-trailer header is not supported")
		}
	}
	chosen := strings.ToUpper(h.Get("X-Amz-Sdk-Checksum-Algorithm"))
	switch {
	case chosen == "":
		return nil
	case !KnownAlgorithm(chosen):
		return Refuse(400, "InvalidRequest", "Checksum algorithm provided is unsupported. Please try again with any of "+
			"the valid types: [CRC32, CRC32C, CRC64NVME, SHA1, SHA256]")
	case c.algorithm == "" && h.Get("Content-Md5") == "":
		return Refuse(400, "InvalidRequest", "x-amz-sdk-checksum-algorithm specified, but no corresponding "+
			"x-amz-checksum-* or x-amz-trailer headers were found.")
	case c.algorithm != "" && c.algorithm != chosen:
		return Refuse(400, "InvalidRequest", "Value for x-amz-sdk-checksum-algorithm header is invalid.")
	}
	return nil
}

// Algorithm returns the algorithm of the checksum that the client sends; "": it sends none.
func (b *Body) Algorithm() string { return b.claim.algorithm }

// Verified reports whether the client sent a digest or a checksum of the body.
func (b *Body) Verified() bool { return b.md5 != nil || b.claim.algorithm != "" }

// Check reports what is wrong with the headers of a body of at most max bytes, before it is read.
func (b *Body) Check(limit int64) error {
	switch {
	case b.fault != nil:
		return b.fault
	case b.Size < 0 && b.chunks == nil: // the body of HTTP's own chunks
		return Refuse(501, "NotImplemented",
			"A header you provided implies functionality that is not implemented", "Header", "Transfer-Encoding")
	case b.Size < 0:
		return missingLength()
	case b.Size > limit:
		return Refuse(400, "EntityTooLarge", "Your proposed upload exceeds the maximum allowed size",
			"ProposedSize", strconv.FormatInt(b.Size, 10), "MaxSizeAllowed", strconv.FormatInt(limit, 10))
	}
	return nil
}

// Receive reads the body, at most limit bytes, into a blob, and verifies its digest and checksum. The checksum is that
// of the client, otherwise one by the algorithm otherwise. A second one, by the algorithm otherwise, is computed too if
// the client chose another and both is set.
func (b *Body) Receive(limit int64, otherwise string, both bool) (*Received, error) {
	if err := b.Check(limit); err != nil {
		return nil, err
	}
	blob, err := newBlob(b.Size)
	if err != nil {
		return nil, fmt.Errorf("rest: store a body: %w", err)
	}
	sums := b.newDigests(otherwise)
	if both && sums.algorithm != otherwise {
		sums.second = NewHash(otherwise)
	}
	err = b.copy(blob, sums)
	if err == nil {
		err = b.verify(sums)
	}
	if err != nil {
		blob.Release()
		return nil, err
	}
	second := ""
	if sums.second != nil {
		second = base64.StdEncoding.EncodeToString(sums.second.Sum(nil))
	}
	return &Received{
		Second: second, Blob: blob, Size: b.Size, MD5: sums.md5.Sum(nil), Algorithm: sums.algorithm,
		Checksum: base64.StdEncoding.EncodeToString(sums.sum.Sum(nil)), Claimed: b.claim.algorithm != "",
	}, nil
}

// digests are what is computed while a body is read.
type digests struct {
	md5       hash.Hash
	payload   hash.Hash // nil: the payload was not signed
	algorithm string
	sum       hash.Hash
	second    hash.Hash // nil: none

	pieces chan []byte   // nil: write computes MD5 itself
	hashed chan struct{} // after each piece if it is used again, and closed at the end
	reused bool          // the memory of a piece is used again for the next
}

func (b *Body) newDigests(otherwise string) *digests {
	d := &digests{md5: md5.New(), algorithm: otherwise} //nolint:gosec // see the import
	if b.claim.algorithm != "" {
		d.algorithm = b.claim.algorithm
	}
	d.sum = NewHash(d.algorithm)
	if b.sha256 != nil {
		d.payload = sha256.New()
	}
	return d
}

// beside starts a goroutine that computes MD5 while write computes the rest; end ends it. reused says that the memory
// of a piece is used again for the next.
func (d *digests) beside(reused bool) (end func()) {
	d.pieces, d.hashed, d.reused = make(chan []byte, piecesAhead), make(chan struct{}), reused
	go func() {
		defer close(d.hashed)
		for p := range d.pieces {
			d.md5.Write(p)
			if reused {
				d.hashed <- struct{}{}
			}
		}
	}()
	return func() {
		close(d.pieces)
		<-d.hashed
		d.pieces = nil
	}
}

// piecesAhead is how far reading may be ahead of MD5.
const piecesAhead = 4

func (d *digests) write(p []byte) {
	if d.pieces != nil && len(p) > 0 {
		d.pieces <- p
		if d.reused {
			defer func() { <-d.hashed }()
		}
	} else {
		d.md5.Write(p)
	}
	d.sum.Write(p)
	if d.payload != nil {
		d.payload.Write(p)
	}
	if d.second != nil {
		d.second.Write(p)
	}
}

// copy reads the whole body. Of a large one, MD5 is computed beside the rest, because it takes the most time.
func (b *Body) copy(blob *Blob, sums *digests) error {
	scratch := b.buffers.Get().(*[bufferSize]byte)
	defer b.buffers.Put(scratch)
	if b.Size > bufferSize {
		defer sums.beside(blob.Bytes() == nil)()
	}
	for left := b.Size; left > 0; {
		room := blob.room(scratch[:], left)
		n, err := b.read(room, b.Size-left)
		left -= int64(n)
		sums.write(room[:n])
		if failure := blob.wrote(room[:n]); failure != nil {
			return fmt.Errorf("rest: store a body: %w", failure)
		}
		if err != nil && (left > 0 || !errors.Is(err, io.EOF)) {
			return brokenBody(err)
		}
	}
	if b.chunks != nil { // the last chunk and the trailers
		if n, err := b.chunks.Read(scratch[:1]); n > 0 || !errors.Is(err, io.EOF) {
			return brokenBody(err)
		}
	}
	b.raw.Done()
	return nil
}

// read reads some bytes, and breaks the connection where a control wants it.
func (b *Body) read(p []byte, at int64) (int, error) {
	if cut := b.call.BreakRequest; cut != 0 {
		if at >= cut {
			return 0, wire.ErrDrop
		}
		p = p[:min(int64(len(p)), cut-at)]
	}
	if b.chunks != nil {
		return b.chunks.Read(p)
	}
	return b.raw.Read(p)
}

// brokenBody returns the answer to a body that could not be read.
func brokenBody(err error) error {
	switch {
	case errors.Is(err, wire.ErrDrop):
		return err
	case errors.Is(err, errTrailer):
		return Refuse(400, "MalformedTrailerError", "The request contained trailing data that was not well-formed or "+
			"did not conform to our published schema.")
	case errors.Is(err, os.ErrDeadlineExceeded):
		return Refuse(400, "RequestTimeout", "Your socket connection to the server was not read from or written to "+
			"within the timeout period. Idle connections will be closed.")
	}
	return Refuse(400, "IncompleteBody", "The request body terminated unexpectedly")
}

// verify compares what the client said about the body with the body.
func (b *Body) verify(d *digests) error {
	if b.claim.trailer {
		b.claim.value = b.chunks.trailer(checksumHeader + strings.ToLower(b.claim.algorithm))
		if !validChecksum(b.claim.algorithm, b.claim.value) {
			return brokenBody(errTrailer)
		}
	}
	if b.md5 != nil && !bytes.Equal(b.md5, d.md5.Sum(nil)) {
		return Refuse(400, "BadDigest", "The Content-MD5 you specified did not match what we received.",
			"ExpectedDigest", b.digest,
			"CalculatedDigest", base64.StdEncoding.EncodeToString(d.md5.Sum(nil)))
	}
	if b.claim.value != "" && b.claim.value != base64.StdEncoding.EncodeToString(d.sum.Sum(nil)) {
		return Refuse(400, "BadDigest",
			"The "+b.claim.algorithm+" you specified did not match the calculated checksum.")
	}
	if d.payload != nil && !bytes.Equal(b.sha256, d.payload.Sum(nil)) {
		return Refuse(400, "XAmzContentSHA256Mismatch",
			"The provided 'x-amz-content-sha256' header does not match what was computed.",
			"ClientComputedContentSHA256", hex.EncodeToString(b.sha256),
			"S3ComputedContentSHA256", hex.EncodeToString(d.payload.Sum(nil)))
	}
	return nil
}

// trailer returns a trailer; "": there is none. A nil reader has none.
func (c *chunkedReader) trailer(name string) string {
	if c == nil {
		return ""
	}
	return c.trailers[name]
}

// document reads the body as a short text.
func (b *Body) document() ([]byte, error) {
	if b.fault != nil {
		return nil, b.fault
	}
	if b.Size > maxDocument {
		return nil, tooLong()
	}
	sums := b.newDigests(Default)
	var text []byte
	for scratch := make([]byte, 4<<10); ; {
		n, err := b.read(scratch, int64(len(text)))
		text = append(text, scratch[:n]...)
		switch {
		case len(text) > maxDocument:
			return nil, tooLong()
		case errors.Is(err, io.EOF):
			if b.Size >= 0 && int64(len(text)) != b.Size {
				return nil, brokenBody(err)
			}
			b.raw.Done()
			sums.write(text)
			return slices.Clip(text), b.verify(sums)
		case err != nil:
			return nil, brokenBody(err)
		}
	}
}
