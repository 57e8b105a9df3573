package kafkalocal

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// DescribeGroups knows the classic protocol's groups only. Of which kind a group is, its members' requests tell.

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
