package operate

import (
	"context"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/snssqs/internal/client"
	"github.com/godwitmq/godwit/snssqs/internal/estate"
)

// Home is the queue to which dead letters return: that of their own channel.
func Home(ctx context.Context, e *estate.Estate, dead driver.Channel) (home driver.Channel, q *estate.Queue,
	err error,
) {
	if err := e.Clients.Open(); err != nil {
		return dead, nil, err
	}
	home = dead
	home.DeadLetter = false
	if home.Queue == "" {
		return home, nil, client.Permanent("channel %s: an exchange has no dead letters: name one of its queues", dead)
	}
	if q, err = e.Queues.Of(ctx, home); err == nil {
		err = onlySource(ctx, e, home, q)
	}
	return home, q, err
}

// onlySource returns an error if the dead letters of a mapped queue are also those of other queues: a message does not
// say from which of them it is. Without the permission to list them, there is no error.
func onlySource(ctx context.Context, e *estate.Estate, home driver.Channel, q *estate.Queue) error {
	if !q.Foreign {
		return nil
	}
	letters, err := e.Queues.Of(ctx, estate.DeadLettersOf(home))
	if err != nil {
		return err
	}
	sources, err := e.Queues.Sources(ctx, letters)
	if err != nil {
		return client.Ignore(err, driver.Denied)
	}
	for _, url := range sources {
		if url != q.URL {
			return client.Permanent("the dead letters of %s are also those of queue %s, and a message does not say from which "+
				"it is: name the destination of all of them", home, url)
		}
	}
	return nil
}
