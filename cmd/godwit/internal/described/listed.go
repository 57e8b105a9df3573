package described

import (
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/ops"
)

// Listed is a channel in JSON.
type Listed struct {
	Channel string            `json:"channel"`
	Role    string            `json:"role"`
	Ordered bool              `json:"ordered"`
	Mapped  bool              `json:"mapped"`
	Paused  bool              `json:"paused"`
	Asleep  bool              `json:"asleep,omitempty"` // nobody has received its delayed messages for a day
	Address string            `json:"address"`
	Created *time.Time        `json:"created,omitempty"`
	Tags    map[string]string `json:"tags,omitempty"`
	Depth   *depth            `json:"depth,omitempty"`
	Problem string            `json:"error,omitempty"`
}

// depth is what waits in a channel, in JSON.
type depth struct {
	Waiting       int64    `json:"waiting"`
	InFlight      int64    `json:"in_flight"`
	Delayed       int64    `json:"delayed"`
	OldestSeconds *float64 `json:"oldest_seconds,omitempty"`
}

// ListedOf is a channel of a list in JSON; without depths, its numbers are left out.
func ListedOf(l *ops.Listed, noDepths bool) Listed {
	v := Listed{
		Channel: l.Channel.String(), Role: l.Channel.Role().String(), Ordered: l.Channel.Ordered, Mapped: l.Mapped,
		Paused: l.Paused, Asleep: l.Asleep, Address: l.Address, Tags: l.Tags,
	}
	if !l.Created.IsZero() {
		at := l.Created.UTC()
		v.Created = &at
	}
	switch {
	case l.Err != nil:
		v.Problem = l.Err.Error()
	case l.Channel.Queue != "" && !noDepths:
		v.Depth = &depth{Waiting: l.Depth.Waiting, InFlight: l.Depth.InFlight, Delayed: l.Depth.Delayed}
		if l.Depth.Oldest >= 0 {
			s := l.Depth.Oldest.Seconds()
			v.Depth.OldestSeconds = &s
		}
	}
	return v
}

// Notes are what is special about a channel.
func Notes(c driver.ChannelInfo) (notes []string) {
	for _, one := range []struct {
		name string
		is   bool
	}{{"ordered", c.Channel.Ordered}, {"mapped", c.Mapped}, {"paused", c.Paused}} {
		if one.is {
			notes = append(notes, one.name)
		}
	}
	return notes
}
