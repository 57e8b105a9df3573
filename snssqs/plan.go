package snssqs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/claim"
	"github.com/godwitmq/godwit/snssqs/internal/client"
	"github.com/godwitmq/godwit/snssqs/internal/wire"
)

// plansAtOnce is how many channels are compared at the same time, so that 300 of them take seconds.
const plansAtOnce = 32

// Names of resources in differences.
const (
	aQueue        = "queue"
	aDeadQueue    = "dead letters"
	aTopic        = "topic"
	aSubscription = "subscription"
)

// planner compares what exists with specifications. It changes nothing.
type planner struct {
	b  *Backend
	id identity
	// topics are the topics of the exchanges, read before the queues; nil: it does not exist.
	topics map[driver.Channel]*plannedTopic
}

// plannedTopic is a topic with its subscriptions.
type plannedTopic struct {
	*topic
	tags          map[string]string
	subscriptions map[string]string // their ARNs, by endpoint
}

// plan is driver.Operations.Plan.
func (p planner) plan(ctx context.Context, specs []driver.ChannelSpec) ([]driver.Difference, error) {
	b := p.b
	if err := b.clients.Open(); err != nil {
		return nil, err
	}
	if slices.ContainsFunc(specs, func(s driver.ChannelSpec) bool { return s.Channel.Exchange != "" || declares(s) }) {
		id, err := b.account.whoami(ctx)
		if err != nil {
			return nil, err
		}
		p.id = id
	}
	p.topics = map[driver.Channel]*plannedTopic{}
	for i := range specs {
		if err := b.legal(specs[i]); err != nil {
			return nil, &driver.Error{Class: driver.Permanent, Err: err}
		}
	}
	if err := p.readTopics(ctx, specs); err != nil {
		return nil, err
	}
	found := make([][]driver.Difference, len(specs))
	if err := client.Concurrently(len(specs), plansAtOnce, func(i int) (err error) {
		found[i], err = p.channel(ctx, specs[i])
		return err
	}); err != nil {
		return nil, err
	}
	var all []driver.Difference
	if i := slices.IndexFunc(specs, declares); i >= 0 && b.apart.store != nil {
		differ, err := claim.Plan(ctx, b.apart.store, specs[i].Channel)
		if err != nil {
			return nil, fmt.Errorf("the store of large bodies: %w", err)
		}
		all = differ
	}
	seen := map[[3]string]bool{} // a topic is part of several specifications
	for _, d := range slices.Concat(found...) {
		key := [3]string{d.Resource, d.Name, d.Attribute}
		if !seen[key] {
			all = append(all, d)
		}
		seen[key] = true
	}
	return all, nil
}

// declares reports whether a specification is compared with everything that an owner changes.
func declares(s driver.ChannelSpec) bool { return s.Mode == driver.Declare }

// readTopics reads the topic of each exchange once, with its subscriptions if a queue may have one.
func (p planner) readTopics(ctx context.Context, specs []driver.ChannelSpec) error {
	var exchanges []driver.Channel
	exact, listed := map[driver.Channel]bool{}, map[driver.Channel]bool{}
	for i := range specs {
		s := &specs[i]
		if s.Channel.Exchange == "" || s.Channel.Queue != "" && !s.Owner {
			continue
		}
		of := exchange(s.Channel)
		if !slices.Contains(exchanges, of) {
			exchanges = append(exchanges, of)
		}
		exact[of] = exact[of] || s.Mode == driver.Declare && s.Channel.Queue == ""
		listed[of] = listed[of] || s.Channel.Queue != ""
	}
	read := make([]*plannedTopic, len(exchanges))
	err := client.Concurrently(len(exchanges), plansAtOnce, func(i int) (err error) {
		read[i], err = p.readTopic(ctx, exchanges[i], exact[exchanges[i]], listed[exchanges[i]])
		return err
	})
	for i, of := range exchanges {
		p.topics[of] = read[i]
	}
	return err
}

