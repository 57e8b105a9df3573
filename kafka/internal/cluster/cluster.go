package cluster

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/godwitmq/godwit/kafka/internal/client"
)

// Cluster is the brokers, with a client for requests outside of any group. Several goroutines may call its methods.
type Cluster struct {
	*client.Client
	Admin *kadm.Client
	Log   *slog.Logger

	connection client.Connection

	mu     sync.Mutex
	limits map[string]int32 // max.message.bytes by topic, of topics that were looked up
}

// Open creates the client, with options of its own. It makes no request.
func Open(connection client.Connection, log *slog.Logger, own func(c *Cluster) []kgo.Opt) (*Cluster, error) {
	c := &Cluster{Log: log, connection: connection, limits: map[string]int32{}}
	var err error
	if c.Client, err = connection.Open(own(c)...); err != nil {
		return nil, err
	}
	c.Admin = kadm.NewClient(c.Client.Client)
	return c, nil
}

// Dial creates another client, with options of its own.
func (c *Cluster) Dial(own ...kgo.Opt) (*client.Client, error) { return c.connection.Open(own...) }

// Read opens a reader, with options of its own.
func (c *Cluster) Read(from map[string]map[int32]kgo.Offset, patience time.Duration, own ...kgo.Opt) (*Reader, error) {
	one, err := c.connection.Read(from, own...)
	return &Reader{one, patience}, err
}

// Fetch is one request to the leader of partitions. A reader would read ahead, and cannot be told how far.
type Fetch struct {
	From      map[int32]int64 // offsets, by partition
	Bytes     int32           // of each partition; brokers send at least one batch
	Wait      time.Duration   // how long the broker may wait for records
	Committed bool            // without records of open transactions
}

// Fetch returns what the leader answers for each partition.
func (c *Cluster) Fetch(
	ctx context.Context, t Topic, leader int32, f *Fetch,
) ([]kmsg.FetchResponseTopicPartition, error) {
	req := kmsg.NewPtrFetchRequest()
	req.MaxBytes, req.MinBytes, req.MaxWaitMillis = max(f.Bytes, 1<<20), 1, int32(f.Wait.Milliseconds())
	if f.Committed {
		req.IsolationLevel = 1
	}
	topic := kmsg.NewFetchRequestTopic()
	topic.Topic, topic.TopicID = t.Name, t.ID
	for n, from := range f.From {
		one := kmsg.NewFetchRequestTopicPartition()
		one.Partition, one.FetchOffset, one.PartitionMaxBytes = n, from, f.Bytes
		topic.Partitions = append(topic.Partitions, one)
	}
	req.Topics = append(req.Topics, topic)
	answer, err := c.Broker(int(leader)).RetriableRequest(ctx, req)
	if err != nil {
		return nil, err
	}
	resp := answer.(*kmsg.FetchResponse)
	if err := kerr.ErrorForCode(resp.ErrorCode); err != nil || len(resp.Topics) == 0 {
		return nil, err
	}
	return resp.Topics[0].Partitions, nil
}
