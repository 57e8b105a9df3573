package driver

import (
	"context"
	"time"
)

// Rewinder is a Backend on a log, on which the consumers of a channel can start again from another position.
type Rewinder interface {
	// Rewind plans, and unless dry is set, changes where the channel's consumers go on, in each partition. What was
	// known of finished messages and attempts there is forgotten. While the channel has consumers it is an error of
	// class [Permanent] that names them, because their commits would undo it. Dead letters and retries that wait
	// elsewhere stay.
	Rewind(ctx context.Context, c Channel, to Position, dry bool) ([]PartitionRewind, error)
}

// Position is a place in each partition of a log.
type Position struct {
	From   PositionKind
	Time   time.Time // of FromTime: the first message that was sent at that time or later
	Offset int64     // of FromOffset; it must be between the start and the end of each partition
	// Partitions restricts it to some partitions. nil: all.
	Partitions []int32
}

// PositionKind says what a Position is relative to.
type PositionKind uint8

const (
	FromStart  PositionKind = iota // the first message that the log still has
	FromEnd                        // behind the last message: only later ones are handled
	FromTime                       // Position.Time
	FromOffset                     // Position.Offset
)

// PartitionRewind is what a Rewind does in one partition.
type PartitionRewind struct {
	Partition int32
	Was       int64 // the committed offset, where consumers would go on; negative: there is none
	To        int64 // where they go on
	Again     int64 // messages up to Was that are handled again
	Skipped   int64 // messages from Was on that are not handled
}
