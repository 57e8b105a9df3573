package snssqs

import (
	"context"
	"fmt"
	"net/url"
	"regexp"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/part"
	"github.com/godwitmq/godwit/snssqs/internal/client"
)

// Resource replaces the queue, dead-letter queue or topic that a channel would have by its name with an existing one.
// The resource may have any name. By URL or ARN, it may be in another account or region; a name is one of the account
// and region of the backend. Godwit uses the resource, and never changes or tags it. An empty field means that there is
// no such resource.
type Resource struct {
	// Queue is the URL, ARN or name of the channel's queue. Set it to receive from a queue that exists, or to send to
	// it.
	Queue string
	// DeadLetters is the URL, ARN or name of the queue for rejected messages. Set it when Queue has no redrive policy,
	// or for another queue than the one that the policy names. "": the one of the policy; if there is none, a consumer
	// must set NoDeadLetters.
	DeadLetters string
	// Topic is the ARN or name of the topic of an exchange (wishlist_events.*), or of a single queue of it. Set it when
	// the exchange is a topic that exists.
	Topic string
	// Credentials sign the calls about these resources, for example as a role of their account; nil: those of the
	// backend. Set them when the policies of the resources do not let in the backend's own credentials.
	Credentials aws.CredentialsProvider `json:"-"`

	// RequireRoutingKey discards messages of Queue without a routing key if the consumer's Filter has Exact or Prefix,
	// as it is on Godwit's own queues. Set it if every message for the consumer has the attribute. false: messages
	// without a routing key are handled.
	RequireRoutingKey bool
}

// resourceName is the names that SNS allows a topic, and SQS up to 80 characters of a queue.
var resourceName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,256}(\.fifo)?$`)

// checkNames refuses mappings that cannot be right.
func checkNames(names map[string]Resource) error {
	for channel, r := range names {
		if strings.Contains(channel, "@") {
			return fmt.Errorf("snssqs: Options.Names[%q]: name the channel itself; its dead letters are the field "+
				"DeadLetters", channel)
		}
		if r.Queue == "" && r.DeadLetters == "" && r.Topic == "" {
			return fmt.Errorf("snssqs: Options.Names[%q] is empty: set Queue or Topic", channel)
		}
		if err := checkMapping(channel, r); err != nil {
			return fmt.Errorf("snssqs: Options.Names[%q]: %w", channel, err)
		}
		for field, v := range map[string]string{"Queue": r.Queue, "DeadLetters": r.DeadLetters} {
			if a, ok := parseARN(v); v != "" && !strings.Contains(v, "://") && !resourceName.MatchString(v) &&
				(!ok || a.service != "sqs") {
				return fmt.Errorf("snssqs: Options.Names[%q].%s is %q: it must be the URL, the ARN or the name of an SQS "+
					"queue", channel, field, v)
			}
		}
		if a, ok := parseARN(r.Topic); r.Topic != "" && !resourceName.MatchString(r.Topic) &&
			(!ok || a.service != "sns") {
			return fmt.Errorf("snssqs: Options.Names[%q].Topic is %q: it must be the ARN or the name of an SNS topic",
				channel, r.Topic)
		}
	}
	return nil
}

// checkMapping returns an error if no channel can match an entry of Options.Names. The entry would have no effect, and
// another queue or topic would be created in addition to the intended one.
func checkMapping(channel string, r Resource) error {
	first, second, oneToMany := strings.Cut(channel, ".")
	switch {
	case second == fifoSuffix[1:]:
		return fmt.Errorf("the order is an option of producers and consumers, "+
			"not a part of the channel's name: it is %s", first)
	case !part.Legal(first), oneToMany && second != "*" && !part.Legal(second):
		return fmt.Errorf("it is not the name of a channel: " +
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

// mapped returns the resource that a channel is mapped to, and whether there is one.
func (b *Backend) mapped(ch driver.Channel) (Resource, bool) {
	ch.DeadLetter = false
	r, ok := b.names[ch.String()]
	return r, ok
}

// foreignQueue looks up the queue that a channel is mapped to.
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
			Err:   fmt.Errorf("channel %s: Options.Names has no queue for it", ch),
		}
	}
	q, err := b.foreignAt(ctx, at, r.Credentials)
	if err != nil {
		return nil, fmt.Errorf("channel %s: queue %s: %w", ch, at, err)
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

// foreignAt finds a queue by its URL, ARN or name.
func (b *Backend) foreignAt(ctx context.Context, at string, as aws.CredentialsProvider) (*queue, error) {
	q := &queue{name: at, url: at, foreign: true, credentials: as}
	if u, err := url.Parse(at); err == nil && u.Scheme != "" && u.Host != "" {
		q.name, q.region = lastPart(u.Path, "/"), regionOf(u.Hostname())
		return q, nil
	}
	in := &sqs.GetQueueUrlInput{QueueName: &q.name}
	if a, ok := parseARN(at); ok {
		q.name, q.region, in.QueueOwnerAWSAccountId = a.name, a.region, &a.account
	}
	out, err := b.clients.SQS.GetQueueUrl(ctx, in, q.at())
	if err != nil {
		return nil, client.Failed(err, "sqs:GetQueueUrl")
	}
	q.url = aws.ToString(out.QueueUrl)
	return q, nil
}

// foreignTopic is the topic that a channel is mapped to, without its attributes.
func (b *Backend) foreignTopic(ctx context.Context, r Resource) (*topic, error) {
	t := &topic{name: r.Topic, arn: r.Topic, foreign: true, credentials: r.Credentials}
	if a, ok := parseARN(r.Topic); ok {
		t.name, t.region = a.name, a.region
		return t, nil
	}
	id, err := b.account.whoami(ctx)
	t.arn = id.arn("sns", r.Topic)
	return t, err
}

// foreignDeadLetters returns the dead-letter queue of a mapped channel: the one in Options.Names, or the one of the
// queue's own redrive policy.
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

// regionOf reads the region from a host such as sqs.eu-west-1.amazonaws.com. "": the host has none, and ours is used.
func regionOf(host string) string {
	labels := strings.Split(host, ".")
	if !strings.Contains(host, ".amazonaws.com") && !strings.HasSuffix(host, ".api.aws") {
		return ""
	}
	for i, label := range labels {
		switch {
		case i+1 < len(labels) && (label == "sqs" || label == "sqs-fips"): // also in the name of a VPC endpoint
			return labels[i+1]
		case label == "queue" && i == 1: // the old form, region.queue.amazonaws.com
			return labels[0]
		case label == "queue": // the oldest form, of the first region
			return "us-east-1"
		}
	}
	return ""
}

// at directs a call to the queue's own region, with its credentials.
func (q *queue) at() func(*sqs.Options) {
	return func(o *sqs.Options) {
		if q.region != "" {
			o.Region = q.region
		}
		if q.credentials != nil {
			o.Credentials = q.credentials
		}
	}
}

// at directs a call to the topic's own region, with its credentials.
func (t *topic) at() func(*sns.Options) {
	return func(o *sns.Options) {
		if t.region != "" {
			o.Region = t.region
		}
		if t.credentials != nil {
			o.Credentials = t.credentials
		}
	}
}
