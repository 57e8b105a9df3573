package ops

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/ops/internal/calling"
)

// Look says what a look of [Alerts] covers.
type Look uint8

const (
	LookSources     Look = 1 << iota // what waits in channels, and for how long
	LookDeadLetters                  // dead letters
	LookAll         = LookSources | LookDeadLetters
)

// covers reports whether a look covers a channel.
func (l Look) covers(dead bool) bool {
	if dead {
		return l&LookDeadLetters != 0
	}
	return l&LookSources != 0
}

// The kinds of alerts.
const (
	kindWaiting     = "waiting"
	kindAge         = "age"
	kindDeadLetters = "dead-letters"
	kindUnknown     = "unknown"     // the channel could not be looked at
	kindUnknownAge  = "unknown-age" // only its age could not be
	kindAsleep      = "asleep"      // nobody wakes messages that wait for their time
	kindHidden      = "hidden"      // the service will soon hide no more delayed messages
	kindTag         = "tag"         // a threshold that is no number
	kindCatalog     = "catalog"     // the channels could not be listed
	kindOwner       = "owner"       // an owner who has nothing
)

// alert is one thing that is not as it should be.
type alert struct {
	Kind        string `json:"kind"`
	Channel     string `json:"channel,omitempty"`
	Address     string `json:"address,omitempty"`
	Dead        bool   `json:"dead,omitempty"` // it is about dead letters
	Critical    bool   `json:"critical,omitempty"`
	Owner       string `json:"owner,omitempty"`
	Environment string `json:"environment,omitempty"`
	Text        string `json:"text"` // as it was when it was opened
}

// key is the same for an alert at each look. Two channels of one name, with and without order, have two addresses.
func (a *alert) key() string { return a.Kind + " " + a.Address }

// looked is what a look has found.
type looked struct {
	at       time.Time
	what     Look
	open     []alert
	fine     map[string]string // by key: why there is no alert
	listed   map[string]bool   // the addresses that exist; nil: they could not be listed
	channels int               // that were looked at

	mu sync.Mutex
}

// found adds an alert, or that there is none.
func (l *looked) found(a alert, open bool, text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if a.Text = text; open {
		l.open = append(l.open, a)
	} else {
		l.fine[a.key()] = text
	}
}

// look looks at all channels of the kinds, and never fails: what could not be looked at is an alert.
func (a *Alerts) look(ctx context.Context, what Look) *looked {
	l := &looked{at: time.Now(), what: what, fine: map[string]string{}}
	infos, err := a.do.Catalog(ctx)
	if err != nil {
		l.found(alert{Kind: kindCatalog}, true, fmt.Sprintf("the channels could not be listed (%v): %v",
			driver.ClassOf(err), err))
		return l
	}
	l.found(alert{Kind: kindCatalog}, false, "the channels can be listed again")
	l.listed = map[string]bool{}
	for i := range infos {
		l.listed[infos[i].Address] = true
	}
	mine := a.choose(l, infos)
	l.channels = len(mine)
	var aged, asleep []driver.ChannelInfo
	var mu sync.Mutex
	calling.InParallel(len(mine), func(i int) {
		if a.lookAt(ctx, l, &mine[i]) {
			mu.Lock()
			if mine[i].Channel.Beside() {
				asleep = append(asleep, mine[i])
			} else {
				aged = append(aged, mine[i])
			}
			mu.Unlock()
		}
	})
	a.ages(ctx, l, aged)
	a.asleep(ctx, l, asleep)
	return l
}

// choose returns the channels that a look covers: queues and dead letters of our own.
func (a *Alerts) choose(l *looked, infos []driver.ChannelInfo) (mine []driver.ChannelInfo) {
	has := map[string]bool{}
	untagged := 0
	for i := range infos {
		c := &infos[i]
		if c.Channel.Queue == "" || c.Mapped {
			continue
		}
		has[c.Tags[tagOwner]] = true
		if len(a.o.Owners) > 0 && !slices.Contains(a.o.Owners, c.Tags[tagOwner]) {
			if c.Tags == nil {
				untagged++
			}
			continue
		}
		if l.what.covers(c.Channel.DeadLetter) {
			mine = append(mine, *c)
		}
	}
	for _, owner := range a.o.Owners {
		text := "owner " + owner + " has no channels: check the name and the tag owner"
		if untagged > 0 {
			text += fmt.Sprintf("; %d channels have no tags that could be read", untagged)
		}
		if has[owner] {
			text = "owner " + owner + " has channels"
		}
		l.found(alert{Kind: kindOwner, Address: owner, Owner: owner}, !has[owner], text)
	}
	return mine
}

