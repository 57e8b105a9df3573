package sim

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"
)

const (
	// bucket has the large bodies of a world with a store.
	bucket = "payloads"
	// largeAbove is the size above which a message of such a world is large: about half of them are.
	largeAbove = 350
	// longestFetch bounds one read of a body, and longestFetchPause the wait until the next one after a failure.
	longestFetch      = 15 * time.Second
	longestFetchPause = time.Minute
)

// The actions of the store.
const (
	actPut     = "PutObject"
	actGet     = "GetObject"
	actDiscard = "DeleteObjects"
)

// newStoreFaults draws the faults of a store. They come from a stream of their own, so that a world with a store has
// the same faults of other kinds as without one.
func newStoreFaults(d rng) (faults []fault) {
	r := d.about("store storms")
	for _, one := range []fault{
		{kind: seenStoreDown, actions: []string{actPut, actGet, actDiscard}},
		{kind: seenLostPut, actions: []string{actPut}},
		{kind: seenLostGet, actions: []string{actGet}},
		{kind: seenLostDiscard, actions: []string{actDiscard}},
	} {
		for range 1 + r.IntN(2) {
			one.from = r.between(0, troubleFor-time.Minute)
			one.to = one.from + r.between(20*time.Second, 90*time.Second)
			one.share = pick(r, 0.3, 0.9)
			faults = append(faults, one)
		}
	}
	return faults
}

// storedBodies are the labels of the messages whose bodies are in the store, by the keys of their objects.
type storedBodies struct {
	mu     sync.Mutex
	labels map[string]string
}

// note remembers which message an object is the body of, if a request writes one.
func (s *storedBodies) note(r *http.Request) error {
	key, ok := strings.CutPrefix(r.URL.Path, "/"+bucket+"/")
	if r.Method != http.MethodPut || !ok {
		return nil
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.labels == nil {
		s.labels = map[string]string{}
	}
	s.labels[key] = labelOf(string(body))
	return nil
}

// labelOf returns the label in a body, or in the object that it points to.
func (s *storedBodies) labelOf(body string) string {
	key := pointsTo(body)
	if key == "" {
		return labelOf(body)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.labels[key]
}

// count returns how many objects were written.
func (s *storedBodies) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.labels)
}

// pointsTo returns the key of the object that has the body of a message. It is empty if the message has its body.
func pointsTo(body string) string {
	var at struct {
		Key string `json:"s3Key"`
	}
	if !isPointer(body) || json.Unmarshal([]byte(body), &[]any{new(string), &at}) != nil {
		return ""
	}
	return at.Key
}

// isPointer reports whether a message points to its body.
func isPointer(body string) bool { return strings.HasPrefix(body, "[") }

// sizeOf is how many bytes a received message takes before its handler. A body in the store is read by the handler's
// worker.
func sizeOf(body string) int {
	if isPointer(body) {
		return 0
	}
	return len(body)
}

// mayBeFetched reports whether a worker may be reading the delivery's body: then it was started, and its handler begins
// later.
func (h *delivery) mayBeFetched() bool { return h.fresh() && h.size == 0 }

// mayBeFetching is how many workers may be reading a body.
func (p *consumer) mayBeFetching() (n int) {
	for h := range p.open {
		if h.mayBeFetched() {
			n++
		}
	}
	return n
}

// fetches reports whether a worker may be reading a body: then its delivery was started, and its handler begins later.
func (p *consumer) fetches() bool {
	return p.checker.w.plan.store && time.Since(p.changed) < longestFetch
}

// fetchesAgain reports whether deliveries may be waiting whose bodies could not be read because of a fault. They wait
// on the shelf, or are released for a while.
func (p *consumer) fetchesAgain() bool {
	return p.checker.w.plan.store && time.Since(p.trouble) < longestFetchPause+slack
}

// leftovers counts the bodies in the store, and those that are left because of a crash or a fault, or because an
// exchange's bodies may have several readers.
func (w *world) leftovers() {
	if !w.plan.store {
		return
	}
	objects, _ := w.server.S3().Bucket(bucket).Count()
	written := w.count()
	w.tally.add(countStored, written)
	w.tally.add(countLeftover, objects)
	if written == 0 {
		w.fail("no message was large")
	}
}
