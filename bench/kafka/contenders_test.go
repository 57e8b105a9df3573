//go:build unix

package kafka_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/IBM/sarama"
	"github.com/ThreeDotsLabs/watermill"
	wkafka "github.com/ThreeDotsLabs/watermill-kafka/v3/pkg/kafka"
	segmentio "github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/kafka"
)

// contender is one way to consume a topic. run consumes the job's topic until ctx ends, and calls the job's handler for
// each record.
type contender struct {
	name string
	run  func(ctx context.Context, j job) error
	// alone is set instead of run for a contender in a process of its own, which handles and counts the records itself.
	alone func(ctx context.Context, j job) (figure, error)
}

// job is the work of all contenders in a round.
type job struct {
	broker, topic string
	group         string // another one for each run, so that each run reads from the first record
	partitions    int
	concurrency   int
	handler       time.Duration // how long each record takes
	straggler     time.Duration // how long one of every takes instead
	every         int
	warm          int // records that are handled before those that are counted
	records       int // records that are counted
	handle        func()
}

var (
	viaGodwit    = contender{name: "godwit", run: runGodwit}
	viaTransform = contender{name: "godwit, Transform", run: runTransform}
	viaSession   = contender{name: "franz-go, GroupTransactSession", run: runSession}
	viaPool      = contender{name: "goroutine pool, from memory", run: runPool}
	viaLoop      = contender{name: "franz-go, one loop", run: runLoop}
	viaFranz     = contender{name: "franz-go, a goroutine for each partition", run: runFranz}
	viaSarama    = contender{name: "sarama", run: runSarama}
	viaWatermill = contender{name: "watermill-kafka", run: runWatermill}
	viaSegmentio = contender{name: "segmentio kafka-go", run: runSegmentio}
	viaParallel  = contender{name: "Parallel Consumer (Java)", alone: runParallel}
)

// runGodwit consumes in the order of keys, with Godwit's defaults: completions in the metadata of commits, retries, and
// dead letters.
func runGodwit(ctx context.Context, j job) (err error) {
	backend, err := kafka.Open(ctx, &kafka.Options{
		Brokers: []string{j.broker}, ChannelOptions: kafka.ChannelOptions{Partitions: j.partitions},
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, backend.Close(context.WithoutCancel(ctx))) }()
	c, err := godwit.NewConsumer(ctx, backend, j.topic+"."+j.group,
		&godwit.ConsumerOptions{Ordered: true, Concurrency: j.concurrency})
	if err != nil {
		return err
	}
	_, err = c.Run(ctx, func(context.Context, *godwit.Delivery) error {
		j.handle()
		return nil
	})
	return err
}

// runTransform sends a message for each record, in transactions with the completions.
func runTransform(ctx context.Context, j job) (err error) {
	backend, err := kafka.Open(ctx, &kafka.Options{
		Brokers: []string{j.broker}, ChannelOptions: kafka.ChannelOptions{Partitions: j.partitions},
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, backend.Close(context.WithoutCancel(ctx))) }()
	c, err := godwit.NewConsumer(ctx, backend, j.topic+"."+j.group,
		&godwit.ConsumerOptions{Ordered: true, Concurrency: j.concurrency})
	if err != nil {
		return err
	}
	p, err := godwit.NewProducer(ctx, backend, j.group+"-results", &godwit.ProducerOptions{Ordered: true})
	if err != nil {
		return err
	}
	_, err = godwit.Transform(ctx, c, p, func(_ context.Context, d *godwit.Delivery) ([]godwit.Message, error) {
		j.handle()
		return []godwit.Message{{OrderKey: d.OrderKey, Body: d.Body}}, nil
	})
	return err
}

