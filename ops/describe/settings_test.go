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
		policy   []string
	}{{
		data: `{"version":1,"channel":{"Queue":"orders"},"arn":"arn:aws:sqs:::orders","name":"orders","attributes":` +
			`{"VisibilityTimeout":"30","KmsMasterKeyId":"","Policy":"{\"Statement\":{\"Sid\":\"a\",\"Effect\":\"Allow\",` +
			`\"Principal\":{\"Service\":\"sns.amazonaws.com\"},\"Action\":\"sqs:SendMessage\",\"Condition\":` +
			`{\"ArnEquals\":{\"aws:SourceArn\":[\"arn:1\",\"arn:2\"]}}}}"},` +
			`"subscription":{"topic":"arn:t","attributes":{"RawMessageDelivery":"true"}}}`,
		settings: []Setting{
			{"VisibilityTimeout", "30"}, {"subscription RawMessageDelivery", "true"}, {"subscription topic", "arn:t"},
		},
		policy: []string{"allows sns.amazonaws.com sqs:SendMessage, if aws:SourceArn ArnEquals arn:1, arn:2 (a)"},
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
		if diff := cmp.Diff(c.policy, policy); diff != "" {
			t.Errorf("%s: (-want +got):\n%s", c.data, diff)
		}
	}
}

func TestPolicyInWords(t *testing.T) {
	for text, want := range map[string]string{
		`{"Statement":[{"Effect":"Deny","Principal":"*","Action":"sqs:ReceiveMessage"}]}`: "denies everybody sqs:ReceiveMessage",
		`{"Statement":[{"Effect":"Allow","Principal":{"AWS":"*"},"Action":["a","b"]}]}`:   "allows everybody a, b",
		`{"Statement":[{"Effect":"Allow","NotPrincipal":{"AWS":"1"},"NotAction":"a"}]}`:   "allows everybody but 1 all but a",
		`{"Statement":[{"Effect":"Allow","Action":"a"}]}`:                                 "allows nobody a",
		`nonsense`: "nonsense",
		`{}`:       "{}",
	} {
		if diff := cmp.Diff([]string{want}, policyInWords(text)); diff != "" {
			t.Errorf("%s: (-want +got):\n%s", text, diff)
		}
	}
}
