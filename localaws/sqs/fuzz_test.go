package sqs_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/godwitmq/godwit/localaws/sqs"
)

// FuzzAttributes sets attributes to any value: an accepted value must be shown, and the shown value must be accepted.
func FuzzAttributes(f *testing.F) {
	f.Add("RedrivePolicy", `{"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:d","maxReceiveCount":"5"}`)
	f.Add("RedriveAllowPolicy", `{"redrivePermission":"byQueue","sourceQueueArns":["a"]}`)
	f.Add("Policy",
		`{"Statement":[{"Effect":"Allow","Principal":{"AWS":["*"]},"Action":"*","Condition":{"Bool":{"x":true}}}]}`)
	f.Add("VisibilityTimeout", "+30")
	f.Add("KmsMasterKeyId", "alias/x")
	f.Add("SqsManagedSseEnabled", "true")
	f.Fuzz(func(t *testing.T, name, value string) {
		s := newService(t)
		for _, q := range []string{"d", "q"} {
			if _, err := s.Create(q, nil, nil); err != nil {
				t.Fatal(err)
			}
		}
		if s.Configure("q", map[string]string{name: value}) != nil {
			return
		}
		shown, there := s.Queue("q").Attributes()[name]
		if !there {
			if value != "" && name != "KmsDataKeyReusePeriodSeconds" {
				t.Fatalf("%s = %q was accepted and is not shown", name, value)
			}
			return
		}
		if err := s.Configure("q", map[string]string{name: shown}); err != nil {
			t.Fatalf("%s = %q is shown as %q, which is not accepted: %v", name, value, shown, err)
		}
		if again := s.Queue("q").Attributes()[name]; again != shown {
			t.Fatalf("%s = %q is shown as %q, then as %q", name, value, shown, again)
		}
		_ = s.Deliver(queueARN, sqs.Principal{Service: "sns.amazonaws.com", SourceARN: topic}, sqs.Incoming{Body: "x"})
	})
}

// FuzzPolicy: an accepted policy decides without a panic, and a policy that names nothing of ours allows nothing.
func FuzzPolicy(f *testing.F) {
	f.Add(`[{"Effect":"Allow","Principal":"*","Action":"sqs:*","Resource":"*"}]`)
	f.Add(`{"Effect":"Deny","NotPrincipal":{"Service":"x"},"NotAction":["a","b"],"NotResource":"*?*","Condition":{"StringNotLike":{"aws:SourceArn":["*",1,true]}}}`)
	f.Fuzz(func(t *testing.T, statement string) {
		s := newService(t)
		if _, err := s.Create("q", map[string]string{"Policy": `{"Statement":` + statement + `}`}, nil); err != nil {
			return
		}
		err := s.Deliver(queueARN, sqs.Principal{Service: "sns.amazonaws.com", SourceARN: topic},
			sqs.Incoming{Body: "x"})
		var parsed any
		if json.Unmarshal([]byte(statement), &parsed) != nil {
			t.Fatalf("accepted, although it is not JSON: %s", statement)
		}
		if err == nil && !strings.Contains(statement, "Allow") && !strings.Contains(statement, `\u`) {
			t.Errorf("allowed by %s", statement)
		}
	})
}

// FuzzHandle: any text as a receipt handle is refused, or does not change the message.
func FuzzHandle(f *testing.F) {
	f.Add("garbage")
	f.Add("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA")
	s := newService(f)
	if _, err := s.Create("q", nil, nil); err != nil {
		f.Fatal(err)
	}
	q := s.Queue("q").Model()
	f.Fuzz(func(t *testing.T, handle string) {
		if err := q.DeleteMessage(handle); err == nil {
			t.Errorf("%q deleted something", handle)
		}
		if err := q.ChangeVisibility(handle, 0); err == nil {
			t.Errorf("%q changed something", handle)
		}
	})
}
