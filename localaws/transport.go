package localaws

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"net/http"
	"strconv"

	"github.com/godwitmq/godwit/localaws/clock"
)

type transport struct {
	handler http.Handler
	clock   *clock.Clock
}

// errDropped is the error of a connection that a control closed.
var errDropped = errors.New("localaws: connection reset by a control")

func (t *transport) RoundTrip(r *http.Request) (response *http.Response, err error) {
	if r.Body != nil {
		defer r.Body.Close()
	}
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	// The handler must not modify the client's own URL, and on the server side a nil body is http.NoBody.
	in := *r
	in.Host = cmp.Or(in.Host, r.URL.Host)
	if in.Body == nil {
		in.Body = http.NoBody
	}
	if err := measure(&in); err != nil {
		return nil, err
	}
	if in.URL.Path == "" {
		url := *in.URL
		url.Path = "/"
		in.URL = &url
	}
	w := &recorder{header: http.Header{}}
	defer func() {
		if p := recover(); p == http.ErrAbortHandler { //nolint:errorlint // net/http panics with this very value
			response, err = nil, errDropped
		} else if p != nil {
			panic(p)
		}
	}()
	t.handler.ServeHTTP(w, &in)
	// As a server of HTTP, so that clients can see the difference to their own time.
	w.header.Set("Date", t.clock.Now().UTC().Format(http.TimeFormat))
	if cause := r.Context().Err(); cause != nil && !w.useful() {
		if w.stream != nil {
			_ = w.stream.Close() // nobody reads it
		}
		return nil, cause
	}
	return w.response(r), nil
}

// measure finds out whether a body of unknown length, which a client writes as 0, is empty. A server knows the length,
// or writes it as -1.
func measure(r *http.Request) error {
	if r.ContentLength != 0 || r.Body == http.NoBody {
		return nil
	}
	var first [1]byte
	n, err := io.ReadFull(r.Body, first[:])
	switch {
	case errors.Is(err, io.EOF):
		r.Body = http.NoBody
		return nil
	case err != nil:
		return err
	}
	r.ContentLength = -1
	r.Body = &resumed{Reader: io.MultiReader(bytes.NewReader(first[:n]), r.Body), Closer: r.Body}
	return nil
}

// resumed is a body whose first byte was read.
type resumed struct {
	io.Reader
	io.Closer
}

// recorder records what a handler writes.
type recorder struct {
	header http.Header
	status int
	body   bytes.Buffer
	stream io.ReadCloser // the body, if it is read later; nil: it is in body
}

// TakeBody makes a body the response's, which the client reads without a copy.
func (w *recorder) TakeBody(body io.ReadCloser) { w.stream = body }

func (w *recorder) Header() http.Header { return w.header }

func (w *recorder) WriteHeader(status int) {
	w.status = cmp.Or(w.status, status)
}

func (w *recorder) Write(b []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.body.Write(b)
}

// useful reports whether the answer is worth more than the context's end. Only the error that the end itself caused is
// not.
func (w *recorder) useful() bool { return w.status != 0 && w.status < 500 }

func (w *recorder) response(r *http.Request) *http.Response {
	w.WriteHeader(http.StatusOK)
	if w.stream != nil {
		length, err := strconv.ParseInt(w.header.Get("Content-Length"), 10, 64)
		if err != nil {
			length = -1
		}
		return w.answer(r, length, w.stream)
	}
	return w.answer(r, w.length(), io.NopCloser(bytes.NewReader(w.body.Bytes())))
}

// length returns the length of the body. The answer to HEAD has that of the body that it does not have.
func (w *recorder) length() int64 {
	if n, err := strconv.ParseInt(w.header.Get("Content-Length"), 10, 64); err == nil {
		return n
	}
	return int64(w.body.Len())
}

func (w *recorder) answer(r *http.Request, length int64, body io.ReadCloser) *http.Response {
	for name, values := range w.header {
		if name[0] >= 'a' { // a client that reads from a socket gets canonical names
			delete(w.header, name)
			w.header[http.CanonicalHeaderKey(name)] = values
		}
	}
	return &http.Response{
		Status:        http.StatusText(w.status),
		StatusCode:    w.status,
		Proto:         "HTTP/1.1",
		ProtoMajor:    1,
		ProtoMinor:    1,
		Header:        w.header,
		Body:          body,
		ContentLength: length,
		Request:       r,
	}
}
