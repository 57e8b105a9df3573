package estate

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/snssqs/internal/trust"
)

func TestTheTopicsThatAChannelTrusts(t *testing.T) {
	const queueARN = "arn:aws-cn:sqs:cn-north-1:123456789012:x"
	policy := `{"Statement":{"Effect":"Allow","Action":"sqs:*",` +
		`"Condition":{"ArnEquals":{"aws:SourceArn":"` + newsARN + `"}}}}`
	n := &Names{
		namespace: "prod",
		Mappings: map[string]Mapping{
			"legacy": {Queue: queueARN}, "old.*": {Topic: newsARN}, "mixed.mine": {Queue: queueARN},
		},
		envelopes: map[string][]string{"none": {}, "all": {trust.AnyTopic}, "listed.*": {newsARN}},
	}
	own := "arn:aws-cn:sns:cn-north-1:123456789012:prod---"
	for ch, want := range map[driver.Channel]trust.Topics{
		{Queue: "orders"}:                                  nil,
		{Exchange: "wishes", Queue: "mine"}:                {own + "wishes"},
		{Exchange: "wishes", Queue: "mine", Ordered: true}: {own + "wishes.fifo"},
		{Exchange: "wishes"}:                               {own + "wishes"},
		{Queue: "legacy"}:                                  {newsARN},
		{Exchange: "old", Queue: "mine"}:                   {newsARN},
		{Exchange: "mixed", Queue: "mine"}:                 {own + "mixed", newsARN},
		{Queue: "none"}:                                    {},
		{Queue: "all"}:                                     {trust.AnyTopic},
		{Exchange: "listed", Queue: "mine"}:                {newsARN},
	} {
		if diff := cmp.Diff(want, n.Trusts(ch, queueARN, policy)); diff != "" {
			t.Errorf("%v (-want +got):\n%s", ch, diff)
		}
	}
}

const newsARN = "arn:aws:sns:eu-west-1:123456789012:news"
