package godwit

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/pace"
)

// Demand is how much there is to do for the consumers of a channel, for autoscalers.
type Demand struct {
	Backlog int64         // messages that could be received now
	Age     time.Duration // at which deliveries started within the last minute; 0: none did
	Service time.Duration // what a handler takes of late, for one delivery; 0: none has ended
	// Workers is how many handlers at once would work the backlog off in what is left of the delay tolerance
	// (backlog × service ÷ (tolerance − age)), and keep up with what comes; at least one while messages are in flight.
	Workers int
	// Consumers is how many processes like this one that takes, at their MaxConcurrency. 0: nothing is there to do, and
	// for some minutes nothing came.
	Consumers int
	// Partitions are those of a Kafka topic in which something waits; nil elsewhere.
	Partitions []PartitionDemand
}

// PartitionDemand is what waits in one partition.
type PartitionDemand struct {
	Partition int32
	Backlog   int64
	// Oldest is the age of the first message that is not finished: it may be in a handler's hands, or wait for a retry.
	// Watch it for a key that does not go on. Negative: unknown.
	Oldest time.Duration
}

// Demand asks the service for the backlog and says how many consumers it wants. It tells most while the consumer runs,
// since then it knows how long handlers take.
func (c *Consumer) Demand(ctx context.Context) (Demand, error) {
	inspector, ok := c.backend.(driver.Inspector)
	if !ok {
		return Demand{}, &Error{Op: "inspect", Channel: c.name, Err: fmt.Errorf("%w: this backend cannot look into channels", errors.ErrUnsupported)}
	}
	depth, err := inspector.Inspect(ctx, c.channel)
	if err != nil {
		return Demand{}, wrapError("inspect", c.name, "", err)
	}
	c.mu.Lock()
	s := c.session
	c.mu.Unlock()
	d := Demand{Backlog: depth.Waiting}
	if s == nil {
		d.Workers = pace.New(pace.Options{Floor: c.concurrency(), Tolerance: c.o.DelayTolerance}).Wanted(d.Backlog, depth.Oldest)
	} else {
		known := s.Demand(d.Backlog, depth.Oldest)
		d.Age, d.Service, d.Workers = known.Age, known.Service, known.Workers
	}
	if depth.InFlight > 0 || depth.Waiting > 0 { // what is handled, or waits for a retry, needs whoever holds it
		d.Workers = max(d.Workers, 1)
	}
	for _, p := range depth.Partitions {
		d.Partitions = append(d.Partitions, PartitionDemand{Partition: p.Partition, Backlog: p.Waiting, Oldest: p.Oldest})
	}
	most := c.ceiling(c.concurrency())
	d.Consumers = (d.Workers + most - 1) / most
	return d, nil
}

// ceiling is how far the pool may grow from its floor: not at all where no MaxConcurrency above Concurrency was asked for,
// also when the floor is lower by now.
func (c *Consumer) ceiling(floor int) int {
	if !c.adapts {
		return floor
	}
	return max(floor, c.o.MaxConcurrency)
}
