package ops

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/godwitmq/godwit/driver"
)

// SweepWindow is how long a channel must not have been used to be swept. A younger one is never swept.
const SweepWindow = 72 * time.Hour

// SweepClass is what a sweep thinks of a channel.
type SweepClass string

const (
	SweepUsed        SweepClass = "used"
	SweepUnused      SweepClass = "unused"            // it is deleted, or would be
	SweepKept        SweepClass = "kept"              // it is unused, and something forbids to delete it
	SweepStale       SweepClass = "stale"             // it is unused, and has messages
	SweepNoProducers SweepClass = "without producers" // nothing was sent, and consumers poll
	SweepNoConsumers SweepClass = "without consumers" // messages were sent, and nobody polls
	SweepUnknown     SweepClass = "unknown"           // something that decides could not be found out
)

// Tags that decide what is swept, and who is told.
const (
	tagManagedBy   = "managed-by"
	managed        = "godwit"
	tagOwner       = "owner"
	tagEnvironment = "environment"
	tagNamespace   = "namespace"
	tagKeep        = "keep"
)

// sweepFacts are all that decides the class of a channel.
type sweepFacts struct {
	info     driver.ChannelInfo
	now      time.Time
	owner    string          // whose channels are swept; "": of all, which only reports
	untagged bool            // channels without tags can be deleted
	activity driver.Activity // of the window; of an exchange, of a day
	// topic is the activity of the exchange of a queue in a day; nil: the queue has none.
	topic *driver.Activity
	// depths are what was counted at two times; nil: it was not counted.
	depths []driver.Depth
	// depthErr is why it could not be counted.
	depthErr error
	// others are the subscribers of an exchange that are not swept, and othersErr is why they are unknown.
	others    []string
	othersErr error
	// source is the class of the channel of dead letters; "": that does not exist.
	source SweepClass
	// seen is since when a channel is known whose age the service does not tell; zero: never before.
	seen time.Time
}

// level is how much of something there was.
type level uint8

const (
	levelZero level = iota
	levelSome
	levelUnknown
)

// levelOf is the level of the sum of readings. What is known to be more than zero decides, whatever else is unknown. A
// reading that the service never has is left out, unless it has none of them.
func levelOf(rs ...driver.Reading[int64]) (l level, err error) {
	counted := slices.DeleteFunc(slices.Clone(rs), func(r driver.Reading[int64]) bool {
		return errors.Is(r.Err, driver.ErrNotCounted)
	})
	if len(counted) == 0 {
		return levelUnknown, driver.ErrNotCounted
	}
	for _, r := range counted {
		switch {
		case r.Known() && r.Value > 0:
			return levelSome, nil
		case !r.Known():
			l, err = levelUnknown, r.Err
		}
	}
	return l, err
}

// classify returns the class of a channel, and why. It has no effect.
func (f *sweepFacts) classify() (SweepClass, string) {
	var class SweepClass
	var why string
	switch f.info.Channel.Role() {
	case driver.RoleExchange:
		class, why = f.exchange()
	case driver.RoleDeadLetters, driver.RoleLater:
		class, why = f.follower()
	default:
		class, why = f.queue()
	}
	if class == SweepUnused {
		if no := f.forbidden(); no != "" {
			return SweepKept, no
		}
	}
	return class, why
}

func (f *sweepFacts) queue() (SweepClass, string) {
	sent, sentErr := levelOf(f.activity.Sent)
	received, receivedErr := levelOf(f.activity.Received, f.activity.EmptyReceives, f.activity.Consumers)
	feeds, feedsErr := levelZero, error(nil)
	if f.topic != nil {
		feeds, feedsErr = levelOf(f.topic.Sent, f.topic.Delivered)
	}
	nobody := "nobody has polled it for three days"
	if f.activity.Consumers.Known() {
		nobody = "no group reads it, or has commits"
	}
	switch {
	case sent == levelUnknown:
		return SweepUnknown, "what was sent: " + sentErr.Error()
	case received == levelUnknown:
		return SweepUnknown, "what was received: " + receivedErr.Error()
	case sent == levelSome && received == levelSome:
		return SweepUsed, ""
	case sent == levelSome && f.temporary():
		return SweepUnused, "the command that it was made for has ended: " + nobody
	case sent == levelSome:
		return SweepNoConsumers, nobody
	case received == levelSome:
		return SweepNoProducers, "nothing was sent to it for three days"
	case feeds == levelUnknown:
		return SweepUnknown, "what was published to its exchange: " + feedsErr.Error()
	case feeds == levelSome:
		return SweepNoProducers, "nothing was sent to it for three days, though its exchange is used"
	}
	return f.empty(SweepUnused, "nothing was sent to it for three days, and "+nobody)
}

