package snssqs

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/snssqs/internal/client"
)

// before is the functions of the application that are called with requests of messages; nil: there is none.
type before struct {
	send    func(context.Context, *sqs.SendMessageBatchInput) error
	publish func(context.Context, *sns.PublishBatchInput) error
}

// sending calls Options.BeforeSend. The entries get maps and texts of their own, because other requests share them.
func (f *before) sending(ctx context.Context, in *sqs.SendMessageBatchInput) error {
	if f.send == nil {
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
	err := guarded("BeforeSend", func() error { return f.send(ctx, in) })
	if err != nil {
		return err
	}
	return sameEntries("BeforeSend", n, len(in.Entries), func(i int) *string { return in.Entries[i].Id })
}

// publishing calls Options.BeforePublish, as sending.
func (f *before) publishing(ctx context.Context, in *sns.PublishBatchInput) error {
	if f.publish == nil {
		return nil
	}
	for i := range in.PublishBatchRequestEntries {
		e := &in.PublishBatchRequestEntries[i]
		body := aws.ToString(e.Message)
		e.Message, e.MessageAttributes = &body, maps.Clone(e.MessageAttributes)
	}
	n := len(in.PublishBatchRequestEntries)
	err := guarded("BeforePublish", func() error { return f.publish(ctx, in) })
	if err != nil {
		return err
	}
	return sameEntries("BeforePublish", n, len(in.PublishBatchRequestEntries), func(i int) *string {
		return in.PublishBatchRequestEntries[i].Id
	})
}

// guarded makes a panic of the application's function an error of the request.
func guarded(option string, f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = client.Permanent("snssqs.Options.%s panicked: %v", option, v)
		}
	}()
	if err := f(); err != nil {
		return &driver.Error{Class: driver.ClassOf(err), Err: fmt.Errorf("snssqs.Options.%s: %w", option, err)}
	}
	return nil
}

// sameEntries refuses a request whose answers could not be told apart, or would be missing.
func sameEntries(option string, was, is int, id func(i int) *string) error {
	if is != was {
		return client.Permanent("snssqs.Options.%s left %d of %d entries: it may change entries, and not add or remove them",
			option, is, was)
	}
	for i := range is {
		if aws.ToString(id(i)) != *client.EntryID(i) {
			return client.Permanent("snssqs.Options.%s changed the id of entry %d from %q to %q: the answer of the service needs it",
				option, i, *client.EntryID(i), aws.ToString(id(i)))
		}
	}
	return nil
}
