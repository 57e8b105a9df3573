package operate

import (
	"context"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka/internal/failure"
)

// Access is driver.Operations.Access. Brokers do not say who calls, nor what time it is there.
func Access(ctx context.Context, n *Namespace) (a driver.Access, err error) {
	if err := n.Channels.Open(); err != nil {
		return a, err
	}
	a.Ahead.Err = &driver.Error{Class: driver.Permanent, Err: driver.ErrNotCounted}
	if _, err := n.Cluster.Admin.BrokerMetadata(ctx); err != nil {
		if a.Err = failure.Classify(err); driver.ClassOf(a.Err) != driver.Denied {
			return driver.Access{}, a.Err
		}
		return a, ctx.Err()
	}
	_, topics := n.Cluster.Admin.ListTopics(ctx)
	_, groups := n.Cluster.Admin.ListGroups(ctx)
	a.Calls = []driver.AccessCall{
		{Name: "Metadata", Needs: "the list of channels", Err: failure.Classify(topics)},
		{Name: "ListGroups", Needs: "the list of channels, and who receives from them", Err: failure.Classify(groups)},
	}
	return a, ctx.Err()
}