// temporary reports whether a command has made the queue for itself. Its messages are copies.
func (f *sweepFacts) temporary() bool { return f.info.Tags[tagTemporary] != "" }

// empty returns the class of what is not used: that, or stale if there are messages in it.
func (f *sweepFacts) empty(class SweepClass, why string) (SweepClass, string) {
	for _, d := range f.depths {
		if n := d.All(); n > 0 && !f.temporary() {
			return SweepStale, fmt.Sprintf("%s, and it has %d messages", why, n)
		}
	}
	switch {
	case f.depthErr != nil:
		return SweepUnknown, "its messages could not be counted: " + f.depthErr.Error()
	case len(f.depths) < 2:
		return SweepUnknown, "its messages were not counted twice"
	}
	return class, why
}

// follower is the class of dead letters, or of messages that wait for their time. They follow their channel. If that
// does not exist any more, they must be unused themselves.
func (f *sweepFacts) follower() (SweepClass, string) {
	switch f.source {
	case SweepUnused:
		return f.empty(SweepUnused, "its channel is unused")
	case "":
		if sent, err := levelOf(f.activity.Sent, f.activity.Received, f.activity.EmptyReceives,
			f.activity.Consumers); sent == levelSome {
			return SweepUsed, ""
		} else if sent == levelUnknown {
			return SweepUnknown, "its channel does not exist, and what was sent and received: " + err.Error()
		}
		return f.empty(SweepUnused, "its channel does not exist")
	}
	return SweepUsed, ""
}

func (f *sweepFacts) exchange() (SweepClass, string) {
	switch published, err := levelOf(f.activity.Sent, f.activity.Delivered); {
	case published == levelSome:
		return SweepUsed, ""
	case published == levelUnknown:
		return SweepUnknown, "what was published: " + err.Error()
	case f.othersErr != nil:
		return SweepUnknown, "its subscriptions: " + f.othersErr.Error()
	case len(f.others) > 0:
		return SweepUsed, "" // what it feeds stays
	}
	return SweepUnused, "nothing was published for a day, and no queue that stays gets its messages"
}

// forbidden returns why an unused channel must not be deleted; "": it may.
func (f *sweepFacts) forbidden() string {
	since := f.info.Created
	if since.IsZero() {
		since = f.seen
	}
	switch {
	case f.info.Mapped:
		return "it is one of the backend's Names"
	case since.IsZero():
		return fmt.Sprintf("its age is unknown: it is not known to be older than %v", SweepWindow)
	case f.now.Sub(since) < SweepWindow:
		at := since.UTC().Format(time.DateTime)
		return fmt.Sprintf("it is known only since %s, less than %v ago", at, SweepWindow)
	}
	switch {
	case f.info.Tags != nil:
	case f.untagged:
		return "" // if it has tags that could not be read, the snapshot before the deletion is an error
	case f.activity.Consumers.Known(): // only of a log
		return "topics have no tags, so it needs a permission of its own: --kafka"
	}
	return forbiddenTags(f.info.Tags, f.owner)
}

// forbiddenTags returns why tags forbid to delete a channel of an owner; "": they do not.
func forbiddenTags(tags map[string]string, owner string) string {
	keep, kept := tags[tagKeep]
	switch {
	case tags == nil:
		return "its tags are unknown"
	case tags[tagManagedBy] != managed:
		return "it has no tag managed-by=godwit"
	case kept:
		return "it is tagged keep=" + keep
	case tags[driver.TagTopology] != "":
		return "topology " + tags[driver.TagTopology] + " has declared it"
	case owner != "" && tags[tagOwner] != owner:
		return fmt.Sprintf("it is of the owner %q, and not of %q", tags[tagOwner], owner)
	}
	return ""
}

