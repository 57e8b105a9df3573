package ops

import (
	"context"
	"errors"
	"fmt"

	"github.com/godwitmq/godwit/driver"
)

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
	var opts RewindOptions
	if o != nil {
		opts = *o
	}
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
	if in, ok := b.(driver.Inspector); ok {
		if depth, err := in.Inspect(ctx, r.Channel); err == nil {
			r.Delayed = depth.Delayed
		}
	}
	if r.Partitions, err = rewind(ctx, r.Channel, opts.To, opts.Dry); err != nil {
		return r, fmt.Errorf("ops: rewind: %w", err)
	}
	return r, nil
}
