package sqs_test

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/godwitmq/godwit/localaws/access"
	"github.com/godwitmq/godwit/localaws/clock"
	"github.com/godwitmq/godwit/localaws/random"
	"github.com/godwitmq/godwit/localaws/sqs"
	"github.com/godwitmq/godwit/localaws/sqs/queue"
)

const (
	topic    = "arn:aws:sns:us-east-1:000000000000:t"
	queueARN = "arn:aws:sqs:us-east-1:000000000000:q"
)

func newService(t testing.TB) *sqs.Service {
	t.Helper()
	c := clock.New()
	t.Cleanup(c.Close)
	return sqs.New(sqs.Options{Clock: c, Random: random.New(1), Account: "000000000000", Region: "us-east-1"})
}

func TestDeliverHonoursThePolicy(t *testing.T) {
	tests := []struct {
		name, policy string
		allowed      bool
	}{
		{"none", ``, false},
		{
			"the statement AWS documents",
			`{"Effect":"Allow","Principal":{"Service":"sns.amazonaws.com"},"Action":"sqs:SendMessage","Resource":"` +
				queueARN + `","Condition":{"ArnEquals":{"aws:SourceArn":"` + topic + `"}}}`, true,
		},
		{
			"as a list, in other letters",
			`[{"Effect":"Allow","Principal":{"Service":["s3.amazonaws.com","sns.amazonaws.com"]},"Action":["SQS:sendmessage"],"Resource":["*"]}]`, true,
		},
		{"everybody", `{"Effect":"Allow","Principal":"*","Action":"sqs:*","Resource":"*"}`, true},
		{
			"everybody, written as AWS",
			`{"Effect":"Allow","Principal":{"AWS":"*"},"Action":"sqs:Send*","Resource":"arn:aws:sqs:*:*:q"}`, true,
		},
		{
			"another service",
			`{"Effect":"Allow","Principal":{"Service":"s3.amazonaws.com"},"Action":"sqs:SendMessage","Resource":"*"}`,
			false,
		},
		{"another action", `{"Effect":"Allow","Principal":"*","Action":"sqs:ReceiveMessage","Resource":"*"}`, false},
		{"another queue", `{"Effect":"Allow","Principal":"*","Action":"sqs:*","Resource":"` + queueARN + `2"}`, false},
		{
			"the queue by its path",
			`{"Effect":"Allow","Principal":"*","Action":"sqs:*","Resource":["/000000000000/q"]}`,
			true,
		},
		{
			"another queue by its path",
			`{"Effect":"Allow","Principal":"*","Action":"sqs:*","Resource":"/000000000000/p"}`, false,
		},
		{
			"all but this queue by its path",
			`{"Effect":"Allow","Principal":"*","Action":"*","NotResource":"/000000000000/q"}`, false,
		},
		{
			"another topic",
			`{"Effect":"Allow","Principal":"*","Action":"sqs:*","Resource":"*","Condition":{"ArnEquals":{"aws:SourceArn":"` + topic + `2"}}}`, false,
		},
		{
			"a topic by pattern",
			`{"Effect":"Allow","Principal":"*","Action":"sqs:*","Resource":"*","Condition":{"ArnLike":{"aws:SourceArn":"arn:aws:sns:*:*:?"}}}`, true,
		},
		{
			"the account",
			`{"Effect":"Allow","Principal":"*","Action":"sqs:*","Resource":"*","Condition":{"StringEquals":{"AWS:SourceAccount":["1","000000000000"]}}}`, true,
		},
		{
			"not the account",
			`{"Effect":"Allow","Principal":"*","Action":"sqs:*","Resource":"*","Condition":{"StringNotEquals":{"aws:SourceAccount":"000000000000"}}}`, false,
		},
		{
			"two conditions, one of them not",
			`{"Effect":"Allow","Principal":"*","Action":"sqs:*","Resource":"*","Condition":{"StringEquals":{"aws:SourceAccount":"000000000000"},"ArnLike":{"aws:SourceArn":"x"}}}`, false,
		},
		{
			"a denial wins",
			`[{"Effect":"Allow","Principal":"*","Action":"sqs:*","Resource":"*"},{"Effect":"Deny","Principal":"*","Action":"sqs:SendMessage","Resource":"*"}]`, false,
		},
		{
			"insecure transport denied: this one is secure",
			`[{"Effect":"Allow","Principal":"*","Action":"sqs:*","Resource":"*"},{"Effect":"Deny","Principal":"*","Action":"*","Resource":"*","Condition":{"Bool":{"aws:SecureTransport":"false"}}}]`, true,
		},
		{
			"all but another action", `{"Effect":"Allow","Principal":"*","NotAction":"sqs:DeleteQueue","Resource":"*"}`,
			true,
		},
		{
			"all but this queue", `{"Effect":"Allow","Principal":"*","Action":"*","NotResource":"` + queueARN + `"}`,
			false,
		},
		{
			"all but this service",
			`{"Effect":"Allow","NotPrincipal":{"Service":"sns.amazonaws.com"},"Action":"*","Resource":"*"}`, false,
		},
		{
			"a condition nobody knows",
			`{"Effect":"Allow","Principal":"*","Action":"*","Resource":"*","Condition":{"Fancy":{"aws:SourceArn":"` +
				topic + `"}}}`, false,
		},
		{
			"a negated condition nobody knows",
			`{"Effect":"Allow","Principal":"*","Action":"*","Resource":"*","Condition":{"FancyNotLike":{"aws:SourceArn":"x"}}}`, false,
		},
		{
			"a key nobody knows",
			`{"Effect":"Allow","Principal":"*","Action":"*","Resource":"*","Condition":{"StringEquals":{"aws:Moon":"full"}}}`, false,
		},
		{
			"a key nobody knows, if it exists",
			`{"Effect":"Allow","Principal":"*","Action":"*","Resource":"*","Condition":{"StringEqualsIfExists":{"aws:Moon":"full"}}}`, true,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := newService(t)
			attributes := map[string]string{}
			if test.policy != "" {
				attributes["Policy"] = `{"Version":"2012-10-17","Statement":` + test.policy + `}`
			}
			if _, err := s.Create("q", attributes, nil); err != nil {
				t.Fatal(err)
			}
			err := s.Deliver(queueARN, sqs.Principal{Service: "sns.amazonaws.com", SourceARN: topic},
				sqs.Incoming{Body: "x"})
			if (err == nil) != test.allowed {
				t.Errorf("error %v, want allowed %v", err, test.allowed)
			}
			var denied *sqs.DeniedError
			if err != nil &&
				(!errors.As(err, &denied) || !strings.Contains(err.Error(), `"aws:SourceArn":"`+topic+`"`)) {
				t.Errorf("error %v: want the statement that is missing", err)
			}
			if n := s.Queue("q").Model().Stats().Visible; (n == 1) != test.allowed {
				t.Errorf("%d messages", n)
			}
		})
	}
}

