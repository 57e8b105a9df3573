package rest

import (
	"io"
	"net/http"
	"os"
	"time"
)

// idle is how long a body may pause. A body that has no byte for so long is cut; there is no limit on the whole.
const idle = 10 * time.Second

// refresh is how often the deadline of a connection is moved while bytes flow.
const refresh = time.Second

// pacedReader reads a request's body, and cuts it when it pauses for too long. On a connection it moves the deadline;
// in process it closes the body.
type pacedReader struct {
	body    io.ReadCloser
	control *http.ResponseController // nil: in process
	set     time.Time                // when the deadline was set last
	guard   *time.Timer              // in process: closes the body
	cut     chan struct{}            // in process: closed by guard
}

func newPacedReader(w http.ResponseWriter, body io.ReadCloser) *pacedReader {
	return &pacedReader{body: body, control: http.NewResponseController(w)}
}

func (p *pacedReader) Read(b []byte) (int, error) {
	if p.control != nil {
		if now := time.Now(); now.Sub(p.set) >= refresh {
			p.set = now
			if p.control.SetReadDeadline(now.Add(idle)) != nil {
				p.control = nil
			}
		}
	}
	if p.control != nil {
		return p.body.Read(b)
	}
	if p.guard == nil {
		p.cut = make(chan struct{})
		p.guard = time.AfterFunc(idle, func() {
			close(p.cut)
			_ = p.body.Close() // ends a waiting Read
		})
	} else {
		p.guard.Reset(idle)
	}
	n, err := p.body.Read(b)
	p.guard.Stop()
	select {
	case <-p.cut:
		return n, os.ErrDeadlineExceeded
	default:
		return n, err
	}
}

// done removes the deadline, which must not cut the connection while it waits for the next request.
func (p *pacedReader) done() {
	if p.control != nil && !p.set.IsZero() {
		_ = p.control.SetReadDeadline(time.Time{}) // it worked before
	}
}
