//go:build synctests

package sim

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka"
)

// withKafka: virtual time needs a build tag of the client's, because without it the client holds a mutex while it waits
// for a broker.
const withKafka = true

// kafkaCarrier is an operated world on a broker in memory.
type kafkaCarrier struct {
	o       *operated
	cluster *kfake.Cluster
	network *kfake.VirtualNetwork
}

func newKafkaCarrier(o *operated) (carrier, error) {
	c := &kafkaCarrier{o: o, network: &kfake.VirtualNetwork{}}
	var err error
	c.cluster, err = kfake.NewCluster(kfake.Ports(9092), kfake.ListenFn(c.network.Listen))
	if err == nil {
		c.cluster.ControlKey(int16(kmsg.Produce), func(r kmsg.Request) (kmsg.Response, error, bool) {
			c.cluster.KeepControl()
			resp := c.refuse(r.(*kmsg.ProduceRequest))
			return resp, nil, resp != nil
		})
	}
	return c, err
}

// refuse refuses some messages of requeues for good. nil: the broker answers.
func (c *kafkaCarrier) refuse(req *kmsg.ProduceRequest) kmsg.Response {
	requeued := slices.ContainsFunc(req.Topics, func(t kmsg.ProduceRequestTopic) bool {
		return slices.ContainsFunc(t.Partitions, func(p kmsg.ProduceRequestTopicPartition) bool {
			has := func(header string) bool { return bytes.Contains(p.Records, []byte(header)) }
			return has("godwit-history") && !has("__dlq.") && !has("godwit-due") // no dead letter, and no retry
		})
	})
	if !requeued || !c.o.about("refused", c.o.now()).chance(0.1) {
		return nil
	}
	c.o.tally.add(seenRefusedRequeue, 1)
	resp := req.ResponseKind().(*kmsg.ProduceResponse)
	for _, t := range req.Topics {
		topic := kmsg.NewProduceResponseTopic()
		topic.Topic, topic.TopicID = t.Topic, t.TopicID
		for _, p := range t.Partitions {
			one := kmsg.NewProduceResponseTopicPartition()
			one.Partition, one.ErrorCode = p.Partition, kerr.InvalidRecord.Code
			topic.Partitions = append(topic.Partitions, one)
		}
		resp.Topics = append(resp.Topics, topic)
	}
	return resp
}

func (c *kafkaCarrier) join(name string) (driver.Backend, connections, error) {
	wire := &cuttable{dial: c.network.DialContext}
	if strings.HasPrefix(name, "operator") {
		wire.delay = c.o.about("delay", name).between(0, 200*time.Millisecond)
	}
	o := &kafka.Options{
		Brokers: c.cluster.ListenAddrs(), ClientID: name,
		ChannelOptions: kafka.ChannelOptions{Partitions: 3, Ordering: kafka.OrderNone},
		Client:         []kgo.Opt{kgo.Dialer(wire.DialContext)}, Logger: slog.New(slog.DiscardHandler),
	}
	if c.o.ordered {
		o.Ordering = kafka.OrderByKey
	}
	if c.o.park {
		o.Retries = kafka.RetryPark
	}
	o.GroupProtocol = kafka.GroupConsumer
	if c.o.share {
		o.GroupProtocol, o.Retries = kafka.GroupShare, kafka.RetryAlone
	}
	b, err := kafka.Open(context.Background(), o)
	return b, wire, err
}

func (c *kafkaCarrier) left(*worker) []string { return nil }

// results reads what was committed to the channel of results.
func (c *kafkaCarrier) results() (map[string]int, error) {
	client, err := kgo.NewClient(kgo.SeedBrokers(c.cluster.ListenAddrs()...), kgo.Dialer(c.network.DialContext),
		kgo.ConsumeTopics("results"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()))
	if err != nil {
		return nil, err
	}
	defer client.Close()
	ends, err := kadm.NewClient(client).ListCommittedOffsets(context.Background(), "results")
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	n := map[string]int{}
	next := map[int32]int64{}
	for left := true; left; {
		fetches := client.PollFetches(ctx)
		if ctx.Err() != nil {
			break // markers of transactions are at the end
		}
		if err := fetches.Err(); err != nil {
			return nil, err
		}
		fetches.EachRecord(func(r *kgo.Record) {
			n[string(r.Value)]++
			next[r.Partition] = r.Offset + 1
		})
		left = false
		ends.Each(func(o kadm.ListedOffset) { left = left || next[o.Partition] < o.Offset })
	}
	return n, nil
}

func (c *kafkaCarrier) close() error {
	c.cluster.Close()
	return nil
}

// cuttable dials. After cut, its connections are closed, and new ones fail.
type cuttable struct {
	dial  func(ctx context.Context, network, host string) (net.Conn, error)
	delay time.Duration // of each request
	mu    sync.Mutex
	conns []net.Conn
	done  bool
}

func (w *cuttable) DialContext(ctx context.Context, network, host string) (net.Conn, error) {
	w.mu.Lock()
	done := w.done
	w.mu.Unlock()
	if done {
		select { // the client dials again at once, and endlessly if that takes no time
		case <-ctx.Done():
		case <-time.After(50 * time.Millisecond):
		}
		return nil, errCut
	}
	conn, err := w.dial(ctx, network, host)
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.done {
		return nil, errors.Join(errCut, conn.Close())
	}
	conn = &slowConn{conn, w.delay}
	w.conns = append(w.conns, conn)
	return conn, nil
}

func (w *cuttable) cut() {
	w.mu.Lock()
	w.done = true
	conns := w.conns
	w.mu.Unlock()
	for _, conn := range conns {
		_ = conn.Close()
	}
}

func (w *cuttable) mend() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.done, w.conns = false, nil
}

// slowConn delays answers.
type slowConn struct {
	net.Conn
	delay time.Duration
}

func (c *slowConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if c.delay > 0 {
		time.Sleep(c.delay)
	}
	return n, err
}
