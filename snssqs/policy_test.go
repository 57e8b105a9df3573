package snssqs_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/localaws"
)

// The queue's policy allows its own topic and forbids requests without TLS; foreign statements are kept.
func TestPolicies(t *testing.T) {
	inWorld(t, localaws.Options{}, func(w *world) {
		w.ensure(owner(orders)) // not of an exchange, so no topic may send to it
		theirs := `{"Sid":"theirs","Effect":"Allow","Principal":{"AWS":"*"},"Action":"sqs:SendMessage","Resource":"` +
			queueARN + `wishlist_events--audit_log"}`
		if _, err := w.sqs.CreateQueue(w.Context(), &sqs.CreateQueueInput{
			QueueName:  aws.String("wishlist_events--audit_log"),
			Attributes: map[string]string{"Policy": `{"Version":"2012-10-17","Id":"x","Statement":` + theirs + `}`},
		}); err != nil {
			t.Fatal(err)
		}
		w.ensure(owner(audit))
		if sids := w.statements("orders"); len(sids) != 1 || sids["godwitTLS"] == nil {
			t.Errorf("orders has the statements %v", sids)
		}
		for _, q := range []string{"wishlist_events--audit_log", "wishlist_events--audit_log--dlq"} {
			sids := w.statements(q)
			allow := fmt.Sprint(sids["godwitTopic"])
			if sids["godwitTLS"]["Effect"] != "Deny" || !strings.Contains(allow, topicARN+"wishlist_events]") ||
				!strings.Contains(allow, "sns.amazonaws.com") {
				t.Errorf("%s has the statements %v", q, sids)
			}
			if (sids["theirs"] != nil) != !strings.HasSuffix(q, "dlq") {
				t.Errorf("%s: the foreign statement is %v", q, sids["theirs"])
			}
		}
		topic := w.server.SNS().Topics()[0]
		if !strings.Contains(topic.Attributes["Policy"], "aws:SecureTransport") ||
			!strings.Contains(topic.Attributes["Policy"], "__default") {
			t.Errorf("the topic's policy is %s", topic.Attributes["Policy"])
		}
		if topic.Tags["channel"] != "wishlist_events" || topic.Tags["role"] != "exchange" {
			t.Errorf("the topic's tags are %v", topic.Tags)
		}
	})
}

// statements returns the statements of a queue's policy, by Sid.
func (w *world) statements(queue string) map[string]map[string]any {
	w.Helper()
	var policy struct{ Statement []map[string]any }
	if err := json.Unmarshal([]byte(w.attributes(queue)["Policy"]), &policy); err != nil {
		w.Fatal(err)
	}
	all := map[string]map[string]any{}
	for _, s := range policy.Statement {
		all[fmt.Sprint(s["Sid"])] = s
	}
	return all
}

// A topic whose creation was interrupted gets its policy from the next owner.
func TestAnOwnerSecuresTheTopic(t *testing.T) {
	inWorld(t, localaws.Options{}, func(w *world) {
		if _, err := w.sns.CreateTopic(w.Context(),
			&sns.CreateTopicInput{Name: aws.String("wishlist_events")}); err != nil {
			t.Fatal(err)
		}
		w.ensure(driver.ChannelSpec{Channel: driver.Channel{Exchange: "wishlist_events"}}) // a producer changes nothing
		if p := w.server.SNS().Topics()[0].Attributes["Policy"]; strings.Contains(p, "SecureTransport") {
			t.Errorf("a producer set the policy %s", p)
		}
		w.ensure(owner(audit))
		if p := w.server.SNS().Topics()[0].Attributes["Policy"]; !strings.Contains(p, "SecureTransport") {
			t.Errorf("the policy is %s", p)
		}
	})
}
