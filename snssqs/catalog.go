package snssqs

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	tagging "github.com/aws/aws-sdk-go-v2/service/resourcegroupstaggingapi"
	tagtypes "github.com/aws/aws-sdk-go-v2/service/resourcegroupstaggingapi/types"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/snssqs/internal/client"
)

// looksAtOnce is how many queues are looked at at the same time, so that hundreds of them take seconds.
const looksAtOnce = 24

// Catalog lists the channels of the namespace. It finds them by their tags, with a request for each hundred. If
// tag:GetResources is denied, or the server has no such service, it lists all queues and topics whose names have the
// form of the namespace's, and reads the tags of each. Channels of Options.Names are listed if they exist. The age of a
// topic is unknown.
func (b *Backend) Catalog(ctx context.Context) ([]driver.ChannelInfo, error) {
	if err := b.clients.Open(); err != nil {
		return nil, err
	}
	all, err := b.tagged(ctx)
	if err != nil && !driver.ClassOf(err).Passing() {
		all, err = b.named(ctx)
	}
	if err != nil {
		return nil, err
	}
	mapped, err := b.mappedChannels(ctx)
	if err != nil {
		return nil, err
	}
	all = append(all, mapped...)
	if err := b.date(ctx, all); err != nil {
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
func (b *Backend) tagged(ctx context.Context) (all []driver.ChannelInfo, err error) {
	pages := tagging.NewGetResourcesPaginator(b.clients.Tagging, &tagging.GetResourcesInput{
		TagFilters:          []tagtypes.TagFilter{{Key: aws.String(tagManaged), Values: []string{managedByGodwit}}},
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
			if c, ok := b.listed(aws.ToString(r.ResourceARN), tags); ok {
				all = append(all, c)
			}
		}
	}
	return all, nil
}

// listed returns the channel of a resource; false: it is none of the namespace. Unknown tags are nil.
func (b *Backend) listed(arn string, tags map[string]string) (c driver.ChannelInfo, ok bool) {
	a, ok := parseARN(arn)
	if !ok {
		return c, false
	}
	if a.service == "sns" {
		c.Channel, ok = b.namespace.exchange(a.name)
	} else {
		c.Channel, ok = b.namespace.channel(a.name)
	}
	if space, set := tags[tagNamespace]; set && space != string(b.namespace) {
		ok = false
	}
	if tags != nil && tags[tagManaged] != managedByGodwit {
		ok = false
	}
	c.Address, c.Tags = arn, tags
	return c, ok
}

// named finds the channels by their names.
func (b *Backend) named(ctx context.Context) (all []driver.ChannelInfo, err error) {
	var prefix *string
	if b.namespace != "" {
		prefix = aws.String(string(b.namespace) + spaceSeparator)
	}
	queues := sqs.NewListQueuesPaginator(b.clients.SQS, &sqs.ListQueuesInput{
		QueueNamePrefix: prefix, MaxResults: aws.Int32(1000),
	})
	var arns, urls []string
	for queues.HasMorePages() {
		page, err := queues.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("list the queues: %w",
				client.Failed(err, "tag:GetResources or sqs:ListQueues"))
		}
		for _, url := range page.QueueUrls {
			if _, ok := b.namespace.channel(url[strings.LastIndexByte(url, '/')+1:]); ok {
				arns, urls = append(arns, ""), append(urls, url)
			}
		}
	}
	topics := sns.NewListTopicsPaginator(b.clients.SNS, &sns.ListTopicsInput{})
	for topics.HasMorePages() {
		page, err := topics.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("list the topics: %w",
				client.Failed(err, "tag:GetResources or sns:ListTopics"))
		}
		for _, t := range page.Topics {
			if a, ok := parseARN(aws.ToString(t.TopicArn)); ok {
				if _, ours := b.namespace.exchange(a.name); ours {
					arns, urls = append(arns, aws.ToString(t.TopicArn)), append(urls, "")
				}
			}
		}
	}
	found := make([]driver.ChannelInfo, len(arns))
	err = client.Concurrently(len(arns), looksAtOnce, func(i int) error {
		var tags map[string]string
		var err error
		if urls[i] == "" {
			tags, err = b.topicTags(ctx, arns[i])
		} else {
			arns[i], tags, err = b.queueTags(ctx, urls[i])
		}
		if err == nil {
			if c, ok := b.listed(arns[i], tags); ok {
				found[i] = c
			}
		}
		return client.Ignore(err, driver.NotFound) // it was deleted meanwhile
	})
	return found, err
}

