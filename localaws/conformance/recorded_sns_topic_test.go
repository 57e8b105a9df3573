package conformance

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// plainDelivery is the delivery policy of a topic that has none of its own, in SNS's layout.
const plainDelivery = `{"http":{"defaultHealthyRetryPolicy":{"minDelayTarget":20,"maxDelayTarget":20,"numRetries":3,` +
	`"numMaxDelayRetries":0,"numNoDelayRetries":0,"numMinDelayRetries":0,"backoffFunction":"linear"},` +
	`"disableSubscriptionOverrides":false,"defaultRequestPolicy":{"headerContentType":"text/plain; charset=UTF-8"}}}`

// plainTopic is what GetTopicAttributes returns for a topic that was created without attributes.
func (f *topics) plainTopic(arn string) attrs {
	return attrs{
		"TopicArn": arn, "Owner": f.account, "DisplayName": "", "EffectiveDeliveryPolicy": plainDelivery,
		"SubscriptionsConfirmed": "0", "SubscriptionsDeleted": "0", "SubscriptionsPending": "0",
		"Policy": `{"Version":"2008-10-17","Id":"__default_policy_ID","Statement":[{"Sid":"__default_statement_ID","Effect":"Allow",` +
			`"Principal":{"AWS":"*"},"Action":["SNS:GetTopicAttributes","SNS:SetTopicAttributes","SNS:AddPermission","SNS:RemovePermission",` +
			`"SNS:DeleteTopic","SNS:Subscribe","SNS:ListSubscriptionsByTopic","SNS:Publish"],"Resource":"` + arn +
			`","Condition":{"StringEquals":{"AWS:SourceOwner":"` + f.account + `"}}}]}`,
	}
}

func TestRecordedTopicAttributes(t *testing.T) {
	shows := func(f *topics, topic *string, want attrs) {
		f.Helper()
		if diff := cmp.Diff(want, f.topicAttributes(topic)); diff != "" {
			f.Errorf("attributes (-want +got):\n%s", diff)
		}
	}
	runTopics(t, "all of a standard topic (recorded on AWS, 2023-08-24)", func(f *topics) {
		topic := f.topic(false)
		shows(f, topic, f.plainTopic(*topic))
	})
	runTopics(t, "all of a FIFO topic through the life of its delivery policy (recorded on AWS, 2024-10-03)",
		func(f *topics) {
			made, err := f.create(f.fresh()+".fifo", attrs{
				"DisplayName": "TestTopic", "SignatureVersion": "2", "FifoTopic": "true",
				"DeliveryPolicy": `{"http":{"defaultRequestPolicy":{"headerContentType":"application/json"}}}`,
			})
			topic := got(f, made, err)
			plain := joined(f.plainTopic(*topic),
				attrs{
					"DisplayName": "TestTopic", "SignatureVersion": "2", "FifoTopic": "true",
					"ContentBasedDeduplication": "false",
				})
			shows(f, topic, joined(plain, attrs{
				"DeliveryPolicy": `{"http":{"disableSubscriptionOverrides":false,"defaultRequestPolicy":{"headerContentType":"application/json"}}}`,
				"EffectiveDeliveryPolicy": strings.Replace(plainDelivery, "text/plain; charset=UTF-8",
					"application/json", 1),
			}))
			for _, c := range []struct {
				set   string
				shown attrs
			}{
				{`{"http":{"defaultHealthyRetryPolicy":{"minDelayTarget":5,"maxDelayTarget":6,"numRetries":1}}}`, attrs{
					"DeliveryPolicy": `{"http":{"defaultHealthyRetryPolicy":{"minDelayTarget":5,"maxDelayTarget":6,"numRetries":1},"disableSubscriptionOverrides":false}}`,
					"EffectiveDeliveryPolicy": strings.Replace(plainDelivery,
						`"minDelayTarget":20,"maxDelayTarget":20,"numRetries":3`,
						`"minDelayTarget":5,"maxDelayTarget":6,"numRetries":1`, 1),
				}},
				{
					`{"http":{"defaultHealthyRetryPolicy":null}}`,
					attrs{"DeliveryPolicy": `{"http":{"disableSubscriptionOverrides":false}}`},
				},
				{"", nil},
			} {
				if err := f.setTopic(topic, "DeliveryPolicy", c.set); err != nil {
					f.Fatalf("%s: %v", c.set, err)
				}
				shows(f, topic, joined(plain, c.shown))
			}
		})
	runTopics(t, "True is true", func(f *topics) {
		topic, err := f.create(f.fresh()+".fifo", attrs{"FifoTopic": "True", "ContentBasedDeduplication": "True"})
		shows(f, got(f, topic, err),
			joined(f.plainTopic(*topic), attrs{"FifoTopic": "true", "ContentBasedDeduplication": "true"}))
	})
}
