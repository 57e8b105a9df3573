package operate

import (
	"context"
	"fmt"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka/internal/cluster"
	"github.com/godwitmq/godwit/kafka/internal/failure"
)

// Purge is driver.Operations.Purge, as kafka.Backend describes it.
func Purge(ctx context.Context, n *Namespace, ch driver.Channel, dry bool) (p driver.Purged, err error) {
	if ch.Later {
		return purgeLater(ctx, n, ch, dry)
	}
	depth, err := inspect(ctx, n, ch)
	if err != nil {
		return p, err
	}
	p.Messages = depth.All()
	if p.Others, err = n.otherReaders(ctx, ch); err != nil || dry {
		return p, err
	}
	topics, err := n.tiersOf(ctx, ch)
	if err != nil {
		return p, err
	}
	topics = append(topics, n.Channels.TopicOf(ch))
	ends, err := n.Cluster.Offsets(ctx, cluster.End, topics...)
	if err != nil {
		return p, err
	}
	deleted, err := n.Cluster.Admin.DeleteRecords(ctx, ends.Offsets())
	if err == nil {
		err = deleted.Error()
	}
	if err != nil {
		return p, fmt.Errorf("delete the records of channel %s: %w", ch, failure.Classify(err))
	}
	return p, nil
}