func (p planner) readTopic(ctx context.Context, of driver.Channel, exact, listed bool) (*plannedTopic, error) {
	t, err := p.b.topicOf(ctx, of)
	if err != nil {
		return nil, client.Ignore(err, driver.NotFound)
	}
	one := &plannedTopic{topic: t, subscriptions: map[string]string{}}
	if exact && !t.foreign {
		if one.tags, err = p.b.topicTags(ctx, t.arn); err != nil {
			return nil, err
		}
		if one.tags == nil {
			return nil, &driver.Error{Class: driver.Denied, Err: fmt.Errorf("topic %s: its tags cannot be read, and "+
				"they say whether Godwit has created it (it needs permission sns:ListTagsForResource)", t.name)}
		}
	}
	if !listed {
		return one, nil
	}
	pages := sns.NewListSubscriptionsByTopicPaginator(p.b.clients.SNS,
		&sns.ListSubscriptionsByTopicInput{TopicArn: &t.arn})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx, t.at())
		if err != nil {
			return nil, fmt.Errorf("topic %s: list its subscriptions: %w", t.name,
				client.Failed(err, "sns:ListSubscriptionsByTopic"))
		}
		for _, s := range page.Subscriptions {
			one.subscriptions[aws.ToString(s.Endpoint)] = aws.ToString(s.SubscriptionArn)
		}
	}
	return one, nil
}

// channel returns the differences of one channel.
func (p planner) channel(ctx context.Context, s driver.ChannelSpec) ([]driver.Difference, error) {
	if _, foreign := p.b.mapped(s.Channel); foreign {
		return p.mapped(ctx, s)
	}
	var all []driver.Difference
	t := p.topics[exchange(s.Channel)]
	if s.Channel.Exchange != "" && (s.Owner || s.Channel.Queue == "") {
		differ, err := p.topic(ctx, s, t)
		if err != nil || s.Channel.Queue == "" || ended(differ) {
			return differ, err
		}
		all = differ
	}
	var dead, q *queue
	var err error
	if s.Owner && !s.NoDeadLetters {
		wanted := s
		wanted.Channel.DeadLetter = true
		var differ []driver.Difference
		if dead, differ, err = p.queue(ctx, wanted, roleDeadLetters, t); err != nil {
			return nil, err
		}
		if all = append(all, differ...); ended(differ) {
			return all, nil
		}
	}
	q, differ, err := p.queue(ctx, s, roleQueue, t)
	if all = append(all, differ...); err != nil || q == nil || !s.Owner || ended(differ) {
		return p.withSubscription(all, s, q), err
	}
	if dead != nil || s.NoDeadLetters || s.Mode == driver.Declare { // otherwise its target is missing
		all = append(all, p.redrive(s, q, dead)...)
	}
	differ, err = p.subscription(ctx, s, t, q, dead)
	return append(all, differ...), err
}

// ended reports whether a resource cannot be changed, so that nothing that stands on it is compared.
func ended(differ []driver.Difference) bool {
	return slices.ContainsFunc(differ, func(d driver.Difference) bool {
		return d.Kind == driver.DiffersForeign || d.Kind == driver.DiffersBeyondChange
	})
}

// withSubscription adds the subscription of a queue that does not exist.
func (p planner) withSubscription(all []driver.Difference, s driver.ChannelSpec, q *queue) []driver.Difference {
	if q != nil || !s.Owner || s.Channel.Exchange == "" || ended(all) || len(all) == 0 {
		return all
	}
	name, _ := p.b.namespace.queue(s.Channel) // legal has checked it
	return append(all, driver.Difference{
		Channel: s.Channel, Resource: aSubscription, Name: p.id.arn("sqs", name), Note: slowly,
	})
}

// mappedNote is the note of what the backend was told to use.
const mappedNote = "Options.Names maps the channel to it, and Godwit never changes it"

// slowly is the note of what SNS does late.
const slowly = "SNS may take 15 minutes until all messages are filtered so"

