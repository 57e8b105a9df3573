package operate

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	tagging "github.com/aws/aws-sdk-go-v2/service/resourcegroupstaggingapi"
	tagtypes "github.com/aws/aws-sdk-go-v2/service/resourcegroupstaggingapi/types"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/snssqs/internal/client"
	"github.com/godwitmq/godwit/snssqs/internal/estate"
)

// looksAtOnce is how many queues are looked at at the same time, so that hundreds of them take seconds.
const looksAtOnce = 24

// Catalog lists the channels of the namespace, by their tags or, where these cannot be searched, by their names.
func Catalog(ctx context.Context, e *estate.Estate) ([]driver.ChannelInfo, error) {
	if err := e.Clients.Open(); err != nil {
		return nil, err
	}
	all, err := tagged(ctx, e)
	if err != nil && !driver.ClassOf(err).Passing() {
		all, err = named(ctx, e)
	}
	if err != nil {
		return nil, err
	}
	mapped, err := mappedChannels(ctx, e)
	if err != nil {
		return nil, err
	}
	all = append(all, mapped...)
	if err := date(ctx, e, all); err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(c driver.ChannelInfo) bool { return c.Address == "" })
	slices.SortFunc(all, func(x, y driver.ChannelInfo) int {
		return cmp.Or(cmp.Compare(x.Channel.String(), y.Channel.String()), cmp.Compare(x.Address, y.Address))
	})
	return slices.CompactFunc(all, func(x, y driver.ChannelInfo) bool {
		return x.Channel == y.Channel && x.Address == y.Address // the topic of several mapped queues
	}), nil
}

// tagged finds the channels by their tags.
func tagged(ctx context.Context, e *estate.Estate) (all []driver.ChannelInfo, err error) {
	key, value := estate.Managed()
	pages := tagging.NewGetResourcesPaginator(e.Clients.Tagging, &tagging.GetResourcesInput{
		TagFilters:          []tagtypes.TagFilter{{Key: &key, Values: []string{value}}},
		ResourceTypeFilters: []string{"sqs", "sns"},
		ResourcesPerPage:    aws.Int32(100),
	})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("list the tagged queues and topics: %w", client.Failed(err, "tag:GetResources"))
		}
		for _, r := range page.ResourceTagMappingList {
			tags := map[string]string{}
			for _, t := range r.Tags {
				tags[aws.ToString(t.Key)] = aws.ToString(t.Value)
			}
			if c, ok := e.Listed(aws.ToString(r.ResourceARN), tags); ok {
				all = append(all, c)
			}
		}
	}
	return all, nil
}

// named finds the channels by their names.
func named(ctx context.Context, e *estate.Estate) (all []driver.ChannelInfo, err error) {
	queues := sqs.NewListQueuesPaginator(e.Clients.SQS, &sqs.ListQueuesInput{
		QueueNamePrefix: e.Prefix(), MaxResults: aws.Int32(1000),
	})
	var arns, urls []string
	for queues.HasMorePages() {
		page, err := queues.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("list the queues: %w", client.Failed(err, "tag:GetResources or sqs:ListQueues"))
		}
		for _, url := range page.QueueUrls {
			if _, ok := e.ChannelOfQueue(estate.NameIn(url)); ok {
				arns, urls = append(arns, ""), append(urls, url)
			}
		}
	}
	topics := sns.NewListTopicsPaginator(e.Clients.SNS, &sns.ListTopicsInput{})
	for topics.HasMorePages() {
		page, err := topics.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("list the topics: %w", client.Failed(err, "tag:GetResources or sns:ListTopics"))
		}
		for _, t := range page.Topics {
			if a, ok := estate.ParseARN(aws.ToString(t.TopicArn)); ok {
				if _, ours := e.ChannelOfTopic(a.Name); ours {
					arns, urls = append(arns, aws.ToString(t.TopicArn)), append(urls, "")
				}
			}
		}
	}
	found := make([]driver.ChannelInfo, len(arns))
	err = client.Concurrently(len(arns), looksAtOnce, func(i int) error {
		var tags map[string]string // nil: reading them is denied
		var err error
		if urls[i] == "" {
			tags, err = e.Topics.TagsOf(ctx, &estate.Topic{Name: arns[i], ARN: arns[i]})
		} else {
			q := &estate.Queue{Name: estate.NameIn(urls[i]), URL: urls[i]}
			if err = e.Queues.Load(ctx, q); err != nil {
				return client.Ignore(err, driver.NotFound) // it was deleted meanwhile
			}
			arns[i] = q.ARN()
			tags, err = e.Queues.TagsOf(ctx, q)
		}
		if err = client.Ignore(err, driver.Denied); err == nil {
			if c, ok := e.Listed(arns[i], tags); ok {
				found[i] = c
			}
		}
		return client.Ignore(err, driver.NotFound)
	})
	return found, err
}

// mappedChannels lists the channels of Options.Names that exist.
func mappedChannels(ctx context.Context, e *estate.Estate) ([]driver.ChannelInfo, error) {
	names := slices.Sorted(maps.Keys(e.Mappings))
	found := make([]driver.ChannelInfo, 3*len(names))
	err := client.Concurrently(len(names), looksAtOnce, func(i int) error {
		r, ch := e.Mappings[names[i]], driver.Channel{Queue: names[i]}
		if exchange, queue, many := strings.Cut(names[i], "."); many {
			ch = driver.Channel{Exchange: exchange, Queue: queue}
		}
		if r.Topic != "" {
			ch := driver.Channel{Exchange: ch.Exchange, Ordered: estate.Ordered(r.Topic)}
			t, err := e.Topics.Mapped(ctx, r)
			if err != nil {
				return err
			}
			found[3*i] = driver.ChannelInfo{Channel: ch, Mapped: true, Address: t.ARN}
		}
		var err error
		if r.Queue != "" {
			found[3*i+1], err = mappedQueue(ctx, e, ch, r)
		}
		if ch.DeadLetter = true; err == nil && (r.Queue != "" || r.DeadLetters != "") {
			found[3*i+2], err = mappedQueue(ctx, e, ch, r)
		}
		return err
	})
	return found, err
}

// mappedQueue looks up a mapped queue; the result is empty if it does not exist.
func mappedQueue(ctx context.Context, e *estate.Estate, ch driver.Channel, r estate.Mapping) (c driver.ChannelInfo,
	err error,
) {
	at := r.Queue
	if ch.DeadLetter && r.DeadLetters != "" {
		at = r.DeadLetters
	}
	ch.Ordered = estate.Ordered(at)
	q, err := e.Queues.Mapped(ctx, ch, r)
	if err != nil {
		return c, client.Ignore(err, driver.NotFound)
	}
	return driver.ChannelInfo{
		Channel: ch, Mapped: true, Address: q.ARN(), Created: q.Created(), Paused: q.Paused(),
	}, nil
}

// date looks up when the queues were created, and removes the address of one that was deleted meanwhile.
func date(ctx context.Context, e *estate.Estate, all []driver.ChannelInfo) error {
	return client.Concurrently(len(all), looksAtOnce, func(i int) error {
		c := &all[i]
		a, ok := estate.ParseARN(c.Address)
		if !ok || a.Service != "sqs" || !c.Created.IsZero() {
			return nil
		}
		q, err := e.Queues.Find(ctx, a.Name)
		switch {
		case err == nil:
			c.Created, c.Paused = q.Created(), q.Paused()
		case driver.ClassOf(err) == driver.NotFound:
			c.Address = ""
		case driver.ClassOf(err) != driver.Denied:
			return err
		}
		return nil
	})
}
