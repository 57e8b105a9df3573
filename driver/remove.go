package driver

// Purged is what a Purge deletes.
type Purged struct {
	// Messages is how many messages the channel loses. It is approximate where the service counts approximately.
	Messages int64
	// Others are consumers that lose the messages as well, because the service keeps them once for all: names of
	// consumer groups, of Godwit and of other programs. nil: there are none.
	Others []string
}

// Removed is what a Remove deletes.
type Removed struct {
	// Resources are the service's names of the resources, in the order of their deletion.
	Resources []string
	// Messages is how many messages are deleted with them, as Inspect counts them.
	Messages int64
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

// Orphan is an object to which no message points.
type Orphan struct {
	Object
	// Address is the service's name of what the object's message was written for: a topic of Kafka. It may not exist
	// any more.
	Address string
}
