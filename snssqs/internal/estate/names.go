package estate

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/filterpolicy"
	"github.com/godwitmq/godwit/internal/nearname"
	"github.com/godwitmq/godwit/internal/part"
	"github.com/godwitmq/godwit/snssqs/internal/client"
	"github.com/godwitmq/godwit/snssqs/internal/trust"
	"github.com/godwitmq/godwit/snssqs/internal/wire"
)

// Names say where channels lie: under names of their own in a namespace, or where Options.Names maps them.
type Names struct {
	namespace
	Mappings  map[string]Mapping
	form      func(ch driver.Channel, mapped bool) wire.Form
	envelopes map[string][]string // Options.EnvelopesFrom
}

// Form is the attributes of messages to a channel.
func (n *Names) Form(ch driver.Channel) wire.Form {
	ch.DeadLetter = false
	_, mapped := n.Mapping(ch)
	return n.form(ch, mapped)
}

// Mapping returns the resource that a channel is mapped to, and whether there is one.
func (n *Names) Mapping(ch driver.Channel) (Mapping, bool) {
	ch.DeadLetter = false
	r, ok := n.Mappings[ch.String()]
	return r, ok
}

// topicMapping is the mapping of a channel, or of its exchange, that names a topic.
func (n *Names) topicMapping(ch driver.Channel) (Mapping, bool) {
	r, ok := n.Mapping(ch)
	if !ok || r.Topic == "" {
		r, ok = n.Mapping(ExchangeOf(ch))
	}
	return r, ok && r.Topic != ""
}

// Legal refuses, without a call, a specification that cannot be provisioned.
func (n *Names) Legal(s driver.ChannelSpec) error {
	if err := wire.Filterable(s.Channel, s.Filter); err != nil {
		return err
	}
	if _, err := filterpolicy.Of(s.Filter, n.Form(s.Channel).Routing); err != nil {
		return fmt.Errorf("channel %s: %w", s.Channel, err)
	}
	if _, foreign := n.Mapping(s.Channel); foreign {
		return nil
	}
	if s.Channel.Exchange != "" {
		if _, err := n.TopicName(s.Channel); err != nil {
			return err
		}
	}
	if s.Channel.Queue == "" {
		return nil
	}
	_, err := n.QueueName(DeadLettersOf(s.Channel)) // it has the longest name of all
	return err
}

// Tags are the tags of a channel's resource: those of its specification, and ours.
func (n *Names) Tags(ch driver.Channel, users map[string]string) map[string]string {
	tags := make(map[string]string, len(users)+4)
	maps.Copy(tags, users)
	name, role := ch.String(), roleQueue
	switch {
	case ch.Queue == "":
		name, role = ch.Exchange, roleExchange // not wishlist_events.*, because the value of a tag cannot contain '*'
	case ch.DeadLetter:
		role = roleDeadLetters
	case ch.Later:
		role = roleLater
	case ch.Ticks:
		role = roleTicks
	}
	tags[tagManaged], tags[tagChannel], tags[tagRole] = managedByGodwit, name, role
	if n.namespace != "" {
		tags[tagNamespace] = string(n.namespace)
	}
	return tags
}

// ours reports whether a queue is named as a queue of the exchange.
func (n *Names) ours(queue string, ch driver.Channel) bool {
	of, ok := n.ChannelOfQueue(queue)
	return ok && of.Role() == driver.RoleQueue && of.Exchange == ch.Exchange && of.Ordered == ch.Ordered
}

// Listed returns the channel of a resource; false: it is not in the namespace. Unknown tags are nil.
func (n *Names) Listed(arn string, tags map[string]string) (c driver.ChannelInfo, ok bool) {
	a, ok := ParseARN(arn)
	if !ok {
		return c, false
	}
	if a.Service == "sns" {
		c.Channel, ok = n.ChannelOfTopic(a.Name)
	} else {
		c.Channel, ok = n.ChannelOfQueue(a.Name)
	}
	if space, set := tags[tagNamespace]; set && space != string(n.namespace) {
		ok = false
	}
	if tags != nil && !managed(tags) {
		ok = false
	}
	c.Address, c.Tags = arn, tags
	return c, ok
}