// mapped returns how an existing resource differs that the backend was told to use.
func (p planner) mapped(ctx context.Context, s driver.ChannelSpec) (all []driver.Difference, err error) {
	foreign := func(resource, name, text string) {
		all = append(all, driver.Difference{
			Kind: driver.DiffersForeign, Channel: s.Channel, Resource: resource, Name: name,
			Note: text + ": " + mappedNote,
		})
	}
	r, _ := p.b.mapped(s.Channel)
	if s.Channel.Queue == "" {
		if p.topics[exchange(s.Channel)] == nil {
			foreign(aTopic, r.Topic, "it does not exist")
		}
		return all, nil
	}
	q, err := p.b.queueOf(ctx, s.Channel)
	if driver.ClassOf(err) == driver.NotFound && err != nil {
		foreign(aQueue, r.Queue, "it does not exist")
		return all, client.Ignore(err, driver.NotFound)
	}
	if err != nil || !s.Owner {
		return nil, err
	}
	for _, differ := range q.differences(s) {
		foreign(aQueue, q.name, differ)
	}
	return all, nil
}

func (p planner) topic(ctx context.Context, s driver.ChannelSpec, t *plannedTopic) ([]driver.Difference, error) {
	name, err := p.b.namespace.topic(s.Channel)
	if err != nil {
		return nil, err
	}
	d := driver.Difference{Channel: exchange(s.Channel), Resource: aTopic, Name: name}
	if r, foreign := p.b.mapped(exchange(s.Channel)); foreign && t == nil {
		d.Kind, d.Name, d.Note = driver.DiffersForeign, r.Topic, "it does not exist: "+mappedNote
		return []driver.Difference{d}, nil
	}
	if t == nil {
		if s.Mode == driver.Declare {
			other := exchange(s.Channel)
			other.Ordered = !other.Ordered
			if there, err := p.b.topicThere(ctx, other); err != nil || there {
				return []driver.Difference{p.otherOrder(d, s.Channel)}, err
			}
		}
		return []driver.Difference{d}, nil
	}
	if s.Mode != driver.Declare || s.Channel.Queue != "" || t.foreign {
		return nil, nil
	}
	if t.tags[tagManaged] != managedByGodwit {
		return []driver.Difference{notMade(d)}, nil
	}
	wanted, err := topicSettings(s, t.topic)
	if err != nil {
		return nil, err
	}
	all := compared(d, t.attributes, wanted, sameTopicAttribute)
	return append(all, comparedTags(d, t.tags, p.b.tags(s, roleExchange))...), nil
}

// notMade is the difference of a resource without Godwit's tag.
func notMade(d driver.Difference) driver.Difference {
	d.Kind = driver.DiffersForeign
	d.Note = fmt.Sprintf("it does not have the tag %s=%s, so Godwit has not created it and does not change it", tagManaged,
		managedByGodwit)
	return d
}

// otherOrder is the difference of a resource that exists with the other order.
func (p planner) otherOrder(d driver.Difference, ch driver.Channel) driver.Difference {
	d.Kind, d.To = driver.DiffersBeyondChange, d.Name
	d.From = strings.TrimSuffix(d.Name, fifoSuffix)
	if d.From == d.Name {
		d.From += fifoSuffix
	}
	d.Attribute = "Ordered"
	d.Risk = "messages that are sent while both exist can overtake each other"
	d.Steps = []string{
		"stop the producers of " + ch.String(), "wait until its consumers have handled what waits",
		"delete it with godwit rm, and its dead letters when nothing in them is needed",
		"apply the declaration, and start consumers and producers with the new order",
	}
	return d
}