// runSession is the loop that franz-go has for transactions. It handles a poll's partitions concurrently, sends a
// record for each of theirs, and ends the transaction.
func runSession(ctx context.Context, j job) error {
	s, err := kgo.NewGroupTransactSession(kgo.SeedBrokers(j.broker), kgo.ConsumerGroup(j.group),
		kgo.ConsumeTopics(j.topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.TransactionalID(j.group),
		kgo.DefaultProduceTopic(j.group+"-results"), kgo.ProducerBatchCompression(kgo.NoCompression()))
	if err != nil {
		return err
	}
	defer s.Close()
	if err := createResults(ctx, s.Client(), j); err != nil {
		return err
	}
	for ctx.Err() == nil {
		fetches := s.PollRecords(ctx, 1000*j.partitions)
		if ctx.Err() != nil {
			return nil
		}
		if err := s.Begin(); err != nil {
			return err
		}
		var all sync.WaitGroup
		fetches.EachPartition(func(p kgo.FetchTopicPartition) {
			all.Go(func() {
				for _, r := range p.Records {
					j.handle()
					s.Produce(ctx, &kgo.Record{Key: r.Key, Value: r.Value}, func(*kgo.Record, error) {})
				}
			})
		})
		all.Wait()
		if _, err := s.End(ctx, kgo.TryCommit); err != nil && ctx.Err() == nil {
			return err
		}
	}
	return nil
}

// createResults creates the topic of the results, with as many partitions as the job's.
func createResults(ctx context.Context, client *kgo.Client, j job) error {
	_, err := kadm.NewClient(client).CreateTopic(ctx, int32(j.partitions), 1, nil, j.group+"-results")
	return err
}

// runPool is the upper bound for every consumer: the records are in memory, and in no order.
func runPool(ctx context.Context, j job) error {
	records := make(chan struct{}, 1024)
	var workers sync.WaitGroup
	for range j.concurrency {
		workers.Go(func() {
			for range records {
				j.handle()
			}
		})
	}
	for ctx.Err() == nil {
		records <- struct{}{}
	}
	close(records)
	workers.Wait()
	return nil
}

func franz(j job) (*kgo.Client, error) {
	return kgo.NewClient(kgo.SeedBrokers(j.broker), kgo.ConsumerGroup(j.group), kgo.ConsumeTopics(j.topic),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.AutoCommitInterval(time.Second))
}

// runLoop handles records one after another in one goroutine, and does nothing else.
func runLoop(ctx context.Context, j job) error {
	client, err := franz(j)
	if err != nil {
		return err
	}
	defer client.Close()
	for ctx.Err() == nil {
		client.PollFetches(ctx).EachRecord(func(*kgo.Record) { j.handle() })
	}
	return nil
}

func runFranz(ctx context.Context, j job) error {
	client, err := franz(j)
	if err != nil {
		return err
	}
	defer client.Close()
	for ctx.Err() == nil {
		var all sync.WaitGroup
		client.PollRecords(ctx, 1000*j.partitions).EachPartition(func(p kgo.FetchTopicPartition) {
			all.Go(func() {
				for range p.Records {
					if ctx.Err() == nil {
						j.handle()
					}
				}
			})
		})
		all.Wait()
	}
	return nil
}

func saramaConfig() *sarama.Config {
	c := sarama.NewConfig()
	c.Version = sarama.V2_8_0_0
	c.Consumer.Offsets.Initial = sarama.OffsetOldest
	c.Consumer.Offsets.AutoCommit.Interval = time.Second
	return c
}

func runSarama(ctx context.Context, j job) error {
	group, err := sarama.NewConsumerGroup([]string{j.broker}, j.group, saramaConfig())
	if err != nil {
		return err
	}
	for ctx.Err() == nil {
		if err := group.Consume(ctx, []string{j.topic}, saramaHandler{j}); err != nil {
			return errors.Join(err, group.Close())
		}
	}
	return group.Close()
}

type saramaHandler struct{ job }

func (saramaHandler) Setup(sarama.ConsumerGroupSession) error   { return nil }
func (saramaHandler) Cleanup(sarama.ConsumerGroupSession) error { return nil }
func (h saramaHandler) ConsumeClaim(s sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for {
		select {
		case m, ok := <-claim.Messages():
			if !ok {
				return nil
			}
			h.handle()
			s.MarkMessage(m, "")
		case <-s.Context().Done():
			return nil
		}
	}
}

func runWatermill(ctx context.Context, j job) error {
	sub, err := wkafka.NewSubscriber(wkafka.SubscriberConfig{
		Brokers: []string{j.broker}, Unmarshaler: wkafka.DefaultMarshaler{}, ConsumerGroup: j.group,
		OverwriteSaramaConfig: saramaConfig(),
	}, watermill.NewSlogLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		return err
	}
	messages, err := sub.Subscribe(ctx, j.topic)
	if err != nil {
		return errors.Join(err, sub.Close())
	}
	for m := range messages {
		j.handle()
		m.Ack()
	}
	return sub.Close()
}

func runSegmentio(ctx context.Context, j job) error {
	r := segmentio.NewReader(segmentio.ReaderConfig{
		Brokers: []string{j.broker}, GroupID: j.group, Topic: j.topic, StartOffset: segmentio.FirstOffset,
		CommitInterval: time.Second,
		QueueCapacity:  1000, MaxWait: 100 * time.Millisecond, MaxBytes: 10 << 20,
	})
	for ctx.Err() == nil {
		m, err := r.FetchMessage(ctx)
		if err != nil {
			break
		}
		j.handle()
		if err := r.CommitMessages(ctx, m); err != nil {
			break
		}
	}
	return r.Close()
}
