package kafkalocal

import (
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// DescribeGroups supports only groups of the classic protocol. The requests of its members show which kind a group is.

func (r *refuser) joinGroup(req *kmsg.JoinGroupRequest) answer {
	delete(r.newer, req.Group)
	return answer{}
}

func (r *refuser) consumerGroupHeartbeat(req *kmsg.ConsumerGroupHeartbeatRequest) answer {
	r.newer[req.Group] = true
	return answer{}
}

func (r *refuser) shareGroupHeartbeat(req *kmsg.ShareGroupHeartbeatRequest) answer {
	r.newer[req.GroupID] = true
	return answer{}
}

func (r *refuser) describeGroups(req *kmsg.DescribeGroupsRequest) answer {
	for _, group := range req.Groups {
		if r.newer[group] {
			r.fail(req, kerr.GroupIDNotFound, kfake.Fault{Group: group})
		}
	}
	return answer{}
}

// listGroups changes the spelling of states and types to kfake's, which compares them exactly; brokers do not.
func (r *refuser) listGroups(req *kmsg.ListGroupsRequest) answer {
	for i, kind := range req.TypesFilter {
		req.TypesFilter[i] = strings.ToLower(kind)
	}
	for i, asked := range req.StatesFilter {
		for _, state := range []string{
			"Empty", "PreparingRebalance", "CompletingRebalance", "Stable", "Dead",
			"Assigning", "Reconciling",
		} {
			if strings.EqualFold(asked, state) {
				req.StatesFilter[i] = state
			}
		}
	}
	return answer{}
}