// envelopesFrom returns the entry of Options.EnvelopesFrom for a channel, or else that of its exchange.
func (n *Names) envelopesFrom(ch driver.Channel) (topics []string, set bool) {
	if topics, set = n.envelopes[ch.String()]; !set && ch.Exchange != "" {
		topics, set = n.envelopes[ExchangeOf(ch).String()]
	}
	return topics, set
}

// Trusts returns the topics whose JSON a channel opens: those of Options.EnvelopesFrom or, without an entry, that of
// its exchange and, for a mapped queue, those that the queue's policy lets in. The resource is the channel's queue or,
// for an exchange, its topic.
func (n *Names) Trusts(ch driver.Channel, resourceARN, policy string) trust.Topics {
	if topics, set := n.envelopesFrom(ch); set {
		return topics
	}
	var t trust.Topics
	if topic, ok := n.exchangeTopic(ch, resourceARN); ok {
		t = append(t, topic)
	}
	if as, mapped := n.Mapping(ch); mapped && as.Queue != "" {
		t = append(t, trust.LetIn(policy)...)
	}
	return t
}

// exchangeTopic returns the ARN of the topic of a channel's exchange, in the account and region of another resource of
// the channel unless it is mapped.
func (n *Names) exchangeTopic(ch driver.Channel, resourceARN string) (string, bool) {
	if ch.Exchange == "" {
		return "", false
	}
	if r, ok := n.topicMapping(ch); ok {
		if _, named := ParseARN(r.Topic); named {
			return r.Topic, true
		}
		return besideARN(resourceARN, r.Topic)
	}
	name, err := n.TopicName(ch)
	if err != nil {
		return "", false
	}
	return besideARN(resourceARN, name)
}

// besideARN is the ARN of a topic in the account and region of another resource.
func besideARN(resourceARN, topic string) (string, bool) {
	at, ok := ParseARN(resourceARN)
	return at.Beside("sns", topic), ok
}

// Address is the name of a channel in metrics and traces.
func (n *Names) Address(ch driver.Channel) driver.Address {
	if ch.Queue == "" {
		if as, mapped := n.Mapping(ch); mapped {
			return driver.Address{System: systemSNS, Destination: lastPart(as.Topic, ":")}
		}
		name, _ := n.TopicName(ch) // a channel whose name cannot be a topic is refused when it is opened
		return driver.Address{System: systemSNS, Destination: name}
	}
	if as, mapped := n.Mapping(ch); mapped && as.Queue != "" && !ch.DeadLetter {
		return driver.Address{System: systemSQS, Destination: lastPart(lastPart(as.Queue, "/"), ":")}
	}
	name, _ := n.QueueName(ch)
	return driver.Address{System: systemSQS, Destination: name}
}

// lastPart is the text after the last separator.
func lastPart(text, separator string) string { return text[strings.LastIndex(text, separator)+1:] }

// The systems of addresses, as OpenTelemetry names them.
const (
	systemSQS = "aws_sqs"
	systemSNS = "aws.sns"
)

// DeadLettersOf is the channel of a channel's dead letters.
func DeadLettersOf(ch driver.Channel) driver.Channel {
	ch.DeadLetter = true
	return ch
}

// LaterOf is where messages of a channel or of an exchange wait for their time. A queue and an exchange never have the
// same name, so both need no names of their own. It keeps no order: a hidden message of a FIFO queue would block its
// group.
func LaterOf(ch driver.Channel) driver.Channel {
	return driver.Channel{Queue: cmp.Or(ch.Exchange, ch.Queue), Later: true}
}

// TicksOf is where messages of schedules are before a consumer of a channel or of an exchange without order sends them
// on. Its queue removes the duplicates of all processes.
func TicksOf(ch driver.Channel) driver.Channel {
	return driver.Channel{Queue: cmp.Or(ch.Exchange, ch.Queue), Ticks: true, Ordered: true}
}

