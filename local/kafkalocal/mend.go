package kafkalocal

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// mendable says whose answers mend looks at.
func mendable(key int16) bool {
	switch kmsg.Key(key) {
	case kmsg.CreateTopics, kmsg.DescribeTopicPartitions, kmsg.ShareFetch, kmsg.ListGroups, kmsg.ConsumerGroupDescribe,
		kmsg.InitProducerID:
		return true
	}
	return false
}

// mend adds to an answer what a real broker always says. Clients stricter than franz-go fail without it: Java's throw at
// a null where an empty list belongs, and at a config that comes from nowhere. Of epochs it only takes note.
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
			t.Configs[j].Source = int8(kmsg.ConfigSourceDynamicTopicConfig) // kfake tells those that were asked for
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

// mendListGroups: by the protocol type clients tell groups of consumers from others.
func mendListGroups(r *kmsg.ListGroupsResponse) {
	for i := range r.Groups {
		if g := &r.Groups[i]; g.GroupType == "consumer" && g.ProtocolType == "" {
			g.ProtocolType = "consumer"
		}
	}
}

// mendConsumerGroupDescribe names the assignor that is used where no member asks for one.
func mendConsumerGroupDescribe(r *kmsg.ConsumerGroupDescribeResponse) {
	for i := range r.Groups {
		if g := &r.Groups[i]; g.ErrorCode == 0 && g.AssignorName == "" {
			g.AssignorName = "uniform"
		}
	}
}
