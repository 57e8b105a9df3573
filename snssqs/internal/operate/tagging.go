package operate

import (
	"context"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/snssqs/internal/client"
	"github.com/godwitmq/godwit/snssqs/internal/estate"
)

// Tag is driver.Operations.Tag.
func Tag(ctx context.Context, e *estate.Estate, ch driver.Channel, tags map[string]string) error {
	if _, foreign := e.Mapping(ch); foreign {
		return client.Permanent("channel %s: its resource is one of Options.Names, and Godwit never tags it", ch)
	}
	if ch.Queue != "" {
		q, err := e.Queues.Of(ctx, ch)
		if err != nil {
			return err
		}
		is, err := e.Queues.TagsOf(ctx, q)
		if err != nil {
			return err
		}
		if err := estate.Ours(ch, "queue "+q.Name, is); err != nil {
			return err
		}
		return e.Queues.SetTags(ctx, q, is, tags)
	}
	t, err := e.Topics.Of(ctx, ch)
	if err != nil {
		return err
	}
	is, err := e.Topics.TagsOf(ctx, t)
	if err != nil {
		return err
	}
	if err := estate.Ours(ch, "topic "+t.Name, is); err != nil {
		return err
	}
	return e.Topics.SetTags(ctx, t, is, tags)
}
