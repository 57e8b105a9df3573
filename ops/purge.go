package ops

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/godwitmq/godwit/driver"
)

// PurgeOptions are the options of Purge.
type PurgeOptions struct {
	// Dry only counts. Set it to see the numbers first.
	Dry bool
	// Shared purges a channel also if other consumers lose the messages, too, as all groups of a topic of Kafka do. Set
	// it if none of them needs the messages.
	Shared bool
}

// PurgeResult is what a Purge deletes, or would delete.
type PurgeResult struct {
	Channel driver.Channel
	driver.Purged
}

// Purge deletes all messages of a channel or of dead letters, also those that consumers hold. Bodies in a store stay.
// The messages are gone: requeue dead letters instead if they may be needed.
func Purge(ctx context.Context, b driver.Backend, channel string, o *PurgeOptions) (r PurgeResult, err error) {
	var opts PurgeOptions
	if o != nil {
		opts = *o
	}
	purge := driver.OperationsOf(b).Purge
	if purge == nil {
		return r, errors.New("ops: this backend cannot purge channels")
	}
	found, err := Find(ctx, b, channel)
	if err != nil {
		return r, err
	}
	r.Channel = found.Channel
	if r.Purged, err = purge(ctx, r.Channel, true); err != nil {
		return r, fmt.Errorf("ops: purge: %w", err)
	}
	switch {
	case opts.Dry:
		return r, nil
	case len(r.Others) > 0 && !opts.Shared:
		return r, &driver.Error{Class: driver.Permanent, Err: fmt.Errorf("ops: purge: the messages of channel %s are "+
			"also those of %s: set PurgeOptions.Shared (--shared) to delete them for all, or rewind the channel to its end",
			channel, strings.Join(r.Others, ", "))}
	}
	if r.Purged, err = purge(ctx, r.Channel, false); err != nil {
		return r, fmt.Errorf("ops: purge: %w", err)
	}
	return r, nil
}
