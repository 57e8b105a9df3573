package ops

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/godwitmq/godwit/driver"
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
