package cluster

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/godwitmq/godwit/kafka/internal/failure"
)

// Position is a position in the log of each partition, or a time in milliseconds.
type Position int64

const (
	Start  Position = -2 // of the first record
	End    Position = -1 // behind the last record
	Stable Position = -4 // up to the first open transaction, or else behind the last record
)

// After is the position of the first record that is as late as a time; the offset is -1 if there is none.
func After(t time.Time) Position { return Position(t.UnixMilli()) }

// String is the position as errors name it.
func (p Position) String() string {
	switch p {
	case Start:
		return "the start"
	case End, Stable:
		return "the end"
	}
	return "offsets by time"
}

// Offsets looks up a position in the logs of topics. The error of any partition is one of the call.
func (c *Cluster) Offsets(ctx context.Context, at Position, topics ...string) (kadm.ListedOffsets, error) {
	got, err := c.EachOffset(ctx, at, topics...)
	if err == nil {
		err = unlisted(at, topics, got.Error())
	}
	return got, err
}

// Bounds looks up where the logs of a topic start, and another position.
func (c *Cluster) Bounds(ctx context.Context, end Position, topic string) (starts, ends kadm.ListedOffsets, err error) {
	if starts, err = c.Offsets(ctx, Start, topic); err == nil {
		ends, err = c.Offsets(ctx, end, topic)
	}
	return starts, ends, err
}

// EachOffset is Offsets whose answer has the error of each partition. A missing topic has no partitions.
func (c *Cluster) EachOffset(ctx context.Context, at Position, topics ...string) (got kadm.ListedOffsets, err error) {
	if len(topics) == 0 { // the client would take no topic for all topics
		return nil, nil
	}
	switch at {
	case Start:
		got, err = c.Admin.ListStartOffsets(ctx, topics...)
	case End:
		got, err = c.Admin.ListEndOffsets(ctx, topics...)
	case Stable:
		got, err = c.Admin.ListCommittedOffsets(ctx, topics...)
	default:
		got, err = c.Admin.ListOffsetsAfterMilli(ctx, int64(at), topics...)
	}
	return got, unlisted(at, topics, err)
}

func unlisted(at Position, topics []string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("look up %v of topic %s: %w", at, strings.Join(topics, ", "), failure.Classify(err))
}
