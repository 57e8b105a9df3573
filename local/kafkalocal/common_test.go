package kafkalocal_test

import (
	"context"
	"crypto/rand"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/godwitmq/godwit/local/kafkalocal"
)

// realBroker is the environment variable with the host:port of a real broker, on which the same tests run.
const realBroker = "GODWIT_KAFKA"

// broker returns the options to reach a server of the test, or the real broker.
func broker(t *testing.T) []kgo.Opt {
	t.Helper()
	if addr := os.Getenv(realBroker); addr != "" {
		return []kgo.Opt{kgo.SeedBrokers(addr)}
	}
	return serve(t, nil).Reach()
}

// serve starts a server that is closed when the test ends.
func serve(t *testing.T, o *kafkalocal.ServerOptions) *kafkalocal.Server {
	t.Helper()
	s, err := kafkalocal.NewServer(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func client(t *testing.T, reach []kgo.Opt, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	c, err := kgo.NewClient(append(reach[:len(reach):len(reach)], opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// unique returns a name that no other test uses, also not in another run against the same broker.
func unique() string { return "kafkalocal-" + rand.Text() }

// create creates a topic with two partitions, and fails the test if this is not possible. It returns when the topic is
// in the metadata: a real broker answers before it has heard of the topic itself.
func create(t *testing.T, c *kgo.Client, topic string, configs ...string) {
	t.Helper()
	if err := tryCreate(t, c, topic, 2, 1, configs...); err != nil {
		t.Fatal(err)
	}
	for ctx := within(t); ; {
		req := kmsg.NewPtrMetadataRequest()
		rt := kmsg.NewMetadataRequestTopic()
		rt.Topic = new(topic)
		req.Topics = append(req.Topics, rt)
		resp, err := req.RequestWith(ctx, c)
		if err != nil {
			t.Fatal(err)
		}
		if resp.Topics[0].ErrorCode == 0 {
			return
		}
	}
}

func tryCreate(t *testing.T, c *kgo.Client, topic string, partitions int32, replicas int16, configs ...string) error {
	t.Helper()
	req := kmsg.NewPtrCreateTopicsRequest()
	req.Topics = []kmsg.CreateTopicsRequestTopic{newTopic(topic, partitions, replicas, configs...)}
	resp, err := req.RequestWith(within(t), c)
	if err != nil {
		t.Fatal(err)
	}
	return kerr.ErrorForCode(resp.Topics[0].ErrorCode)
}

func newTopic(topic string, partitions int32, replicas int16, configs ...string) kmsg.CreateTopicsRequestTopic {
	rt := kmsg.NewCreateTopicsRequestTopic()
	rt.Topic, rt.NumPartitions, rt.ReplicationFactor = topic, partitions, replicas
	for i := 0; i < len(configs); i += 2 {
		c := kmsg.NewCreateTopicsRequestTopicConfig()
		c.Name, c.Value = configs[i], &configs[i+1]
		rt.Configs = append(rt.Configs, c)
	}
	return rt
}

// within returns a context with a time limit for one request.
func within(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func want(t *testing.T, what string, got error, want *kerr.Error) {
	t.Helper()
	if want == nil && got != nil || want != nil && !errors.Is(got, want) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}
