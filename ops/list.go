package ops

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/nearname"
	"github.com/godwitmq/godwit/ops/internal/calling"
)

// ListOptions are the options of List. The zero value is usable.
type ListOptions struct {
	// Match selects channels by a pattern of path.Match, such as orders* or wishlist_events.*. Set it to look at a part
	// of many channels. "": all.
	Match string
	// NoDepths leaves out what waits in the channels. Set it to save one request for each channel.
	NoDepths bool
}

// Listed is one channel of a listing.
type Listed struct {
	driver.ChannelInfo
	Depth driver.Depth // of a queue or of dead letters; zero for an exchange, and if it is not looked at
	Err   error        // why the channel could not be looked at; nil: it could
}

// List returns the channels of a backend, by name. A channel that disappears meanwhile is left out. One that cannot be
// looked at is listed with its error.
func List(ctx context.Context, b driver.Backend, o *ListOptions) ([]Listed, error) {
	opts := *cmp.Or(o, &ListOptions{})
	if _, err := path.Match(opts.Match, ""); err != nil {
		return nil, fmt.Errorf("ops: ListOptions.Match is %q: %w: '*' stands for any text, '?' for one letter, and "+
			"'[' needs a ']'", opts.Match, err)
	}
	infos, err := catalog(ctx, b)
	if err != nil {
		return nil, fmt.Errorf("ops: list the channels: %w", err)
	}
	var all []Listed
	for _, info := range infos {
		if ok, _ := path.Match(opts.Match, info.Channel.String()); ok || opts.Match == "" {
			all = append(all, Listed{ChannelInfo: info})
		}
	}
	if !opts.NoDepths {
		all = look(ctx, b, all)
	}
	return all, ctx.Err()
}

// errNoCatalog is about a backend without driver.Operations.Catalog.
var errNoCatalog = errors.New("this backend cannot list channels")

func catalog(ctx context.Context, b driver.Backend) ([]driver.ChannelInfo, error) {
	list := driver.OperationsOf(b).Catalog
	if list == nil {
		return nil, errNoCatalog
	}
	return list(ctx)
}

// look adds what waits in the channels, and removes those that do not exist any more.
func look(ctx context.Context, b driver.Backend, all []Listed) []Listed {
	inspect := driver.OperationsOf(b).Inspect
	if inspect == nil {
		return all
	}
	calling.InParallel(len(all), func(i int) {
		if l := &all[i]; l.Channel.Queue != "" {
			l.Depth, l.Err = inspect(ctx, l.Channel)
		}
	})
	there := all[:0]
	for _, l := range all {
		if l.Err == nil || driver.ClassOf(l.Err) != driver.NotFound {
			there = append(there, l)
		}
	}
	return there
}

// Find looks up a channel by its name, such as orders, wishlist_events.audit_log or orders@dlq. So an operator need not
// know whether it is ordered. The error for a channel that does not exist is of class NotFound, and names similar ones.
func Find(ctx context.Context, b driver.Backend, name string) (driver.ChannelInfo, error) {
	all, err := catalog(ctx, b)
	if err != nil {
		return driver.ChannelInfo{}, fmt.Errorf("ops: look up channel %s: %w", name, err)
	}
	var found []driver.ChannelInfo
	names := make([]string, len(all))
	for i, one := range all {
		if names[i] = one.Channel.String(); names[i] == name {
			found = append(found, one)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return driver.ChannelInfo{}, missing(name, names)
	}
	return driver.ChannelInfo{}, fmt.Errorf("ops: there are %d channels %s, one ordered and one not (%s and %s): delete "+
		"the one that nothing uses", len(found), name, found[0].Address, found[1].Address)
}

// NoChannelError is the error for a name that no channel has. Its class is NotFound.
type NoChannelError struct {
	Name string
	hint string
}

func (e *NoChannelError) Error() string {
	return fmt.Sprintf("ops: channel %s does not exist: %s", e.Name, e.hint)
}

// missing is the error for a channel that does not exist, beside all that do.
func missing(name string, all []string) error {
	hint := fmt.Sprintf("there are %d others: godwit ls lists them", len(all))
	if len(all) == 0 {
		hint = "there are no channels: check the namespace, and the region or the brokers"
	}
	if near := nearname.Near(name, all); len(near) > 0 {
		hint = "perhaps " + strings.Join(near, " or ")
	}
	return &driver.Error{Class: driver.NotFound, Err: &NoChannelError{name, hint}}
}
