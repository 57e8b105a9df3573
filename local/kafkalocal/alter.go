package kafkalocal

import (
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	cleanupPolicy  = "cleanup.policy"
	cleanupDefault = "delete"
)

// alterConfigs and incrementalAlterConfigs check the configs of topics. Brokers accept any config, as a real broker
// does, and kfake itself checks those of groups.

func (r *refuser) alterConfigs(req *kmsg.AlterConfigsRequest) answer {
	resp := req.ResponseKind().(*kmsg.AlterConfigsResponse)
	for i := range req.Resources {
		res := &req.Resources[i]
		no := checkAlter(res)
		if no.err == nil {
			continue
		}
		sr := kmsg.NewAlterConfigsResponseResource()
		sr.ResourceType, sr.ResourceName = res.ResourceType, res.ResourceName
		sr.ErrorCode, sr.ErrorMessage = no.err.Code, &no.why
		resp.Resources = append(resp.Resources, sr)
		if len(req.Resources) > 1 {
			r.fail(req, no.err, kfake.Fault{Resource: res.ResourceName})
		}
	}
	if len(req.Resources) == 1 && len(resp.Resources) == 1 {
		return answered(resp) // with the error's text, which a fault cannot have
	}
	return answer{}
}

func checkAlter(res *kmsg.AlterConfigsRequestResource) refusal {
	if res.ResourceType != kmsg.ConfigResourceTypeTopic {
		return refusal{}
	}
	for _, c := range res.Configs {
		if no := checkTopicConfig(c.Name, c.Value); no.err != nil {
			return no
		}
	}
	return refusal{}
}

func (r *refuser) incrementalAlterConfigs(req *kmsg.IncrementalAlterConfigsRequest) answer {
	resp := req.ResponseKind().(*kmsg.IncrementalAlterConfigsResponse)
	for i := range req.Resources {
		res := &req.Resources[i]
		no := checkIncrementalAlter(res)
		if no.err == nil {
			r.setLists(res)
			continue
		}
		sr := kmsg.NewIncrementalAlterConfigsResponseResource()
		sr.ResourceType, sr.ResourceName = res.ResourceType, res.ResourceName
		sr.ErrorCode, sr.ErrorMessage = no.err.Code, &no.why
		resp.Resources = append(resp.Resources, sr)
		if len(req.Resources) > 1 {
			r.fail(req, no.err, kfake.Fault{Resource: res.ResourceName})
		}
	}
	if len(req.Resources) == 1 && len(resp.Resources) == 1 {
		return answered(resp)
	}
	return answer{}
}

// setLists replaces an append to a list, or a subtraction from it, by setting the result. Without a value kfake starts
// from an empty list instead of the default, and it appends elements that the list already has.
func (r *refuser) setLists(res *kmsg.IncrementalAlterConfigsRequestResource) {
	if res.ResourceType != kmsg.ConfigResourceTypeTopic {
		return
	}
	info := r.TopicInfo(res.ResourceName)
	if info == nil {
		return
	}
	for i := range res.Configs {
		c := &res.Configs[i]
		change := c.Op == kmsg.IncrementalAlterConfigOpAppend || c.Op == kmsg.IncrementalAlterConfigOpSubtract
		if !change || !isList(c.Name) || c.Value == nil {
			continue
		}
		list := slices.DeleteFunc(listNow(info, c.Name),
			func(v string) bool { return slices.Contains(elements(*c.Value), v) })
		if c.Op == kmsg.IncrementalAlterConfigOpAppend {
			list = append(list, elements(*c.Value)...)
		}
		value := strings.Join(list, ",")
		c.Op, c.Value = kmsg.IncrementalAlterConfigOpSet, &value
	}
}

func listNow(info *kfake.TopicInfo, config string) []string {
	if v := info.Configs[config]; v != nil {
		return elements(*v)
	}
	if config == cleanupPolicy {
		return elements(cleanupDefault)
	}
	return nil
}

func checkIncrementalAlter(res *kmsg.IncrementalAlterConfigsRequestResource) refusal {
	if res.ResourceType != kmsg.ConfigResourceTypeTopic {
		return refusal{}
	}
	for _, c := range res.Configs {
		switch c.Op {
		case kmsg.IncrementalAlterConfigOpDelete: // also if it is not set
		case kmsg.IncrementalAlterConfigOpAppend, kmsg.IncrementalAlterConfigOpSubtract:
			if !isList(c.Name) {
				return refused(kerr.InvalidConfig, "Can't %s to key %s because its type is not LIST.", c.Op, c.Name)
			}
			fallthrough
		default:
			if no := checkTopicConfig(c.Name, c.Value); no.err != nil {
				return no
			}
		}
	}
	return refusal{}
}

func isList(config string) bool {
	switch config {
	case cleanupPolicy, "leader.replication.throttled.replicas", "follower.replication.throttled.replicas":
		return true
	}
	return false
}
