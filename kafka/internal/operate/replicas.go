package operate

import (
	"context"
	"fmt"
	"strconv"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka/internal/cluster"
	"github.com/godwitmq/godwit/kafka/internal/failure"
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

// set sets a setting of a topic.
func (n *Namespace) set(ctx context.Context, topic, key, value string) error {
	done, err := n.Cluster.Admin.AlterTopicConfigs(ctx,
		[]kadm.AlterConfig{{Op: kadm.SetConfig, Name: key, Value: &value}}, topic)
	if err == nil {
		var one kadm.AlterConfigsResponse
		if one, err = done.On(topic, nil); err == nil {
			err = one.Err
		}
	}
	if err != nil {
		return fmt.Errorf("set %s of topic %s: %w", key, topic, failure.Classify(err))
	}
	return nil
}
