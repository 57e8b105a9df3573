package ops

import (
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
	var opts PauseOptions
	if o != nil {
		opts = *o
	}
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
