package wire

import (
	"context"
	"fmt"
	"net/http"
	"time"
)

const (
	// small is the memory that every request may use at once: a message of 1 MiB and what it is decoded to.
	small = 4 << 20
	// maxDecoded bounds what lists and maps of a request are decoded to, without their texts: a thousand metrics with
	// 150 values each, all with dimensions, need less.
	maxDecoded = 8 << 20
	// largeAtOnce is how many requests may use more than small at the same time. Each has at most its body, the texts
	// of the body, and maxDecoded.
	largeAtOnce = 2
	// largeWait is how long a large request waits for its turn; a client repeats it afterwards.
	largeWait = 20 * time.Second
	// entryCost is what an entry of a map takes besides its value.
	entryCost = 64
)

// gate lets few large requests in at the same time, so that the memory of all of them is bounded.
type gate struct{ turns chan struct{} }

// load is the memory that one request uses. It has one turn of the gate at most, so that no two requests wait for each
// other. It is used by one goroutine.
type load struct {
	ctx     context.Context //nolint:containedctx // a load lives as long as its request
	gate    *gate
	used    int64 // by the body, and what it is decoded to
	decoded int64
	large   bool // it has a turn
}

// read adds bytes of the body.
func (l *load) read(bytes int64) *Error { return l.use(bytes) }

// decode adds what the body is decoded to, for the member of a path.
func (l *load) decode(action string, bytes uintptr, path func() string) *Error {
	l.decoded += int64(bytes) //nolint:gosec // the size of a type
	if l.decoded > maxDecoded {
		return serialization("%s: %s has too many elements: lists and maps of a request may need %d bytes.",
			action, path(), maxDecoded)
	}
	return l.use(int64(bytes)) //nolint:gosec // the size of a type
}

func (l *load) use(bytes int64) *Error {
	l.used += bytes
	if l.used <= small || l.large {
		return nil
	}
	wait := time.NewTimer(largeWait)
	defer wait.Stop()
	select {
	case l.gate.turns <- struct{}{}:
		l.large = true
		return nil
	case <-l.ctx.Done():
	case <-wait.C:
	}
	return &Error{
		Code: "ServiceUnavailable", Status: http.StatusServiceUnavailable, Fault: true,
		Message: fmt.Sprintf("%d other requests of more than %d bytes are being handled. Send this one again.",
			largeAtOnce, small),
	}
}

// done ends the request.
func (l *load) done() {
	if l.large {
		<-l.gate.turns
		l.large = false
	}
}
