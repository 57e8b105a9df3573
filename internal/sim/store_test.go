package sim

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"time"
)

const (
	// bucket has the large bodies of a world with a store.
	bucket = "payloads"
	// largeAbove is the size above which a message of such a world is large: about half of them are.
	largeAbove = 350
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

// stored remembers which message an object is the body of.
func (w *world) stored(r *http.Request) error {
	if r.Method != http.MethodPut || !strings.HasPrefix(r.URL.Path, "/"+bucket+"/") {
		return nil
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	w.mu.Lock()
	defer w.mu.Unlock()
	w.objects[strings.TrimPrefix(r.URL.Path, "/"+bucket+"/")] = labelOf(string(body))
	return nil
}

// labelOf returns the label in a body, or in the object that it points to.
func (w *world) labelOf(body string) string {
	var at struct {
		Key string `json:"s3Key"`
	}
	if !strings.HasPrefix(body, "[") || json.Unmarshal([]byte(body), &[]any{new(string), &at}) != nil {
		return labelOf(body)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.objects[at.Key]
}

// leftovers checks the store at the end: no body is there for a message that has one reader, unless a crash or a fault
// has left it, and there is none without a message.
func (w *world) leftovers() {
	if !w.plan.store {
		return
	}
	objects, _ := w.server.S3().Bucket(bucket).Count()
	w.mu.Lock()
	written := len(w.objects)
	w.mu.Unlock()
	w.tally.add(countStored, written)
	w.tally.add(countLeftover, objects)
	if written == 0 {
		w.fail("no message was large")
	}
}