// queue returns a queue, nil if it does not exist, and how it differs.
func (p planner) queue(ctx context.Context, s driver.ChannelSpec, role string, t *plannedTopic) (*queue,
	[]driver.Difference, error,
) {
	name, err := p.b.namespace.queue(s.Channel)
	if err != nil {
		return nil, nil, err
	}
	d := driver.Difference{Channel: s.Channel, Resource: aQueue, Name: name}
	if d.Channel.DeadLetter = false; role == roleDeadLetters {
		d.Resource = aDeadQueue
	}
	q, err := p.b.find(ctx, name)
	switch {
	case driver.ClassOf(err) == driver.NotFound && err != nil:
		other := s.Channel
		other.Ordered = !other.Ordered
		if s.Mode == driver.Declare {
			if there, err := p.b.queueThere(ctx, other); err != nil || there {
				return nil, []driver.Difference{p.otherOrder(d, s.Channel)}, err
			}
		}
		return nil, []driver.Difference{d}, nil
	case err != nil || !s.Owner:
		return q, nil, err
	}
	var topicARN string
	if s.Channel.Exchange != "" {
		if topicARN, err = p.topicARN(s.Channel, t); err != nil {
			return nil, nil, err
		}
	}
	wanted, err := queueSettings(s, role, q, topicARN)
	if err != nil {
		return nil, nil, err
	}
	if s.Mode != driver.Declare {
		return q, compared(d, q.attributes, wanted, sameAttribute), nil
	}
	tags, err := tagsOf(ctx, p.b.clients.SQS, q)
	if err != nil {
		return nil, nil, err
	}
	if tags[tagManaged] != managedByGodwit {
		return q, []driver.Difference{notMade(d)}, nil
	}
	all := compared(d, q.attributes, wanted, exactlyAttribute)
	return q, append(all, comparedTags(d, tags, p.b.tags(s, role))...), nil
}

// topicARN is the ARN of an exchange's topic, which may not exist.
func (p planner) topicARN(ch driver.Channel, t *plannedTopic) (string, error) {
	if t != nil {
		return t.arn, nil
	}
	name, err := p.b.namespace.topic(ch)
	return p.id.arn("sns", name), err
}

// redrive returns how the redrive policy of a queue differs.
func (p planner) redrive(s driver.ChannelSpec, q, dead *queue) []driver.Difference {
	d := driver.Difference{Channel: s.Channel, Resource: aQueue, Name: q.name}
	arn := ""
	if !s.NoDeadLetters {
		letters := s.Channel
		letters.DeadLetter = true
		name, _ := p.b.namespace.queue(letters) // legal has checked it
		arn = p.id.arn("sqs", name)
	}
	if dead != nil {
		arn = dead.arn()
	}
	wanted, err := redriveAttribute(s, arn)
	if err != nil {
		return nil
	}
	same := sameAttribute
	if s.Mode == driver.Declare {
		same = exactlyAttribute
	}
	return compared(d, q.attributes, wanted, same)
}

// subscription returns how the subscription of a queue differs.
func (p planner) subscription(ctx context.Context, s driver.ChannelSpec, t *plannedTopic, q, dead *queue) (
	[]driver.Difference, error,
) {
	if s.Channel.Exchange == "" {
		return nil, nil
	}
	d := driver.Difference{Channel: s.Channel, Resource: aSubscription, Name: q.arn(), Note: slowly}
	if t == nil || t.subscriptions[q.arn()] == "" {
		return []driver.Difference{d}, nil
	}
	arn := t.subscriptions[q.arn()]
	filter, err := wire.FilterPolicy(s.Filter, p.b.form(s.Channel).Routing)
	if err != nil {
		return nil, err
	}
	deadARN := ""
	if dead != nil {
		deadARN = dead.arn()
	}
	wanted, err := subscriptionAttributes(filter, deadARN)
	if err != nil {
		return nil, err
	}
	if filter == wire.Everything {
		wanted["FilterPolicy"] = wire.Everything
	}
	in := &sns.GetSubscriptionAttributesInput{SubscriptionArn: &arn}
	out, err := p.b.clients.SNS.GetSubscriptionAttributes(ctx, in, t.at())
	if err != nil {
		return nil, fmt.Errorf("subscription %s: %w", arn, client.Failed(err, "sns:GetSubscriptionAttributes"))
	}
	d.Name = arn
	return compared(d, out.Attributes, wanted, func(_, is, wanted string) bool { return sameSetting(is, wanted) }), nil
}

