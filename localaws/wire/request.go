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

// readAll reads the body of a request that w answers, at most maxBody bytes. On a connection, a body that pauses for
// too long is cut, so that it does not hold the call forever.
func (b *buffer) readAll(w http.ResponseWriter, r *http.Request) *Error {
	if r.Body == nil || r.Body == http.NoBody {
		return nil
	}
	var body io.Reader = r.Body
	if r.Context().Value(http.LocalAddrContextKey) != nil {
		paced := NewPacedReader(w, r.Body)
		defer paced.Done()
		body = paced
	}
	from := body
	switch encoding := strings.ToLower(r.Header.Get("Content-Encoding")); encoding {
	case "", "identity":
		if n := r.ContentLength; n > 0 && n <= maxBody && int64(cap(b.bytes)) <= n {
			b.bytes = make([]byte, 0, n+1) // one more byte, so that reading the end needs no growth
		}
	case "gzip": // SDKs compress PutMetricData above 10 KiB
		z, err := gzip.NewReader(body)
		if err != nil {
			return serialization("The request's body is not gzip: %v.", err)
		}
		from = z
	default:
		return serialization("The request's Content-Encoding %s is not supported; known is gzip.", encoding)
	}
	for {
		if len(b.bytes) == cap(b.bytes) {
			b.bytes = append(b.bytes, 0)[:len(b.bytes)]
		}
		n, err := from.Read(b.bytes[len(b.bytes):cap(b.bytes)])
		b.bytes = b.bytes[:len(b.bytes)+n]
		switch {
		case err == io.EOF:
			return nil
		case errors.Is(err, os.ErrDeadlineExceeded):
			return &Error{
				Code:    "RequestTimeout",
				Message: fmt.Sprintf("The request's body has paused for %v after %d bytes.", Idle, len(b.bytes)),
			}
		case err != nil:
			return serialization("The request's body cannot be read: %v.", err)
		case len(b.bytes) > maxBody:
			return &Error{
				Code: "RequestEntityTooLarge", Status: http.StatusRequestEntityTooLarge,
				Message: fmt.Sprintf("The request is longer than %d bytes.", maxBody),
			}
		}
	}
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

// signer returns the access key and the region in a request's signature; "": the request is not signed. Only the header
// is checked, because signed URLs are rare.
func signer(r *http.Request) (key, region string) {
	key, rest, _ := strings.Cut(credential(r, nil), "/")
	_, rest, _ = strings.Cut(rest, "/") // the date
	region, _, _ = strings.Cut(rest, "/")
	return strings.TrimSpace(key), region
}
