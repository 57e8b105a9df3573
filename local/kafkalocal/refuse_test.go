package kafkalocal_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Metadata over 4,096 UTF-16 units is refused for its partition alone; the others of the request are stored.
func TestMetadataTooLargeForItsPartitionOnly(t *testing.T) {
	c := client(t, broker(t))
	topic, group := unique(), unique()
	create(t, c, topic)
	adm := kadm.NewClient(c)
	for name, metadata := range map[string]struct {
		text   string
		stored string // what the broker returns; "": the commit is refused
	}{
		"4,096 letters":                    {strings.Repeat("x", 4096), strings.Repeat("x", 4096)},
		"4,097 letters":                    {text: strings.Repeat("x", 4097)},
		"2,048 pairs of units":             {strings.Repeat("🐦", 2048), strings.Repeat("🐦", 2048)},
		"2,049 pairs of units":             {text: strings.Repeat("🐦", 2049)},
		"4,096 of two bytes":               {strings.Repeat("é", 4096), strings.Repeat("é", 4096)},
		"bytes that are no UTF-8":          {"a\xffb", "a�b"},
		"the most that can be read at all": {text: strings.Repeat("x", 32767)},
	} {
		t.Run(name, func(t *testing.T) {
			offsets := kadm.Offsets{}
			offsets.Add(kadm.Offset{Topic: topic, Partition: 0, At: 5, LeaderEpoch: -1, Metadata: metadata.text})
			offsets.Add(kadm.Offset{Topic: topic, Partition: 1, At: 7, LeaderEpoch: -1, Metadata: name})
			answers, err := adm.CommitOffsets(within(t), group, offsets)
			if err != nil {
				t.Fatal(err)
			}
			first, _ := answers.Lookup(topic, 0)
			second, _ := answers.Lookup(topic, 1)
			want(t, "the neighbour", second.Err, nil)
			if metadata.stored == "" {
				want(t, "the partition", first.Err, kerr.OffsetMetadataTooLarge)
			} else {
				want(t, "the partition", first.Err, nil)
			}
			stored, err := adm.FetchOffsets(within(t), group)
			if err != nil {
				t.Fatal(err)
			}
			if o, _ := stored.Lookup(topic, 1); o.Metadata != name {
				t.Errorf("the neighbour's metadata is %q, want %q", o.Metadata, name)
			}
			if o, _ := stored.Lookup(topic, 0); metadata.stored != "" && o.Metadata != metadata.stored {
				t.Errorf("the metadata comes back as %.20q, want %.20q", o.Metadata, metadata.stored)
			}
		})
	}
}

// Metadata of more than 32,767 bytes cannot be read: the connection is closed.
func TestMetadataUnreadable(t *testing.T) {
	c := client(t, broker(t), kgo.RequestRetries(1), kgo.RetryTimeout(2*time.Second))
	topic := unique()
	create(t, c, topic)
	offsets := kadm.Offsets{}
	offsets.Add(kadm.Offset{Topic: topic, Partition: 0, At: 5, LeaderEpoch: -1, Metadata: strings.Repeat("x", 32768)})
	if answers, err := kadm.NewClient(c).CommitOffsets(within(t), unique(), offsets); err == nil {
		t.Errorf("the request was answered: %v", answers.Error())
	}
}

// The same limit applies in a transaction.
func TestMetadataTooLargeInTransaction(t *testing.T) {
	reach := broker(t)
	topic, group := unique(), unique()
	plain := client(t, reach)
	create(t, plain, topic)
	topics, err := kadm.NewClient(plain).ListTopics(within(t), topic)
	if err != nil {
		t.Fatal(err)
	}
	txn := unique()
	c := client(t, reach, kgo.TransactionalID(txn))
	req := kmsg.NewPtrTxnOffsetCommitRequest()
	id, epoch, err := c.ProducerID(within(t))
	if err != nil {
		t.Fatal(err)
	}
	add := kmsg.NewPtrAddOffsetsToTxnRequest()
	add.TransactionalID, add.ProducerID, add.ProducerEpoch, add.Group = txn, id, epoch, group
	if _, err := add.RequestWith(within(t), c); err != nil {
		t.Fatal(err)
	}
	req.TransactionalID, req.ProducerID, req.ProducerEpoch, req.Group, req.Generation = txn, id, epoch, group, -1
	rt := kmsg.NewTxnOffsetCommitRequestTopic()
	rt.Topic, rt.TopicID = topic, topics[topic].ID
	rp := kmsg.NewTxnOffsetCommitRequestTopicPartition()
	rt.Partitions = append(rt.Partitions, rp)
	req.Topics = append(req.Topics, rt)
	for length, code := range map[int]*kerr.Error{4096: nil, 4097: kerr.OffsetMetadataTooLarge} {
		metadata := strings.Repeat("x", length)
		req.Topics[0].Partitions[0].Offset, req.Topics[0].Partitions[0].Metadata = 5, &metadata
		resp, err := req.RequestWith(within(t), c)
		if err != nil {
			t.Fatal(err)
		}
		want(t, fmt.Sprint(length), kerr.ErrorForCode(resp.Topics[0].Partitions[0].ErrorCode), code)
	}
}

