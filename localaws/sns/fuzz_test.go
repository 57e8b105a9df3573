package sns

import (
	"encoding/json"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// FuzzDeliveryPolicy: an accepted policy is JSON, is shown in a form that is accepted and means the same, and repeats a
// delivery as often and as long as SNS allows.
func FuzzDeliveryPolicy(f *testing.F) {
	f.Add(`{"healthyRetryPolicy":{"minDelayTarget":1,"maxDelayTarget":60,"numRetries":50,"numNoDelayRetries":3,` +
		`"numMinDelayRetries":2,"numMaxDelayRetries":35,"backoffFunction":"exponential"},"throttlePolicy":` +
		`{"maxReceivesPerSecond":10},"requestPolicy":{"headerContentType":"application/json"}}`)
	f.Add(`{"http":{"defaultHealthyRetryPolicy":{"numRetries":100,"backoffFunction":"geometric"},` +
		`"disableSubscriptionOverrides":true,"defaultRequestPolicy":{"headerContentType":"text/plain"}}}`)
	f.Add(`{"sicklyRetryPolicy":null,"guaranteed":false} {}`)
	f.Fuzz(func(t *testing.T, text string) {
		if d, fault := parseDelivery(text); fault == nil && d != nil {
			if !json.Valid([]byte(text)) {
				t.Errorf("%q is not JSON, and was accepted", text)
			}
			checkDelays(t, text, d.over(topicDelivery{}).Retry.delays())
			again, fault := parseDelivery(asJSON(d))
			if fault != nil {
				t.Fatalf("%q is shown as %s, which is not accepted: %v", text, asJSON(d), fault)
			}
			if diff := cmp.Diff(asJSON(d), asJSON(again)); diff != "" {
				t.Errorf("%q: not stable:\n%s", text, diff)
			}
		}
		topic := &topic{attributes: map[string]string{}}
		if fault := topic.setDeliveryPolicy(text); fault != nil || text == "" {
			return
		}
		if !json.Valid([]byte(text)) {
			t.Errorf("%q is not JSON, and was accepted for a topic", text)
		}
		checkDelays(t, text, (*subscriptionDelivery)(nil).over(topic.delivery).Retry.delays())
		shown := topic.attributes[deliveryPolicy]
		if fault := topic.setDeliveryPolicy(shown); fault != nil || topic.attributes[deliveryPolicy] != shown {
			t.Errorf("%q is shown as %s, then as %s: %v", text, shown, topic.attributes[deliveryPolicy], fault)
		}
	})
}

func checkDelays(t *testing.T, text string, delays []time.Duration) {
	t.Helper()
	var all time.Duration
	for _, d := range delays {
		if d < 0 {
			t.Errorf("%q waits for %v", text, d)
		}
		all += d
	}
	if len(delays) > maxRetries || all > maxDelay*time.Second {
		t.Errorf("%q repeats %d times within %v", text, len(delays), all)
	}
}

// FuzzEnvelope: an envelope is JSON with what was published.
func FuzzEnvelope(f *testing.F) {
	f.Add("hello", "subject", "name", "value", []byte{0xff}, false)
	f.Add("\x00\"\\\u2028\U0001f600", "", "a.b", "[1,null]", []byte(nil), true)
	sign := &signer{}
	sign.once.Do(sign.prepare)
	f.Fuzz(func(t *testing.T, text, subject, name, value string, binary []byte, fifo bool) {
		for _, s := range []string{text, subject, name, value} {
			if !utf8.ValidString(s) {
				return // the wire refuses it
			}
		}
		m := &message{
			id: "id", text: text, subject: subject, timestamp: "2026-01-01T00:00:00.000Z", sequence: "1",
			attributes: map[string]Attribute{
				name: {Type: "String", Text: value}, name + "2": {Type: "Binary", Binary: append([]byte{1}, binary...)},
			},
			names: []string{name, name + "2"},
		}
		n := &notification{
			topic: &topic{arn: "arn:aws:sns:us-east-1:000000000000:t", fifo: fifo}, message: m, version: "1",
			baseURL: "http://localhost:4566", signer: sign,
			signed: map[string]string{text: "signature"}, // signing is slow, and tested elsewhere
		}
		whole := n.envelope(recipient{sub: &subscription{protocol: "sqs", arn: "arn:s"}})
		var got struct {
			Type, Message, Subject, MessageID, TopicArn string
			MessageAttributes                           map[string]struct {
				Type, Value string
			}
		}
		if err := json.Unmarshal([]byte(whole), &got); err != nil {
			t.Fatalf("%v in %s", err, whole)
		}
		if got.Type != "Notification" || got.Message != text || got.Subject != subject || got.MessageID != "id" ||
			got.MessageAttributes[name].Value != value || len(got.MessageAttributes) != 2 {
			t.Errorf("%q, %q, %q=%q became %s", text, subject, name, value, whole)
		}
	})
}
