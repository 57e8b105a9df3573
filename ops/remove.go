package ops

import (
	"context"
	"errors"
	"fmt"

	"github.com/godwitmq/godwit/driver"
)

// RemoveOptions are the options of Remove.
type RemoveOptions struct {
	// Dry only plans. Set it to see first what would be deleted.
	Dry bool
	// Messages removes a channel also if there are messages in it, which are lost. Set it if none of them is needed.
	Messages bool
}

// RemoveResult is what a Remove deletes, or would delete.
type RemoveResult struct {
	Channel driver.Channel
	driver.Removed
}

// Remove deletes the resources of one channel, by its exact name: a queue with its subscription, an exchange without
// queues, or dead letters. It deletes nothing else; the dead letters of a queue stay. Resources that the backend was
// told to use, or that Godwit has not created as far as the service can tell, are refused. A consumer or producer that
// runs may create the channel again.
func Remove(ctx context.Context, b driver.Backend, channel string, o *RemoveOptions) (r RemoveResult, err error) {
	var opts RemoveOptions
	if o != nil {
		opts = *o
	}
	remove := driver.OperationsOf(b).Remove
	if remove == nil {
		return r, errors.New("ops: this backend cannot remove channels")
	}
	found, err := Find(ctx, b, channel)
	if err != nil {
		return r, err
	}
	r.Channel = found.Channel
	if r.Removed, err = remove(ctx, r.Channel, true); err != nil {
		return r, fmt.Errorf("ops: remove: %w", err)
	}
	switch {
	case opts.Dry:
		return r, nil
	case r.Messages > 0 && !opts.Messages:
		return r, &driver.Error{Class: driver.Permanent, Err: fmt.Errorf("ops: remove: there are %d messages in "+
			"channel %s: set RemoveOptions.Messages (--messages) if they are not needed", r.Removed.Messages, channel)}
	}
	if r.Removed, err = remove(ctx, r.Channel, false); err != nil {
		return r, fmt.Errorf("ops: remove: %w", err)
	}
	return r, nil
}
