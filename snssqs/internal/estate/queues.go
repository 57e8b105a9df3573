package estate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/snssqs/internal/client"
	"github.com/godwitmq/godwit/snssqs/internal/trust"
)

// Queues finds, creates and changes the queues of channels.
type Queues struct {
	*Names
	sqs   *sqs.Client
	found sync.Map // a *Queue by channel, for Known
}

// Of looks up the queue of a channel, by its name or by its mapping.
func (qs *Queues) Of(ctx context.Context, ch driver.Channel) (*Queue, error) {
	if r, ok := qs.Mapping(ch); ok {
		return qs.Mapped(ctx, ch, r)
	}
	name, err := qs.QueueName(ch)
	if err != nil {
		return nil, err
	}
	return qs.Find(ctx, name)
}

// Known is the same as Of, but asks the service only the first time.
func (qs *Queues) Known(ctx context.Context, ch driver.Channel) (*Queue, error) {
	if q, found := qs.found.Load(ch); found {
		return q.(*Queue), nil
	}
	q, err := qs.Of(ctx, ch)
	if err == nil {
		qs.found.Store(ch, q)
	}
	return q, err
}

// Clock asks SQS for the time, by a call about the queue of a channel.
func (qs *Queues) Clock(ctx context.Context, ch driver.Channel) (time.Time, error) {
	q, err := qs.Known(ctx, ch)
	if err != nil {
		return time.Time{}, err
	}
	out, err := qs.sqs.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{
		QueueUrl: &q.URL, AttributeNames: []types.QueueAttributeName{types.QueueAttributeNameQueueArn},
	}, client.Once, q.At())
	if err != nil {
		return client.TimeOfError(err)
	}
	return client.TimeOf(out.ResultMetadata)
}

// Forget makes the next call of Known ask the service again, because the queue was found missing.
func (qs *Queues) Forget(ch driver.Channel) { qs.found.Delete(ch) }

// Find looks up a queue and its attributes. The error for a queue that does not exist is of class NotFound.
func (qs *Queues) Find(ctx context.Context, name string) (*Queue, error) {
	url, err := qs.url(ctx, name)
	if err != nil {
		return nil, err
	}
	q := &Queue{Name: name, URL: url}
	return q, qs.Load(ctx, q)
}

// findTagged is Find with the queue's tags, if they are wanted, which are read at the same time as its attributes.
func (qs *Queues) findTagged(ctx context.Context, name string, wanted bool) (*Queue, map[string]string, error) {
	url, err := qs.url(ctx, name)
	if err != nil {
		return nil, nil, err
	}
	return qs.loadTagged(ctx, &Queue{Name: name, URL: url}, wanted)
}

// loadTagged is Load with the queue's tags, if they are wanted, which are read at the same time.
func (qs *Queues) loadTagged(ctx context.Context, q *Queue, wanted bool) (*Queue, map[string]string, error) {
	if !wanted {
		return q, nil, qs.Load(ctx, q)
	}
	var tags map[string]string
	err := client.Concurrently(2, 2, func(i int) (err error) {
		if i == 0 {
			return qs.Load(ctx, q)
		}
		tags, err = qs.TagsOf(ctx, q)
		return err
	})
	return q, tags, err
}

func (qs *Queues) url(ctx context.Context, name string) (string, error) {
	out, err := qs.sqs.GetQueueUrl(ctx, &sqs.GetQueueUrlInput{QueueName: &name})
	if err != nil {
		return "", fmt.Errorf("queue %s: %w", name, client.Failed(err, "sqs:GetQueueUrl"))
	}
	return aws.ToString(out.QueueUrl), nil
}

// Load reads the attributes of a queue.
func (qs *Queues) Load(ctx context.Context, q *Queue) error {
	out, err := qs.sqs.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{
		QueueUrl: &q.URL, AttributeNames: []types.QueueAttributeName{types.QueueAttributeNameAll},
	}, q.At())
	if err != nil {
		return fmt.Errorf("queue %s: read its attributes: %w", q.Name, client.Failed(err, "sqs:GetQueueAttributes"))
	}
	q.Attributes = out.Attributes
	return nil
}

