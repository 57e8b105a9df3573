package driver

import "time"

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