// queueTags returns the ARN and the tags of a queue; nil: reading the tags is denied.
func (b *Backend) queueTags(ctx context.Context, url string) (arn string, tags map[string]string, err error) {
	q := &queue{name: url[strings.LastIndexByte(url, '/')+1:], url: url}
	if err := b.load(ctx, q); err != nil {
		return "", nil, err
	}
	out, err := b.clients.SQS.ListQueueTags(ctx, &sqs.ListQueueTagsInput{QueueUrl: &url})
	if err != nil {
		return q.arn(), nil, client.Ignore(fmt.Errorf("queue %s: read its tags: %w", q.name, client.Classify(err)),
			driver.Denied)
	}
	return q.arn(), known(out.Tags), nil
}

// topicTags returns the tags of a topic; nil: reading them is denied.
func (b *Backend) topicTags(ctx context.Context, arn string) (map[string]string, error) {
	out, err := b.clients.SNS.ListTagsForResource(ctx, &sns.ListTagsForResourceInput{ResourceArn: &arn})
	if err != nil {
		return nil, client.Ignore(fmt.Errorf("topic %s: read its tags: %w", arn, client.Classify(err)), driver.Denied)
	}
	tags := map[string]string{}
	for _, t := range out.Tags {
		tags[aws.ToString(t.Key)] = aws.ToString(t.Value)
	}
	return tags, nil
}

// known returns tags that were read, even if there are none.
func known(tags map[string]string) map[string]string {
	if tags == nil {
		return map[string]string{}
	}
	return tags
}

// mappedChannels lists the channels of Options.Names that exist.
func (b *Backend) mappedChannels(ctx context.Context) ([]driver.ChannelInfo, error) {
	names := slices.Sorted(maps.Keys(b.names))
	found := make([]driver.ChannelInfo, 3*len(names))
	err := client.Concurrently(len(names), looksAtOnce, func(i int) error {
		r, ch := b.names[names[i]], driver.Channel{Queue: names[i]}
		if exchange, queue, many := strings.Cut(names[i], "."); many {
			ch = driver.Channel{Exchange: exchange, Queue: queue}
		}
		if r.Topic != "" {
			ch := driver.Channel{Exchange: ch.Exchange, Ordered: strings.HasSuffix(r.Topic, fifoSuffix)}
			t, err := b.foreignTopic(ctx, r)
			if err != nil {
				return err
			}
			found[3*i] = driver.ChannelInfo{Channel: ch, Mapped: true, Address: t.arn}
		}
		var err error
		if r.Queue != "" {
			found[3*i+1], err = b.mappedQueue(ctx, ch, r)
		}
		if ch.DeadLetter = true; err == nil && (r.Queue != "" || r.DeadLetters != "") {
			found[3*i+2], err = b.mappedQueue(ctx, ch, r)
		}
		return err
	})
	return found, err
}

// mappedQueue looks up a mapped queue; the result is empty if it does not exist.
func (b *Backend) mappedQueue(ctx context.Context, ch driver.Channel, r Resource) (c driver.ChannelInfo, err error) {
	at := r.Queue
	if ch.DeadLetter && r.DeadLetters != "" {
		at = r.DeadLetters
	}
	ch.Ordered = strings.HasSuffix(at, fifoSuffix)
	q, err := b.foreignQueue(ctx, ch, r)
	if err != nil {
		return c, client.Ignore(err, driver.NotFound)
	}
	return driver.ChannelInfo{
		Channel: ch, Mapped: true, Address: q.arn(), Created: q.created(), Paused: paused(q.policy()),
	}, nil
}

// date looks up when the queues were created, and removes the address of one that was deleted meanwhile.
func (b *Backend) date(ctx context.Context, all []driver.ChannelInfo) error {
	return client.Concurrently(len(all), looksAtOnce, func(i int) error {
		c := &all[i]
		a, ok := parseARN(c.Address)
		if !ok || a.service != "sqs" || !c.Created.IsZero() {
			return nil
		}
		q, err := b.find(ctx, a.name)
		switch {
		case err == nil:
			c.Created, c.Paused = q.created(), paused(q.policy())
		case driver.ClassOf(err) == driver.NotFound:
			c.Address = ""
		case driver.ClassOf(err) != driver.Denied:
			return err
		}
		return nil
	})
}

// created is when the queue was created.
func (q *queue) created() time.Time {
	s, err := strconv.ParseInt(q.attributes[string(types.QueueAttributeNameCreatedTimestamp)], 10, 64)
	if err != nil {
		return time.Time{}
	}
	return time.Unix(s, 0)
}
