package kafkalocal

import (
	"fmt"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// topicNameMax leaves room for the partition's number in the name of a folder.
const topicNameMax = 249

// refusal is the reason why a request is refused; the zero value refuses nothing.
type refusal struct {
	err *kerr.Error
	why string
}

func refused(err *kerr.Error, why string, args ...any) refusal {
	return refusal{err, fmt.Sprintf(why, args...)}
}

// createTopics answers the request itself, with reasons, if no topic of the request is valid. If some are valid, the
// others are refused without a text, because kfake's faults have none.
func (r *refuser) createTopics(req *kmsg.CreateTopicsRequest) answer {
	resp := req.ResponseKind().(*kmsg.CreateTopicsResponse)
	nos := map[string]refusal{}
	for i := range req.Topics {
		t := &req.Topics[i]
		no := checkTopic(t)
		if no.err == nil {
			continue
		}
		nos[t.Topic] = no
		st := kmsg.NewCreateTopicsResponseTopic()
		st.Topic, st.ErrorCode, st.ErrorMessage = t.Topic, no.err.Code, &no.why
		resp.Topics = append(resp.Topics, st)
	}
	_, nameless := nos[""] // no fault can name it
	if len(resp.Topics) == len(req.Topics) || nameless {
		return answered(refuseOthers(req, resp, nos))
	}
	for topic, no := range nos {
		r.fail(req, no.err, kfake.Fault{Topic: topic})
	}
	return answer{}
}

func refuseOthers(req *kmsg.CreateTopicsRequest, resp *kmsg.CreateTopicsResponse,
	nos map[string]refusal,
) kmsg.Response {
	why := "another topic of the request has no name"
	for i := range req.Topics {
		if _, done := nos[req.Topics[i].Topic]; !done {
			st := kmsg.NewCreateTopicsResponseTopic()
			st.Topic, st.ErrorCode, st.ErrorMessage = req.Topics[i].Topic, kerr.InvalidRequest.Code, &why
			resp.Topics = append(resp.Topics, st)
		}
	}
	return resp
}

func checkTopic(t *kmsg.CreateTopicsRequestTopic) refusal {
	if no := checkTopicName(t.Topic); no.err != nil {
		return no
	}
	if len(t.ReplicaAssignment) == 0 {
		if t.NumPartitions == 0 || t.NumPartitions < -1 {
			return refused(kerr.InvalidPartitions, "Number of partitions was set to an invalid non-positive value.")
		}
		if t.ReplicationFactor == 0 || t.ReplicationFactor < -1 {
			return refused(kerr.InvalidReplicationFactor,
				"Replication factor must be larger than 0, or -1 to use the default value.")
		}
	}
	for _, c := range t.Configs {
		if no := checkTopicConfig(c.Name, c.Value); no.err != nil {
			return no
		}
	}
	return refusal{}
}

func checkTopicName(name string) refusal {
	const invalid = "Topic name is invalid: "
	switch {
	case name == "":
		return refused(kerr.InvalidTopicException, invalid+"the empty string is not allowed")
	case name == "." || name == "..":
		return refused(kerr.InvalidTopicException, invalid+"'%s' is not allowed", name)
	case len(name) > topicNameMax:
		return refused(kerr.InvalidTopicException,
			invalid+"the length of '%s' is longer than the max allowed length %d", name, topicNameMax)
	case strings.ContainsFunc(name, notOfTopic):
		return refused(kerr.InvalidTopicException,
			invalid+"'%s' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'", name)
	}
	return refusal{}
}

func notOfTopic(r rune) bool {
	switch {
	case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '.', r == '_', r == '-':
		return false
	}
	return true
}
