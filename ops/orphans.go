package ops

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/godwitmq/godwit/driver"
)

// LeastOrphanAge is how old an object must be to count as an orphan: a younger one may be that of a message which is
// being sent.
const LeastOrphanAge = 24 * time.Hour

// OrphansOptions are the options of Orphans. The zero value is usable.
type OrphansOptions struct {
	// OlderThan leaves out objects that are younger; 0: a day. Raise it to see only objects that have been useless for
	// long.
	OlderThan time.Duration
}

// Orphans returns the objects of the backend's store that are older than a day and to which no message points, neither
// one that waits nor a finished one that the log still has. A sender that ended between the upload of a body and the
// send leaves such an object, and so does the end of a record's retention. Orphans reads all messages of the namespace,
// and deletes nothing.
//
// On SQS, leftovers are deleted by the lifecycle of the bucket alone, since the messages of a queue cannot be listed.
func Orphans(ctx context.Context, b driver.Backend, o *OrphansOptions) ([]driver.Orphan, error) {
	opts := *cmp.Or(o, &OrphansOptions{})
	opts.OlderThan = cmp.Or(opts.OlderThan, LeastOrphanAge)
	if opts.OlderThan < LeastOrphanAge {
		return nil, fmt.Errorf("ops: OrphansOptions.OlderThan is %v: use at least %v, because a younger object may be that "+
			"of a message which is being sent", opts.OlderThan, LeastOrphanAge)
	}
	find := driver.OperationsOf(b).Orphans
	if find == nil {
		return nil, errors.New("ops: this backend cannot tell which objects are orphans: the messages of a queue cannot " +
			"be listed, only those of a log (Kafka); the bucket's lifecycle deletes what is left")
	}
	all, err := find(ctx, time.Now().Add(-opts.OlderThan))
	if err != nil {
		return nil, fmt.Errorf("ops: %w", err)
	}
	return all, nil
}
