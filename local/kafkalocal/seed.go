package kafkalocal

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// SeedTopic is a topic in a seed file.
type SeedTopic struct {
	Name string `json:"name"`
	// Partitions is the number of partitions; 0: one. Set it to test consumers that share a topic.
	Partitions int32 `json:"partitions"`
	// Configs are configs of the topic, such as cleanup.policy; none: the broker's own. Set them as on your cluster.
	Configs map[string]string `json:"configs"`
}

// Plant creates topics. A topic that exists, as after a start with a folder, is accepted if it has as many partitions.
func (s *Server) Plant(ctx context.Context, topics ...SeedTopic) error {
	client, err := kgo.NewClient(s.Reach()...)
	if err != nil {
		return fmt.Errorf("kafkalocal: %w", err)
	}
	defer client.Close()
	for _, t := range topics {
		t.Partitions = cmp.Or(t.Partitions, 1)
		if err := plant(ctx, client, t); err != nil {
			return fmt.Errorf("kafkalocal: topic %q: %w", t.Name, err)
		}
	}
	return nil
}

func plant(ctx context.Context, client *kgo.Client, t SeedTopic) error {
	if t.Partitions < 0 {
		return fmt.Errorf("partitions is %d, and must be at least 1", t.Partitions)
	}
	wanted := kmsg.NewCreateTopicsRequestTopic()
	wanted.Topic, wanted.NumPartitions, wanted.ReplicationFactor = t.Name, t.Partitions, 1
	for name, value := range t.Configs {
		c := kmsg.NewCreateTopicsRequestTopicConfig()
		c.Name, c.Value = name, &value
		wanted.Configs = append(wanted.Configs, c)
	}
	req := kmsg.NewPtrCreateTopicsRequest()
	req.Topics = append(req.Topics, wanted)
	answer, err := req.RequestWith(ctx, client)
	if err != nil {
		return err
	}
	for i := range answer.Topics {
		switch err := kerr.ErrorForCode(answer.Topics[i].ErrorCode); {
		case errors.Is(err, kerr.TopicAlreadyExists):
			return sameTopic(ctx, client, t)
		case err != nil && answer.Topics[i].ErrorMessage != nil:
			return fmt.Errorf("%w (%s)", err, *answer.Topics[i].ErrorMessage)
		case err != nil:
			return err
		}
	}
	return nil
}

// sameTopic checks that an existing topic has as many partitions.
func sameTopic(ctx context.Context, client *kgo.Client, t SeedTopic) error {
	req := kmsg.NewPtrMetadataRequest()
	topic := kmsg.NewMetadataRequestTopic()
	topic.Topic = &t.Name
	req.Topics = append(req.Topics, topic)
	answer, err := req.RequestWith(ctx, client)
	if err != nil {
		return err
	}
	for i := range answer.Topics {
		if n := len(answer.Topics[i].Partitions); n != int(t.Partitions) {
			return fmt.Errorf("it exists with %d partitions, and not with %d", n, t.Partitions)
		}
	}
	return nil
}
