package driver

import (
	"context"
	"time"
)

// OrphanFinder is a Backend on a log, which can tell to which objects of its [Store] no message points.
type OrphanFinder interface {
	// Orphans returns the objects that the backend has written before a time and to which no message points, neither
	// one that waits nor a finished one that the log still has. It reads all messages of the namespace, and changes
	// nothing. An object whose message is not sent yet is returned, too, so before must be longer ago than a sender
	// may take.
	Orphans(ctx context.Context, before time.Time) ([]Orphan, error)
}

// Orphan is an object to which no message points.
type Orphan struct {
	Object
	// Address is the service's name of what the object's message was written for: a topic of Kafka. It may not exist
	// any more.
	Address string
}
