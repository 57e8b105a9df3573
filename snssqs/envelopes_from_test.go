package snssqs

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/snssqs/internal/trust"
)

func TestTheTopicsThatAChannelTrusts(t *testing.T) {
	const queueARN = "arn:aws-cn:sqs:cn-north-1:123456789012:x"
	policy := `{"Statement":{"Effect":"Allow","Action":"sqs:*",` +
		`"Condition":{"ArnEquals":{"aws:SourceArn":"` + newsTopic + `"}}}}`
	b := &Backend{
		namespace: "prod",
		names: map[string]Resource{
			"legacy": {Queue: queueARN}, "old.*": {Topic: newsTopic}, "mixed.mine": {Queue: queueARN},
		},
		envelopes: envelopes{from: map[string][]string{"none": {}, "all": {trust.AnyTopic}, "listed.*": {newsTopic}}},
	}
	own := "arn:aws-cn:sns:cn-north-1:123456789012:prod---"
	for ch, want := range map[driver.Channel]trust.Topics{
		{Queue: "orders"}:                                  nil,
		{Exchange: "wishes", Queue: "mine"}:                {own + "wishes"},
		{Exchange: "wishes", Queue: "mine", Ordered: true}: {own + "wishes.fifo"},
		{Exchange: "wishes"}:                               {own + "wishes"},
		{Queue: "legacy"}:                                  {newsTopic},
		{Exchange: "old", Queue: "mine"}:                   {newsTopic},
		{Exchange: "mixed", Queue: "mine"}:                 {own + "mixed", newsTopic},
		{Queue: "none"}:                                    {},
		{Queue: "all"}:                                     {trust.AnyTopic},
		{Exchange: "listed", Queue: "mine"}:                {newsTopic},
	} {
		if diff := cmp.Diff(want, b.trusts(ch, queueARN, policy)); diff != "" {
			t.Errorf("%v (-want +got):\n%s", ch, diff)
		}
	}
}

func TestSettingsOfEnvelopesThatCannotBeRight(t *testing.T) {
	for channel, topics := range map[string][]string{
		"orders@dlq": {newsTopic}, "Orders!": {newsTopic}, "orders": {"news"}, "a": {"arn:aws:sqs:eu-west-1:1:x"},
		"b.*": {""},
	} {
		if err := checkEnvelopes(map[string][]string{channel: topics}); err == nil {
			t.Errorf("%s: %q was accepted", channel, topics)
		}
	}
	if err := checkEnvelopes(map[string][]string{"a": {}, "b.*": {trust.AnyTopic}, "c.d": {newsTopic}}); err != nil {
		t.Error(err)
	}
}

const newsTopic = "arn:aws:sns:eu-west-1:123456789012:news"
