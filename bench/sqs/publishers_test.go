//go:build unix

package sqs

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	snstypes "github.com/aws/aws-sdk-go-v2/service/sns/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"gocloud.dev/pubsub"
	"gocloud.dev/pubsub/awssnssqs"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/snssqs"
)

// message is a message to send. Without a key, the queue keeps no order.
type message struct{ body, key string }

// publisher is a contender that sends. send returns when the service has accepted all messages.
type publisher interface {
	send(ctx context.Context, ms ...message) error
	close(t *testing.T)
}

// publishing is a way to publish to a channel of Godwit: "orders", "orders" with order, or "events.*".
type publishing struct {
	name  string
	batch int // messages for one call of send
	open  func(t *testing.T, c *cloud, channel string, ordered bool) publisher
}

var (
	byHand = publishing{"hand-batched loop", 10, func(_ *testing.T, c *cloud, channel string, ordered bool) publisher {
		return &handPublisher{c, target(channel, ordered)}
	}}
	byWatermill = publishing{"watermill's pattern", 1, func(_ *testing.T, c *cloud, channel string,
		ordered bool,
	) publisher {
		return &singlePublisher{c, target(channel, ordered)}
	}}
	byGoCloud = publishing{"gocloud", 1, func(t *testing.T, c *cloud, channel string, ordered bool) publisher {
		name := target(channel, ordered)
		if strings.HasSuffix(channel, ".*") {
			return goCloudPublisher{awssnssqs.OpenSNSTopic(t.Context(), c.sns, c.topic(name), nil)}
		}
		return goCloudPublisher{awssnssqs.OpenSQSTopic(t.Context(), c.sqs, c.url(name), nil)}
	}}
	byGodwit  = publishing{"Godwit", 1, godwitPublishing(godwit.ProducerOptions{})}
	byBatches = publishing{"Godwit, SendBatch", 10, godwitPublishing(godwit.ProducerOptions{})}
	byLinger  = publishing{"Godwit, Linger", 1, godwitPublishing(godwit.ProducerOptions{Linger: 100 * ms})}
	bySharing = publishing{
		"Godwit, KeysShareRequests", 1,
		godwitPublishing(godwit.ProducerOptions{KeysShareRequests: true}),
	}
)

// target is the name of a channel's queue or topic.
func target(channel string, ordered bool) string {
	name := strings.TrimSuffix(channel, ".*")
	if ordered {
		name += ".fifo"
	}
	return name
}

// handPublisher sends as users do by hand: batches of ten with the SDK, and a check of every entry of the answer.
type handPublisher struct {
	c      *cloud
	target string
}

func (p *handPublisher) send(ctx context.Context, ms ...message) error {
	if strings.HasPrefix(p.target, "events") {
		return p.publish(ctx, ms)
	}
	url := p.c.url(p.target)
	in := &sqs.SendMessageBatchInput{QueueUrl: &url, Entries: make([]types.SendMessageBatchRequestEntry, len(ms))}
	for i, m := range ms {
		in.Entries[i] = types.SendMessageBatchRequestEntry{
			Id:          aws.String(strconv.Itoa(i)),
			MessageBody: aws.String(m.body),
		}
		if m.key != "" {
			in.Entries[i].MessageGroupId, in.Entries[i].MessageDeduplicationId = aws.String(m.key),
				aws.String(m.body[:20])
		}
	}
	out, err := p.c.sqs.SendMessageBatch(ctx, in)
	if err != nil {
		return err
	}
	for _, f := range out.Failed {
		return fmt.Errorf("entry %s: %s", *f.Id, *f.Code)
	}
	return nil
}

func (p *handPublisher) publish(ctx context.Context, ms []message) error {
	in := &sns.PublishBatchInput{TopicArn: aws.String(p.c.topic(p.target))}
	for i, m := range ms {
		in.PublishBatchRequestEntries = append(in.PublishBatchRequestEntries,
			snstypes.PublishBatchRequestEntry{Id: aws.String(strconv.Itoa(i)), Message: aws.String(m.body)})
	}
	out, err := p.c.sns.PublishBatch(ctx, in)
	if err != nil {
		return err
	}
	for _, f := range out.Failed {
		return fmt.Errorf("entry %s: %s", *f.Id, *f.Code)
	}
	return nil
}

func (p *handPublisher) close(*testing.T) {}

// singlePublisher sends one message in each request, as watermill's publisher for SQS does.
type singlePublisher struct {
	c      *cloud
	target string
}

func (p *singlePublisher) send(ctx context.Context, ms ...message) error {
	for _, m := range ms {
		if strings.HasPrefix(p.target, "events") {
			if _, err := p.c.sns.Publish(ctx, &sns.PublishInput{
				TopicArn: aws.String(p.c.topic(p.target)),
				Message:  aws.String(m.body),
			}); err != nil {
				return err
			}
			continue
		}
		in := &sqs.SendMessageInput{QueueUrl: aws.String(p.c.url(p.target)), MessageBody: aws.String(m.body)}
		if m.key != "" {
			in.MessageGroupId, in.MessageDeduplicationId = aws.String(m.key), aws.String(m.body[:20])
		}
		if _, err := p.c.sqs.SendMessage(ctx, in); err != nil {
			return err
		}
	}
	return nil
}

func (p *singlePublisher) close(*testing.T) {}

type goCloudPublisher struct{ topic *pubsub.Topic }

func (p goCloudPublisher) send(ctx context.Context, ms ...message) error {
	for _, m := range ms {
		out := &pubsub.Message{Body: []byte(m.body)}
		if m.key != "" {
			out.Metadata = map[string]string{
				awssnssqs.MetadataKeyMessageGroupID:  m.key,
				awssnssqs.MetadataKeyDeduplicationID: m.body[:20],
			}
		}
		if err := p.topic.Send(ctx, out); err != nil {
			return err
		}
	}
	return nil
}

func (p goCloudPublisher) close(t *testing.T) {
	if err := p.topic.Shutdown(context.Background()); err != nil {
		t.Error(err)
	}
}

// godwitPublisher sends with a Producer.
type godwitPublisher struct {
	b *snssqs.Backend
	p *godwit.Producer
}

func godwitPublishing(o godwit.ProducerOptions) func(*testing.T, *cloud, string, bool) publisher {
	return func(t *testing.T, c *cloud, channel string, ordered bool) publisher {
		b := c.backend(t)
		o := o
		o.Ordered = ordered
		p, err := godwit.NewProducer(t.Context(), b, channel, &o)
		if err != nil {
			t.Fatal(err)
		}
		return &godwitPublisher{b, p}
	}
}

func (p *godwitPublisher) send(ctx context.Context, ms ...message) error {
	if len(ms) == 1 {
		return p.p.Send(ctx, godwit.Message{Body: []byte(ms[0].body), OrderKey: ms[0].key})
	}
	out := make([]godwit.Message, len(ms))
	for i, m := range ms {
		out[i] = godwit.Message{Body: []byte(m.body), OrderKey: m.key}
	}
	return p.p.SendBatch(ctx, out)
}

func (p *godwitPublisher) close(t *testing.T) {
	t.Helper()
	if err := p.p.Close(context.Background()); err != nil {
		t.Error(err)
	}
	if err := p.b.Close(context.Background()); err != nil {
		t.Error(err)
	}
}
