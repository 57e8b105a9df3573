package snssqs

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	snstypes "github.com/aws/aws-sdk-go-v2/service/sns/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/snssqs/internal/client"
	"github.com/godwitmq/godwit/snssqs/internal/estate"
	"github.com/godwitmq/godwit/snssqs/internal/wire"
)

// requests sends messages, in one request for each batch. The functions of the application see each request before.
type requests struct {
	clients *client.Clients
	// Options.BeforeSend and Options.BeforePublish; nil: there is none.
	beforeSend    func(context.Context, *sqs.SendMessageBatchInput) error
	beforePublish func(context.Context, *sns.PublishBatchInput) error
}

// sending calls Options.BeforeSend. The entries get maps and texts of their own, because other requests share them.
func (r *requests) sending(ctx context.Context, in *sqs.SendMessageBatchInput) error {
	if r.beforeSend == nil {
		return nil
	}
	in.Entries = slices.Clone(in.Entries) // a dead letter may be sent again
	for i := range in.Entries {
		e := &in.Entries[i]
		body := aws.ToString(e.MessageBody)
		e.MessageBody, e.MessageAttributes = &body, maps.Clone(e.MessageAttributes)
		e.MessageSystemAttributes = maps.Clone(e.MessageSystemAttributes)
	}
	n := len(in.Entries)
	if err := guarded(ctx, "BeforeSend", r.beforeSend, in); err != nil {
		return err
	}
	ids := make([]*string, len(in.Entries))
	for i := range ids {
		ids[i] = in.Entries[i].Id
	}
	return sameEntries("BeforeSend", n, ids)
}

// publishing calls Options.BeforePublish, as sending.
func (r *requests) publishing(ctx context.Context, in *sns.PublishBatchInput) error {
	if r.beforePublish == nil {
		return nil
	}
	for i := range in.PublishBatchRequestEntries {
		e := &in.PublishBatchRequestEntries[i]
		body := aws.ToString(e.Message)
		e.Message, e.MessageAttributes = &body, maps.Clone(e.MessageAttributes)
	}
	n := len(in.PublishBatchRequestEntries)
	if err := guarded(ctx, "BeforePublish", r.beforePublish, in); err != nil {
		return err
	}
	ids := make([]*string, len(in.PublishBatchRequestEntries))
	for i := range ids {
		ids[i] = in.PublishBatchRequestEntries[i].Id
	}
	return sameEntries("BeforePublish", n, ids)
}

// guarded makes a panic of the application's function an error of the request.
func guarded[T any](ctx context.Context, option string, f func(context.Context, T) error, in T) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = client.Permanent("snssqs.Options.%s panicked: %v", option, v)
		}
	}()
	if err := f(ctx, in); err != nil {
		return &driver.Error{Class: driver.ClassOf(err), Err: fmt.Errorf("snssqs.Options.%s: %w", option, err)}
	}
	return nil
}

// sameEntries refuses a request whose answers could not be told apart, or would be missing.
func sameEntries(option string, was int, ids []*string) error {
	if len(ids) != was {
		return client.Permanent("snssqs.Options.%s left %d of %d entries: it may change entries, and not add or remove them",
			option, len(ids), was)
	}
	for i, id := range ids {
		if is, sent := aws.ToString(id), *client.EntryID(i); is != sent {
			return client.Permanent("snssqs.Options.%s changed the id of entry %d from %q to %q: the answer of the service "+
				"needs it", option, i, sent, is)
		}
	}
	return nil
}

// batchIDs are the ids that the service gave to the entries of one batch; "": the entry was not accepted.
type batchIDs [client.MaxBatch]string

// send makes one request to a queue and returns an error per entry. ids gets the service's ids of the accepted entries.
func (r *requests) send(ctx context.Context, q *estate.Queue, entries []types.SendMessageBatchRequestEntry,
	ids *batchIDs,
) error {
	in := &sqs.SendMessageBatchInput{QueueUrl: &q.URL, Entries: entries}
	if err := r.sending(ctx, in); err != nil {
		return err
	}
	out, err := r.clients.SQS.SendMessageBatch(ctx, in, client.Once, q.At())
	if err != nil {
		return client.Failed(err, "sqs:SendMessage")
	}
	a := client.NewBatch("send", len(entries))
	for _, s := range out.Successful {
		i, ok := a.Accepted(s.Id)
		if !ok {
			continue
		}
		err := wire.CheckMD5(aws.ToString(s.MessageId), in.Entries[i].MessageBody, s.MD5OfMessageBody)
		switch {
		case aws.ToString(s.MessageId) == "", aws.ToString(s.MD5OfMessageBody) == "":
			a.Fail(i, unconfirmed("an id and the MD5 of its body"))
		case err != nil:
			a.Fail(i, err)
		default:
			ids[i] = aws.ToString(s.MessageId)
		}
	}
	for _, f := range out.Failed {
		a.Refused(f.Id, f.Code, f.Message, f.SenderFault)
	}
	return a.Err()
}

// unconfirmed is the error of a message that the service says to have accepted, without what it gives to each message.
func unconfirmed(missing string) error {
	return client.Transient("the service says that it has accepted the message, "+
		"and its answer has not %s, as that of SQS and SNS has: the message is sent again", missing)
}

// publish makes one request to a topic and returns an error per entry. ids gets the service's ids of the accepted
// entries.
func (r *requests) publish(ctx context.Context, t *estate.Topic, entries []snstypes.PublishBatchRequestEntry,
	ids *batchIDs,
) error {
	in := &sns.PublishBatchInput{TopicArn: &t.ARN, PublishBatchRequestEntries: entries}
	if err := r.publishing(ctx, in); err != nil {
		return err
	}
	out, err := r.clients.SNS.PublishBatch(ctx, in, client.PublishOnce, t.At())
	if err != nil {
		return client.Failed(err, "sns:Publish")
	}
	a := client.NewBatch("publish", len(entries))
	for _, s := range out.Successful {
		switch i, ok := a.Accepted(s.Id); {
		case !ok:
		case aws.ToString(s.MessageId) == "":
			a.Fail(i, unconfirmed("an id"))
		default:
			ids[i] = aws.ToString(s.MessageId)
		}
	}
	for _, f := range out.Failed {
		a.Refused(f.Id, f.Code, f.Message, f.SenderFault)
	}
	return a.Err()
}