func TestDeliverKeepsToTheRulesOfAMessage(t *testing.T) {
	s := newService(t)
	open := `{"Statement":{"Effect":"Allow","Principal":"*","Action":"*"}}`
	if _, err := s.Create("q", map[string]string{"Policy": open, "MaximumMessageSize": "1024"}, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Create("f.fifo", map[string]string{"Policy": open, "FifoQueue": "true"}, nil); err != nil {
		t.Fatal(err)
	}
	from := sqs.Principal{Service: "sns.amazonaws.com", SourceARN: topic}
	for name, c := range map[string]struct {
		queue string
		m     sqs.Incoming
		want  string
	}{
		"too large":   {queueARN, sqs.Incoming{Body: strings.Repeat("a", 1025)}, "shorter than 1024 bytes"},
		"no queue":    {queueARN + "2", sqs.Incoming{Body: "x"}, "does not exist"},
		"another's":   {"arn:aws:sqs:eu-west-1:000000000000:q", sqs.Incoming{Body: "x"}, "does not exist"},
		"no group":    {strings.Replace(queueARN, ":q", ":f.fifo", 1), sqs.Incoming{Body: "x"}, "MessageGroupId"},
		"bad content": {queueARN, sqs.Incoming{Body: "\x00"}, "Invalid characters"},
	} {
		if err := s.Deliver(c.queue, from, c.m); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %s", name, err, c.want)
		}
	}
	m := sqs.Incoming{
		Body: "x", Trace: "trace",
		Attributes: map[string]queue.Attribute{
			"a": {Type: "Binary", Binary: []byte{1}},
			"b": {Type: "String", Text: "y"},
		},
	}
	if err := s.Deliver(queueARN, from, m); err != nil {
		t.Fatal(err)
	}
	got := s.Queue("q").Model().Messages()
	if len(got) != 1 || got[0].Details().Trace != "trace" || len(got[0].Details().Attributes) != 2 ||
		got[0].Sender != "sns.amazonaws.com" || got[0].Details().AttributesMD5 == "" {
		t.Errorf("delivered %+v", got)
	}
}

// With lenient policies a queue without a policy gets deliveries, and the log names the missing statement once for each
// source. A policy that allows nothing of the source still counts.
func TestLenientPolicies(t *testing.T) {
	c := clock.New()
	t.Cleanup(c.Close)
	var log bytes.Buffer
	s := sqs.New(sqs.Options{
		Clock: c, Random: random.New(1), Account: "000000000000", Region: "us-east-1",
		Leniency: access.NewLeniency(slog.New(slog.NewTextHandler(&log, nil))),
	})
	q, err := s.Create("q", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	from := sqs.Principal{Service: "sns.amazonaws.com", SourceARN: topic}
	for range 3 {
		if err := s.Deliver(queueARN, from, sqs.Incoming{Body: "m"}); err != nil {
			t.Fatal(err)
		}
	}
	if n := q.Model().Stats().Visible; n != 3 {
		t.Errorf("%d messages", n)
	}
	if n := strings.Count(log.String(), `\"Action\":\"sqs:SendMessage\"`); n != 1 {
		t.Errorf("the log names the statement %d times:\n%s", n, &log)
	}
	other := `{"Statement":{"Effect":"Allow","Principal":"*","Action":"sqs:ReceiveMessage","Resource":"*"}}`
	if err := s.Configure("q", map[string]string{"Policy": other}); err != nil {
		t.Fatal(err)
	}
	var denied *sqs.DeniedError
	if err := s.Deliver(queueARN, from, sqs.Incoming{Body: "m"}); !errors.As(err, &denied) {
		t.Errorf("with another policy: %v", err)
	}
}
