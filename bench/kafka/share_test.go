//go:build unix

package kafka_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/kafka"
)

var (
	viaShare     = contender{name: "godwit, share group", run: runShare}
	viaUnordered = contender{name: "godwit, classic group without order", run: runUnordered}
	viaShareLoop = contender{name: "franz-go, one loop in a share group", run: runShareLoop}
)

// shareScenes compare Godwit in a share group with a plain loop in one, and with Godwit in a classic group where one
// record of fifty is slow. A real broker locks at most 2,000 records of a partition at a time.
func shareScenes() (ss []scene) {
	for _, partitions := range []int{1, 8} {
		ss = append(ss, scene{
			title:      fmt.Sprintf("share group, handler 0, partitions %d", partitions),
			partitions: partitions, concurrency: 2, warm: 20_000, records: 200_000,
			contenders: []contender{viaShare, viaShareLoop},
		})
	}
	return append(ss, scene{
		title:      "share group, handler 5ms, one of 50 1s, partitions 8, concurrency 20",
		partitions: 8, concurrency: 20, handler: 5 * time.Millisecond, records: 4000,
		straggler: time.Second, every: 50,
		contenders: []contender{viaShare, viaUnordered},
	})
}

func runShare(ctx context.Context, j job) error {
	return runWithoutOrder(ctx, j, kafka.GroupShare)
}

func runUnordered(ctx context.Context, j job) error {
	return runWithoutOrder(ctx, j, kafka.GroupClassic)
}

func runWithoutOrder(ctx context.Context, j job, protocol kafka.GroupProtocol) (err error) {
	backend, err := kafka.Open(ctx, &kafka.Options{
		Brokers: []string{j.broker},
		ChannelOptions: kafka.ChannelOptions{
			Partitions: j.partitions, Ordering: kafka.OrderNone, GroupProtocol: protocol,
		},
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, backend.Close(context.WithoutCancel(ctx))) }()
	c, err := godwit.NewConsumer(ctx, backend, j.topic+"."+j.group,
		&godwit.ConsumerOptions{Concurrency: j.concurrency})
	if err != nil {
		return err
	}
	_, err = c.Run(ctx, func(context.Context, *godwit.Delivery) error {
		j.handle()
		return nil
	})
	return err
}

// runShareLoop handles records one after another in one goroutine. The client accepts the records of a poll with the
// next one.
func runShareLoop(ctx context.Context, j job) error {
	client, err := kgo.NewClient(kgo.SeedBrokers(j.broker), kgo.ShareGroup(j.group), kgo.ConsumeTopics(j.topic))
	if err != nil {
		return err
	}
	defer client.Close()
	if err := begin(ctx, client, j.group); err != nil {
		return err
	}
	for ctx.Err() == nil {
		client.PollFetches(ctx).EachRecord(func(*kgo.Record) { j.handle() })
	}
	return nil
}

// begin lets a share group read the topic from its first record.
func begin(ctx context.Context, client *kgo.Client, group string) error {
	earliest := "earliest"
	start := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
	start.Name, start.Op, start.Value = "share.auto.offset.reset", kmsg.IncrementalAlterConfigOpSet, &earliest
	of := kmsg.NewIncrementalAlterConfigsRequestResource()
	of.ResourceType, of.ResourceName, of.Configs = kmsg.ConfigResourceTypeGroupConfig, group,
		append(of.Configs, start)
	req := kmsg.NewPtrIncrementalAlterConfigsRequest()
	req.Resources = append(req.Resources, of)
	_, err := req.RequestWith(ctx, client)
	return err
}
