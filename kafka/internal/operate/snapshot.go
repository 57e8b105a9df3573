package operate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka/internal/cluster"
	"github.com/godwitmq/godwit/kafka/internal/failure"
	"github.com/godwitmq/godwit/kafka/internal/provision"
)

const snapshotVersion = 1

// snapshot is the data of a driver.Snapshot: the topics that Remove deletes.
type snapshot struct {
	Version int           `json:"version"`
	Channel string        `json:"channel"`
	Topics  []topicRecord `json:"topics"`
	// Former are the topics of earlier versions in which records of the channel's group are left, for readers of a
	// snapshot.
	Former []string `json:"topics of earlier versions,omitempty"`
}

// topicRecord is a topic as it can be created again.
type topicRecord struct {
	Name       string            `json:"name"`
	Partitions int               `json:"partitions"`
	Replicas   int               `json:"replicas"`
	Config     map[string]string `json:"config"` // that was set for the topic itself
	// InSync is the brokers' min.insync.replicas if the topic has none of its own, for readers of a snapshot.
	InSync string `json:"default min.insync.replicas,omitempty"`
}

// Snapshot is driver.Operations.Snapshot, as kafka.Backend describes it.
func Snapshot(ctx context.Context, n *Namespace, ch driver.Channel) (s driver.Snapshot, err error) {
	own, err := n.find(ctx, ch)
	if err != nil {
		return s, err
	}
	s.Address = own.Name
	if ch.Queue == "" {
		if s.Subscribers, err = n.readers(ctx, own.Name); err != nil {
			return s, err
		}
	}
	names, err := n.ownTopics(ctx, ch)
	if err != nil {
		return s, err
	}
	data := snapshot{Version: snapshotVersion, Channel: ch.String(), Topics: []topicRecord{}}
	for _, name := range names {
		t, err := n.Cluster.Find(ctx, name)
		if err != nil {
			return s, err
		}
		set, configs, err := n.Cluster.Configured(ctx, name)
		if err != nil {
			return s, err
		}
		one := topicRecord{name, t.Partitions, t.Replicas, set, ""}
		if set[inSync] == "" {
			one.InSync = cluster.ConfigOf(configs, inSync)
		}
		data.Topics = append(data.Topics, one)
	}
	if data.Former, err = leftovers(ctx, n, ch); err != nil {
		return s, err
	}
	s.Data, err = json.Marshal(data)
	return s, err
}

// ownTopics are the topics of a channel that Remove deletes: its tiers, the topic in which its messages wait
// for their time, and its own topic, unless that is an exchange's.
func (n *Namespace) ownTopics(ctx context.Context, ch driver.Channel) (names []string, err error) {
	if ch.Queue != "" {
		if names, err = n.tiersOf(ctx, ch); err != nil {
			return nil, err
		}
	}
	if beside, possible := laterOf(ch); possible && !n.Channels.Mapping.Maps(ch) {
		switch t, err := n.find(ctx, beside); {
		case err == nil:
			names = append(names, t.Name)
		case driver.ClassOf(err) != driver.NotFound:
			return nil, err
		}
	}
	if alone(ch) && !n.Channels.Mapping.Maps(ch) {
		names = append(names, n.Channels.TopicOf(ch))
	}
	return names, nil
}

// Restore is driver.Operations.Restore, as kafka.Backend describes it.
func Restore(ctx context.Context, n *Namespace, text []byte) (r driver.Restored, err error) {
	if err := n.Channels.Open(); err != nil {
		return r, err
	}
	var data snapshot
	if err := json.Unmarshal(text, &data); err != nil {
		return r, failure.Permanent("this is no snapshot of a channel on Kafka: %v", err)
	}
	if data.Version != snapshotVersion {
		return r, failure.Permanent("this is no snapshot of a channel on Kafka that this program can read: its version "+
			"is %d, and not %d", data.Version, snapshotVersion)
	}
	var errs []error
	for _, t := range data.Topics {
		w := provision.Wish{Name: t.Name, Partitions: t.Partitions, Config: t.Config}
		made, err := n.Topics.Request(ctx, w, t.Replicas)
		if err == nil && made {
			r.Made = append(r.Made, t.Name)
			_, err = n.Topics.Spread(ctx, t.Name, t.Partitions)
		} else if err == nil {
			r.Found = append(r.Found, t.Name)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("channel %s: %w", data.Channel, err))
		}
	}
	return r, errors.Join(errs...)
}
