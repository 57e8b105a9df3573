package kafkalocal_test

import (
	"strings"
	"testing"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka"
	"github.com/godwitmq/godwit/local/kafkalocal"
)

// A backend uses its own server, and cannot use another one's brokers.
func TestOpen(t *testing.T) {
	b, err := kafkalocal.Open(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := b.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	if err := b.Ensure(t.Context(),
		driver.ChannelSpec{Channel: driver.Channel{Queue: "orders"}, Owner: true}); err != nil {
		t.Fatal(err)
	}
	if b.Server().Cluster().TopicInfo("orders") == nil {
		t.Error("the server has no topic orders")
	}
	if _, err := kafkalocal.Open(t.Context(),
		&kafkalocal.Options{Kafka: &kafka.Options{Brokers: []string{"elsewhere:9092"}}}); err == nil ||
		!strings.Contains(err.Error(), "kafka.Open") {
		t.Errorf("opened with other brokers: %v", err)
	}
	if _, err := kafkalocal.Open(t.Context(),
		&kafkalocal.Options{Kafka: &kafka.Options{Namespace: "no good"}}); err == nil {
		t.Error("opened with a bad namespace")
	}
}
