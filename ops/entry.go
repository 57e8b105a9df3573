package ops

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/deathkind"
	"github.com/godwitmq/godwit/internal/shape"
)

// MaxBody is the largest body that is read from a store to be looked at, edited or shown.
const MaxBody = 16 << 20

// Entry is a message that an operator looks at.
type Entry struct {
	driver.Delivery
	Raw driver.Raw // as the service carries it; zero if the backend is no driver.Forwarder
	// Cancellable: the message waits for its time, and can be cancelled by its ID.
	Cancellable bool
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

// Reason returns the text of the error with which the message died; "": see Kind.
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

// Expired reports whether the message has expired at a time, by its sender, or died because it had.
func (e *Entry) Expired(now time.Time) bool {
	return e.Kind() == deathkind.Expired || e.Expires > 0 && !e.First.IsZero() && !now.Before(e.First.Add(e.Expires))
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

// Selection selects messages. Every condition that is set must hold. The zero value selects all.
type Selection struct {
	// Kinds selects dead letters by the kind of their death, such as exhausted or payload-missing. Set it to treat some
	// failures only.
	Kinds []string
	// Group selects dead letters of one group, by its ID. Set it to treat what [Groups] has shown. "": all.
	Group string
	// Error selects dead letters whose error contains the text. Set it when the cause of one error has been removed.
	Error string
	// Headers selects messages that have each of the headers with its value. Set it to find those of one tenant, say.
	Headers []driver.Header
	// Keys selects messages by their order keys, which on a channel without order name tenants. Set it to treat those
	// of one tenant. Empty: all.
	Keys []string
	// Types selects messages by their types. Set it to treat what one release of a handler could not. Empty: all.
	Types []string
	// OlderThan selects messages that were sent at least so long ago. Set it to leave fresh ones to their consumer.
	OlderThan time.Duration
	// NewerThan selects messages that were sent at most so long ago. Set it to the time since a faulty release, say.
	NewerThan time.Duration
	// DiedFrom and DiedTo select dead letters by the time of their last death, or, where that is unknown, by the time
	// at which they were sent: at or after DiedFrom, and before DiedTo. Set them to a block of time that a chart has
	// shown. Zero: no bound.
	DiedFrom, DiedTo time.Time
	// IDs selects messages by their IDs. Set it to treat single messages. Empty: all.
	IDs []string
	// MinAttempts selects messages that handlers have started at least so often. Set it to find those that keep
	// failing.
	MinAttempts int
	// Body selects messages by their bodies. Set it to look into them; the bodies of large messages are then read from
	// their store.
	Body func(body []byte) (bool, error)
}

// IsZero reports whether every message is selected.
func (s *Selection) IsZero() bool {
	return len(s.Kinds) == 0 && s.Group == "" && s.Error == "" && len(s.Headers) == 0 && len(s.Keys) == 0 &&
		len(s.Types) == 0 &&
		s.OlderThan == 0 && s.NewerThan == 0 && s.DiedFrom.IsZero() && s.DiedTo.IsZero() && len(s.IDs) == 0 &&
		s.MinAttempts == 0 && s.Body == nil
}

// check returns an error for a condition that cannot hold.
func (s *Selection) check() error {
	switch {
	case s.OlderThan < 0 || s.NewerThan < 0 || s.MinAttempts < 0:
		return fmt.Errorf("ops: Selection has OlderThan %v, NewerThan %v and MinAttempts %d: none can be negative",
			s.OlderThan, s.NewerThan, s.MinAttempts)
	case s.NewerThan > 0 && s.NewerThan < s.OlderThan:
		return fmt.Errorf("ops: Selection has OlderThan %v and NewerThan %v: no message is both", s.OlderThan,
			s.NewerThan)
	case !s.DiedTo.IsZero() && !s.DiedFrom.Before(s.DiedTo):
		return fmt.Errorf("ops: Selection has DiedFrom %v and DiedTo %v: no message is both", s.DiedFrom, s.DiedTo)
	}
	return nil
}

// Selects reports whether a message is selected. Ages are counted until now. The error is about this message.
func (s *Selection) Selects(ctx context.Context, e *Entry, now time.Time) (bool, error) {
	age, died := now.Sub(e.SentAt), e.Died()
	switch {
	case len(s.IDs) > 0 && !slices.Contains(s.IDs, e.ID),
		died.Before(s.DiedFrom),
		!s.DiedTo.IsZero() && !died.Before(s.DiedTo):
		return false, nil
	}
	switch {
	case len(s.Kinds) > 0 && !slices.Contains(s.Kinds, e.Kind()),
		s.Group != "" && e.Group() != s.Group,
		s.Error != "" && !strings.Contains(e.Reason(), s.Error),
		s.OlderThan > 0 && age < s.OlderThan,
		s.NewerThan > 0 && age > s.NewerThan,
		len(s.Types) > 0 && !slices.Contains(s.Types, e.Type),
		len(s.Keys) > 0 && !slices.Contains(s.Keys, cmp.Or(e.OrderKey, e.Tenant)),
		int(e.Attempts()) < s.MinAttempts:
		return false, nil
	}
	for _, h := range s.Headers {
		if !slices.Contains(e.Header, h) {
			return false, nil
		}
	}
	if s.Body == nil {
		return true, nil
	}
	body, err := e.Content(ctx)
	if err != nil {
		return false, err
	}
	ok, err := s.Body(body)
	if err != nil {
		return false, fmt.Errorf("message %s: %w", e.ID, err)
	}
	return ok, nil
}
