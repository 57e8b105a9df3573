package console

import (
	"context"
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/ops"
	"github.com/godwitmq/godwit/ops/describe"
)

const (
	// estateMost bounds the channels whose settings are read: each costs several requests.
	estateMost = 200
	// estateFresh is how old settings may be.
	estateFresh = 5 * time.Minute
)

// estate keeps the settings of channels, and their activity of the last hour, for pages about all of them.
type estate struct {
	busy chan struct{} // has an element while somebody reads or uses the rest
	at   time.Time
	all  map[string]*describe.Channel
	acts map[string]driver.Activity
	err  error
}

// surveyed is what an estate has.
type surveyed struct {
	At  time.Time
	All map[string]*describe.Channel
	// Acts is the activity of the last hour.
	Acts map[string]driver.Activity
	Left int   // channels that were not read, because there are too many
	Err  error // why something is missing
}

// survey returns the settings of the channels of a view, which may be some minutes old.
func (e *estate) survey(ctx context.Context, b driver.Backend, seen *ops.View) (*surveyed, error) {
	select {
	case e.busy <- struct{}{}:
		defer func() { <-e.busy }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	wanted := map[driver.Channel]bool{}
	var channels []driver.Channel
	left := 0
	for i := range seen.Channels {
		ch := seen.Channels[i].Channel
		if ch.DeadLetter {
			continue
		}
		if len(channels) == estateMost {
			left++
			continue
		}
		wanted[ch] = true
		channels = append(channels, ch)
	}
	if e.at.IsZero() || time.Since(e.at) > estateFresh || len(e.all) != len(channels) {
		e.read(ctx, b, channels, wanted)
	}
	return &surveyed{e.at, e.all, e.acts, left, e.err}, nil
}

func (e *estate) read(ctx context.Context, b driver.Backend, channels []driver.Channel,
	wanted map[driver.Channel]bool,
) {
	all, err := describe.All(ctx, b, func(ch driver.Channel) bool { return wanted[ch] })
	if e.err = err; err != nil {
		return
	}
	e.at, e.all, e.acts = time.Now(), map[string]*describe.Channel{}, map[string]driver.Activity{}
	for _, c := range all {
		e.all[c.Channel.String()] = c
	}
	activity := driver.OperationsOf(b).Activity
	if activity == nil {
		return
	}
	acts, err := activity(ctx, channels, time.Now().Add(-time.Hour))
	e.err = err
	for i := range acts {
		e.acts[acts[i].Channel.String()] = acts[i]
	}
}
