package snssqs

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sns/types"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/snssqs/internal/client"
	"github.com/godwitmq/godwit/snssqs/internal/wire"
)

// lookFor bounds a list of the subscriptions, because Close waits for it.
const lookFor = 5 * time.Second

// publisher opens a sender to an exchange.
func (b *Backend) publisher(ctx context.Context, to driver.Channel) (driver.Sender, error) {
	t, err := b.topicOf(ctx, to)
	if err != nil {
		return nil, err
	}
	s := &sender{b: b, total: t.maxBytes(), Encoder: wire.Encoder{
		To: to, Dest: "topic " + t.name, MaxBytes: t.maxBytes(), Form: b.form(to), Trusted: b.trusts(to, t.arn, ""),
		Uploads: b.uploads(to, t.maxBytes()),
	}}
	var entries wire.TopicEntries
	s.send = func(ctx context.Context, batch []driver.Prepared) error {
		a := b.subscribersOf(to)
		if a != nil {
			if err := b.ready(ctx, a, t); err != nil {
				return err
			}
			if err := a.publishing(); err != nil {
				return err
			}
			defer a.published()
		}
		var ids batchIDs
		err := s.publish(ctx, t, entries.Of(batch), &ids)
		s.accepted(batch, &ids)
		if err == nil && a != nil && a.due(time.Now()) {
			s.looks.Go(func() { s.look(a, t) })
		}
		return err
	}
	return s, nil
}

// look lists the subscribed queues in a goroutine of its own. If it fails, the known queues are kept until the next
// look.
func (s *sender) look(a *subscribers, t *topic) {
	ctx, cancel := context.WithTimeout(context.Background(), lookFor)
	defer cancel()
	if err := s.b.look(ctx, a, t); err != nil {
		s.b.log.Debug("listing the subscriptions failed", "channel", s.To.String(), "error", err)
	}
}

// publish makes one request and returns an error per entry. ids gets the service's ids of the accepted entries.
func (s *sender) publish(ctx context.Context, t *topic, entries []types.PublishBatchRequestEntry, ids *batchIDs) error {
	in := &sns.PublishBatchInput{TopicArn: &t.arn, PublishBatchRequestEntries: entries}
	if err := s.b.before.publishing(ctx, in); err != nil {
		return err
	}
	out, err := s.b.clients.SNS.PublishBatch(ctx, in, client.PublishOnce, t.at())
	if err != nil {
		return client.Failed(err, "sns:Publish")
	}
	a := client.NewBatch("publish", len(entries))
	for i := range out.Successful {
		a.Successful(out.Successful[i].Id)
		n, ok := a.Index(out.Successful[i].Id)
		switch {
		case !ok:
		case aws.ToString(out.Successful[i].MessageId) == "":
			a.Failed(out.Successful[i].Id, unconfirmed("an id"))
		default:
			ids[n] = aws.ToString(out.Successful[i].MessageId)
		}
	}
	for _, f := range out.Failed {
		a.Failed(f.Id, client.EntryError(aws.ToString(f.Code), aws.ToString(f.Message), f.SenderFault))
	}
	return a.Err()
}
