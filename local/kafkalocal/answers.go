package kafkalocal

import (
	"encoding/binary"
	"sync"

	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	// requestHead is the part of a request that determines its answer: length, key, version and correlation id.
	requestHead = 12
	// answerHead is an answer's length and correlation id.
	answerHead = 8
	// counted is the position from which the length counts.
	counted = 4
)

// answers corrects kfake's answers on one connection; a control function sees only requests. It records the few
// requests whose answers need a correction, and changes no other bytes. On a connection with TLS it recognizes nothing.
// One goroutine reads and one writes; kfake writes each answer in one call.
type answers struct {
	epochs *epochs

	head []byte // of the request that is being read
	rest int    // bytes of that request that are still to come, after its head

	mu    sync.Mutex // guards asked
	asked map[int32]question
}

// question says how an answer must be parsed.
type question struct{ key, version int16 }

// saw follows the requests in the bytes that were read.
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

// mended returns the corrected answer. An answer that needs no correction, or cannot be parsed, is returned unchanged.
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
		body++ // the header's tags; kfake sends no tags
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