// compared returns the attributes that differ.
func compared(d driver.Difference, is, wanted map[string]string, same func(name, is, wanted string) bool) (
	all []driver.Difference,
) {
	d.Kind, d.Note = driver.DiffersValue, ""
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		if !same(name, is[name], wanted[name]) {
			d.Attribute, d.From, d.To = name, is[name], wanted[name]
			d.Risk = riskOf(name, is[name], wanted[name])
			if d.Note = ""; name == "FilterPolicy" {
				d.Note = slowly
			}
			all = append(all, d)
		}
	}
	return all
}

// comparedTags returns the tags that differ. Tags of others are left alone.
func comparedTags(d driver.Difference, is, wanted map[string]string) (all []driver.Difference) {
	d.Kind, d.Note = driver.DiffersValue, ""
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		if value, there := is[name]; !there || value != wanted[name] {
			d.Attribute, d.From, d.To = "tag "+name, value, wanted[name]
			all = append(all, d)
		}
	}
	return all
}

// riskOf says what a change of an attribute loses, or allows.
func riskOf(name, is, wanted string) string {
	switch name {
	case string(types.QueueAttributeNameMessageRetentionPeriod):
		if a, b := wire.Number(is), wire.Number(wanted); b < a {
			return fmt.Sprintf("messages that are older than %s seconds are deleted", wanted)
		}
	case string(types.QueueAttributeNameKmsMasterKeyId):
		return "what waits stays encrypted with its key: consumers need both keys, producers and SNS " +
			"permission for the new one"
	case string(types.QueueAttributeNamePolicy):
		if allows(wanted) > allows(is) {
			return "the policy lets in more than before"
		}
	case string(types.QueueAttributeNameRedrivePolicy):
		a, _ := parseRedrive(is)
		b, ok := parseRedrive(wanted)
		if ok && a.MaxReceiveCount > b.MaxReceiveCount {
			return "SQS moves messages that were received more often to the dead letters, without a reason"
		}
	}
	return ""
}

// allows is how many statements of a policy allow something.
func allows(policy string) (n int) {
	var doc struct{ Statement []struct{ Effect string } }
	_ = json.Unmarshal([]byte(policy), &doc) // what cannot be read allows nothing
	for _, s := range doc.Statement {
		if s.Effect == "Allow" {
			n++
		}
	}
	return n
}

// exactlyAttribute compares as sameAttribute does, but a longer retention and a larger maxReceiveCount differ.
func exactlyAttribute(name, is, wanted string) bool {
	switch types.QueueAttributeName(name) {
	case types.QueueAttributeNameMessageRetentionPeriod:
		return is == wanted
	case types.QueueAttributeNameRedrivePolicy:
		a, _ := parseRedrive(is)
		b, _ := parseRedrive(wanted)
		return a == b
	}
	return sameAttribute(name, is, wanted)
}

// queueSettings are all attributes of a queue that exists, but for its redrive policy. A topic may send to it.
func queueSettings(s driver.ChannelSpec, role string, q *queue, topicARN string) (map[string]string, error) {
	wanted := attributes(s, role)
	delete(wanted, string(types.QueueAttributeNameFifoQueue)) // it cannot be changed, and the name says it
	if s.Encryption == "" {
		wanted[string(types.QueueAttributeNameKmsMasterKeyId)] = "" // removes an existing key
	}
	statements := []statement{tlsOnly("sqs:*", q.arn())}
	if topicARN != "" {
		statements = append(statements, fromTopic(q.arn(), topicARN))
	}
	policy, err := merge(q.policy(), statements...)
	if err != nil {
		return nil, fmt.Errorf("queue %s: %w", q.name, err)
	}
	wanted[string(types.QueueAttributeNamePolicy)] = policy
	return wanted, nil
}