// Mapped looks up the queue that a channel is mapped to. Its dead letters are in the queue that the mapping names, or
// in that of the queue's own redrive policy.
func (qs *Queues) Mapped(ctx context.Context, ch driver.Channel, r Mapping) (*Queue, error) {
	if !ch.DeadLetter {
		return qs.mappedAt(ctx, ch, r.Queue, r)
	}
	if r.DeadLetters != "" {
		return qs.mappedAt(ctx, ch, r.DeadLetters, r)
	}
	of := ch
	of.DeadLetter = false
	q, err := qs.mappedAt(ctx, of, r.Queue, r)
	if err != nil {
		return nil, err
	}
	redrive, _ := q.redrive()
	if redrive.DeadLetterTargetArn == "" {
		return nil, client.NotFound(
			"channel %s: Options.Names[%q] names no DeadLetters, and queue %s has no redrive policy that does: "+
				"name a queue for them, or consume %s without dead letters (NoDeadLetters)",
			ch, of, q.Name, of)
	}
	return qs.mappedAt(ctx, ch, redrive.DeadLetterTargetArn, r)
}

// mappedAt looks up a queue by its URL, ARN or name, with its attributes.
func (qs *Queues) mappedAt(ctx context.Context, ch driver.Channel, at string, r Mapping) (*Queue, error) {
	if at == "" {
		return nil, client.NotFound("channel %s: Options.Names has no queue for it", ch)
	}
	q, err := qs.at(ctx, at, r.Credentials)
	if err != nil {
		return nil, fmt.Errorf("channel %s: queue %s: %w", ch, at, err)
	}
	if fifo := Ordered(q.Name); fifo != ch.Ordered {
		return nil, client.Permanent("channel %s: queue %s is %s, and Ordered is %v", ch, at, kindOfQueue(fifo),
			ch.Ordered)
	}
	return q, qs.Load(ctx, q)
}

// at finds a queue by its URL, ARN or name.
func (qs *Queues) at(ctx context.Context, at string, as aws.CredentialsProvider) (*Queue, error) {
	q := &Queue{Name: at, URL: at, Foreign: true, credentials: as}
	if u, err := url.Parse(at); err == nil && u.Scheme != "" && u.Host != "" {
		q.Name, q.Region = lastPart(u.Path, "/"), regionOf(u.Hostname())
		return q, nil
	}
	in := &sqs.GetQueueUrlInput{QueueName: &q.Name}
	if a, ok := ParseARN(at); ok {
		q.Name, q.Region, in.QueueOwnerAWSAccountId = a.Name, a.Region, &a.Account
	}
	out, err := qs.sqs.GetQueueUrl(ctx, in, q.At())
	if err != nil {
		return nil, client.Failed(err, "sqs:GetQueueUrl")
	}
	q.URL = aws.ToString(out.QueueUrl)
	return q, nil
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

// FindDeadLetters looks for dead letters, ordered or not. If both kinds exist, that is an error: one of them was
// created by mistake, and reading it would be useless.
func (qs *Queues) FindDeadLetters(ctx context.Context, dead driver.Channel) (driver.Channel, error) {
	if r, foreign := qs.Mapping(dead); foreign {
		// The dead letters of a FIFO queue are FIFO.
		dead.Ordered = Ordered(cmp.Or(r.DeadLetters, r.Queue))
		_, err := qs.Of(ctx, dead)
		return dead, err
	}
	other := dead
	other.Ordered = !dead.Ordered
	_, err := qs.Of(ctx, dead)
	_, otherErr := qs.Of(ctx, other)
	switch {
	case err == nil && otherErr == nil && !dead.Ordered:
		return dead, client.Permanent("channel %s: it has two queues, an ordered one (%s) and another: "+
			"set Ordered to choose the first, or delete the queue that is not used", dead, fifoSuffix)
	case err == nil:
		return dead, nil
	case otherErr == nil:
		return other, nil
	case driver.ClassOf(err) == driver.NotFound:
		return dead, otherErr // it says more, or the same
	}
	return dead, err
}

// Sources returns the URLs of the queues whose dead letters are in a queue.
func (qs *Queues) Sources(ctx context.Context, q *Queue) (urls []string, err error) {
	pages := sqs.NewListDeadLetterSourceQueuesPaginator(qs.sqs, &sqs.ListDeadLetterSourceQueuesInput{QueueUrl: &q.URL})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx, q.At())
		if err != nil {
			return nil, fmt.Errorf("queue %s: list the queues whose dead letters it has: %w", q.Name,
				client.Failed(err, "sqs:ListDeadLetterSourceQueues"))
		}
		urls = append(urls, page.QueueUrls...)
	}
	return urls, nil
}