// Our own tags, in addition to those of a ChannelSpec.
const (
	tagManaged      = "managed-by"
	managedByGodwit = "godwit"
	tagChannel      = "channel"
	tagRole         = "role"
	tagNamespace    = "namespace" // not set without a namespace

	roleQueue       = "queue"
	roleDeadLetters = "dead-letters"
	roleExchange    = "exchange"
	roleLater       = "later"
	roleTicks       = "ticks"
)

func differingTags(is, wanted map[string]string) map[string]string {
	differ := map[string]string{}
	for name, value := range wanted {
		if was, there := is[name]; !there || was != value {
			differ[name] = value
		}
	}
	return differ
}

// managed reports whether tags say that Godwit has created their resource.
func managed(tags map[string]string) bool { return tags[tagManaged] == managedByGodwit }

// Ours returns an error for a resource whose tags do not say that Godwit has created it.
func Ours(ch driver.Channel, resource string, tags map[string]string) error {
	if managed(tags) {
		return nil
	}
	return client.Permanent("channel %s: %s does not have the tag %s=%s, so Godwit has not created it: delete it yourself",
		ch, resource, tagManaged, managedByGodwit)
}

// Managed is the tag of all resources that Godwit has created.
func Managed() (key, value string) { return tagManaged, managedByGodwit }

// UsersTags are tags without those that this package sets itself.
func UsersTags(tags map[string]string) map[string]string {
	out := map[string]string{}
	for name, value := range tags {
		switch name {
		case tagManaged, tagChannel, tagRole, tagNamespace:
		default:
			out[name] = value
		}
	}
	return out
}

// longName is the length from which two typing errors in a channel's name are more likely than another name.
const longName = 8

// mistyped returns an error if Options.Names has an entry whose name is similar to the channel's. The entry is probably
// meant for this channel, and otherwise a second queue or topic would be created that no other program uses.
func (n *Names) mistyped(ch driver.Channel) error {
	ch.DeadLetter = false
	var entries []string
	for _, name := range slices.Sorted(maps.Keys(n.Mappings)) {
		if similar(name, ch.String()) {
			entries = append(entries, name)
		}
	}
	if len(entries) == 0 {
		return nil
	}
	return client.Permanent("channel %s: it does not exist, and Options.Names does not map it but %s: "+
		"spell both the same, or create what %s stands for yourself if it is another channel",
		ch, strings.Join(entries, " and "), ch)
}

// similar reports whether one of two different names may be the other one mistyped, such as orders and order, or events
// and events.*. Names that differ only by their digits are taken as different on purpose.
func similar(a, b string) bool {
	x, y := strings.TrimSuffix(a, ".*"), strings.TrimSuffix(b, ".*")
	switch {
	case x == y:
		return true
	case (x == a) != (y == b), withoutDigits(a) == withoutDigits(b):
		return false
	}
	most := 1
	if max(len(a), len(b)) >= longName {
		most = 2
	}
	return nearname.Distance(a, b) <= most
}

func withoutDigits(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return -1
		}
		return r
	}, s)
}

const (
	fifoSuffix     = ".fifo"
	dlqPart        = part.DeadLetters
	laterPart      = part.Later
	ticksPart      = part.Ticks
	partSeparator  = "--"
	spaceSeparator = "---"
	maxQueueName   = 80 // SQS's limit, including the suffix
)

// namespace is a prefix of every name, so that several systems can share an account. "": none.
type namespace string

// QueueName returns the name of a channel's queue.
func (ns namespace) QueueName(ch driver.Channel) (string, error) {
	parts := make([]string, 0, 3)
	if ch.Exchange != "" {
		parts = append(parts, ch.Exchange)
	}
	parts = append(parts, ch.Queue)
	if err := legalParts(ch, parts...); err != nil {
		return "", err
	}
	if ch.DeadLetter {
		parts = append(parts, dlqPart)
	}
	if ch.Later {
		parts = append(parts, laterPart)
	}
	if ch.Ticks {
		parts = append(parts, ticksPart)
	}
	name := ns.join(parts, ch.Ordered)
	if room := maxQueueName - len(name); room < 0 {
		return "", fmt.Errorf("channel %s: the queue's name %s has %d characters, %d more than SQS accepts: shorten a "+
			"part of it or the namespace", ch, name, len(name), -room)
	}
	return name, nil
}

