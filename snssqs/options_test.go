package snssqs

import (
	"testing"

	"github.com/godwitmq/godwit/snssqs/internal/trust"
)

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

func TestNamespacesThatAreNone(t *testing.T) {
	for _, space := range []string{"a--b", "-a", "a-", "a.b", "dlq", "a b", "ä"} {
		if (&Options{Namespace: space}).check() == nil {
			t.Errorf("namespace %q was accepted", space)
		}
	}
}
