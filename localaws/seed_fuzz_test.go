package localaws

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// FuzzSeed: a seed file is planted or refused, and a planted one is JSON and can be planted again.
func FuzzSeed(f *testing.F) {
	f.Add(`{"queues":[{"name":"orders","attributes":{"VisibilityTimeout":60},"tags":{"team":"a"},` +
		`"deadLetterQueue":"orders-dlq","maxReceiveCount":5},{"name":"orders-dlq"},{"name":"audit.fifo"}],` +
		`"topics":[{"name":"events","subscriptions":[{"queue":"orders","attributes":{"RawMessageDelivery":true,` +
		`"FilterPolicy":{"kind":["order"]}}}]},{"name":"log.fifo"}],` +
		`"buckets":[{"name":"uploads","tags":{"a":"b"},"notifications":[{"queue":"orders","events":` +
		`["s3:ObjectCreated:*"],"prefix":"in/"}]}],"alarms":[{"name":"backlog","topics":["events"],"attributes":` +
		`{"Namespace":"AWS/SQS","MetricName":"NumberOfMessagesSent","Statistic":"Sum","Period":60,` +
		`"EvaluationPeriods":1,"Threshold":1,"ComparisonOperator":"GreaterThanThreshold"}}]}`)
	f.Add(`{"queues":[{"name":"q","attributes":{"Policy":{"Statement":[]}}}]} {}`)
	f.Add(`{"topics":[{"name":"t","attributes":{"DeliveryPolicy":{"http":{}}},"subscriptions":[{}]}],"queues":null}`)
	path := filepath.Join(f.TempDir(), "seed.json")
	f.Fuzz(func(t *testing.T, text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		server, err := New(&Options{Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		defer server.Close()
		if server.Plant(t.Context(), path) != nil {
			return
		}
		if !json.Valid([]byte(text)) {
			t.Errorf("%q is not JSON, and was planted", text)
		}
		if err := server.Plant(t.Context(), path); err != nil {
			t.Errorf("%q cannot be planted again: %v", text, err)
		}
	})
}
