package wire

import (
	"context"
	"errors"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/claim"
)

const (
	// MaxRetention is how long SQS keeps a message at most.
	MaxRetention = 14 * 24 * time.Hour
	// LongestStay is how long a message can be in a queue and then in the dead letters.
	LongestStay = 2 * MaxRetention
	// pointerRoom is more than a pointer has bytes, unless the store's prefix is very long.
	pointerRoom = 600
)

// Uploads says how a sender sends large bodies.
type Uploads struct {
	Store  driver.Store
	Folder string
	Above  int
	Format claim.Format
	Zip    bool // bodies are compressed
}

// TopicFolder begins the folders of bodies that several queues read.
const TopicFolder = "topics"

// mine reports whether the body of a message goes to the store, whatever its attributes are.
func (u *Uploads) mine(m *driver.Message) bool {
	return u != nil && (m.Reader != nil || len(m.Body) > u.Above)
}

// put writes the body of a message to the store, and makes the message a pointer to it.
func (u *Uploads) put(ctx context.Context, w *prepared, m *driver.Message, ordered bool) error {
	var id dedup
	var also io.Writer // nil: no id, because it would cost as much as the hash of the pointer
	if ordered {
		id = newDedup(m)
		also = &id
	}
	p, err := claim.Write(ctx, u.Store, u.Folder, m, u.Zip, also)
	if err != nil {
		return err
	}
	w.body, w.sizeName, w.size = p.Text(u.Format), u.Format.Attribute(), strconv.FormatInt(p.Size, 10)
	if ordered {
		w.dedup = id.id()
	}
	return nil
}

// sharedKey reports whether the key of an object says that several queues read it.
func sharedKey(key string) bool {
	parts := strings.Split(key, "/")
	return len(parts) > 2 && parts[len(parts)-3] == TopicFolder // topics/NAME/ID
}

// pointer is a received pointer to a body in the store. It is the driver.Opener of its delivery.
type pointer struct {
	claim.Pointer
	store driver.Store
	Alone bool // no other queue has a pointer to the same body
	// handled reports whether a message with this body was handled; nil: nobody handles these.
	handled func(body driver.Location) bool
}

// Open begins to read the body. If it is missing because another message with the same pointer was handled, the error
// is [driver.ErrFinished].
func (p *pointer) Open(ctx context.Context) (io.ReadCloser, int64, error) {
	body, size, err := claim.Open(ctx, p.store, p.Pointer)
	var fault *driver.PayloadError
	if p.handled != nil && errors.As(err, &fault) && fault.Fault == driver.PayloadMissing &&
		p.handled(p.At) {
		err = &driver.Error{Class: driver.Permanent, Err: driver.ErrFinished}
	}
	return body, size, err
}
