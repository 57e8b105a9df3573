package describe

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/ops"
	"github.com/godwitmq/godwit/ops/internal/calling"
	"github.com/godwitmq/godwit/ops/processes"
)

// window is the time over which the activity is told.
const window = time.Hour

// Channel is a channel as the service has it.
type Channel struct {
	driver.ChannelInfo
	Depth    *driver.Depth    // of a queue or of dead letters; nil: unknown
	Activity *driver.Activity // of the last hour; nil: unknown
	Settings []Setting        // by name
	Policy   []Statement      // nil: there is none
	Timeline *Timeline        // the last hour; nil: unknown, or not asked for
	Audience *Audience        // of a queue; nil: not asked for
	Payloads *Payloads        // nil: not asked for
	// Subscribers are the addresses of all that gets the messages of an exchange.
	Subscribers []string
	// Related are the dead letters of a queue, the queue of dead letters, the exchange of a queue, or the queues of an
	// exchange, with what waits in them.
	Related []ops.Listed
	// DeadLettersKept is how long the dead letters of a queue are kept; 0: unknown. Read sets it.
	DeadLettersKept time.Duration
	Problems        []error // what could not be found out
}

// Payloads is where the bodies of large messages are.
type Payloads struct {
	Bucket, Prefix string
	Days           int // after which a body is deleted that nothing else has deleted; 0: never; negative: unknown
}

// Setting is an attribute of a channel's resource.
type Setting struct{ Name, Value string }

// Options are the options of Read. The zero value leaves out who consumes, and how the last hour was.
type Options struct {
	// Audience asks who consumes the channel. Set it for somebody who looks at one channel.
	Audience bool
	// Processes are asked what they hold of the channel, with Audience. Set it where the application serves
	// [ops.Workers]. nil: nobody is asked.
	Processes *processes.Processes
	// LastHour reads the timeline. Set it for a chart. It comes from the service's counts, which costs a call of
	// Activity a step: on AWS, 72 metrics.
	LastHour bool
	// History is a file of a sampler, from which the timeline is read instead. Set it to ask the service less. "":
	// none.
	History string
	// Payloads looks where the bodies of large messages are. Beside an error it returns what it was told itself. Set it
	// where programs have a store. nil: nobody is asked.
	Payloads func(ctx context.Context) (Payloads, error)
}

// Read looks at a channel, by its name. The error for a channel that does not exist is of class NotFound, and names
// similar ones.
func Read(ctx context.Context, b driver.Backend, name string, o *Options) (*Channel, error) {
	opts := *cmp.Or(o, &Options{})
	all, err := ops.List(ctx, b, &ops.ListOptions{NoDepths: true})
	if err != nil {
		return nil, err
	}
	c := &Channel{}
	found := 0
	for _, l := range all {
		if l.Channel.String() == name {
			c.ChannelInfo = l.ChannelInfo
			found++
		}
	}
	if found != 1 { // Find has the error for none, and for two
		if c.ChannelInfo, err = ops.Find(ctx, b, name); err != nil {
			return nil, err
		}
	}
	do, now := driver.OperationsOf(b), time.Now()
	if opts.LastHour && opts.History == "" {
		c.readCounts(ctx, do, now)
	} else {
		c.readActivity(ctx, do)
	}
	if opts.History != "" {
		c.readHistory(opts.History, now)
	}
	c.read(ctx, b)
	if opts.Audience && c.Channel.Queue != "" {
		c.Audience = &Audience{}
		c.readAudience(ctx, do, opts.Processes)
	}
	if opts.Payloads != nil {
		p, err := opts.Payloads(ctx)
		if c.Payloads = &p; err != nil {
			p.Days = -1
			c.problem(fmt.Errorf("the bodies of large messages: %w", err))
		}
	}
	c.readRelated(ctx, b, all)
	c.readDeadLetters(ctx, do)
	return c, ctx.Err()
}