// A record more than an hour ahead is refused only for its partition.
func TestTimestampOfTheFuture(t *testing.T) {
	c := client(t, broker(t), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerLinger(50*time.Millisecond))
	topic, lenient := unique(), unique()
	create(t, c, topic)
	create(t, c, lenient, "message.timestamp.after.max.ms", "360000000")
	ahead := func(topic string, partition int32, by time.Duration) *kgo.Record {
		return &kgo.Record{Topic: topic, Partition: partition, Timestamp: time.Now().Add(by), Value: []byte("x")}
	}
	results := c.ProduceSync(within(t), ahead(topic, 0, 48*time.Hour), ahead(topic, 1, 50*time.Minute),
		ahead(lenient, 0, 48*time.Hour))
	errs := map[string]error{}
	for _, r := range results {
		errs[r.Record.Topic+string('0'+r.Record.Partition)] = r.Err
	}
	want(t, "48 h ahead", errs[topic+"0"], kerr.InvalidTimestamp)
	want(t, "50 min ahead", errs[topic+"1"], nil)
	want(t, "48 h ahead where 100 h are allowed", errs[lenient+"0"], nil)
}

// In a topic with the broker's time, a record's own timestamp is ignored and not returned, whether or not the batch is
// compressed.
func TestLogAppendTime(t *testing.T) {
	for name, codec := range map[string]kgo.CompressionCodec{
		"plain": kgo.NoCompression(), "gzip": kgo.GzipCompression(), "snappy": kgo.SnappyCompression(),
		"lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression(),
	} {
		t.Run(name, func(t *testing.T) {
			topic := unique()
			c := client(t, broker(t), kgo.ProducerBatchCompression(codec), kgo.ConsumeTopics(topic),
				kgo.ConsumeStartOffset(kgo.NewOffset().AtStart()), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
			create(t, c, topic, "message.timestamp.type", "LogAppendTime")
			value := strings.Repeat("packs well ", 100)
			before := time.Now().Add(-time.Second)
			var records []*kgo.Record
			for i := range 10 {
				records = append(records, &kgo.Record{
					Topic: topic, Key: []byte("k"), Value: []byte(value), Headers: []kgo.RecordHeader{{
						Key:   "h",
						Value: []byte("v"),
					}},
					Timestamp: time.Now().Add(time.Duration(i-5) * 24 * time.Hour),
				})
			}
			if err := c.ProduceSync(within(t), records...).FirstErr(); err != nil {
				t.Fatal(err)
			}
			for got := 0; got < len(records); {
				fetches := c.PollFetches(within(t))
				if err := fetches.Err(); err != nil {
					t.Fatal(err)
				}
				fetches.EachRecord(func(r *kgo.Record) {
					got++
					if r.Timestamp.Before(before) || r.Timestamp.After(time.Now().Add(time.Second)) {
						t.Errorf("the timestamp is %v, and now is %v", r.Timestamp, time.Now())
					}
					if string(r.Value) != value || string(r.Key) != "k" || len(r.Headers) != 1 {
						t.Errorf("the record came back as %q %.20q %v", r.Key, r.Value, r.Headers)
					}
				})
			}
		})
	}
}

// Writing to a topic, or asking for it, does not create it.
func TestNoTopicUnasked(t *testing.T) {
	topic := unique()
	c := client(t, broker(t), kgo.AllowAutoTopicCreation(), kgo.UnknownTopicRetries(1),
		kgo.RecordDeliveryTimeout(5*time.Second))
	err := c.ProduceSync(within(t), &kgo.Record{Topic: topic, Value: []byte("x")}).FirstErr()
	want(t, "written to", err, kerr.UnknownTopicOrPartition)
	topics, err := kadm.NewClient(c).ListTopics(within(t))
	if err != nil {
		t.Fatal(err)
	}
	if topics.Has(topic) {
		t.Error("the topic was created")
	}
}

// DescribeGroups supports only groups of the classic protocol; ConsumerGroupDescribe supports the newer ones.
func TestDescribeGroupsOfNewerKind(t *testing.T) {
	reach := broker(t)
	topic := unique()
	create(t, client(t, reach), topic)
	for kind, as := range map[string]struct {
		opts []kgo.Opt
		want *kerr.Error
	}{
		"classic":  {nil, nil},
		"consumer": {[]kgo.Opt{kgo.ServerSideBalancer()}, kerr.GroupIDNotFound},
	} {
		t.Run(kind, func(t *testing.T) {
			group := unique()
			c := client(t, reach, append(as.opts, kgo.ConsumerGroup(group), kgo.ConsumeTopics(topic),
				kgo.ConsumeStartOffset(kgo.NewOffset().AtStart()),
				kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))...)
			if err := c.ProduceSync(within(t), &kgo.Record{Topic: topic, Value: []byte("x")}).FirstErr(); err != nil {
				t.Fatal(err)
			}
			if n := c.PollFetches(within(t)).NumRecords(); n == 0 {
				t.Fatal("no record was received")
			}
			req := kmsg.NewPtrDescribeGroupsRequest()
			req.Groups = []string{group}
			resp, err := req.RequestWith(within(t), c)
			if err != nil {
				t.Fatal(err)
			}
			want(t, "described", kerr.ErrorForCode(resp.Groups[0].ErrorCode), as.want)
		})
	}
}