// redriveAttribute makes SQS itself move messages to the dead letters after too many receives. "" removes a policy.
func redriveAttribute(s driver.ChannelSpec, deadARN string) (map[string]string, error) {
	wanted := map[string]string{string(types.QueueAttributeNameRedrivePolicy): ""}
	if deadARN == "" || s.MaxReceives == 0 {
		return wanted, nil
	}
	policy, err := json.Marshal(redrivePolicy{deadARN, s.MaxReceives})
	wanted[string(types.QueueAttributeNameRedrivePolicy)] = string(policy)
	return wanted, err
}

// topicSettings are the attributes of a topic that exists.
func topicSettings(s driver.ChannelSpec, t *topic) (map[string]string, error) {
	policy, err := merge(t.attributes["Policy"], tlsOnly("sns:Publish", t.arn))
	if err != nil {
		return nil, fmt.Errorf("topic %s: %w", t.name, err)
	}
	wanted := map[string]string{"KmsMasterKeyId": s.Encryption, "Policy": policy}
	if s.Channel.Ordered {
		wanted["FifoThroughputScope"] = "Topic"
		if s.HighThroughput {
			wanted["FifoThroughputScope"] = "MessageGroup"
		}
	}
	return wanted, nil
}

// sameTopicAttribute compares two values of a topic's attribute as SNS understands them.
func sameTopicAttribute(name, is, wanted string) bool {
	switch {
	case name == "Policy":
		return sameJSON(is, wanted)
	case name == "FifoThroughputScope" && is == "":
		return wanted == "Topic" // SNS's default
	}
	return is == wanted
}

// errorOf is the differences of a specification that may not be provisioned as an error; nil: there are none.
func errorOf(s driver.ChannelSpec, differ []driver.Difference) error {
	var errs []error
	class := driver.Permanent
	by := map[string][]error{}
	for _, d := range differ {
		what := d.Resource + " " + d.Name
		if d.Resource == aDeadQueue {
			what = "queue " + d.Name
		}
		if d.Kind == driver.DiffersForeign {
			class = driver.NotFound // Verify meets only a mapped topic that does not exist
			errs = append(errs, fmt.Errorf("channel %s: %s: %s", s.Channel, what, d.Note))
			continue
		}
		if d.Kind == driver.DiffersMissing {
			class = driver.NotFound
			if d.Resource == aSubscription {
				what = "the subscription of " + d.Name
			}
			errs = append(errs, fmt.Errorf("channel %s: %s does not exist, and Provision is set to verify only: create "+
				"it, or let Godwit provision it", s.Channel, what))
			continue
		}
		by[what] = append(by[what], fmt.Errorf("%s is %q and should be %q", d.Attribute, d.From, d.To))
	}
	for _, what := range slices.Sorted(maps.Keys(by)) {
		errs = append(errs, fmt.Errorf("channel %s: %s differs, and this only verifies: %w", s.Channel, what,
			errors.Join(by[what]...)))
	}
	if len(errs) == 0 {
		return nil
	}
	return &driver.Error{Class: class, Err: errors.Join(errs...)}
}

// setTags is driver.Operations.Tag.
func (p planner) tag(ctx context.Context, ch driver.Channel, tags map[string]string) error {
	b := p.b
	if _, foreign := b.mapped(ch); foreign {
		return client.Permanent("channel %s: its resource is one of Options.Names, and Godwit never tags it", ch)
	}
	if ch.Queue != "" {
		q, err := b.queueOf(ctx, ch)
		if err != nil {
			return err
		}
		is, err := tagsOf(ctx, b.clients.SQS, q)
		if err != nil {
			return err
		}
		if is[tagManaged] != managedByGodwit {
			return notOurs(ch, "queue "+q.name)
		}
		return tagQueue(ctx, b.clients.SQS, q, is, tags)
	}
	t, err := b.topicOf(ctx, ch)
	if err != nil {
		return err
	}
	is, err := b.topicTags(ctx, t.arn)
	if err != nil {
		return err
	}
	if is[tagManaged] != managedByGodwit {
		return notOurs(ch, "topic "+t.name)
	}
	return tagTopic(ctx, b.clients.SNS, t, is, tags)
}