// All looks at all channels that are selected (nil: at all that there are), but not at their activity, nor at the
// channels that belong to them.
func All(ctx context.Context, b driver.Backend, selected func(driver.Channel) bool) ([]*Channel, error) {
	all, err := ops.List(ctx, b, &ops.ListOptions{NoDepths: true})
	if err != nil {
		return nil, err
	}
	var channels []*Channel
	for _, l := range all {
		if selected != nil && !selected(l.Channel) {
			continue
		}
		channels = append(channels, &Channel{ChannelInfo: l.ChannelInfo})
	}
	calling.InParallel(len(channels), func(i int) { channels[i].read(ctx, b) })
	return channels, ctx.Err()
}

// read finds out what is known of the channel alone.
func (c *Channel) read(ctx context.Context, b driver.Backend) {
	c.readDepth(ctx, b)
	c.readSettings(ctx, driver.OperationsOf(b))
}

// Setting returns the value of a setting; "": it is not set.
func (c *Channel) Setting(name string) string {
	for _, s := range c.Settings {
		if s.Name == name {
			return s.Value
		}
	}
	return ""
}

// Kept is how long a message is kept that nobody handles; 0: unknown.
func (c *Channel) Kept() time.Duration {
	seconds, err := strconv.ParseInt(c.Setting("MessageRetentionPeriod"), 10, 64)
	if err != nil {
		return 0
	}
	return time.Duration(seconds) * time.Second
}

func (c *Channel) problem(err error) { c.Problems = append(c.Problems, err) }

func (c *Channel) readDepth(ctx context.Context, b driver.Backend) {
	inspect := driver.OperationsOf(b).Inspect
	if inspect == nil || c.Channel.Queue == "" {
		return
	}
	d, err := inspect(ctx, c.Channel)
	if err != nil {
		c.problem(err)
		return
	}
	c.Depth = &d
}

func (c *Channel) readActivity(ctx context.Context, do driver.Operations) {
	if do.Activity == nil {
		return
	}
	all, err := do.Activity(ctx, []driver.Channel{c.Channel}, time.Now().Add(-window))
	switch {
	case err != nil:
		c.problem(err)
	case len(all) == 1:
		c.Activity = &all[0]
	}
}

func (c *Channel) readSettings(ctx context.Context, do driver.Operations) {
	if do.Snapshot == nil {
		return
	}
	s, err := do.Snapshot(ctx, c.Channel)
	if err != nil {
		c.problem(err)
		return
	}
	c.Subscribers = s.Subscribers
	if c.Tags == nil {
		c.Tags = s.Tags
	}
	c.Settings, c.Policy = settingsOf(s.Data)
}

// readRelated looks at the channels that belong to this one, among all that there are.
func (c *Channel) readRelated(ctx context.Context, b driver.Backend, all []ops.Listed) {
	for _, l := range all {
		if !related(c.Channel, l.Channel) {
			continue
		}
		if inspect := driver.OperationsOf(b).Inspect; inspect != nil && l.Channel.Queue != "" {
			l.Depth, l.Err = inspect(ctx, l.Channel)
		}
		c.Related = append(c.Related, l)
	}
}

// readDeadLetters finds out how long the dead letters are kept of a queue that says how long it keeps its messages.
func (c *Channel) readDeadLetters(ctx context.Context, do driver.Operations) {
	if c.Kept() == 0 || c.Channel.Role() != driver.RoleQueue {
		return
	}
	for _, l := range c.Related {
		if l.Channel.Role() == driver.RoleDeadLetters {
			letters := Channel{ChannelInfo: l.ChannelInfo}
			letters.readSettings(ctx, do)
			c.DeadLettersKept, c.Problems = letters.Kept(), append(c.Problems, letters.Problems...)
		}
	}
}

// related reports whether another channel belongs to one.
func related(one, other driver.Channel) bool {
	if one.Beside() != other.Beside() { // what waits for its time beside a channel or an exchange
		later, of := one, other
		if other.Beside() {
			later, of = other, one
		}
		return later.Queue == cmp.Or(of.Exchange, of.Queue) && (of.Exchange == "" || of.Queue == "")
	}
	if one == other || one.Exchange != other.Exchange {
		return false
	}
	switch one.Queue {
	case other.Queue: // the dead letters of a queue, or the queue of dead letters
		return true
	case "": // a queue of the exchange
		return !other.DeadLetter
	}
	return other.Queue == "" && one.Exchange != "" // its exchange
}
