package prices

import "math"

const (
	// chunk is how many bytes are billed as one request.
	chunk = 64 << 10
	// fullBatch is how many messages one request takes.
	fullBatch = 10
)

// Traffic is what was counted of a queue or a topic.
type Traffic struct {
	Topic, Ordered                 bool
	Sent, Received, Empty, Deleted int64
	Bytes                          int64 // of what was sent; 0: unknown
}

// Chunks is as how many requests a message of the average size is billed, when it is sent and when it is received.
func (t Traffic) Chunks() float64 {
	if !t.chunked() {
		return 1
	}
	return max(1, math.Ceil(t.mean()/chunk))
}

// chunked reports whether large messages are billed as several requests. Messages of
// ordered topics are billed by bytes.
func (t *Traffic) chunked() bool { return !t.Topic || !t.Ordered }

// mean is the average size of a message.
func (t *Traffic) mean() float64 { return float64(t.Bytes) / float64(max(1, t.Sent)) }