// exists reports whether there is a queue with the name of a channel. If the listing knows the queues, only one that is
// in it is looked up.
func (qs *Queues) exists(ctx context.Context, ch driver.Channel, l *Listing) (bool, error) {
	name, err := qs.QueueName(ch)
	if err != nil {
		return false, nil //nolint:nilerr // a name that cannot be built does not exist
	}
	if url, known := l.queue(name); known && url == "" {
		return false, nil
	}
	_, err = qs.url(ctx, name)
	return nameExists(ch, err)
}

// nameExists turns the answer to a lookup into whether the name exists, or into an error if the failure is passing. A
// server that refuses the lookup, or does not support it, has nothing with that name for us.
func nameExists(ch driver.Channel, err error) (bool, error) {
	if driver.ClassOf(err).Passing() {
		return false, fmt.Errorf("channel %s: check whether its name is in use; try again, or set Provision to "+
			"ProvisionNever if SNS and STS cannot be reached: %w", ch, err)
	}
	return err == nil, nil
}

// ofExchange returns the URLs of the queues that are named as queues of an exchange.
func (qs *Queues) ofExchange(ctx context.Context, ch driver.Channel) (urls []string, err error) {
	prefix := qs.join([]string{ch.Exchange, ""}, false)
	pages := sqs.NewListQueuesPaginator(qs.sqs, &sqs.ListQueuesInput{QueueNamePrefix: &prefix})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("list the queues of %s: %w", ch, client.Failed(err, "sqs:ListQueues"))
		}
		for _, url := range page.QueueUrls {
			if qs.ours(NameIn(url), ch) {
				urls = append(urls, url)
			}
		}
	}
	return urls, nil
}

// NameIn returns the queue's name in its URL.
func NameIn(url string) string { return url[strings.LastIndexByte(url, '/')+1:] }

// NamesIn returns the names of queues in their URLs.
func NamesIn(urls []string) []string {
	all := make([]string, len(urls))
	for i, url := range urls {
		all[i] = NameIn(url)
	}
	return all
}

// Trusts is Names.Trusts of a channel with a queue. Dead letters are opened as the messages of their channel.
func (qs *Queues) Trusts(ctx context.Context, ch driver.Channel, q *Queue) (trust.Topics, error) {
	policy := q.Policy()
	of := ch
	of.DeadLetter = false
	as, mapped := qs.Mapping(of)
	if _, set := qs.envelopesFrom(of); ch.DeadLetter && mapped && as.Queue != "" && !set {
		main, err := qs.Known(ctx, of)
		switch {
		case err == nil:
			policy = main.Policy()
		case driver.ClassOf(err).Passing():
			return nil, fmt.Errorf("which topics may send to %s: %w", of, err)
		default: // the queue is gone, or not for this program; its dead letters can be read without it
			policy = ""
		}
	}
	return qs.Names.Trusts(of, q.ARN(), policy), nil
}

// deletedRecently is how long SQS reserves the name of a deleted queue.
const deletedRecently = time.Minute

// Create creates a queue with attributes and tags, and reports whether it did; another process may have been first.
func (qs *Queues) Create(ctx context.Context, name string, attributes, tags map[string]string) (q *Queue, made bool,
	err error,
) {
	out, err := qs.sqs.CreateQueue(ctx, &sqs.CreateQueueInput{
		QueueName: &name, Attributes: attributes,
		Tags: tags,
	})
	var recently *types.QueueDeletedRecently
	if errors.As(err, &recently) {
		return nil, false, &driver.Error{
			Class: driver.Permanent, After: deletedRecently,
			Err: fmt.Errorf("create queue %s: it was deleted less than %v ago; try again in at most %v: %w", name,
				deletedRecently, deletedRecently, err),
		}
	}
	var exists *types.QueueNameExists
	if errors.As(err, &exists) {
		q, err = qs.Find(ctx, name)
		return q, false, err
	}
	if err != nil {
		return nil, false, fmt.Errorf("create queue %s: %w", name, client.Failed(err, "sqs:CreateQueue"))
	}
	q = &Queue{Name: name, URL: aws.ToString(out.QueueUrl)}
	return q, true, qs.Load(ctx, q)
}

