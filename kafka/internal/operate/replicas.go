package operate

import (
	"context"
	"strconv"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka/internal/cluster"
)

// inSync is the setting that says how many replicas must have a record before it is acknowledged.
const inSync = "min.insync.replicas"

const (
	// replicasToAsk is how many replicas must have a record.
	replicasToAsk = 2
	// replicasToSpare is how many replicas a topic needs for that: with fewer, the loss of a broker would stop its
	// senders.
	replicasToSpare = 3
)

// RequireReplicas is driver.Operations.RequireReplicas, as kafka.Backend describes it.
func RequireReplicas(ctx context.Context, n *Namespace, ch driver.Channel, dry bool) (
	all []driver.Difference, err error,
) {
	if _, err := n.find(ctx, ch); err != nil {
		return nil, err
	}
	topics, err := n.ownTopics(ctx, ch)
	if err != nil {
		return nil, err
	}
	for _, name := range topics {
		t, err := n.Cluster.Find(ctx, name)
		if err != nil {
			return all, err
		}
		_, configs, err := n.Cluster.Configured(ctx, name)
		if err != nil {
			return all, err
		}
		from := cluster.ConfigOf(configs, inSync)
		if is, err := strconv.Atoi(from); err != nil || is >= replicasToAsk || t.Replicas < replicasToSpare {
			continue
		}
		to := strconv.Itoa(replicasToAsk)
		if !dry {
			if err := n.set(ctx, name, inSync, to); err != nil {
				return all, err
			}
		}
		all = append(all, driver.Difference{
			Kind: driver.DiffersValue, Channel: ch, Resource: "topic", Name: name, Attribute: inSync,
			From: from, To: to, Risk: "while only one replica is in sync, senders wait",
		})
	}
	return all, nil
}
