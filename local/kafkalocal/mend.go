package kafkalocal

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// mendable reports whether mend looks at the answers of a request.
func mendable(key int16) bool {
	switch kmsg.Key(key) {
	case kmsg.CreateTopics, kmsg.DescribeTopicPartitions, kmsg.ShareFetch, kmsg.ListGroups, kmsg.ConsumerGroupDescribe,
		kmsg.InitProducerID:
		return true
	}
	return false
}

// mend adds what a real broker always includes to an answer. Clients stricter than franz-go fail without it: Java's
// client does not accept null for an empty list, or a config without a source. For producer epochs it only records
// them.
func mend(resp kmsg.Response, e *epochs) {
	switch r := resp.(type) {
	case *kmsg.CreateTopicsResponse:
		mendCreateTopics(r)
	case *kmsg.DescribeTopicPartitionsResponse:
		mendDescribeTopicPartitions(r)
	case *kmsg.ShareFetchResponse:
		mendShareFetch(r)
	case *kmsg.ListGroupsResponse:
		mendListGroups(r)
	case *kmsg.ConsumerGroupDescribeResponse:
		mendConsumerGroupDescribe(r)
	case *kmsg.InitProducerIDResponse:
		if r.ErrorCode == 0 {
			e.give(r.ProducerID, r.ProducerEpoch)
		}
	}
}

func mendCreateTopics(r *kmsg.CreateTopicsResponse) {
	for i := range r.Topics {
		t := &r.Topics[i]
		if t.ErrorCode == kerr.TopicAlreadyExists.Code && t.ErrorMessage == nil {
			why := fmt.Sprintf("Topic '%s' already exists.", t.Topic)
			t.ErrorMessage = &why
		}
		if t.Configs == nil {
			t.Configs = []kmsg.CreateTopicsResponseTopicConfig{}
		}
		for j := range t.Configs {
			t.Configs[j].Source = int8(kmsg.ConfigSourceDynamicTopicConfig) // kfake returns configs that were set
		}
	}
}

func mendDescribeTopicPartitions(r *kmsg.DescribeTopicPartitionsResponse) {
	for i := range r.Topics {
		for j := range r.Topics[i].Partitions {
			p := &r.Topics[i].Partitions[j]
			if p.EligibleLeaderReplicas == nil {
				p.EligibleLeaderReplicas = []int32{}
			}
			if p.LastKnownELR == nil {
				p.LastKnownELR = []int32{}
			}
		}
	}
}

func mendShareFetch(r *kmsg.ShareFetchResponse) {
	for i := range r.Topics {
		for j := range r.Topics[i].Partitions {
			if p := &r.Topics[i].Partitions[j]; p.Records == nil {
				p.Records = []byte{}
			}
		}
	}
}

// mendListGroups sets the protocol type, by which clients recognize groups of consumers.
func mendListGroups(r *kmsg.ListGroupsResponse) {
	for i := range r.Groups {
		if g := &r.Groups[i]; g.GroupType == "consumer" && g.ProtocolType == "" {
			g.ProtocolType = "consumer"
		}
	}
}

// mendConsumerGroupDescribe sets the assignor that applies if no member asks for one.
func mendConsumerGroupDescribe(r *kmsg.ConsumerGroupDescribeResponse) {
	for i := range r.Groups {
		if g := &r.Groups[i]; g.ErrorCode == 0 && g.AssignorName == "" {
			g.AssignorName = "uniform"
		}
	}
}
