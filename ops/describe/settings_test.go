package describe

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The settings of a queue and of topics are read from their snapshots, and a policy is told in words.
func TestSettings(t *testing.T) {
	for _, c := range []struct {
		data     string
		settings []Setting
		policy   string
	}{{
		data: `{"version":1,"channel":{"Queue":"orders"},"arn":"arn:aws:sqs:::orders","name":"orders","attributes":` +
			`{"VisibilityTimeout":"30","KmsMasterKeyId":"","Policy":"{\"Statement\":{\"Sid\":\"a\",\"Effect\":\"Allow\",` +
			`\"Principal\":{\"Service\":\"sns.amazonaws.com\"},\"Action\":\"sqs:SendMessage\",\"Condition\":` +
			`{\"ArnEquals\":{\"aws:SourceArn\":[\"arn:1\",\"arn:2\"]}}}}"},` +
			`"subscription":{"topic":"arn:t","attributes":{"RawMessageDelivery":"true"}}}`,
		settings: []Setting{
			{"VisibilityTimeout", "30"}, {"subscription RawMessageDelivery", "true"}, {"subscription topic", "arn:t"},
		},
		policy: "allows sns.amazonaws.com sqs:SendMessage, if aws:SourceArn ArnEquals arn:1, arn:2 (a)",
	}, {
		data: `{"version":1,"channel":"orders","topics":[{"name":"orders","partitions":4,"config":{"retention.ms":"1"}}]}`,
		settings: []Setting{
			{"orders partitions", "4"}, {"orders retention.ms", "1"},
		},
	}, {
		data: "no JSON",
	}} {
		settings, policy := settingsOf([]byte(c.data))
		if diff := cmp.Diff(c.settings, settings); diff != "" {
			t.Errorf("%s: (-want +got):\n%s", c.data, diff)
		}
		if c.policy == "" && policy != nil || c.policy != "" && (len(policy) != 1 || policy[0].String() != c.policy) {
			t.Errorf("%s: policy %v", c.data, policy)
		}
	}
}
