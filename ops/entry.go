package ops

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/shape"
)

// MaxBody is the largest body that is read from a store to be looked at, edited or shown.
const MaxBody = 16 << 20

// Entry is a message that an operator looks at.
type Entry struct {
	driver.Delivery
	Raw driver.Raw // as the service carries it; zero if the backend is no driver.Forwarder
}

// Content returns the body as a consumer gets it. It reads a body that is in a store, once, and returns an error if
// that is larger than [MaxBody].
func (e *Entry) Content(ctx context.Context) (body []byte, err error) {
	if e.Opener == nil {
		return e.Delivery.Body, nil
	}
	tooLarge := &driver.Error{Class: driver.TooLarge, Err: fmt.Errorf(
		"message %s: its body in the store has more than %d bytes, which is the most that is looked at", e.ID, MaxBody)}
	if e.Size > MaxBody {
		return nil, tooLarge
	}
	r, _, err := e.Opener.Open(ctx)
	if err != nil {
		return nil, fmt.Errorf("message %s: read its body in the store: %w", e.ID, err)
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	body, err = io.ReadAll(io.LimitReader(r, MaxBody+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("message %s: read its body in the store: %w", e.ID, err)
	case len(body) > MaxBody:
		return nil, tooLarge
	}
	e.Delivery.Body, e.Opener = body, nil
	return body, nil
}

// Attempts returns how often handlers have started for the message, as far as that is known.
func (e *Entry) Attempts() int32 {
	if e.Origin != nil && e.Origin.Death.Attempts > 0 {
		return e.Origin.Death.Attempts
	}
	return e.Attempt
}

// Kind returns why the message died; "": it is no dead letter, or the service moved it without a reason.
func (e *Entry) Kind() string {
	if e.Origin == nil {
		return ""
	}
	return e.Origin.Death.Kind
}

// Reason returns the text of the error of which the message died; "": see Kind.
func (e *Entry) Reason() string {
	if e.Origin == nil {
		return ""
	}
	return e.Origin.Death.Error
}

// Died returns when the message died last, or, where that is unknown, when it was sent.
func (e *Entry) Died() time.Time {
	if e.Origin != nil && !e.Origin.Death.Last.IsZero() {
		return e.Origin.Death.Last
	}
	return e.SentAt
}

// Group returns the id of the group that [Groups] puts the message into: a short text, the same at every look.
func (e *Entry) Group() string { return e.cause(false).id() }

// cause is what the messages of a group have in common.
type cause struct{ kind, messageType, text string }

// cause returns it, with the error as it is, or its shape.
func (e *Entry) cause(exact bool) cause {
	c := cause{e.Kind(), e.Type, e.Reason()}
	if !exact {
		c.text = shape.Of(c.text)
	}
	return c
}

func (c cause) id() string {
	sum := sha256.Sum256([]byte(c.kind + "\x00" + c.messageType + "\x00" + c.text))
	return hex.EncodeToString(sum[:4])
}
