package ops

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"strings"
	"time"

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
	// Asleep also looks for messages that wait for their time, and from which nobody has received for a day. Set it
	// where people look: it asks the metrics of the service, if there are such messages.
	Asleep bool
}

// Listed is one channel of a listing.
type Listed struct {
	driver.ChannelInfo
	Depth driver.Depth // of a queue or of dead letters; zero for an exchange, and if it is not looked at
	Err   error        // why the channel could not be looked at; nil: it could
	// Asleep: messages wait for their time, and nobody has received from them for a day. False without
	// ListOptions.Asleep, and if the service does not say.
	Asleep bool
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
	if opts.Asleep {
		findAsleep(ctx, driver.OperationsOf(b), all)
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

// asleepAfter is how long nobody receives from messages that wait for their time before that is said. What nobody wakes
// for some days more is lost.
const asleepAfter = 24 * time.Hour

// errMayBeAsleep says that only the service's metrics tell whether somebody receives from a channel.
var errMayBeAsleep = errors.New("only metrics tell")

// errAsleep is of a channel of messages that nobody sends on, as its service says: Kafka knows how long they are
// overdue.
var errAsleep = errors.New("its messages are overdue for a day")

// awake returns why a channel of messages that wait for their time needs no consumer now, errMayBeAsleep or errAsleep.
func awake(c *driver.ChannelInfo, d driver.Depth, now time.Time) (why string, err error) {
	switch {
	case d.All() == 0:
		return "no message waits for its time", nil
	case !c.Created.IsZero() && now.Sub(c.Created) < asleepAfter:
		return "the queue is younger than a day", nil
	case d.Oldest >= asleepAfter:
		return "", errAsleep
	case d.Oldest >= 0:
		return "no message is overdue for a day", nil
	}
	return "", errMayBeAsleep
}

// polled is how often somebody has received from channels within a day, with and without messages, in one call for all.
func polled(ctx context.Context, do driver.Operations, cs []driver.ChannelInfo, now time.Time) []driver.Reading[int64] {
	out := make([]driver.Reading[int64], len(cs))
	if len(cs) == 0 {
		return out
	}
	all, err := []driver.Activity(nil), driver.ErrNotCounted
	if do.Activity != nil {
		channels := make([]driver.Channel, len(cs))
		for i := range cs {
			channels[i] = cs[i].Channel
		}
		all, err = do.Activity(ctx, channels, now.Add(-asleepAfter))
	}
	if err == nil && len(all) != len(cs) {
		err = fmt.Errorf("the backend has answered for %d of %d channels", len(all), len(cs))
	}
	for i := range out {
		if out[i].Err = err; err == nil {
			received, empty := all[i].Received, all[i].EmptyReceives
			out[i] = driver.Reading[int64]{Value: received.Value + empty.Value, Err: cmp.Or(received.Err, empty.Err)}
		}
	}
	return out
}

// findAsleep sets Listed.Asleep.
func findAsleep(ctx context.Context, do driver.Operations, all []Listed) {
	var which []int
	var cs []driver.ChannelInfo
	now := time.Now()
	for i := range all {
		if l := &all[i]; l.Channel.Beside() && l.Err == nil {
			switch _, err := awake(&l.ChannelInfo, l.Depth, now); {
			case errors.Is(err, errAsleep):
				l.Asleep = true
			case err != nil:
				which, cs = append(which, i), append(cs, l.ChannelInfo)
			}
		}
	}
	for k, r := range polled(ctx, do, cs, now) {
		all[which[k]].Asleep = r.Known() && r.Value == 0
	}
}
