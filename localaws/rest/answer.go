package rest

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"net/http"
	"reflect"
	"strconv"
	"sync"
	"time"

	"github.com/godwitmq/godwit/localaws/wire"
)

// Stream is the body of an answer.
type Stream struct {
	Size int64
	Body Content
}

// Content is read and closed by the answer.
type Content interface {
	io.ReadCloser
	// Memory returns the whole content if it is in memory; ok is false if it must be read.
	Memory() (b []byte, ok bool)
}

// BodyTaker is an http.ResponseWriter that reads the body of an answer later, as a transport in process does, so that
// the body needs no goroutine. It closes the body.
type BodyTaker interface {
	TakeBody(body io.ReadCloser)
}

// answer writes the response of one request.
type answer struct {
	w         http.ResponseWriter
	head      bool // the request's method is HEAD
	service   *Service
	buffers   *sync.Pool
	requestID string
	hostID    string
	call      *wire.Call // nil: the request was not understood
}

func (a *answer) common() http.Header {
	h := a.w.Header()
	h["X-Amz-Request-Id"] = []string{a.requestID}
	h["X-Amz-Id-2"] = []string{a.hostID}
	h["Server"] = []string{"AmazonS3"}
	return h
}

// fail writes an error. An answer to HEAD, and one with the status 304, has no body.
func (a *answer) fail(e *Error) {
	h := a.common()
	for name, value := range e.Header {
		h.Set(name, value)
	}
	status := e.Base.Status
	status = cmp.Or(status, http.StatusBadRequest)
	if a.head || status == http.StatusNotModified {
		a.w.WriteHeader(status)
		return
	}
	b := append([]byte(nil), xmlHead...)
	if a.service.Wrapped {
		b = append(b, "<ErrorResponse>"...)
	}
	b = append(b, "<Error>"...)
	element := func(name, text string) { b = appendEnd(appendText(appendStart(b, name), text), name) }
	element("Code", e.Base.QueryCode())
	element("Message", e.Base.Message)
	for _, d := range e.Details {
		element(d.Name, d.Value)
	}
	if a.service.Wrapped {
		b = append(b, "</Error>"...)
	}
	element("RequestId", a.requestID)
	element("HostId", a.hostID)
	if a.service.Wrapped {
		b = append(b, "</ErrorResponse>"...)
	} else {
		b = append(b, "</Error>"...)
	}
	h.Set("Content-Type", "application/xml")
	a.write(status, b)
}

// succeed writes an output.
func (a *answer) succeed(action *Action, out any) {
	v := reflect.ValueOf(out).Elem()
	h := a.common()
	status, text, stream := http.StatusOK, "", (*Stream)(nil)
	isText := false
	for i := range action.output.fields {
		f := &action.output.fields[i]
		x := v.FieldByIndex(f.index)
		switch f.place {
		case inHeader:
			if text, ok := headerText(x); ok {
				h[f.head] = []string{text}
			}
		case inMetadata:
			for name, value := range x.Interface().(map[string]string) {
				h["x-amz-meta-"+name] = []string{encodeWord(value)} // some clients keep the case of the name
			}
		case inStatus:
			if x.Int() != 0 {
				status = int(x.Int())
			}
		case inText:
			text, isText = x.String(), true
		case inBody:
			stream = x.Interface().(*Stream)
		default:
		}
	}
	switch {
	case stream != nil:
		a.stream(status, stream)
	case isText:
		h.Set("Content-Type", "application/json")
		a.write(status, []byte(text))
	case action.root != "":
		h.Set("Content-Type", "application/xml")
		a.write(status, appendDocument(nil, action.root, a.service.XMLNS, action.output, v))
	default:
		a.write(status, nil)
	}
}

// headerText returns the text of a header; ok is false if there is none.
func headerText(v reflect.Value) (text string, ok bool) {
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return "", false
		}
		return string(appendScalar(nil, v.Elem())), true
	}
	switch v.Kind() {
	case reflect.String:
		return v.String(), v.String() != ""
	case reflect.Bool:
		return "true", v.Bool()
	case reflect.Struct:
		at := v.Interface().(time.Time)
		return at.UTC().Format(http.TimeFormat), !at.IsZero()
	default:
		return strconv.FormatInt(v.Int(), 10), true
	}
}

