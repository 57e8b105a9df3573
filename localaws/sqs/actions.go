package sqs

import (
	"cmp"
	"context"
	"strings"

	"github.com/godwitmq/godwit/localaws/wire"
)

// Wire returns SQS for package wire. where returns the service of the place that a call is for: the queue's place.
func Wire(where func(*wire.Call) (*Service, error)) *wire.Service {
	return &wire.Service{
		Name: "sqs", Target: "AmazonSQS", Namespace: "com.amazonaws.sqs", JSON: "1.0",
		Version: "2012-11-05", XMLNS: "http://queue.amazonaws.com/doc/2012-11-05/", PathMember: "QueueUrl",
		Names:   []string{"QueueUrl", "QueueOwnerAWSAccountId", "SourceArn"},
		AnyPath: []string{"GetQueueUrl"}, Detail: true,
		Actions: []wire.Action{
			inPlace(where, "CreateQueue", createQueue),
			onQueue(where, "DeleteQueue", deleteQueue),
			inPlace(where, "GetQueueUrl", getQueueURL),
			onQueue(where, "GetQueueAttributes", getQueueAttributes),
			onQueue(where, "SetQueueAttributes", setQueueAttributes),
			onQueue(where, "SendMessage", sendMessage),
			onQueue(where, "SendMessageBatch", sendMessageBatch),
			onQueue(where, "ReceiveMessage", receiveMessage),
			onQueue(where, "DeleteMessage", deleteMessage),
			onQueue(where, "DeleteMessageBatch", deleteMessageBatch),
			onQueue(where, "ChangeMessageVisibility", changeMessageVisibility),
			onQueue(where, "ChangeMessageVisibilityBatch", changeMessageVisibilityBatch),
			onQueue(where, "PurgeQueue", purgeQueue),
			inPlace(where, "ListQueues", listQueues),
			onQueue(where, "ListDeadLetterSourceQueues", listDeadLetterSourceQueues),
			onQueue(where, "TagQueue", tagQueue),
			onQueue(where, "UntagQueue", untagQueue),
			onQueue(where, "ListQueueTags", listQueueTags),
			onQueue(where, "AddPermission", addPermission),
			onQueue(where, "RemovePermission", removePermission),
			inPlace(where, "StartMessageMoveTask", startMessageMoveTask),
			inPlace(where, "CancelMessageMoveTask", cancelMessageMoveTask),
			inPlace(where, "ListMessageMoveTasks", listMessageMoveTasks),
		},
	}
}

// call is a call in the place of its queues.
type call struct {
	*wire.Call
	ctx context.Context // ends a waiting poll
	at  *Service
}

// inPlace returns an action that is not about one queue, or finds its queue itself.
func inPlace[I, O any](where func(*wire.Call) (*Service, error), name string, action func(call, *I) (*O, error),
) wire.Action {
	return wire.Op(name, wire.In(where, func(s *Service, ctx context.Context, c *wire.Call, in *I) (*O, error) {
		return action(call{c, ctx, s}, in)
	}))
}

// onQueue returns an action on the queue that the call names.
func onQueue[I, O any](where func(*wire.Call) (*Service, error), name string,
	action func(call, *Queue, *I) (*O, error),
) wire.Action {
	return inPlace(where, name, func(c call, in *I) (*O, error) {
		q, bad := c.named()
		if bad != nil {
			return nil, bad
		}
		return action(c, q, in)
	})
}

// named returns the queue of a call, unless the caller may not call the action, and tells it that there was a call. As
// on AWS the URL of another region is refused, and apart from the region only the URL's path counts. A bare name is
// accepted as well, because some clients send it.
func (c call) named() (*Queue, *wire.Error) {
	s, url := c.at, c.Named
	if url == "" {
		return nil, missing("QueueUrl")
	}
	name := url
	if slash := strings.LastIndexByte(url, '/'); slash >= 0 {
		name = url[slash+1:]
		at := wire.QueuePlace(url)
		if at.Account != s.opts.Account {
			return nil, noQueue()
		}
		if !s.opts.means(at.Region, name) {
			s.opts.Missing(name)
			return nil, wrongRegion(c.BaseURL, url)
		}
	}
	q := s.byName(name)
	if q == nil {
		return nil, noQueue()
	}
	q.model.Touch()
	return q, forbidden(c, q)
}

// means reports whether a URL with a region and a queue's name is one of this region. A URL without a region is for
// a queue at home, if there is such a queue; if there is none, somebody wrote it by hand, and it means this region.
func (o *Options) means(region, name string) bool {
	switch {
	case o.SingleRegion, region == o.Region:
		return true
	case region != "":
		return false
	}
	return o.Region == o.Home || o.AtHome == nil || !o.AtHome(name)
}

// url returns a queue's URL as the caller reaches it. It names the region unless the host does or the region is Home.
// The path has two parts in every case, because clients take the name and the account from them.
func (c call) url(name string) string {
	s := c.at
	account, host := s.opts.Account, wire.HostRegion(c.BaseURL)
	host = cmp.Or(host, s.opts.Home)
	if host != s.opts.Region && !s.opts.SingleRegion {
		account += "." + s.opts.Region
	}
	return c.BaseURL + "/" + account + "/" + name
}