// about returns an alert about a channel, without its kind and text.
func about(c *driver.ChannelInfo) alert {
	critical := strings.ToLower(c.Tags["critical"])
	return alert{
		Channel: c.Channel.String(), Address: c.Address, Dead: c.Channel.DeadLetter,
		Critical: critical == "true" || critical == "yes" || critical == "1",
		Owner:    c.Tags[tagOwner], Environment: c.Tags[tagEnvironment],
	}
}

// lookAt looks at one channel, and reports whether its activity has to be looked up, for the age of its oldest message
// or for what waits for its time.
func (a *Alerts) lookAt(ctx context.Context, l *looked, c *driver.ChannelInfo) (age bool) {
	t := ThresholdsOf(c)
	is := func(kind string, open bool, format string, args ...any) {
		one := about(c)
		one.Kind = kind
		l.found(one, open, fmt.Sprintf(format, args...))
	}
	if len(t.Wrong) > 0 {
		is(kindTag, true, "%s", strings.Join(t.Wrong, "; "))
	} else {
		is(kindTag, false, "its tags can be used")
	}
	d, err := a.do.Inspect(ctx, c.Channel)
	switch {
	case err != nil && driver.ClassOf(err) == driver.NotFound:
		is(kindUnknown, true, "it is gone: it was deleted while it was looked at, or the service still lists it")
		return false
	case err != nil:
		is(kindUnknown, true, "it could not be looked at (%v): %v", driver.ClassOf(err), err)
		return false
	}
	is(kindUnknown, false, "it can be looked at again")
	if c.Channel.Beside() {
		return lookAtLater(l, c, d)
	}
	if c.Channel.DeadLetter {
		n := d.All()
		is(kindDeadLetters, t.DeadLetters > 0 && n >= t.DeadLetters, "%s (limit %d)", amount(n, "dead letter"),
			t.DeadLetters)
		return false
	}
	is(kindWaiting, t.Depth > 0 && d.Waiting >= t.Depth, "%s waiting (limit %d)", amount(d.Waiting, "message"),
		t.Depth)
	switch {
	case t.Age == 0:
		is(kindAge, false, "the age is not watched")
	case d.Oldest >= 0:
		is(kindAge, d.Oldest >= t.Age, "the oldest message is %s old (limit %s)", short(d.Oldest), short(t.Age))
	case d.All() == 0:
		is(kindAge, false, "no message is waiting")
	case !c.Created.IsZero() && l.at.Sub(c.Created) < t.Age:
		is(kindAge, false, "the channel is not as old as its limit") // so none of its messages is
	default:
		return true
	}
	is(kindUnknownAge, false, "the age is known again")
	return false
}

// ages asks for the ages that the service reports by its metrics only, of all channels at once.
func (a *Alerts) ages(ctx context.Context, l *looked, cs []driver.ChannelInfo) {
	if len(cs) == 0 || a.do.Activity == nil {
		return // a backend without metrics never knows them
	}
	channels := make([]driver.Channel, len(cs))
	for i := range cs {
		channels[i] = cs[i].Channel
	}
	all, err := a.do.Activity(ctx, channels, l.at.Add(-DefaultAlarmAge))
	if err == nil && len(all) != len(cs) {
		err = fmt.Errorf("the backend has answered for %d of %d channels", len(all), len(cs))
	}
	for i := range cs {
		one, limit := about(&cs[i]), ThresholdsOf(&cs[i]).Age
		why := err
		if why == nil {
			why = all[i].Oldest.Err
		}
		switch one.Kind = kindUnknownAge; {
		case errors.Is(why, driver.ErrNotCounted):
		case why != nil:
			l.found(one, true, fmt.Sprintf("the age of its oldest message could not be looked up (%v): %v",
				driver.ClassOf(why), why))
		default:
			l.found(one, false, "the age is known again")
			oldest := all[i].Oldest.Value
			one.Kind = kindAge
			l.found(one, oldest >= limit, fmt.Sprintf("the oldest message is %s old (limit %s)", short(oldest),
				short(limit)))
		}
	}
}