const (
	sweepStateVersion = 1
	// sweepNotice is how long ago a channel must have been announced. Two sweeps at the same time are thus one.
	sweepNotice = 12 * time.Hour
)

// sweepMemory is what sweeps of one owner remember between runs.
type sweepMemory struct {
	sweepNotes
	state State // nil: nothing is remembered
	owner string
}

// sweepNotes is the content of the state.
type sweepNotes struct {
	Version int    `json:"version"`
	Owner   string `json:"owner"`
	// Announced is when channels were announced, by address. One that a run does not name is not announced any more.
	Announced map[string]time.Time `json:"announced"`
	// Seen is since when channels are known whose age the service does not tell, by address.
	Seen map[string]time.Time `json:"seen"`
}

// recall reads what earlier runs have noted.
func (m *sweepMemory) recall(ctx context.Context) error {
	if m.state == nil {
		return m.read(nil)
	}
	text, _, err := m.state.Load(ctx)
	if err == nil {
		err = m.read(text)
	}
	if err != nil {
		return fmt.Errorf("ops: the state of the sweep: %w", err)
	}
	return nil
}

// read replaces the notes by those of a text, which is empty before the first run.
func (m *sweepMemory) read(text []byte) error {
	m.sweepNotes = sweepNotes{
		Version: sweepStateVersion, Owner: m.owner, Announced: map[string]time.Time{}, Seen: map[string]time.Time{},
	}
	if len(text) == 0 {
		return nil
	}
	if err := json.Unmarshal(text, &m.sweepNotes); err != nil {
		return fmt.Errorf("it is no state of a sweep: %w: remove it, or name another one", err)
	}
	switch {
	case m.Version != sweepStateVersion:
		return fmt.Errorf("it has version %d, and this program writes %d: use one version of godwit, or another state",
			m.Version, sweepStateVersion)
	case m.Owner != m.owner:
		return fmt.Errorf("it is that of the owner %q, and this sweep is of %q: name another one", m.Owner, m.owner)
	}
	if m.Announced == nil {
		m.Announced = map[string]time.Time{}
	}
	if m.Seen == nil {
		m.Seen = map[string]time.Time{}
	}
	return nil
}

// change changes the notes in the state, on top of the changes of other runs.
func (m *sweepMemory) change(ctx context.Context, f func(n *sweepNotes)) error {
	if m.state == nil {
		f(&m.sweepNotes)
		return nil
	}
	err := changeState(ctx, m.state, func(text []byte) ([]byte, error) {
		if err := m.read(text); err != nil {
			return nil, err
		}
		f(&m.sweepNotes)
		return json.MarshalIndent(&m.sweepNotes, "", "  ")
	})
	if err != nil {
		return fmt.Errorf("ops: the state of the sweep: %w", err)
	}
	return nil
}

// see notes since when channels exist, at the latest, and forgets those that do not exist any more.
func (n *sweepNotes) see(since map[string]time.Time) {
	for address, at := range since {
		if before, known := n.Seen[address]; !known || at.Before(before) {
			n.Seen[address] = at.UTC()
		}
	}
	maps.DeleteFunc(n.Seen, func(address string, _ time.Time) bool {
		_, exists := since[address]
		return !exists
	})
}

// announce notes which channels a run names, and returns those that were announced long enough ago.
func (n *sweepNotes) announce(named []string, at time.Time) (due map[string]bool) {
	announced, due := map[string]time.Time{}, map[string]bool{}
	for _, address := range named {
		since, before := n.Announced[address]
		if !before {
			since = at.UTC()
		}
		announced[address] = since
		due[address] = at.Sub(since) >= sweepNotice
	}
	n.Announced = announced
	return due
}

// forget removes channels that were deleted.
func (n *sweepNotes) forget(addresses []string) {
	for _, address := range addresses {
		delete(n.Announced, address)
		delete(n.Seen, address)
	}
}
