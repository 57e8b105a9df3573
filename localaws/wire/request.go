package wire

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"
)

// maxBody bounds a request: a message of 1 MiB whose characters are all escaped to six, with some reserve.
const maxBody = 16 << 20

// buffer is reusable memory for a request's body.
type buffer struct{ bytes []byte }

// bufferPool keeps buffers that are not too large.
type bufferPool struct{ pool sync.Pool }

// maxKept is the largest buffer that is kept: a batch of ten messages of 1 KiB fits many times, and a rare large body
// is not kept.
const maxKept = 256 << 10

func (p *bufferPool) take() *buffer {
	if b, ok := p.pool.Get().(*buffer); ok {
		return b
	}
	return &buffer{bytes: make([]byte, 0, 4<<10)}
}

func (p *bufferPool) give(b *buffer) {
	if cap(b.bytes) <= maxKept {
		b.bytes = b.bytes[:0]
		p.pool.Put(b)
	}
}

// firstRead is the room for a body on a connection before any of its bytes has arrived. A client may announce a length
// and send nothing.
const firstRead = 64 << 10

// largeWithin is how long a body may take that has a turn of the gate, for which others wait.
const largeWithin = time.Minute

// readAll reads the body of a request that w answers, at most maxBody bytes. On a connection, a body that pauses for
// too long is cut, so that it does not hold the call forever.
func (b *buffer) readAll(w http.ResponseWriter, r *http.Request, l *load) *Error {
	if r.Body == nil || r.Body == http.NoBody {
		return nil
	}
	if r.ContentLength > maxBody {
		return tooLarge(maxBody)
	}
	body, first := io.Reader(r.Body), r.ContentLength+1 // one more byte, so that reading the end needs no growth
	if r.Context().Value(http.LocalAddrContextKey) != nil {
		paced := NewPacedReader(w, r.Body)
		defer paced.Done()
		body, first = paced, min(first, firstRead)
	}
	switch encoding := strings.ToLower(r.Header.Get("Content-Encoding")); encoding {
	case "", "identity":
		if first > int64(cap(b.bytes)) {
			b.bytes = make([]byte, 0, first)
		}
	case "gzip": // SDKs compress PutMetricData above 10 KiB
		z, err := gzip.NewReader(body)
		if err != nil {
			return serialization("The request's body is not gzip: %v.", err)
		}
		body = z
	default:
		return serialization("The request's Content-Encoding %s is not supported; known is gzip.", encoding)
	}
	return b.fill(body, r.ContentLength, l)
}

// fill reads to the end. length is what the client announced; negative: nothing.
func (b *buffer) fill(from io.Reader, length int64, l *load) *Error {
	if err := l.read(int64(cap(b.bytes))); err != nil {
		return err
	}
	var since time.Time // when the body became large
	for {
		if len(b.bytes) == cap(b.bytes) {
			if err := b.grow(length, l); err != nil {
				return err
			}
		}
		n, err := from.Read(b.bytes[len(b.bytes):cap(b.bytes)])
		b.bytes = b.bytes[:len(b.bytes)+n]
		if l.large && since.IsZero() {
			since = time.Now()
		}
		switch {
		case len(b.bytes) > maxBody:
			return tooLarge(maxBody)
		case err == io.EOF:
			return nil
		case errors.Is(err, os.ErrDeadlineExceeded):
			return &Error{
				Code:    "RequestTimeout",
				Message: fmt.Sprintf("The request's body has paused for %v after %d bytes.", Idle, len(b.bytes)),
			}
		case err != nil:
			return serialization("The request's body cannot be read: %v.", err)
		case !since.IsZero() && time.Since(since) > largeWithin:
			return &Error{
				Code: "RequestTimeout",
				Message: fmt.Sprintf("A request of more than %d bytes has not come within %v; it had %d bytes.", small,
					largeWithin, len(b.bytes)),
			}
		}
	}
}

// believed is how much of a body must have arrived until there is room for its announced length. It saves the copies of
// large bodies, of which few are read at the same time.
const believed = 2 << 20

