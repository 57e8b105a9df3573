package kafkalocal_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/godwitmq/godwit/local/kafkalocal"
)

// A seed creates topics with partitions and configs, and accepts those that a start with the same folder finds.
func TestPlant(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "kafka")
	orders := kafkalocal.SeedTopic{
		Name: "orders", Partitions: 3, Configs: map[string]string{"cleanup.policy": "compact"},
	}
	for range 2 {
		s, err := kafkalocal.NewServer(&kafkalocal.ServerOptions{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Plant(t.Context(), orders, kafkalocal.SeedTopic{Name: "plain"}); err != nil {
			t.Fatal(err)
		}
		client, err := kgo.NewClient(s.Reach()...)
		if err != nil {
			t.Fatal(err)
		}
		adm := kadm.NewClient(client)
		topics, err := adm.ListTopics(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if n, m := len(topics["orders"].Partitions), len(topics["plain"].Partitions); n != 3 || m != 1 {
			t.Errorf("%d and %d partitions", n, m)
		}
		configs, err := adm.DescribeTopicConfigs(t.Context(), "orders")
		if err != nil {
			t.Fatal(err)
		}
		found := ""
		for _, c := range configs[0].Configs {
			if c.Key == "cleanup.policy" {
				found = c.MaybeValue()
			}
		}
		if found != "compact" {
			t.Errorf("cleanup.policy %q", found)
		}
		for want, wrong := range map[string]kafkalocal.SeedTopic{
			"with 3 partitions, and not with 4": {Name: "orders", Partitions: 4},
			"must be at least 1":                {Name: "x", Partitions: -1},
			`topic "a b"`:                       {Name: "a b"},
			"INVALID_CONFIG":                    {Name: "y", Configs: map[string]string{"nonsense": "1"}},
		} {
			if err := s.Plant(t.Context(), wrong); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%+v: %v, want %q", wrong, err, want)
			}
		}
		client.Close()
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
