package snssqs

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/godwitmq/godwit/driver"
)

// Resource is what stands for a channel instead of what its name would say: an existing queue, dead-letter queue or
// topic, each by URL or ARN, with any legal name, also of another account or region. It is foreign: used, and never
// changed, tagged or swept. A field left empty has no such thing.
type Resource struct {
	Queue string // URL or ARN
	// DeadLetters is the URL or ARN of the queue that takes what is rejected. "": the one that Queue's own redrive
	// policy names; if it names none, a consumer must have NoDeadLetters.
	DeadLetters string
	Topic       string // ARN; of an exchange (wishlist_events.*), or of one of its queues alone

	// RoutingKey is the message attribute that holds the routing key, which filters look at. Set it where other
	// producers have an attribute of their own for that; what is sent to the resource carries it as well. "":
	// routing_key.
	RoutingKey string
	// RequireRoutingKey deletes messages of Queue that have no routing key, where the consumer's Filter selects by
	// Exact or Prefix, as Godwit's own queues do. Set it when all that is meant for the consumer carries the attribute.
	// false: they are handled.
	RequireRoutingKey bool
}

// checkNames refuses mappings that cannot be meant.
func checkNames(names map[string]Resource) error {
	for channel, r := range names {
		if strings.Contains(channel, "@") {
			return fmt.Errorf("snssqs: Options.Names[%q]: name the channel itself; its dead letters are the field "+
				"DeadLetters", channel)
		}
		if r.Queue == "" && r.DeadLetters == "" && r.Topic == "" {
			return fmt.Errorf("snssqs: Options.Names[%q] names nothing", channel)
		}
		if err := fits(channel, r); err != nil {
			return fmt.Errorf("snssqs: Options.Names[%q]: %w", channel, err)
		}
		for field, v := range map[string]string{"Queue": r.Queue, "DeadLetters": r.DeadLetters} {
			if a, ok := parseARN(v); v != "" && !strings.Contains(v, "://") && (!ok || a.service != "sqs") {
				return fmt.Errorf("snssqs: Options.Names[%q].%s is %q: it must be the URL or the ARN of an SQS queue",
					channel, field, v)
			}
		}
		if a, ok := parseARN(r.Topic); r.Topic != "" && (!ok || a.service != "sns") {
			return fmt.Errorf("snssqs: Options.Names[%q].Topic is %q: it must be the ARN of an SNS topic", channel,
				r.Topic)
		}
		if r.RoutingKey != "" && !legalAttribute(r.RoutingKey) {
			return fmt.Errorf("snssqs: Options.Names[%q].RoutingKey is %q: it must be the name of a message attribute "+
				"(letters, digits, '_', '-' and '.', not AWS's or %q)", channel, r.RoutingKey, envelopeAttribute)
		}
	}
	return nil
}

// legalAttribute says whether SQS and SNS take a name for an attribute, and it is not the envelope's.
func legalAttribute(name string) bool {
	lower := strings.ToLower(name)
	return len(name) <= 256 && name != envelopeAttribute &&
		!strings.HasPrefix(lower, "aws.") && !strings.HasPrefix(lower, "amazon.") &&
		strings.Trim(lower, "abcdefghijklmnopqrstuvwxyz0123456789_-.") == ""
}

// routing is the attribute that holds the routing keys of a channel's messages.
func (b *Backend) routing(ch driver.Channel) string {
	for _, name := range []driver.Channel{ch, exchange(ch)} {
		if r, ok := b.mapped(name); ok && r.RoutingKey != "" {
			return r.RoutingKey
		}
	}
	return routingAttribute
}

// fits says why no channel could be mapped by an entry of Options.Names: such an entry would be ignored, and another
// queue or topic be made beside the one that is meant.
func fits(channel string, r Resource) error {
	first, second, oneToMany := strings.Cut(channel, ".")
	switch {
	case second == fifoSuffix[1:]:
		return fmt.Errorf("orderedness is an option of producers and consumers, "+
			"not a part of the channel's name: it is %s", first)
	case !legalPart(first), oneToMany && second != "*" && !legalPart(second):
		return fmt.Errorf("it is no channel's name: " +
			"those are spelled orders, wishlist_events.* and wishlist_events.audit_log")
	case !oneToMany && r.Topic != "":
		return fmt.Errorf("%s is a one-to-one channel and has no topic; "+
			"the topic of an exchange is that of %s.*", first, first)
	case second == "*" && r.Queue+r.DeadLetters != "":
		return fmt.Errorf("it stands for all queues of the exchange, so it has a Topic only: "+
			"name each queue by its channel, as in %s.audit_log", first)
	}
	return nil
}

