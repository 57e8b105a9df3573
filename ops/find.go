package ops

import (
	"context"
	"fmt"
	"strings"

	"github.com/godwitmq/godwit/driver"
)

// Find looks up a channel by its name, such as orders, wishlist_events.audit_log or orders@dlq. So an operator need not
// know whether it is ordered. The error for a channel that does not exist is of class NotFound, and names similar ones.
func Find(ctx context.Context, b driver.Backend, name string) (driver.ChannelInfo, error) {
	all, err := catalog(ctx, b)
	if err != nil {
		return driver.ChannelInfo{}, fmt.Errorf("ops: look up channel %s: %w", name, err)
	}
	var found, near []driver.ChannelInfo
	for _, one := range all {
		switch other := one.Channel.String(); {
		case other == name:
			found = append(found, one)
		case similar(name, other):
			near = append(near, one)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return driver.ChannelInfo{}, missing(name, near, len(all))
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

// missing is the error for a channel that does not exist.
func missing(name string, near []driver.ChannelInfo, all int) error {
	hint := fmt.Sprintf("there are %d others: godwit ls lists them", all)
	if all == 0 {
		hint = "there are no channels: check the namespace, and the region or the brokers"
	}
	if len(near) > 0 {
		names := make([]string, len(near))
		for i, one := range near {
			names[i] = one.Channel.String()
		}
		hint = "perhaps " + strings.Join(names, " or ")
	}
	return &driver.Error{Class: driver.NotFound, Err: &NoChannelError{name, hint}}
}

// similar reports whether two names differ in one place only, and by less than half, or only by case.
func similar(a, b string) bool {
	if strings.EqualFold(a, b) {
		return true
	}
	short, long := a, b
	if len(short) > len(long) {
		short, long = long, short
	}
	same := 0
	for same < len(short) && short[same] == long[same] {
		same++
	}
	for end := 1; same < len(short) && short[len(short)-end] == long[len(long)-end]; end++ {
		same++
	}
	return 2*same > len(long)
}
