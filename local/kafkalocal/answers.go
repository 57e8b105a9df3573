package kafkalocal

import (
	"encoding/binary"
	"sync"

	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	// requestHead is what of a request says which answer it wants: its length, key, version and number.
	requestHead = 12
	// answerHead is an answer's length and number.
	answerHead = 8
	// counted begins what the length counts.
	counted = 4
)

// answers stands on one connection and mends what kfake answers, on its way out: a control function sees requests alone.
// It notes the few requests whose answers need that, and touches no other bytes. On a connection with TLS it sees nothing
// that it knows. One goroutine reads and one writes; kfake writes each answer at once.
type answers struct {
	epochs *epochs

	head []byte // of the request that arrives
	rest int    // how much of that request is still to come, after its head

	mu    sync.Mutex // held to look into asked only
	asked map[int32]question
}

// question is what an answer must be read as.
type question struct{ key, version int16 }

// saw follows the requests in what was read.
func (a *answers) saw(b []byte) {
	for len(b) > 0 {
		if a.rest > 0 {
			n := min(a.rest, len(b))
			a.rest -= n
			b = b[n:]
			continue
		}
		n := min(requestHead-len(a.head), len(b))
		a.head = append(a.head, b[:n]...)
		b = b[n:]
		if len(a.head) == requestHead {
			a.note(a.head)
			a.rest = int(binary.BigEndian.Uint32(a.head)) - (requestHead - counted)
			a.head = a.head[:0]
		}
	}
}

func (a *answers) note(head []byte) {
	q := question{int16(binary.BigEndian.Uint16(head[4:])), int16(binary.BigEndian.Uint16(head[6:]))}
	if !mendable(q.key) {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.asked == nil {
		a.asked = map[int32]question{}
	}
	a.asked[int32(binary.BigEndian.Uint32(head[8:]))] = q
}

// mended is the answer as it should go out; what needs no mending, or cannot be read, is returned as it is.
func (a *answers) mended(answer []byte) []byte {
	if len(answer) < answerHead || int(binary.BigEndian.Uint32(answer)) != len(answer)-counted {
		return answer
	}
	q, ok := a.take(int32(binary.BigEndian.Uint32(answer[counted:])))
	if !ok {
		return answer
	}
	resp := kmsg.ResponseForKey(q.key)
	resp.SetVersion(q.version)
	body := answerHead
	if resp.IsFlexible() {
		body++ // the header's tags, of which kfake sends none
	}
	if len(answer) < body || resp.ReadFrom(answer[body:]) != nil {
		return answer
	}
	mend(resp, a.epochs)
	out := resp.AppendTo(append([]byte(nil), answer[:body]...))
	binary.BigEndian.PutUint32(out, uint32(len(out)-counted))
	return out
}

func (a *answers) take(number int32) (question, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	q, ok := a.asked[number]
	delete(a.asked, number)
	return q, ok
}
