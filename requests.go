package godwit

import (
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/engine"
)

// Poll is an answered poll of a consumer, for [Hooks].
type Poll struct {
	Asked int   // messages that were requested
	Bytes int64 // of the bodies that it returned, without those in a store
	Began time.Time
	Took  time.Duration
	Err   error
	// Deliveries are those that it returned. Their handlers may have started, and bodies may be being read from the
	// store: a hook must not read Body, Attempt or Undecodable.
	Deliveries []*Delivery
}

// Settling is a request with settlements that the service has answered, for [Hooks]. On Kafka, handled messages are not
// among them: a commit reports them.
type Settling struct {
	Done, Retried, Rejected, Released int // that the service has accepted
	Failed                            int // others, which may be sent again
	Began                             time.Time
	Took                              time.Duration
	Err                               error
	Deliveries                        []*Delivery
}

// Size is how many settlements the request had.
func (s *Settling) Size() int { return s.Done + s.Retried + s.Rejected + s.Released + s.Failed }

// Renewal is a request to renew leases that the service has answered, for [Hooks].
type Renewal struct {
	Leases int
	Failed int // of them
	Began  time.Time
	Took   time.Duration
	Err    error
}

// BodyRead is a read of a body that is in a store, for [Hooks].
type BodyRead struct {
	Bytes int64 // as the sender of the message said
	Took  time.Duration
	Err   error
}

// Sending is a request of a producer that the service has answered, for [ProducerHooks]. A backend that makes batches
// by itself, as that of Kafka, has one for each message.
type Sending struct {
	Messages int
	Failed   int   // of them; a failed one may be sent again
	Bytes    int64 // of the messages, as the service counts them
	Began    time.Time
	Took     time.Duration
	Err      error
	Traces   []Headers // the Trace of each message
}

func pollOf(p engine.Poll) Poll {
	return Poll{
		Asked: p.Asked, Bytes: p.Bytes, Began: p.Began, Took: p.Took, Err: p.Err, Deliveries: deliveries(p.Owners),
	}
}

func settlingOf(s *engine.Settling) Settling {
	return Settling{
		Done: s.Of[driver.Done], Retried: s.Of[driver.Retry], Rejected: s.Of[driver.Reject],
		Released: s.Of[driver.Release], Failed: s.Failed, Began: s.Began, Took: s.Took, Err: s.Err,
		Deliveries: deliveries(s.Owners),
	}
}

func deliveries(owners []any) []*Delivery {
	ds := make([]*Delivery, len(owners))
	for i, o := range owners {
		ds[i] = delivery(o)
	}
	return ds
}