// grow doubles the room for a body, up to its announced length.
func (b *buffer) grow(length int64, l *load) *Error {
	room := min(2*int64(cap(b.bytes)), maxBody+1)
	switch {
	case length < int64(len(b.bytes)):
	case len(b.bytes) >= believed:
		room = length + 1
	default:
		room = min(room, length+1)
	}
	if room = max(room, int64(len(b.bytes))+1); room > maxBody+1 {
		return tooLarge(maxBody)
	}
	if err := l.read(room - int64(cap(b.bytes))); err != nil {
		return err
	}
	larger := make([]byte, len(b.bytes), room)
	copy(larger, b.bytes)
	b.bytes = larger
	return nil
}

func tooLarge(limit int64) *Error {
	return &Error{
		Code: "RequestEntityTooLarge", Status: http.StatusRequestEntityTooLarge,
		Message: fmt.Sprintf("The request is longer than %d bytes.", limit),
	}
}

// ReadBody reads the body of a request that w answers, at most limit bytes, for handlers beside a Mux. A body that
// pauses for too long is cut.
func ReadBody(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, *Error) {
	if r.Body == nil || r.Body == http.NoBody {
		return nil, nil
	}
	body := NewPacedReader(w, r.Body)
	text, err := io.ReadAll(io.LimitReader(body, limit+1))
	body.Done()
	switch {
	case err != nil:
		return nil, &Error{
			Code: "RequestTimeout", Status: http.StatusBadRequest,
			Message: "The request's body cannot be read: " + err.Error(),
		}
	case int64(len(text)) > limit:
		return nil, tooLarge(limit)
	}
	return text, nil
}

// baseURL returns the server's URL as the client used it. Some clients omit the port from Host; then it is the
// listener's.
func baseURL(r *http.Request) string {
	scheme := "http"
	switch {
	case r.URL.Scheme != "":
		scheme = r.URL.Scheme
	case r.TLS != nil:
		scheme = "https"
	}
	host := r.Host
	if !hasPort(host) {
		if port := localPort(r); port != "" && port != map[string]string{"http": "80", "https": "443"}[scheme] {
			host = net.JoinHostPort(strings.Trim(host, "[]"), port)
		}
	}
	return scheme + "://" + host
}

func hasPort(host string) bool {
	return strings.LastIndexByte(host, ':') > strings.LastIndexByte(host, ']')
}

// localPort returns the port of the listener; "" in process.
func localPort(r *http.Request) string {
	addr, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if !ok {
		return ""
	}
	_, port, err := net.SplitHostPort(addr.String())
	if err != nil {
		return ""
	}
	return port
}

// credential returns the credential of a signature: KEY/DATE/REGION/SERVICE/aws4_request.
func credential(r *http.Request, values url.Values) string {
	const mark = "Credential="
	header := r.Header.Get("Authorization")
	if i := strings.Index(header, mark); i >= 0 {
		text, _, _ := strings.Cut(header[i+len(mark):], ",")
		return text
	}
	if text := values.Get("X-Amz-Credential"); text != "" {
		return text
	}
	return values.Get("AWSAccessKeyId")
}

// signedFor returns the service in a request's signature; "": the request is not signed.
func signedFor(r *http.Request, values url.Values) string {
	if parts := strings.Split(credential(r, values), "/"); len(parts) == 5 {
		return parts[3]
	}
	return ""
}

// Signer is what a request's signature says about its caller.
type Signer struct {
	Key    string // the access key; "": the request is not signed
	Region string // "": the request is not signed, or by version 2
}

// Identity returns what the signature of a request says, in its header or its URL.
func Identity(r *http.Request) Signer {
	var values url.Values
	if r.Header.Get("Authorization") == "" && strings.Contains(r.URL.RawQuery, "X-Amz-Credential=") {
		values = r.URL.Query()
	}
	key, rest, _ := strings.Cut(credential(r, values), "/")
	_, rest, _ = strings.Cut(rest, "/") // the date
	region, _, _ := strings.Cut(rest, "/")
	return Signer{strings.TrimSpace(key), region}
}
