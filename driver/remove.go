package driver

import "context"

// Remover is a Backend that deletes the resources of a channel.
type Remover interface {
	// Remove plans, and unless dry is set, deletes the resources of one channel, with the messages in them: of a queue,
	// the queue and its subscription; of an exchange, the fan-out point itself; of dead letters, their queue. Dead
	// letters stay when their channel is removed. It is an error of class [Permanent] if the backend was told to use
	// the resource, if Godwit has not created it, or if something else still depends on it: queues on their exchange,
	// and queues on their dead letters. What is created again meanwhile, by a running consumer or producer, is not
	// prevented.
	Remove(ctx context.Context, c Channel, dry bool) (Removed, error)
}

// Removed is what a Remove deletes.
type Removed struct {
	// Resources are the service's names of the resources, in the order of their deletion.
	Resources []string
	// Messages is how many messages are deleted with them, as [Inspector] counts them.
	Messages int64
}
