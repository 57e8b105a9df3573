package kafka

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka/internal/failure"
)

const snapshotVersion = 1

// snapshot is the data of a driver.Snapshot: the topics that Remove deletes.
type snapshot struct {
	Version int           `json:"version"`
	Channel string        `json:"channel"`
	Topics  []topicRecord `json:"topics"`
}

// topicRecord is a topic as it can be created again.
type topicRecord struct {
	Name       string            `json:"name"`
	Partitions int               `json:"partitions"`
	Replicas   int               `json:"replicas"`
	Config     map[string]string `json:"config"` // that was set for the topic itself
}

// Snapshot describes the topics of a channel: its own, unless it is that of an exchange, and its tiers. Groups are made
// again by their consumers. The subscribers of an exchange are the groups that read its topic.
func (b *Backend) Snapshot(ctx context.Context, ch driver.Channel) (s driver.Snapshot, err error) {
	if err := b.open(); err != nil {
		return s, err
	}
	if err := b.legal(ch); err != nil {
		return s, err
	}
	own, err := b.cluster.Find(ctx, b.topicOf(ch))
	if err != nil {
		return s, err
	}
	s.Address = own.Name
	var names []string
	if ch.Queue == "" {
		if s.Subscribers, err = b.readers(ctx, own.Name); err != nil {
			return s, err
		}
	} else if names, err = b.tiersOf(ctx, ch); err != nil {
		return s, err
	}
	if (ch.Exchange == "" || ch.Queue == "" || ch.DeadLetter) && !b.names.Mapping.Maps(ch) { // what Remove deletes
		names = append(names, own.Name)
	}
	data := snapshot{Version: snapshotVersion, Channel: ch.String(), Topics: []topicRecord{}}
	for _, name := range names {
		t, err := b.cluster.Find(ctx, name)
		if err != nil {
			return s, err
		}
		config, err := b.cluster.Configured(ctx, name)
		if err != nil {
			return s, err
		}
		data.Topics = append(data.Topics, topicRecord{name, t.Partitions, t.Replicas, config})
	}
	s.Data, err = json.Marshal(data)
	return s, err
}

// Restore creates the topics that do not exist. Their records do not come back.
func (b *Backend) Restore(ctx context.Context, text []byte) (r driver.Restored, err error) {
	if err := b.open(); err != nil {
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
		w := wish{name: t.Name, partitions: t.Partitions, config: t.Config}
		made, err := b.provisioner.request(ctx, w, t.Replicas)
		if err == nil && made {
			r.Made = append(r.Made, t.Name)
			_, err = b.provisioner.spread(ctx, t.Name, t.Partitions)
		} else if err == nil {
			r.Found = append(r.Found, t.Name)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("channel %s: %w", data.Channel, err))
		}
	}
	return r, errors.Join(errs...)
}
