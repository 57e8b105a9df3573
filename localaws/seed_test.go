package localaws_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/godwitmq/godwit/localaws"
)

func seedFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "seed.json")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestPlantMakesWhatTheFileSays(t *testing.T) {
	f := newFixture(t, nil)
	path := seedFile(t, `{
	  "queues": [
	    {"name": "orders", "attributes": {"VisibilityTimeout": 60, "SqsManagedSseEnabled": false}, "tags": {"team": "a"},
	     "deadLetterQueue": "orders-dlq", "maxReceiveCount": 5},
	    {"name": "orders-dlq", "attributes": {"RedriveAllowPolicy": {"redrivePermission": "allowAll"}}},
	    {"name": "audit.fifo", "attributes": {"ContentBasedDeduplication": true, "DelaySeconds": "3"}}
	  ],
	  "topics": [
	    {"name": "events", "subscriptions": [{"queue": "orders", "attributes": {"RawMessageDelivery": true, "FilterPolicy": {"kind": ["order"]}}}]},
	    {"name": "log.fifo", "attributes": {"ContentBasedDeduplication": true}}
	  ],
	  "buckets": [
	    {"name": "uploads", "tags": {"team": "b"}, "notifications": [
	      {"queue": "orders", "events": ["s3:ObjectCreated:*"], "prefix": "in/"},
	      {"topic": "events", "events": ["s3:ObjectRemoved:*"]}
	    ]}
	  ]
	}`)
	for range 2 { // repeating it is allowed
		if err := f.server.Plant(t.Context(), path); err != nil {
			t.Fatal(err)
		}
	}
	attributes := f.server.SQS().Queue("orders").Attributes()
	for name, want := range map[string]string{
		"VisibilityTimeout": "60", "SqsManagedSseEnabled": "false",
		"RedrivePolicy": `{"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:orders-dlq","maxReceiveCount":5}`,
	} {
		if attributes[name] != want {
			t.Errorf("%s is %q, want %q", name, attributes[name], want)
		}
	}
	if q := f.server.SQS().Queue("audit.fifo"); q == nil || !q.FIFO() || q.Attributes()["DelaySeconds"] != "3" {
		t.Errorf("audit.fifo: %v", q)
	}
	if tags := f.server.SQS().Queue("orders").Tags(); tags["team"] != "a" {
		t.Errorf("tags %v", tags)
	}
	if b := f.server.S3().Bucket("uploads"); b == nil || b.Settings().Tags[0].Value != "b" {
		t.Errorf("bucket %+v", b)
	}
	c := bucketClient(f.server, true)
	if _, err := c.PutObject(f.ctx, &s3.PutObjectInput{
		Bucket: aws.String("uploads"),
		Key:    aws.String("in/a"),
	}); err != nil {
		t.Error(err)
	}
	if _, err := c.DeleteObject(f.ctx, &s3.DeleteObjectInput{
		Bucket: aws.String("uploads"), Key: aws.String("in/a"),
	}); err != nil {
		t.Error(err)
	}
	if n := f.server.SQS().Queue("orders").Model().Stats().Visible; n != 1 {
		t.Errorf("orders has %d messages, want the event of the put; the filter drops that of the delete", n)
	}
	if topics := f.server.SNS().Topics(); len(topics) != 2 ||
		len(topics[0].Subscriptions)+len(topics[1].Subscriptions) != 1 {
		t.Errorf("topics %+v", topics)
	}
}

