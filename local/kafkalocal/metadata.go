package kafkalocal

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// metadata refuses names that are not valid for a topic. Clients wait for a topic that is unknown, and fail at once for
// an invalid one.
func (r *refuser) metadata(req *kmsg.MetadataRequest) answer {
	for i := range req.Topics {
		name := req.Topics[i].Topic
		if name == nil || *name == "" { // the topic is identified by its id, or no fault can name it
			continue
		}
		if no := checkTopicName(*name); no.err != nil {
			r.fail(req, no.err, kfake.Fault{Topic: *name})
		}
	}
	return answer{}
}

// createPartitions refuses a request for the current number of partitions; kfake refuses only smaller ones.
func (r *refuser) createPartitions(req *kmsg.CreatePartitionsRequest) answer {
	for i := range req.Topics {
		t := &req.Topics[i]
		if is := len(r.PartitionInfos(t.Topic)); t.Topic != "" && is > 0 && int(t.Count) == is {
			r.fail(req, kerr.InvalidPartitions, kfake.Fault{Topic: t.Topic})
		}
	}
	return answer{}
}
