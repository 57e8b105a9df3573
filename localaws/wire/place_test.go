package wire_test

import (
	"context"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/godwitmq/godwit/localaws/random"
	"github.com/godwitmq/godwit/localaws/wire"
)

func TestPlaceOf(t *testing.T) {
	for arn, want := range map[string]wire.Place{
		"arn:aws:sqs:eu-west-1:111111111111:q":           {Account: "111111111111", Region: "eu-west-1"},
		"arn:aws:sns:us-gov-west-1:111111111111:t:1-2-3": {Account: "111111111111", Region: "us-gov-west-1"},
		"arn:aws-cn:sqs:cn-north-1:111111111111:q":       {Account: "111111111111", Region: "cn-north-1"},
	} {
		if p, ok := wire.PlaceOf(arn); !ok || p != want {
			t.Errorf("%s: %v %v", arn, p, ok)
		}
	}
	for _, text := range []string{
		"", "q", "arn:aws:s3:::b", "arn:aws:sqs:eu-west-1:111111111111", "arn:aws:sqs:eu-west-1:11111111111:q",
		"arn:aws:sqs:eu-west:111111111111:q", "arn:aws:sqs::111111111111:q", "http://h/111111111111/q",
	} {
		if p, ok := wire.PlaceOf(text); ok {
			t.Errorf("%q is %v", text, p)
		}
	}
	at := wire.Place{Account: "111111111111", Region: "eu-west-1"}
	if arn := at.ARN("sqs", "q"); arn != "arn:aws:sqs:eu-west-1:111111111111:q" {
		t.Error(arn)
	}
}

func TestIsRegion(t *testing.T) {
	for _, name := range []string{"us-east-1", "ap-southeast-4", "us-gov-west-1", "us-iso-east-1", "mx-central-1"} {
		if !wire.IsRegion(name) {
			t.Errorf("%s is no region", name)
		}
	}
	for _, name := range []string{
		"", "us-east", "us-east-", "us-east-10", "us--1", "usa-east-1", "us-East-1", "us-east-x", "local", "aws-global",
		"us-" + strings.Repeat("a", 40) + "-1",
	} {
		if wire.IsRegion(name) {
			t.Errorf("%q is a region", name)
		}
	}
}

// A call works in the region of its signature, for the account of its key. The resource that it names says whose it is,
// and, if the call is not signed, also where.
func TestThePlaceOfACall(t *testing.T) {
	type input struct {
		QueueURL string  `json:"QueueUrl"`
		TopicArn *string `json:"TopicArn"`
	}
	type output struct {
		Text string `json:"Text"`
	}
	service := &wire.Service{
		Name: "sqs", Target: "AmazonSQS", Version: "2012-11-05", Names: []string{"QueueUrl", "TopicArn", "Absent"},
		Actions: []wire.Action{wire.Op("Where", wire.In(
			func(c *wire.Call) (string, error) { return c.Account + " " + c.Region + " " + c.Owner, nil },
			func(at string, _ context.Context, _ *wire.Call, _ *input) (*output, error) { return &output{at}, nil },
		))},
	}
	const (
		home, ones   = "000000000000", "111111111111"
		signed       = "AWS4-HMAC-SHA256 Credential=KEY/20260101/REGION/sqs/aws4_request, SignedHeaders=host, Signature=0"
		topic, queue = "arn:aws:sns:eu-west-1:" + ones + ":t", "http://localhost/" + ones + "/q"
	)
	for _, test := range []struct {
		name, key, region, resource string
		single                      bool
		want                        string
	}{
		{"signed", "key", "eu-west-1", `{}`, false, home + " eu-west-1 " + home},
		{"an account", ones, "eu-west-1", `{}`, false, ones + " eu-west-1 " + ones},
		{"thirteen digits", ones + "1", "eu-west-1", `{}`, false, home + " eu-west-1 " + home},
		{"no region's name", ones, "local", `{}`, false, ones + " us-east-1 " + ones},
		{"one region", ones, "eu-west-1", `{}`, true, ones + " us-east-1 " + ones},
		{"another's queue", "key", "eu-west-1", `{"QueueUrl":"` + queue + `"}`, false, home + " eu-west-1 " + ones},
		{"another's topic", "key", "us-west-2", `{"TopicArn":"` + topic + `"}`, false, home + " us-west-2 " + ones},
		{"a name", ones, "eu-west-1", `{"QueueUrl":"q"}`, false, ones + " eu-west-1 " + ones},
		{"unsigned", "", "", `{}`, false, home + " us-east-1 " + home},
		{"unsigned, by URL", "", "", `{"QueueUrl":"` + queue + `"}`, false, ones + " us-east-1 " + ones},
		{"unsigned, by ARN", "", "", `{"TopicArn":"` + topic + `"}`, false, ones + " eu-west-1 " + ones},
		{"unsigned, one region", "", "", `{"TopicArn":"` + topic + `"}`, true, ones + " us-east-1 " + ones},
	} {
		mux := wire.NewMux(wire.Options{
			Account: home, Region: "us-east-1", SingleRegion: test.single, Random: random.New(1),
		}, service)
		r := httptest.NewRequest("POST", "/", strings.NewReader(test.resource))
		r.Header.Set("X-Amz-Target", "AmazonSQS.Where")
		if test.key != "" {
			r.Header.Set("Authorization", strings.NewReplacer("KEY", test.key, "REGION", test.region).Replace(signed))
		}
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, r)
		if got := w.Body.String(); got != `{"Text":"`+test.want+`"}` {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
	}
}

// A signature in the URL counts as one in the header.
func TestIdentityOfASignedURL(t *testing.T) {
	r := httptest.NewRequest("GET", "/?X-Amz-Credential=111111111111%2F20260101%2Feu-west-1%2Fsqs%2Faws4_request", nil)
	if who := wire.Identity(r); who != (wire.Signer{Key: "111111111111", Region: "eu-west-1"}) {
		t.Errorf("%+v", who)
	}
}