func TestPlantSaysLineAndField(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"not JSON", "{\n\"queues\": [\n{,", "seed.json:3:"},
		{"cut off", "{\n\"queues\": [", "seed.json:2:"},
		{"not an object", "[]", "seed.json:1: expected an object"},
		{"unknown section", "{\n\"queue\": []}", `seed.json:2: unknown field "queue"`},
		{"not a list", `{"queues": {}}`, "queues is not a list"},
		{
			"unknown field", "{\"queues\": [\n{\"name\": \"a\"},\n{\"nmae\": \"b\"}]}",
			`seed.json:3: queues[1]: unknown field "nmae"`,
		},
		{
			"unknown attribute", "{\"queues\": [\n\n{\"name\": \"a\", \"attributes\": {\"Nope\": 1}}]}",
			`seed.json:3: queue "a": InvalidAttributeName: Unknown Attribute Nope.`,
		},
		{
			"bad value", `{"queues": [{"name": "a", "attributes": {"DelaySeconds": 901}}]}`,
			"Invalid value for the parameter DelaySeconds.",
		},
		{"bad name", `{"queues": [{"name": "a b"}]}`, "Can only include alphanumeric characters"},
		{
			"no such dead-letter queue",
			"{\"queues\": [\n{\"name\": \"a\", \"deadLetterQueue\": \"b\", \"maxReceiveCount\": 1}]}",
			`seed.json:2: queue "a": deadLetterQueue "b" does not exist`,
		},
		{
			"no count", `{"queues": [{"name": "a"}, {"name": "b", "deadLetterQueue": "a"}]}`,
			"Invalid value for maxReceiveCount: 0",
		},
		{"a count alone", `{"queues": [{"name": "a", "maxReceiveCount": 3}]}`, "maxReceiveCount needs deadLetterQueue"},
		{
			"said twice", `{"queues": [{"name": "a", "deadLetterQueue": "a", "attributes": {"RedrivePolicy": {}}}]}`,
			"set one of them",
		},
		{"bad topic", "{\"topics\": [\n{\"name\": \"a b\"}]}", `seed.json:2: topic "a b"`},
		{"bad subscription", `{"topics": [{"name": "a", "subscriptions": [{"queue": "none"}, {}]}]}`, "subscriptions["},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			server, err := localaws.New(&localaws.Options{Seed: testSeed})
			if err != nil {
				t.Fatal(err)
			}
			defer server.Close()
			err = server.Plant(t.Context(), seedFile(t, test.text))
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v\nwant %s", err, test.want)
			}
		})
	}
	f := newFixture(t, nil)
	if err := f.server.Plant(t.Context(), "/nowhere/seed.json"); err == nil {
		t.Error("a missing file: no error")
	}
}

// The deliveries that a seed names arrive, from several topics and a bucket to one queue, and at queues elsewhere. A
// queue with a policy of its own keeps it.
func TestASeedMeansItsDeliveries(t *testing.T) {
	f := newFixture(t, nil)
	policy := `{"Version":"2012-10-17","Statement":[{"Effect":"Deny","Principal":"*","Action":"sqs:*","Resource":"*"}]}`
	path := seedFile(t, `{
	  "queues": [{"name": "orders"}, {"name": "closed", "attributes": {"Policy": `+policy+`}},
	    {"name": "far", "region": "eu-west-1"}],
	  "topics": [
	    {"name": "events", "subscriptions": [{"queue": "orders"}, {"queue": "closed"},
	      {"queue": "arn:aws:sqs:eu-west-1:000000000000:far"}]},
	    {"name": "news", "subscriptions": [{"endpoint": "arn:aws:sqs:us-east-1:000000000000:orders", "protocol": "sqs"}]}
	  ],
	  "buckets": [{"name": "uploads", "notifications": [{"queue": "orders", "events": ["s3:ObjectCreated:*"]}]}]
	}`)
	for range 2 { // repeating it is allowed
		if err := f.server.Plant(t.Context(), path); err != nil {
			t.Fatal(err)
		}
	}
	publish(t, f.server, "events", "Hello")
	publish(t, f.server, "news", "Hello")
	if _, err := bucketClient(f.server, true).PutObject(f.ctx, &s3.PutObjectInput{
		Bucket: aws.String("uploads"), Key: aws.String("a"),
	}); err != nil {
		t.Error(err)
	}
	for name, want := range map[string]int{"orders": 3, "closed": 0} {
		if n := f.server.SQS().Queue(name).Model().Stats().Visible; n != want {
			t.Errorf("%s has %d messages, want %d", name, n, want)
		}
	}
	if n := f.server.In("000000000000", "eu-west-1").SQS().Queue("far").Model().Stats().Visible; n != 1 {
		t.Errorf("the queue in another region has %d messages", n)
	}
	if got := f.server.SQS().Queue("closed").Attributes()["Policy"]; got != policy {
		t.Errorf("a queue's own policy became %s", got)
	}
}
