package kafka

import (
	"context"
	"errors"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/godwitmq/godwit/internal/backoff"
	"github.com/godwitmq/godwit/kafka/internal/cluster"
	"github.com/godwitmq/godwit/kafka/internal/failure"
	"github.com/godwitmq/godwit/kafka/internal/records"
)

const (
	// rereadPatience is how long a broker may send no records before the reader asks it whether they still exist.
	rereadPatience = 10 * time.Second
	// rereadAgain is the pause after an error.
	rereadAgain = time.Second
)

// rereader reads the forgotten records of lanes again. It uses a client outside of the group, beside the member's own
// reading, so that other keys are not delayed.
type rereader struct{ *group }

// run reads forgotten records whenever a lane lacks some, until ctx ends.
func (r rereader) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.ledger.Rereads.Soon:
		}
		for {
			e, from, ok := r.ledger.Rereads.Lacking()
			if !ok {
				break
			}
			if err := r.readFrom(ctx, e, from); err != nil && !failure.Over(ctx) {
				r.sub.b.log.Warn("records of a waiting key could not be read again: the next try follows", "group",
					r.sub.group, "partition", e.Name, "offset", from, "error", err)
				_ = backoff.Sleep(ctx, rereadAgain)
			}
			if failure.Over(ctx) {
				return
			}
		}
	}
}

// readFrom reads a partition, beginning at an offset, until no lane lacks records.
func (r rereader) readFrom(ctx context.Context, e *records.Epoch, from int64) error {
	reader, err := r.sub.b.cluster.Read(map[string]map[int32]kgo.Offset{e.Topic: {e.N: kgo.NewOffset().At(from)}},
		rereadPatience, kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.KeepControlRecords(),
		kgo.FetchMaxPartitionBytes(r.current().share), kgo.FetchMaxWait(fetchWait),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		return err
	}
	defer reader.Close()
	for more := true; more; {
		fetches, err := reader.Poll(ctx)
		if errors.Is(err, cluster.ErrSilent) {
			return r.lookForStart(ctx, e, from, err)
		}
		if err != nil {
			return err
		}
		more = r.ledger.Rereads.Readmit(e, fetches.Records())
	}
	return nil
}

// lookForStart is called when a broker sends nothing. The broker may be unavailable, or it has deleted all missing
// records because they were older than the topic's retention.
func (r rereader) lookForStart(ctx context.Context, e *records.Epoch, from int64, silent error) error {
	starts, err := r.sub.b.cluster.Offsets(ctx, cluster.Start, e.Topic)
	if err != nil {
		return err
	}
	start, _ := starts.Lookup(e.Topic, e.N)
	if n := r.ledger.Rereads.StartsAt(e, start.Offset); n > 0 {
		r.sub.b.log.Error("records of waiting keys were deleted before a handler got them: the topic's retention is "+
			"too short for the wait, so raise it", "group", r.sub.group, "partition", e.Name, "from", from, "to",
			start.Offset,
			"keys", n)
		return nil
	}
	return silent
}
