package later

import (
	"context"
	"maps"
	"slices"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/snssqs/internal/client"
	"github.com/godwitmq/godwit/snssqs/internal/estate"
)

// Parking sends the messages of a channel, those that wait to the queue beside it.
type Parking struct {
	Of     driver.Channel
	Queues *estate.LaterQueues
	Waits  func(driver.Prepared) bool // which of its messages do
	// Put sends a batch to the queue of later messages, and Rest one of the others.
	Put  func(ctx context.Context, q *estate.Queue, batch []driver.Prepared) error
	Rest func(ctx context.Context, batch []driver.Prepared) error
}

// Send sends a batch. It answers as driver.Sender does.
func (p *Parking) Send(ctx context.Context, batch []driver.Prepared) error {
	if !slices.ContainsFunc(batch, p.Waits) {
		return p.Rest(ctx, batch)
	}
	var waiting, others []int
	for i := range batch {
		if p.Waits(batch[i]) {
			waiting = append(waiting, i)
		} else {
			others = append(others, i)
		}
	}
	if len(others) == 0 {
		return p.park(ctx, batch)
	}
	errs := map[int]error{}
	client.Collect(errs, others, p.Rest(ctx, pick(batch, others)))
	client.Collect(errs, waiting, p.park(ctx, pick(batch, waiting)))
	return client.BatchError(errs)
}

func pick(batch []driver.Prepared, which []int) []driver.Prepared {
	some := make([]driver.Prepared, len(which))
	for k, i := range which {
		some[k] = batch[i]
	}
	return some
}

// park sends messages to the queue of later ones, which is created when it is first needed. If the queue was deleted,
// it is created again, once.
func (p *Parking) park(ctx context.Context, batch []driver.Prepared) error {
	q, err := p.Queues.Ensured(ctx, p.Of)
	if err != nil {
		return err
	}
	if err = p.Put(ctx, q, batch); driver.ClassOf(err) != driver.NotFound {
		return err
	}
	p.Queues.Forget(p.Of)
	if q, err = p.Queues.Ensured(ctx, p.Of); err != nil {
		return err
	}
	return p.Put(ctx, q, batch)
}

// failures are the entries that failed, in order.
func failures(errs map[int]error) []int { return slices.Sorted(maps.Keys(errs)) }
