package topology

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/driver"
)

// DestroyOptions are the options of Destroy.
type DestroyOptions struct {
	// Delete deletes. false: Destroy only returns what it would delete. Set it after a look at that.
	Delete bool
	// Orphans leaves what is declared, and deletes only what is not declared any more. Set it to clean up after a
	// channel was removed from the file.
	Orphans bool
	// NonEmpty are channels that are deleted also if messages are in them, by their exact names: orders, orders@dlq.
	// Set it to lose these messages.
	NonEmpty []string
	// Untagged are channels that are deleted although the service has no tags that say who has declared them, by their
	// exact names. Set it on Kafka.
	Untagged []string
}

// Destroyed is a channel that Destroy deletes.
type Destroyed struct {
	Channel  string `json:"channel"`
	Name     string `json:"name"`
	Messages int64  `json:"messages"`
	Deleted  bool   `json:"deleted"`
}

// Destroy deletes what has the tag of the topology: queues first, then dead letters, then exchanges. It refuses, before
// it deletes anything, if a channel that NonEmpty does not name has messages. With an error, the channels that are
// marked as deleted are, and the one of the error may be in part; Destroy can be repeated.
func Destroy(ctx context.Context, b godwit.Backend, s *Spec, o *DestroyOptions) (all []Destroyed, err error) {
	var opts DestroyOptions
	if o != nil {
		opts = *o
	}
	do := driver.OperationsOf(b)
	if do.Catalog == nil || do.Remove == nil || do.Inspect == nil {
		return nil, errors.New("topology: destroy: this backend cannot delete channels")
	}
	found, err := do.Catalog(ctx)
	if err != nil {
		return nil, fmt.Errorf("topology: destroy: %w", err)
	}
	found = slices.DeleteFunc(found, func(c driver.ChannelInfo) bool {
		declared := s.declares(c.Channel)
		ours := c.Tags[driver.TagTopology] == s.name() ||
			c.Tags == nil && declared && slices.Contains(opts.Untagged, c.Channel.String())
		return c.Mapped || !ours || declared && opts.Orphans
	})
	slices.SortStableFunc(found, func(x, y driver.ChannelInfo) int {
		return cmp.Or(cmp.Compare(turn(x.Channel), turn(y.Channel)), cmp.Compare(x.Address, y.Address))
	})
	var full []string
	for _, c := range found {
		one := Destroyed{Channel: c.Channel.String(), Name: c.Address}
		if c.Channel.Queue != "" {
			depth, err := do.Inspect(ctx, c.Channel)
			if err != nil {
				return nil, fmt.Errorf("topology: destroy: count the messages of %s: %w", c.Channel, err)
			}
			one.Messages = depth.All()
		}
		if one.Messages > 0 && !slices.Contains(opts.NonEmpty, one.Channel) {
			full = append(full, fmt.Sprintf("%s has %d", one.Channel, one.Messages))
		}
		all = append(all, one)
	}
	if !opts.Delete {
		return all, nil
	}
	if len(full) > 0 {
		return all, fmt.Errorf("topology: destroy: there are messages: %s: name these channels in NonEmpty "+
			"(--messages-of) if they are not needed, or handle them first", strings.Join(full, ", "))
	}
	for i, c := range found {
		if _, err := do.Remove(ctx, c.Channel, false); err != nil && driver.ClassOf(err) != driver.NotFound {
			return all, fmt.Errorf("topology: destroy %s: %w", c.Channel, err)
		}
		all[i].Deleted = true
	}
	return all, nil
}

// turn is the place of a channel in the order of deletions: dead letters go after the queues that reject to them, and
// exchanges after their queues. Messages that wait for their time go with the queues.
func turn(ch driver.Channel) int {
	switch ch.Role() {
	case driver.RoleDeadLetters:
		return 1
	case driver.RoleExchange:
		return 2
	}
	return 0
}