// change sets those attributes of a queue that differ from the specification; with the mode driver.Declare also those
// whose change may lose messages.
func (qs *Queues) change(ctx context.Context, q *Queue, wanted map[string]string, mode driver.Mode) error {
	same := comparison(mode)
	differ := map[string]string{}
	for name, value := range wanted {
		if !same(name, q.Attributes[name], value) {
			differ[name] = value
		}
	}
	if len(differ) == 0 {
		return nil
	}
	if _, err := qs.sqs.SetQueueAttributes(ctx,
		&sqs.SetQueueAttributesInput{QueueUrl: &q.URL, Attributes: differ}); err != nil {
		return fmt.Errorf("queue %s: set its attributes: %w", q.Name, client.Failed(err, "sqs:SetQueueAttributes"))
	}
	maps.Copy(q.Attributes, differ)
	return nil
}

// TagsOf returns the tags of a queue.
func (qs *Queues) TagsOf(ctx context.Context, q *Queue) (map[string]string, error) {
	out, err := qs.sqs.ListQueueTags(ctx, &sqs.ListQueueTagsInput{QueueUrl: &q.URL}, q.At())
	if err != nil {
		return nil, fmt.Errorf("queue %s: %w", q.Name, client.Failed(err, "sqs:ListQueueTags"))
	}
	if out.Tags == nil {
		return map[string]string{}, nil
	}
	return out.Tags, nil
}

// SetTags sets the tags of a queue that differ, and leaves other tags alone.
func (qs *Queues) SetTags(ctx context.Context, q *Queue, is, wanted map[string]string) error {
	differ := differingTags(is, wanted)
	if len(differ) == 0 {
		return nil
	}
	if _, err := qs.sqs.TagQueue(ctx, &sqs.TagQueueInput{QueueUrl: &q.URL, Tags: differ}); err != nil {
		return fmt.Errorf("queue %s: %w", q.Name, client.Failed(err, "sqs:TagQueue"))
	}
	return nil
}

// nameConflict returns an error if the channel's name already exists as the other kind, or with the other ordering. It
// only reads, and if it may not read it reports nothing. A passing failure is an error: otherwise a second queue or
// topic might be created in addition to an existing one, and its messages would never be read. A listing spares the
// lookups of names that are not in it; before something is created, it is nil.
func (e *Estate) nameConflict(ctx context.Context, ch driver.Channel, l *Listing) error {
	if ch.DeadLetter {
		return nil
	}
	other := ch
	other.Ordered = !ch.Ordered
	queue, topic := e.Queues.exists, e.Topics.exists
	var lookups []lookup
	if ch.Exchange == "" {
		lookups = append(lookups, lookup{
			queue, other, disagree(ch, other, "queue", e.join([]string{ch.Queue}, other.Ordered)),
		})
	} else {
		lookups = append(lookups, lookup{
			topic, other, disagree(ch, other, "topic", e.join([]string{ch.Exchange}, other.Ordered)),
		})
	}
	for _, ordered := range []bool{false, true} {
		if ch.Exchange == "" {
			as := driver.Channel{Exchange: ch.Queue, Ordered: ordered}
			lookups = append(lookups, lookup{
				topic, as,
				client.Permanent("channel %s: topic %s exists, so %s is an exchange: "+
					"its queues are named %s.NAME, and all of them %s", ch, e.join([]string{ch.Queue},
					ordered),
					as, ch.Queue, as),
			})
		} else {
			as := driver.Channel{Queue: ch.Exchange, Ordered: ordered}
			lookups = append(lookups, lookup{
				queue, as,
				client.Permanent("channel %s: queue %s exists, so %s is a one-to-one "+
					"channel and %s cannot be an exchange", ch, e.join([]string{ch.Exchange}, ordered), as,
					ExchangeOf(ch)),
			})
		}
	}
	errs := make([]error, len(lookups))
	_ = client.Concurrently(len(lookups), len(lookups), func(i int) error {
		there, err := lookups[i].there(ctx, lookups[i].as, l)
		if errs[i] = err; there {
			errs[i] = lookups[i].conflict
		}
		return nil // the first one is reported, not the one that is answered first
	})
	return cmp.Or(errs...)
}

// lookup asks whether something exists that excludes a channel.
type lookup struct {
	there    func(context.Context, driver.Channel, *Listing) (bool, error)
	as       driver.Channel
	conflict error // if it exists
}

func disagree(ch, other driver.Channel, kind, name string) error {
	return client.Permanent("channel %s: %s %s exists, so the channel is %s, but Ordered is %v: a channel "+
		"is ordered or not, and all its producers and consumers have to use the same setting",
		ch, kind, name, kindOfQueue(other.Ordered), ch.Ordered)
}
