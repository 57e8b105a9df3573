package driver

import "context"

// Snapshotter is a Backend that describes a resource so that it can be made again after a [Remover] has deleted it.
type Snapshotter interface {
	// Snapshot reads one queue, exchange or queue of dead letters directly from the service, not from a list that may
	// be late. It changes nothing. The error for a channel that does not exist is of class [NotFound]. Tags, or
	// subscribers, that cannot be read are an error. Positions of consumers are not part of it.
	Snapshot(ctx context.Context, c Channel) (Snapshot, error)
	// Restore makes what the Data of a snapshot describes and does not exist: the resource, and its subscription.
	// Restore leaves existing resources as they are, so a second one changes nothing. Messages do not come back. An
	// error whose After is set can be tried again then. An error with something made says what could not be made.
	Restore(ctx context.Context, data []byte) (Restored, error)
}

// Snapshot is a resource as it is.
type Snapshot struct {
	Address string
	Tags    map[string]string // nil: resources of the service have none
	// Subscribers are the addresses of all that gets the messages of an exchange, whoever has made it.
	Subscribers []string
	// Data is JSON that Restore understands. It has what Remove deletes.
	Data []byte
}

// Restored is what a Restore has made and found.
type Restored struct {
	Made  []string // resources that were made
	Found []string // resources that exist already
}
