package wire

import (
	"encoding/json"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/godwitmq/godwit/snssqs/internal/trust"
)

// FuzzOpen: a body that is not SNS's envelope is returned as it came, and one that is has the text of the message.
func FuzzOpen(f *testing.F) {
	f.Add(`{"Type":"Notification","MessageId":"1","TopicArn":"arn","Message":"{}","MessageAttributes":`+
		`{"routing_key":{"Type":"String","Value":"a"}}}`, "")
	f.Add(`{"Type":"Notification","TopicArn":"arn:aws:sns:us-east-1:000000000000:news","MessageId":"1","Message":"x"}`, `{"v":1,"w":true}`)
	f.Add(`{"Type":"SubscriptionConfirmation","TopicArn":"arn","MessageId":"1"}`, `{"v":99}`)
	f.Fuzz(func(t *testing.T, body, own string) {
		m := &Message{Message: types.Message{Body: &body}}
		if own != "" {
			kind := stringType
			m.MessageAttributes = map[string]types.MessageAttributeValue{
				EnvelopeAttribute: {DataType: &kind, StringValue: &own},
			}
		}
		for _, from := range []trust.Topics{nil, {"arn:aws:sns:us-east-1:000000000000:news"}} {
			if text, _, _, err := (&Decoder{Trusted: from}).open(t.Context(), m); err == nil && m.Came == nil &&
				text != body {
				t.Fatalf("%q was opened as %q, and no topic is trusted", body, text)
			}
		}
		text, _, _, err := (&Decoder{Trusted: trust.Topics{trust.AnyTopic}}).open(t.Context(), m)
		if err != nil || text == body {
			return
		}
		var whole struct{ Type, Message string }
		if err := json.Unmarshal([]byte(body), &whole); err != nil || whole.Type != "Notification" ||
			whole.Message != text {
			t.Fatalf("%q was opened as %q", body, text)
		}
	})
}
