package kafkalocal

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// metadata refuses names that no topic can have. To clients an unknown topic is one to wait for; an invalid one fails at
// once.
func (r *refuser) metadata(req *kmsg.MetadataRequest) answer {
	for i := range req.Topics {
		name := req.Topics[i].Topic
		if name == nil || *name == "" { // asked for by id, or no fault can name it
			continue
		}
		if no := checkTopicName(*name); no.err != nil {
			r.fail(req, no.err, kfake.Fault{Topic: *name})
		}
	}
	return answer{}
}

// createPartitions refuses to make as many partitions as there are; kfake refuses fewer.
func (r *refuser) createPartitions(req *kmsg.CreatePartitionsRequest) answer {
	for i := range req.Topics {
		t := &req.Topics[i]
		if is := len(r.PartitionInfos(t.Topic)); t.Topic != "" && is > 0 && int(t.Count) == is {
			r.fail(req, kerr.InvalidPartitions, kfake.Fault{Topic: t.Topic})
		}
	}
	return answer{}
}
