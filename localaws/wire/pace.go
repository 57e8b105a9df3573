package wire

import (
	"io"
	"net/http"
	"os"
	"time"
)

// Idle is how long a body may pause. A body that has no byte for so long is cut; there is no limit on the whole.
const Idle = 10 * time.Second

// refresh is how often the deadline of a connection is moved while bytes flow.
const refresh = time.Second

// PacedReader reads a request's body, and cuts it when it pauses for too long. On a connection it moves the deadline;
// in process it closes the body.
type PacedReader struct {
	body    io.ReadCloser
	control *http.ResponseController // nil: in process
	set     time.Time                // when the deadline was set last
	guard   *time.Timer              // in process: closes the body
	cut     chan struct{}            // in process: closed by guard
	ended   bool                     // the body was read to its end
}

// NewPacedReader returns a reader of the body of a request that w answers.
func NewPacedReader(w http.ResponseWriter, body io.ReadCloser) *PacedReader {
	return &PacedReader{body: body, control: http.NewResponseController(w)}
}

// Read reads from the body. A body that was cut is os.ErrDeadlineExceeded.
func (p *PacedReader) Read(b []byte) (int, error) {
	if p.control != nil {
		if now := time.Now(); now.Sub(p.set) >= refresh {
			p.set = now
			if p.control.SetReadDeadline(now.Add(Idle)) != nil {
				p.control = nil
			}
		}
	}
	if p.control != nil {
		n, err := p.body.Read(b)
		p.ended = p.ended || err == io.EOF
		return n, err
	}
	if p.guard == nil {
		p.cut = make(chan struct{})
		p.guard = time.AfterFunc(Idle, func() {
			close(p.cut)
			_ = p.body.Close() // ends a waiting Read
		})
	} else {
		p.guard.Reset(Idle)
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

// Done removes the deadline, which must not cut the connection while the call waits. The deadline of a body that was
// not read to its end remains: the connection ends after the answer, and net/http reads some more of the body before
// it.
func (p *PacedReader) Done() {
	if p.control != nil && p.ended && !p.set.IsZero() {
		_ = p.control.SetReadDeadline(time.Time{}) // it worked before
	}
}
