package ops

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/backoff"
)

// Notifier tells people what [Alerts] has found. It is safe for concurrent use. An error of class [driver.Transient] or
// [driver.Throttled] is tried again, and [driver.Error].After says when; all others are not, until the next look.
type Notifier interface {
	Notify(ctx context.Context, n *driver.Notice) error
}

// Route says which channels a notifier is told of.
type Route struct {
	// Name distinguishes the routes, also in the state: two programs with one state use the same names.
	Name string
	To   Notifier
	// Owners and Environments are the values of the tags of that name. Empty: all channels, also those without a tag.
	// What is not about a single channel goes to all routes.
	Owners, Environments []string
}

// takes reports whether a route is for an alert.
func (r *Route) takes(a *alert) bool {
	if a.Channel == "" {
		return true
	}
	return (len(r.Owners) == 0 || slices.Contains(r.Owners, a.Owner)) &&
		(len(r.Environments) == 0 || slices.Contains(r.Environments, a.Environment))
}

// WriterNotifier writes notices as plain text.
type WriterNotifier struct {
	to   io.Writer
	turn chan struct{} // of capacity one: a mutex is never held while something is written
}

// NewWriterNotifier returns a notifier that writes to a writer, such as os.Stdout.
func NewWriterNotifier(to io.Writer) *WriterNotifier {
	return &WriterNotifier{to: to, turn: make(chan struct{}, 1)}
}

// Notify writes the text of a notice.
func (w *WriterNotifier) Notify(_ context.Context, n *driver.Notice) error {
	w.turn <- struct{}{}
	defer func() { <-w.turn }()
	if _, err := fmt.Fprintln(w.to, n.Text); err != nil {
		return fmt.Errorf("write the notice: %w", err)
	}
	return nil
}

const (
	// notifyFor is how long a notifier is tried.
	notifyFor = 15 * time.Minute
	// oneNotify bounds one try, so that a receiver that does not answer is a failure.
	oneNotify = 30 * time.Second
)

// tell notifies with backoff for 15 minutes. After an error, after is how long the service wants nothing more.
func tell(ctx context.Context, to Notifier, n *driver.Notice) (after time.Duration, err error) {
	ends := time.Now().Add(notifyFor)
	pause := backoff.Curve{First: 2 * time.Second, Max: 2 * time.Minute}
	for try := 1; ; try++ {
		err = tellOnce(ctx, to, n)
		if err == nil || ctx.Err() != nil {
			return 0, err
		}
		class := driver.ClassOf(err)
		if !class.Passing() {
			return 0, fmt.Errorf("%w (it is not repeated before the next look, because it is %v)", err, class)
		}
		wait := pause.Jittered(try)
		known, _ := errors.AsType[*driver.Error](err)
		if known != nil {
			wait = max(wait, known.After)
		}
		if left := time.Until(ends); wait > left {
			if known == nil || known.After == 0 {
				wait = 0 // only the service's own wish lasts beyond the next look
			}
			return wait, fmt.Errorf("it was tried %d times: %w", try, err)
		}
		if backoff.Sleep(ctx, wait) != nil {
			return 0, errors.Join(err, ctx.Err())
		}
	}
}

// tellOnce notifies once. A panic of somebody's notifier is its error, so that it does not stop the others.
func tellOnce(ctx context.Context, to Notifier, n *driver.Notice) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the notifier panics: %v", r)
		}
	}()
	one, cancel := context.WithTimeout(ctx, oneNotify)
	defer cancel()
	err = to.Notify(one, n)
	if err != nil && ctx.Err() == nil && one.Err() != nil {
		return &driver.Error{Class: driver.Transient, Err: fmt.Errorf("it did not answer within %v", oneNotify)}
	}
	return err
}
