package kafkalocal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	// maxRequest bounds a request, as socket.request.max.bytes does by default.
	maxRequest = 100 << 20
	// firstRoom is the room for a request before its bytes have arrived.
	firstRoom = 4 << 10
	// smallRoom is the largest room that is kept for the next request.
	smallRoom = 64 << 10
	// requestPause is how long a request may pause after its first byte.
	requestPause = 10 * time.Second
	// connectionIdle is how long a connection may be without a request, as connections.max.idle.ms says by default.
	connectionIdle = 10 * time.Minute
	// answerPause is how long a client may take no byte of an answer: what is frozen or gone without a word must not
	// hold a connection for good.
	answerPause = time.Minute
	// minRequest is the head of a request without a client id: key, version, correlation id, and the id's length.
	minRequest = 10
)

// requests reads whole requests from a connection, and passes them on when they are complete. kfake itself reserves the
// memory that a length prefix asks for before a byte of the request has come, reads as many tags as a request says it
// has, and fails as a whole at a key that it does not know. Whatever speaks another protocol, such as a web browser,
// begins with a length that is too large. It is used by one goroutine.
//
// A request is passed on when the one before is answered. kfake handles one after another in any case, but while it
// waits for that it does not read: it would not notice that the client has gone, and keep two goroutines and the
// connection until the answer, which can take as long as the request says, or never come.
type requests struct {
	from  net.Conn
	data  []byte // a complete request with its prefix
	at    int    // how much of data is passed on
	ahead []byte // bytes of later requests

	mu      sync.Mutex // guards open and watches
	open    int        // how many requests that were passed on have no answer yet
	watches bool       // a Read waits for the end of the connection
}

// errRequest ends a connection as a real broker does: it sends no answer.
var errRequest = errors.New("kafkalocal: the connection is closed, because what it sends is not a request")

// Read passes on a part of a request, or reads the next one.
func (r *requests) Read(b []byte) (int, error) {
	if r.at == len(r.data) {
		if err := r.next(); err != nil {
			return 0, err
		}
	}
	n := copy(b, r.data[r.at:])
	r.at += n
	return n, nil
}

// next reads a request.
func (r *requests) next() error {
	if cap(r.data) > smallRoom {
		r.data = nil
	}
	r.data, r.at = r.data[:0], 0
	if err := r.more(1, connectionIdle); err != nil {
		return err
	}
	if err := r.more(counted, requestPause); err != nil {
		return err
	}
	size := binary.BigEndian.Uint32(r.data)
	if size > maxRequest || size < minRequest {
		return fmt.Errorf("%w: its length is %d", errRequest, size)
	}
	if err := r.more(counted+int(size), requestPause); err != nil {
		return err
	}
	rest, err := checkHead(r.data[counted:])
	if err != nil {
		return err
	}
	return r.pass(isAnswered(r.data[counted:], rest))
}

// pass waits until all requests before are answered. answered: this one will be, too.
func (r *requests) pass(answered bool) error {
	for r.watch() {
		var b [1024]byte
		n, err := r.from.Read(b[:])
		r.ahead = append(r.ahead, b[:n]...)
		r.mu.Lock()
		r.watches = false
		r.mu.Unlock()
		if ne, is := errors.AsType[net.Error](err); err != nil && (!is || !ne.Timeout()) {
			return io.ErrUnexpectedEOF
		}
	}
	if answered {
		r.mu.Lock()
		r.open++
		r.mu.Unlock()
	}
	return nil
}

// watch begins to watch the connection while an answer is missing. With many bytes of later requests it does not:
// kfake waits then.
func (r *requests) watch() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.watches = r.open > 0 && len(r.ahead) < smallRoom && r.from.SetReadDeadline(time.Time{}) == nil
	return r.watches
}

// answer notes an answer, and ends the watch.
func (r *requests) answer() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.open--
	if r.watches {
		_ = r.from.SetReadDeadline(time.Unix(1, 0)) // long ago
	}
}

// more reads until there are size bytes. The room grows with what has come. A pause ends the connection.
func (r *requests) more(size int, pause time.Duration) error {
	for len(r.data) < size {
		if len(r.data) == cap(r.data) {
			larger := make([]byte, len(r.data), min(max(2*cap(r.data), firstRoom), max(size, firstRoom)))
			copy(larger, r.data)
			r.data = larger
		}
		if len(r.ahead) > 0 {
			n := copy(r.data[len(r.data):min(cap(r.data), size)], r.ahead)
			r.data = r.data[:len(r.data)+n]
			if r.ahead = r.ahead[n:]; len(r.ahead) == 0 {
				r.ahead = nil
			}
			continue
		}
		if err := r.from.SetReadDeadline(time.Now().Add(pause)); err != nil {
			return err
		}
		n, err := r.from.Read(r.data[len(r.data):min(cap(r.data), size)])
		r.data = r.data[:len(r.data)+n]
		if err != nil && len(r.data) < size {
			return r.cut(err)
		}
	}
	return nil
}

// cut returns the end of a connection, which is an unexpected one inside a request.
func (r *requests) cut(err error) error {
	if len(r.data) > 0 && errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// checkHead checks the head of a request, which kfake reads before anything else: its key, and its tags. It returns the
// rest of the request.
func checkHead(b []byte) (rest []byte, err error) {
	key, version := int16(binary.BigEndian.Uint16(b)), int16(binary.BigEndian.Uint16(b[2:]))
	req := kmsg.RequestForKey(key)
	if req == nil {
		return nil, fmt.Errorf("%w: there is no key %d", errRequest, key)
	}
	req.SetVersion(version)
	id := int(int16(binary.BigEndian.Uint16(b[8:])))
	b = b[minRequest:]
	if id > len(b) {
		return nil, fmt.Errorf("%w: its client id has %d bytes of %d", errRequest, id, len(b))
	}
	b = b[max(id, 0):]
	if !req.IsFlexible() {
		return b, nil
	}
	tags, b := uvarint(b)
	for range tags {
		if b == nil {
			break
		}
		var size uint64
		_, b = uvarint(b) // the tag
		size, b = uvarint(b)
		if size > uint64(len(b)) {
			b = nil
			break
		}
		b = b[size:]
	}
	if b == nil {
		return nil, fmt.Errorf("%w: its head has %d tags, which are not there", errRequest, tags)
	}
	return b, nil
}

// isAnswered reports whether a request has an answer: all have, except records for which the client wants no
// acknowledgement. rest is the request behind its head.
func isAnswered(request, rest []byte) bool {
	if kmsg.Key(binary.BigEndian.Uint16(request)) != kmsg.Produce {
		return true
	}
	skip := 0
	switch version := binary.BigEndian.Uint16(request[2:]); {
	case version >= 9: // the transaction's id is a compact string, whose length has one added to it
		size, behind := uvarint(rest)
		rest, skip = behind, max(int(size)-1, 0)
	case version >= 3 && len(rest) >= 2:
		size := int16(binary.BigEndian.Uint16(rest))
		rest, skip = rest[2:], int(max(size, 0))
	}
	return len(rest) < skip+2 || binary.BigEndian.Uint16(rest[skip:]) != 0
}

// uvarint reads a number of at most 32 bits; rest is nil if there is none.
func uvarint(b []byte) (n uint64, rest []byte) {
	n, width := binary.Uvarint(b)
	if width <= 0 || n > 1<<32-1 {
		return 0, nil
	}
	return n, b[width:]
}