// mapped is the resource that stands for a channel, and whether one does.
func (b *Backend) mapped(ch driver.Channel) (Resource, bool) {
	ch.DeadLetter = false
	r, ok := b.names[ch.String()]
	return r, ok
}

// foreignQueue finds the queue that is mapped to a channel.
func (b *Backend) foreignQueue(ctx context.Context, ch driver.Channel, r Resource) (*queue, error) {
	at := r.Queue
	if ch.DeadLetter {
		var err error
		if at, err = b.foreignDeadLetters(ctx, ch, r); err != nil {
			return nil, err
		}
	}
	if at == "" {
		return nil, &driver.Error{
			Class: driver.NotFound,
			Err:   fmt.Errorf("channel %s: Options.Names maps it to no such queue", ch),
		}
	}
	q := &queue{name: at, url: at, foreign: true}
	if a, ok := parseARN(at); ok {
		q.name, q.region = a.name, a.region
		out, err := b.sqs.GetQueueUrl(ctx,
			&sqs.GetQueueUrlInput{QueueName: &a.name, QueueOwnerAWSAccountId: &a.account}, q.at())
		if err != nil {
			return nil, fmt.Errorf("channel %s: queue %s: %w", ch, at, permission(classify(err), "sqs:GetQueueUrl"))
		}
		q.url = deref(out.QueueUrl)
	} else if u, err := url.Parse(at); err == nil {
		q.name = u.Path[strings.LastIndexByte(u.Path, '/')+1:]
		q.region = regionOf(u.Hostname())
	}
	if ordered := strings.HasSuffix(q.name, fifoSuffix); ordered != ch.Ordered {
		return nil, &driver.Error{
			Class: driver.Permanent,
			Err: fmt.Errorf("channel %s: queue %s is %s, and Ordered is %v", ch, at, kindOfQueue(ordered),
				ch.Ordered),
		}
	}
	return q, b.load(ctx, q)
}

// foreignDeadLetters is where the dead letters of a mapped channel lie: as Options.Names says, else as the queue's
// own redrive policy does.
func (b *Backend) foreignDeadLetters(ctx context.Context, ch driver.Channel, r Resource) (string, error) {
	if r.DeadLetters != "" {
		return r.DeadLetters, nil
	}
	of := ch
	of.DeadLetter = false
	q, err := b.foreignQueue(ctx, of, r)
	if err != nil {
		return "", err
	}
	redrive, _ := parseRedrive(q.attributes[string(types.QueueAttributeNameRedrivePolicy)])
	if redrive.DeadLetterTargetArn == "" {
		return "", &driver.Error{Class: driver.NotFound, Err: fmt.Errorf(
			"channel %s: Options.Names[%q] names no DeadLetters, and queue %s has no redrive policy that does: "+
				"name a queue for them, or consume %s without dead letters (NoDeadLetters)",
			ch, of, q.name, of)}
	}
	return redrive.DeadLetterTargetArn, nil
}

func kindOfQueue(ordered bool) string {
	if ordered {
		return "ordered (FIFO)"
	}
	return "not ordered"
}

// regionOf reads the region from a host such as sqs.eu-west-1.amazonaws.com; "": it has none, and ours is meant.
func regionOf(host string) string {
	labels := strings.Split(host, ".")
	if !strings.Contains(host, ".amazonaws.com") && !strings.HasSuffix(host, ".api.aws") {
		return ""
	}
	for i, label := range labels {
		switch {
		case i+1 < len(labels) && (label == "sqs" || label == "sqs-fips"): // also behind the name of a VPC endpoint
			return labels[i+1]
		case label == "queue" && i == 1: // the old form, region.queue.amazonaws.com
			return labels[0]
		case label == "queue": // the oldest, of the oldest region
			return "us-east-1"
		}
	}
	return ""
}

// at directs a call to a queue's own region.
func (q *queue) at() func(*sqs.Options) {
	return func(o *sqs.Options) {
		if q.region != "" {
			o.Region = q.region
		}
	}
}

// at directs a call to a topic's own region.
func (t *topic) at() func(*sns.Options) {
	return func(o *sns.Options) {
		if t.region != "" {
			o.Region = t.region
		}
	}
}
