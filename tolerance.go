package godwit

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/pace"
)

// Demand is how many workers and consumers a channel needs, for autoscalers.
type Demand struct {
	Backlog int64 // messages that could be received now
	// InFlight are messages that consumers hold, or that wait for a retry or for their delay.
	InFlight int64
	Age      time.Duration // average age of deliveries at their start within the last minute; 0: none started
	Service  time.Duration // average duration of recent handlers, for one delivery; 0: none has ended
	// Workers is how many concurrent handlers would handle the backlog in the rest of the delay tolerance (backlog ×
	// service ÷ (tolerance − age)), and keep up with new messages. It is at least one while messages wait or are in
	// flight.
	Workers int
	// Consumers is how many processes like this one have so many workers, at their MaxConcurrency. 0: there are no
	// messages, and for some minutes there were none.
	Consumers int
	// Partitions are those of a Kafka topic in which something waits; nil elsewhere.
	Partitions []PartitionDemand
}

// PartitionDemand is what waits in one partition.
type PartitionDemand struct {
	Partition int32
	Waiting   int64
	// Oldest is the age of the first message that is not finished: it may be in a handler's hands, or wait for a retry.
	// Watch it for a key that does not go on. Negative: unknown.
	Oldest time.Duration
}

// Demand requests the size of the backlog and computes how many consumers it needs. The result is more precise while
// the consumer runs, because the duration of handlers is then known.
func (c *Consumer) Demand(ctx context.Context) (Demand, error) {
	if err := checkContext(ctx); err != nil {
		return Demand{}, err
	}
	inspector, ok := c.backend.(driver.Inspector)
	if !ok {
		return Demand{},
			&Error{Op: "inspect", Channel: c.name, Err: fmt.Errorf("%w: this backend cannot inspect channels",
				errors.ErrUnsupported)}
	}
	depth, err := inspector.Inspect(ctx, c.channel)
	if err != nil {
		return Demand{}, wrapError("inspect", c.name, "", err)
	}
	c.mu.Lock()
	s := c.session
	c.mu.Unlock()
	d := Demand{Backlog: depth.Waiting, InFlight: depth.InFlight + depth.Delayed}
	if s == nil {
		d.Workers = pace.New(pace.Options{Floor: c.concurrency(), Tolerance: c.o.DelayTolerance}).Wanted(d.Backlog,
			depth.Oldest)
	} else {
		known := s.Demand(d.Backlog, depth.Oldest)
		d.Age, d.Service, d.Workers = known.Age, known.Service, known.Workers
	}
	if depth.InFlight > 0 || depth.Waiting > 0 { // also messages that are handled or wait for a retry need a consumer
		d.Workers = max(d.Workers, 1)
	}
	for _, p := range depth.Partitions {
		d.Partitions = append(d.Partitions, PartitionDemand(p))
	}
	most := c.ceiling(c.concurrency())
	d.Consumers = (d.Workers + most - 1) / most
	return d, nil
}

// ceiling is how far the pool may grow. Without a MaxConcurrency above Concurrency it does not grow, even after
// SetConcurrency has lowered the number.
func (c *Consumer) ceiling(floor int) int {
	if !c.adapts {
		return floor
	}
	return max(floor, c.o.MaxConcurrency)
}
