package ops

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/godwitmq/godwit/driver"
)

// PauseOptions are the options of Pause and Resume.
type PauseOptions struct {
	// Dry changes nothing. Set it to see first whether the channel exists, and whether it is paused.
	Dry bool
}

// PauseResult is what a Pause or a Resume does, or would do.
type PauseResult struct {
	Channel driver.Channel
	// Changes is false if the channel was paused, or not paused, already.
	Changes bool
}

// Pause makes the service refuse every receive from a channel, whoever makes it, until Resume. Messages can still be
// sent, and what consumers hold is handled. Consumers of Godwit then are in state Paused; other programs get the
// service's error. Polls that are open when a queue is paused may still return messages.
func Pause(ctx context.Context, b driver.Backend, channel string, o *PauseOptions) (PauseResult, error) {
	return pause(ctx, b, channel, o, "pause", driver.OperationsOf(b).Pause)
}

// Resume ends a pause.
func Resume(ctx context.Context, b driver.Backend, channel string, o *PauseOptions) (PauseResult, error) {
	return pause(ctx, b, channel, o, "resume", driver.OperationsOf(b).Resume)
}

func pause(ctx context.Context, b driver.Backend, channel string, o *PauseOptions, what string,
	do func(context.Context, driver.Channel, bool) (bool, error),
) (r PauseResult, err error) {
	opts := *cmp.Or(o, &PauseOptions{})
	if do == nil {
		return r, errors.New("ops: this backend cannot pause a channel: the service would have to refuse receives, and " +
			"brokers of Kafka cannot do that for one group: pause the consumers themselves (Consumer.Pause), or stop them")
	}
	found, err := Find(ctx, b, channel)
	if err != nil {
		return r, err
	}
	r.Channel = found.Channel
	if r.Changes, err = do(ctx, r.Channel, opts.Dry); err != nil {
		return r, fmt.Errorf("ops: %s: %w", what, err)
	}
	return r, nil
}

// RewindOptions are the options of Rewind.
type RewindOptions struct {
	// To is where the consumers go on. The zero value is the start of the log.
	To driver.Position
	// Dry only plans. Set it to see the numbers first.
	Dry bool
}

// RewindResult is what a Rewind does, or would do.
type RewindResult struct {
	Channel    driver.Channel
	Partitions []driver.PartitionRewind
	// Delayed is how many messages wait in retry tiers. They are not part of the rewind, and are handled as well.
	Delayed int64
}

// Rewind makes the consumers of a channel on a log start again from another position. It is refused while there are
// consumers. What was finished or dead-lettered from that position on is handled again; dead letters stay where they
// are, too.
func Rewind(ctx context.Context, b driver.Backend, channel string, o *RewindOptions) (r RewindResult, err error) {
	opts := *cmp.Or(o, &RewindOptions{})
	rewind := driver.OperationsOf(b).Rewind
	if rewind == nil {
		return r, errors.New("ops: this backend cannot rewind: a queue does not keep what is handled; only a log does " +
			"(Kafka)")
	}
	found, err := Find(ctx, b, channel)
	if err != nil {
		return r, err
	}
	r.Channel = found.Channel
	if inspect := driver.OperationsOf(b).Inspect; inspect != nil {
		if depth, err := inspect(ctx, r.Channel); err == nil {
			r.Delayed = depth.Delayed
		}
	}
	if r.Partitions, err = rewind(ctx, r.Channel, opts.To, opts.Dry); err != nil {
		return r, fmt.Errorf("ops: rewind: %w", err)
	}
	return r, nil
}

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
	opts := *cmp.Or(o, &RemoveOptions{})
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