// write sends a short body.
func (a *answer) write(status int, body []byte) {
	if status != http.StatusNoContent && (!a.head || a.w.Header().Get("Content-Length") == "") {
		a.w.Header()["Content-Length"] = []string{strconv.Itoa(len(body))}
	}
	if a.head || len(body) == 0 {
		a.w.WriteHeader(status)
		return
	}
	a.stream(status, &Stream{Size: int64(len(body)), Body: memory{bytes.NewReader(body), body}})
}

// memory is a Content in memory.
type memory struct {
	*bytes.Reader
	bytes []byte
}

func (m memory) Memory() ([]byte, bool) { return m.bytes, true }
func (memory) Close() error             { return nil }

// stream sends a body of any length.
func (a *answer) stream(status int, s *Stream) {
	a.w.Header()["Content-Length"] = []string{strconv.FormatInt(s.Size, 10)}
	a.w.WriteHeader(status)
	cut := int64(0)
	if a.call != nil {
		cut = a.call.BreakResponse
	}
	if taker, ok := a.w.(BodyTaker); ok {
		if cut > 0 && cut < s.Size {
			taker.TakeBody(&cutBody{s.Body, cut})
		} else {
			taker.TakeBody(s.Body)
		}
		return
	}
	defer s.Body.Close()
	err := a.send(s.Body, cut)
	if cut > 0 && cut < s.Size && err == nil {
		_ = http.NewResponseController(a.w).Flush() // the client gets what comes before the break
	}
	if err != nil || cut > 0 && cut < s.Size {
		panic(http.ErrAbortHandler) // the client sees that the body is not complete
	}
}

// shortBody is the length of bodies that net/http sends after the handler, without a deadline of ours.
const shortBody = 2 << 10

// send writes a body, at most limit bytes of it unless limit is 0. A client that takes no byte for too long is cut.
func (a *answer) send(body Content, limit int64) error {
	b, inMemory := body.Memory()
	if inMemory && len(b) <= shortBody && limit == 0 {
		_, err := a.w.Write(b)
		return err
	}
	control := http.NewResponseController(a.w)
	defer func() { _ = control.SetWriteDeadline(time.Time{}) }() // for the next request
	write := func(p []byte) error {
		_ = control.SetWriteDeadline(time.Now().Add(wire.Idle)) // a writer without deadlines has none
		_, err := a.w.Write(p)
		return err
	}
	if inMemory {
		if limit > 0 {
			b = b[:min(int64(len(b)), limit)]
		}
		return sendPieces(b, write)
	}
	scratch := a.buffers.Get().(*[bufferSize]byte)
	defer a.buffers.Put(scratch)
	for sent := int64(0); limit == 0 || sent < limit; {
		room := scratch[:]
		if limit > 0 {
			room = room[:min(int64(len(room)), limit-sent)]
		}
		n, err := body.Read(room)
		if n > 0 {
			if failed := write(room[:n]); failed != nil {
				return failed
			}
			sent += int64(n)
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
	}
	return nil
}

// The pieces of a body in memory. Each has a deadline of its own, so that a slow client is not cut; larger ones cost
// less. While the client takes them quickly, they grow.
const (
	firstPiece   = 4 * bufferSize
	largestPiece = 8 * bufferSize
	quickPiece   = 100 * time.Millisecond
)

func sendPieces(b []byte, write func([]byte) error) error {
	for piece := firstPiece; len(b) > 0; {
		n, began := min(len(b), piece), time.Now()
		if err := write(b[:n]); err != nil {
			return err
		}
		b = b[n:]
		if time.Since(began) < quickPiece {
			piece = min(2*piece, largestPiece)
		} else {
			piece = firstPiece
		}
	}
	return nil
}

// cutBody is a body that breaks.
type cutBody struct {
	io.ReadCloser
	left int64
}

func (c *cutBody) Read(p []byte) (int, error) {
	if c.left == 0 {
		return 0, io.ErrUnexpectedEOF
	}
	n, err := c.ReadCloser.Read(p[:min(int64(len(p)), c.left)])
	c.left -= int64(n)
	return n, err
}
