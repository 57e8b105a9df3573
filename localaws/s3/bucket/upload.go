package bucket

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// Upload is a multipart upload that is not complete. Its exported fields are not modified after its creation.
type Upload struct {
	ID        string
	Key       string
	Initiated time.Time
	Checksum  Checksum // Algorithm and Type that its parts must have; zero: any
	Properties

	parts map[int]*Part
	watch *Watch // of the key, since the upload was started
}

// Part is one part of an upload. It is not modified after it was put.
type Part struct {
	Number   int
	ETag     string // without quotes
	Modified time.Time
	Content  Content
	Checksum Checksum
	// Second is the checksum by which an upload without an algorithm is joined, if the part's own is another.
	Second string
}

// Parts returns the parts of an upload by number.
func (b *Bucket) Parts(id string) (u *Upload, parts []*Part, ok bool) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	u, ok = b.uploads[id]
	if !ok {
		return nil, nil, false
	}
	for _, n := range slices.Sorted(maps.Keys(u.parts)) {
		parts = append(parts, u.parts[n])
	}
	return u, parts, true
}

// Uploads returns the uploads that are not complete, by key and then by time.
func (b *Bucket) Uploads() []*Upload {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return slices.SortedFunc(maps.Values(b.uploads), func(x, y *Upload) int {
		return cmp.Or(cmp.Compare(x.Key, y.Key), x.Initiated.Compare(y.Initiated), cmp.Compare(x.ID, y.ID))
	})
}

// Start begins an upload.
func (b *Bucket) Start(u *Upload) error { return b.change(startUpload{u}) }

// PutPart adds a part, and takes over its content, also if it fails.
func (b *Bucket) PutPart(id string, p *Part) error {
	err := b.change(putPart{id, p})
	if err != nil {
		p.Content.Release()
	}
	return err
}

// Abort ends an upload without an object.
func (b *Bucket) Abort(id string) error { return b.change(endUpload{id}) }

// Digest tells requests that complete an upload apart.
type Digest [32]byte

// completed is what is kept of an upload after its end, for a client that lost the answer.
type completed struct {
	id      string
	request Digest
	object  Object // without content and parts
}

// maxCompleted is the number of completed uploads that a bucket remembers: more than clients complete at once.
const maxCompleted = 1000

// Completed returns the object that a request to complete an upload has made, without its content and its parts, or
// nil.
func (b *Bucket) Completed(id, key string, request Digest) *Object {
	b.mu.RLock()
	defer b.mu.RUnlock()
	for i := range b.completed {
		if c := &b.completed[i]; c.id == id && c.object.Key == key && c.request == request {
			return &c.object
		}
	}
	return nil
}

// Complete ends an upload if the condition holds; a change of the object since the start of the upload is a race. join
// makes the object of the upload and its parts; the content of the object takes over what it uses of the parts'
// contents, and the rest of the parts is dropped. Completed then finds the object by the request's digest.
func (b *Bucket) Complete(
	id string, c Condition, request Digest, join func(*Upload, map[int]*Part) (*Object, error),
) (*Object, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	u := b.uploads[id]
	if u == nil {
		return nil, ErrNoUpload
	}
	if err := c.check(b.objects.get(u.Key), u.watch); err != nil {
		return nil, err
	}
	o, err := join(u, u.parts)
	if err != nil {
		return nil, err
	}
	o.Content.Retain() // the parts' own use ends with the upload
	return o, b.apply(completeUpload{id, request, o})
}
