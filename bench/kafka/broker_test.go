//go:build unix

package kafka_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/godwitmq/godwit/local/kafkalocal"
)

// asBroker is the environment variable with which this test binary runs as a broker.
const asBroker = "GODWIT_BENCH_BROKER"

const keys = 1000

func TestMain(m *testing.M) {
	if os.Getenv(asBroker) == "" {
		os.Exit(m.Run())
	}
	if err := serve(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// serve runs a broker until its standard input ends, which happens when the parent process ends.
func serve() error {
	s, err := kafkalocal.NewServer(&kafkalocal.ServerOptions{Addr: "127.0.0.1:0"})
	if err != nil {
		return err
	}
	fmt.Println(s.Cluster().ListenAddrs()[0])
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// broker is the broker of all contenders of a scene.
type broker struct {
	name, addr string
	topics     map[int]string // by number of partitions
}

const (
	kfakeBroker = "kfake"
	realBroker  = "Apache Kafka"
)

// brokers returns kfake and, if GODWIT_KAFKA is set, the broker at that address.
func brokers(t *testing.T) []*broker {
	t.Helper()
	bs := []*broker{{kfakeBroker, startKfake(t), map[int]string{}}}
	if addr := os.Getenv("GODWIT_KAFKA"); addr != "" {
		bs = append(bs, &broker{realBroker, addr, map[int]string{}})
	}
	return bs
}

// topic returns a topic with so many partitions and all its records. It is created at the first call.
func (b *broker) topic(t *testing.T, partitions int) string {
	t.Helper()
	if b.topics[partitions] == "" {
		records := all
		if *rounds == 0 {
			records = 10_000
		}
		b.topics[partitions] = fill(t, b.addr, partitions, records)
	}
	return b.topics[partitions]
}

// startKfake starts kfake in a process of its own, and returns its address. The process ends with the test.
func startKfake(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), asBroker+"=1")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("the broker did not start: %v", err)
	}
	return strings.TrimSpace(line)
}

// fill creates a topic with records of 100 bytes, evenly distributed over the keys.
func fill(t *testing.T, addr string, partitions, records int) (topic string) {
	t.Helper()
	ctx := context.Background()
	// Without compression, because the records are alike: a compressed fetch would have ten thousand of them instead of
	// a few hundred.
	client, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.MaxBufferedRecords(50_000),
		kgo.ProducerBatchCompression(kgo.NoCompression()))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	topic = fmt.Sprintf("speed-%d-%d-%d", partitions, records, os.Getpid())
	if _, err := kadm.NewClient(client).CreateTopic(ctx, int32(partitions), 1, nil, topic); err != nil {
		t.Fatal(err)
	}
	body := []byte(strings.Repeat("k", 100))
	for i := range records {
		client.Produce(ctx, &kgo.Record{Topic: topic, Key: []byte("key-" + strconv.Itoa(i%keys)), Value: body},
			func(_ *kgo.Record, err error) {
				if err != nil {
					t.Error(err)
				}
			})
	}
	if err := client.Flush(ctx); err != nil {
		t.Fatal(err)
	}
	return topic
}