// wanted is driver.Operations.Wanted.
func (p planner) wanted(specs []driver.ChannelSpec, address func(resource, name string) string) (
	all []driver.WantedResource, err error,
) {
	for _, s := range specs {
		if err := p.b.legal(s); err != nil {
			return nil, &driver.Error{Class: driver.Permanent, Err: err}
		}
		some, err := p.wantedOf(s, address)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	return all, nil
}

// wantedOf returns the resources of one channel: a topic, or a queue with its dead letters and its subscription.
func (p planner) wantedOf(s driver.ChannelSpec, address func(resource, name string) string) (
	all []driver.WantedResource, err error,
) {
	if _, foreign := p.b.mapped(s.Channel); foreign {
		return nil, nil
	}
	topicARN := ""
	if s.Channel.Exchange != "" {
		name, err := p.b.namespace.topic(s.Channel)
		if err != nil {
			return nil, err
		}
		topicARN = address(aTopic, name)
		if r, foreign := p.b.mapped(exchange(s.Channel)); foreign {
			topicARN = r.Topic
		}
		if s.Channel.Queue == "" {
			one, err := p.wantedTopic(s, name, topicARN)
			return []driver.WantedResource{one}, err
		}
	}
	deadARN := ""
	if !s.NoDeadLetters {
		letters := s
		letters.Channel.DeadLetter = true
		dead, err := p.wantedQueue(letters, roleDeadLetters, topicARN, address)
		if err != nil {
			return nil, err
		}
		deadARN, all = address(aQueue, dead.Name), append(all, dead)
	}
	q, err := p.wantedQueue(s, roleQueue, topicARN, address)
	if err != nil {
		return nil, err
	}
	redrive, err := redriveAttribute(s, deadARN)
	if err != nil {
		return nil, err
	}
	maps.Copy(q.Attributes, without(redrive, nil))
	if all = append(all, q); topicARN == "" {
		return all, nil
	}
	filter, err := wire.FilterPolicy(s.Filter, p.b.form(s.Channel).Routing)
	if err != nil {
		return nil, err
	}
	attributes, err := subscriptionAttributes(filter, deadARN)
	if err != nil {
		return nil, err
	}
	attributes["TopicArn"], attributes["Endpoint"] = topicARN, address(aQueue, q.Name)
	return append(all, driver.WantedResource{
		Channel: s.Channel, Resource: aSubscription, Name: q.Name, Attributes: attributes,
	}), nil
}

func (p planner) wantedTopic(s driver.ChannelSpec, name, arn string) (driver.WantedResource, error) {
	attributes, err := topicSettings(s, &topic{name: name, arn: arn})
	if s.Channel.Ordered && err == nil {
		attributes["FifoTopic"], attributes["ContentBasedDeduplication"] = "true", "false"
	}
	return driver.WantedResource{
		Channel: exchange(s.Channel), Resource: aTopic, Name: name, Attributes: without(attributes, nil),
		Tags: p.b.tags(s, roleExchange),
	}, err
}

func (p planner) wantedQueue(s driver.ChannelSpec, role, topicARN string,
	address func(resource, name string) string,
) (one driver.WantedResource, err error) {
	one.Channel, one.Resource, one.Tags = s.Channel, aQueue, p.b.tags(s, role)
	if one.Name, err = p.b.namespace.queue(s.Channel); err != nil {
		return one, err
	}
	if one.Channel.DeadLetter = false; role == roleDeadLetters {
		one.Resource = aDeadQueue
	}
	q := &queue{name: one.Name, attributes: map[string]string{
		string(types.QueueAttributeNameQueueArn): address(aQueue, one.Name),
	}}
	attributes, err := queueSettings(s, role, q, topicARN)
	if s.Channel.Ordered && err == nil {
		attributes[string(types.QueueAttributeNameFifoQueue)] = "true"
	}
	one.Attributes = without(attributes, nil)
	return one, err
}
