package operate

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka/internal/cluster"
	"github.com/godwitmq/godwit/kafka/internal/deadletter"
	"github.com/godwitmq/godwit/kafka/internal/failure"
	"github.com/godwitmq/godwit/kafka/internal/wire"
)

// originals completes the dead letters of brokers (KIP-1191). Unless their group is configured otherwise, they have
// only the position of their record, and its key, value and headers are where the record is. Several goroutines may use
// it.
type originals struct {
	cluster *cluster.Cluster

	mu    sync.Mutex
	known map[wire.Partition][]*kgo.Record // the latest answer: a broker's dead letters are often neighbors
}

// complete returns a dead letter with the content of its record. A dead letter that has content is returned unchanged.
func (o *originals) complete(ctx context.Context, letter *kgo.Record) (*kgo.Record, error) {
	home, _, ok := deadletter.HomeOf(letter.Headers)
	if !ok || !isPosition(letter) {
		return letter, nil
	}
	original, err := o.find(ctx, home)
	if err != nil {
		return nil, err
	}
	full := *letter
	full.Key, full.Value = original.Key, original.Value
	full.Headers = append(slices.Clone(original.Headers), letter.Headers...)
	wire.SetHeader(&full, wire.SentHeader, strconv.FormatInt(original.Timestamp.UnixMilli(), 10))
	return &full, nil
}

// completeAll completes dead letters that an operator looks at. Those whose record is gone stay without content.
func (o *originals) completeAll(ctx context.Context, letters []sight) error {
	for i := range letters {
		full, err := o.complete(ctx, letters[i].Record)
		switch {
		case err == nil:
			letters[i].Record = full
		case driver.ClassOf(err) != driver.Permanent:
			return err
		}
	}
	return nil
}

// forwarded is the record of a dead letter that goes back, and the task to forward it, both with the content.
func (o *originals) forwarded(ctx context.Context, f *driver.Forward) (*kgo.Record, *driver.Forward, error) {
	letter, err := wire.Record(&f.Raw)
	if err != nil {
		return nil, f, &driver.Error{Class: driver.Permanent, Err: err}
	}
	full, err := o.complete(ctx, letter)
	if err != nil || full == letter {
		return letter, f, err
	}
	with := *f
	with.Raw = wire.Raw(full)
	return full, &with, nil
}

// isPosition reports whether a dead letter has nothing of its record but the position.
func isPosition(letter *kgo.Record) bool {
	return len(letter.Key) == 0 && len(letter.Value) == 0 && !slices.ContainsFunc(letter.Headers,
		func(h kgo.RecordHeader) bool { return !strings.HasPrefix(h.Key, wire.DeadPrefix) })
}

func (o *originals) find(ctx context.Context, at wire.Home) (*kgo.Record, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if i, ok := search(o.known[at.Partition], at.Offset); ok {
		return o.known[at.Partition][i], nil
	}
	gone := failure.Permanent("the dead letter was written by a broker without a copy of its record, and the record at "+
		"offset %d of partition %d of topic %s is not there any more: set errors.deadletterqueue.copy.record.enable of "+
		"the group, so that later ones have a copy", at.Offset, at.N, at.Topic)
	for _, edge := range []cluster.Position{cluster.Start, cluster.End} {
		got, err := o.cluster.EachOffset(ctx, edge, at.Topic)
		if err != nil {
			return nil, err
		}
		l, ok := got.Lookup(at.Topic, at.N)
		switch {
		case ok && l.Err != nil:
			return nil, fmt.Errorf("look up topic %s: %w", at.Topic, failure.Classify(l.Err))
		case !ok, edge == cluster.Start && at.Offset < l.Offset, edge == cluster.End && at.Offset >= l.Offset:
			return nil, gone
		}
	}
	r, err := o.cluster.Read(map[string]map[int32]kgo.Offset{at.Topic: {at.N: kgo.NewOffset().At(at.Offset)}},
		peekWait)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	fetches, err := r.Poll(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the record of a dead letter in topic %s: %w", at.Topic, err)
	}
	if o.known == nil {
		o.known = map[wire.Partition][]*kgo.Record{}
	}
	o.known[at.Partition] = fetches.Records()
	if i, ok := search(o.known[at.Partition], at.Offset); ok {
		return o.known[at.Partition][i], nil
	}
	return nil, gone
}

// search finds an offset in the records of a partition.
func search(rs []*kgo.Record, offset int64) (int, bool) {
	return slices.BinarySearchFunc(rs, offset, func(r *kgo.Record, offset int64) int { return int(r.Offset - offset) })
}