// TopicName returns the name of an exchange's topic.
func (ns namespace) TopicName(ch driver.Channel) (string, error) {
	if err := legalParts(ch, ch.Exchange); err != nil {
		return "", err
	}
	name := ns.join([]string{ch.Exchange}, ch.Ordered)
	if len(name) > maxQueueName {
		return "", fmt.Errorf("channel %s: the topic's name %s has %d characters; the names of its queues would "+
			"not fit "+
			"within %d", ch, name, len(name), maxQueueName)
	}
	return name, nil
}

func (ns namespace) join(parts []string, ordered bool) string {
	name := strings.Join(parts, partSeparator)
	if ns != "" {
		name = string(ns) + spaceSeparator + name
	}
	if ordered {
		name += fifoSuffix
	}
	return name
}

// ChannelOfQueue is the inverse of QueueName: it returns the channel of a queue, if the queue is one of this namespace.
func (ns namespace) ChannelOfQueue(queue string) (ch driver.Channel, ok bool) {
	rest, ordered := strings.CutSuffix(queue, fifoSuffix)
	ch.Ordered = ordered
	if ns != "" {
		rest, ok = strings.CutPrefix(rest, string(ns)+spaceSeparator)
		if !ok {
			return ch, false
		}
	}
	parts := strings.Split(rest, partSeparator)
	if n := len(parts); n > 1 && parts[n-1] == dlqPart {
		ch.DeadLetter = true
		parts = parts[:n-1]
	} else if n == 2 && parts[1] == laterPart && !ordered {
		ch.Later = true
		parts = parts[:1]
	} else if n == 2 && parts[1] == ticksPart && ordered {
		ch.Ticks = true
		parts = parts[:1]
	}
	for _, one := range parts {
		if !part.Legal(one) {
			return ch, false
		}
	}
	switch len(parts) {
	case 1:
		ch.Queue = parts[0]
	case 2:
		ch.Exchange, ch.Queue = parts[0], parts[1]
	default:
		return ch, false
	}
	return ch, true
}

// ChannelOfTopic is the inverse of TopicName: it returns the exchange of a topic, if the topic is one of this
// namespace.
func (ns namespace) ChannelOfTopic(topic string) (ch driver.Channel, ok bool) {
	ch, ok = ns.ChannelOfQueue(topic)
	ok = ok && ch.Exchange == "" && ch.Role() == driver.RoleQueue
	return driver.Channel{Exchange: ch.Queue, Ordered: ch.Ordered}, ok
}

// legalParts returns an error for a part of a channel's name that is not valid.
func legalParts(ch driver.Channel, parts ...string) error {
	for _, one := range parts {
		if !part.Legal(one) {
			return fmt.Errorf("channel %s: %q cannot be a part of a name: use letters, digits, '_' and '-', begin "+
				"and end with a letter or digit, no '--', and not %q, %q or %q",
				ch, one, dlqPart, laterPart, ticksPart)
		}
	}
	return nil
}

// Folder is where the bodies of a channel's messages are.
func (ns namespace) Folder(ch driver.Channel) string {
	folder := wire.TopicFolder + "/" + ch.Exchange
	if ch.Queue != "" {
		ch.Ordered, ch.Later, ch.Ticks = false, false, false
		name, _ := namespace("").QueueName(ch) // the channel was opened, so its name is legal
		folder = "queues/" + name
	}
	if ns != "" {
		folder = string(ns) + "/" + folder
	}
	return folder
}

// Prefix begins the name of every queue; nil: there is no namespace.
func (ns namespace) Prefix() *string {
	if ns == "" {
		return nil
	}
	return aws.String(string(ns) + spaceSeparator)
}

// Ordered reports whether a name, a URL or an ARN is that of a FIFO queue or topic.
func Ordered(name string) bool { return strings.HasSuffix(name, fifoSuffix) }