// manyHidden is from how many hidden messages on there is an alert: SQS hides at most 120,000, and then returns none.
// Consumers hide fewer, unless they are of an earlier version.
const manyHidden = 100_000

// lookAtLater looks at messages that wait for their time, and reports whether it has to be looked up if somebody
// receives from them.
func lookAtLater(l *looked, c *driver.ChannelInfo, d driver.Depth) (ask bool) {
	one := about(c)
	one.Kind = kindHidden
	l.found(one, d.InFlight >= manyHidden, fmt.Sprintf("%s hidden until they are due; SQS hides 120000 at most",
		amount(d.InFlight, "message")))
	one.Kind = kindAsleep
	switch why, err := awake(c, d, l.at); {
	case errors.Is(err, errAsleep):
		l.found(one, true, fmt.Sprintf("%s overdue, the first for %s: run a consumer of the channel, which sends on what is "+
			"due", amount(d.Waiting, "message"), short(d.Oldest)))
		return false
	case err == nil:
		l.found(one, false, why)
		return false
	}
	return true
}

// asleep asks whether anybody has received from messages that wait for their time, of all channels at once.
func (a *Alerts) asleep(ctx context.Context, l *looked, cs []driver.ChannelInfo) {
	for i, r := range polled(ctx, a.do, cs, l.at) {
		one := about(&cs[i])
		one.Kind = kindAsleep
		switch {
		case !r.Known(): // it stays as it was
		case r.Value > 0:
			l.found(one, false, "somebody receives from it")
		default:
			l.found(one, true, "nobody has received from it for a day: run a consumer of the channel, which sends on what is "+
				"due; messages are lost 14 days after they were sent for the last time")
		}
	}
}

// amount is a number with its noun.
func amount(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// short is a duration in whole seconds, without units that are zero at its end.
func short(d time.Duration) string {
	s := d.Round(time.Second).String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// The thresholds of a channel without tags.
const (
	// DefaultAlarmDepth is from how many waiting messages on there is an alert.
	DefaultAlarmDepth = 1000
	// DefaultAlarmAge is from which age of the oldest waiting message on there is an alert.
	DefaultAlarmAge = 15 * time.Minute
	// DefaultAlarmDeadLetters is from how many dead letters on there is an alert.
	DefaultAlarmDeadLetters = 1
)

// Thresholds are the values of a channel from which on there is an alert. Zero turns an alert off.
type Thresholds struct {
	Depth       int64         // waiting messages
	Age         time.Duration // of the oldest waiting message
	DeadLetters int64         // of dead letters
	Wrong       []string      // the tags that cannot be used, and why
}

// ThresholdsOf reads the tags of a channel, as godwit.Ownership writes them.
func ThresholdsOf(c *driver.ChannelInfo) (t Thresholds) {
	number := func(tag string, instead int64) int64 {
		text, set := c.Tags[tag]
		if !set {
			return instead
		}
		n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
		why := ""
		switch {
		case err != nil:
			why = "no number"
		case n < 0:
			why = "below zero"
		default:
			return n
		}
		t.Wrong = append(t.Wrong, fmt.Sprintf("its tag %s is %q, which is %s: %d is used", tag, text, why, instead))
		return instead
	}
	if c.Channel.DeadLetter {
		t.DeadLetters = number("alarm-dead-letters", DefaultAlarmDeadLetters)
		return t
	}
	t.Depth = number("alarm-depth", DefaultAlarmDepth)
	seconds := number("alarm-age", int64(DefaultAlarmAge/time.Second))
	t.Age = time.Duration(min(seconds, int64(maxAge/time.Second))) * time.Second
	return t
}

// maxAge bounds alarm-age, so that it fits into a Duration. It is longer than any service keeps messages.
const maxAge = 100 * 365 * 24 * time.Hour
