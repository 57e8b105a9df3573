package sns

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/godwitmq/godwit/localaws/wire"
)

// topic is one topic. Its fields are guarded by the registry's lock, except fifoOrder, which has its own lock.
type topic struct {
	number        uint64
	arn           string
	name          string
	fifo          bool
	attributes    map[string]string // the attributes that were set, by name
	delivery      topicDelivery
	policy        policy
	tags          map[string]string
	subscriptions []*subscription // replaced and never modified: a running publish keeps reading the old one
	deleted       int             // number of deleted subscriptions
	fifoOrder     *fifoOrder      // FIFO topics only
	meter         *meter          // has its own lock
}

const (
	defaultMaximumSize = 256 << 10 // SNS: without MaximumMessageSize
	largestMaximumSize = 1 << 20   // SNS: the largest MaximumMessageSize
	leastMaximumSize   = 1 << 10   // SNS: the smallest MaximumMessageSize
	maxTopics          = 100_000   // SNS: standard topics an account
	maxFIFOTopics      = 1_000     // SNS: FIFO topics an account
	maxLargeSubscribed = 100       // SNS: subscriptions of a topic that takes more than 256 KiB
	maxFIFOSubscribed  = 100       // SNS: subscriptions of a FIFO topic
)

var (
	topicName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,256}$`)
	fifoName  = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,251}\.fifo$`)
	uuidForm  = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)
)

func (t *topic) contentBasedDeduplication() bool {
	return t.attributes[contentBasedDeduplication] == "true"
}

func (t *topic) maximumSize() int {
	if n, err := strconv.Atoi(t.attributes[maximumMessageSize]); err == nil {
		return n
	}
	return defaultMaximumSize
}

func (t *topic) signatureVersion() string {
	if v := t.attributes[signatureVersion]; v != "" {
		return v
	}
	return "1"
}

// shown returns the attributes as GetTopicAttributes shows them.
func (t *topic) shown(account string) map[string]string {
	shown := maps.Clone(t.attributes)
	if _, ok := shown[displayName]; !ok {
		shown[displayName] = ""
	}
	if t.fifo {
		shown[fifoTopic] = "true"
		shown[contentBasedDeduplication] = strconv.FormatBool(t.contentBasedDeduplication())
	}
	pending, confirmed := 0, 0
	for _, sub := range t.subscriptions {
		if sub.confirmed {
			confirmed++
		} else {
			pending++
		}
	}
	shown["TopicArn"] = t.arn
	shown["Owner"] = account
	shown[accessPolicy] = t.policy.text()
	shown["SubscriptionsConfirmed"] = strconv.Itoa(confirmed)
	shown["SubscriptionsPending"] = strconv.Itoa(pending)
	shown["SubscriptionsDeleted"] = strconv.Itoa(t.deleted)
	shown["EffectiveDeliveryPolicy"] = asJSON(t.delivery.effective())
	return shown
}

func asJSON(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		panic("sns: a policy cannot be written as JSON: " + err.Error())
	}
	return string(raw)
}

// CreateTopicInput is the input of CreateTopic.
type CreateTopicInput struct {
	Name                 string            `json:"Name"`
	Attributes           map[string]string `json:"Attributes"`
	Tags                 []Tag             `json:"Tags"`
	DataProtectionPolicy *string           `json:"DataProtectionPolicy"`
}

// CreateTopicOutput is the output of CreateTopic.
type CreateTopicOutput struct {
	TopicArn string `json:"TopicArn"`
}

// createTopic returns the existing topic if the request's attributes are those that the topic has, and is an
// InvalidParameter otherwise, also for other tags (AWS's API reference).
func createTopic(c call, in *CreateTopicInput) (*CreateTopicOutput, error) {
	if in.DataProtectionPolicy != nil {
		return nil, invalid("DataProtectionPolicy is not supported by this server")
	}
	t, fault := wishedTopic(c.at.registry, in)
	if fault != nil {
		return nil, fault
	}
	c.at.mu.Lock()
	defer c.at.mu.Unlock()
	if old, ok := c.at.topics[t.arn]; ok {
		c.at.touch(old)
		if fault := old.alike(in, t, c.at.opts.Account); fault != nil {
			return nil, fault
		}
		return &CreateTopicOutput{TopicArn: t.arn}, nil
	}
	if fault := c.at.roomForTopic(t.fifo); fault != nil {
		return nil, fault
	}
	t.number = c.at.carrier.number.Add(1)
	c.at.topics[t.arn] = t
	c.at.records.topic(t)
	c.at.touch(t)
	return &CreateTopicOutput{TopicArn: t.arn}, nil
}

// wishedTopic returns the topic that a request describes.
func wishedTopic(r *registry, in *CreateTopicInput) (*topic, *wire.Error) {
	fifo := strings.ToLower(in.Attributes[fifoTopic])
	form := topicName
	switch fifo {
	case "true":
		form = fifoName
	case "", "false":
	default:
		return nil, invalid("Attributes Reason: FifoTopic")
	}
	if !form.MatchString(in.Name) {
		return nil, invalid("Topic Name")
	}
	tags, fault := tagMap(in.Tags)
	if fault != nil {
		return nil, fault
	}
	t := &topic{
		name: in.Name, fifo: fifo == "true", tags: tags, attributes: map[string]string{}, meter: &meter{},
	}
	t.arn = r.place().ARN("sns", in.Name)
	t.policy = defaultPolicy(t.arn, r.opts.Account)
	if t.fifo {
		t.fifoOrder = &fifoOrder{
			accepted: map[string]*acceptance{}, kept: keptOrder{records: records{r.opts.Store}, arn: t.arn},
		}
	}
	for _, name := range slices.Sorted(maps.Keys(in.Attributes)) {
		if name == fifoTopic {
			continue
		}
		if fault := t.set(name, in.Attributes[name]); fault != nil {
			return nil, attributesReason(name, fault)
		}
	}
	return t, nil
}

// attributesReason rewords the error about an attribute as actions do that take several attributes.
func attributesReason(name string, fault *wire.Error) *wire.Error {
	reason := strings.TrimPrefix(fault.Message, "Invalid parameter: ")
	if reason == unknownAttribute {
		reason = "Unknown attribute " + name
	}
	return invalid("Attributes Reason: %s", reason)
}

// attributesFault is the same as attributesReason if there is an error.
func attributesFault(name string, fault *wire.Error) *wire.Error {
	if fault == nil {
		return nil
	}
	return attributesReason(name, fault)
}

// unknownAttribute is the error text of actions that take one attribute, for a name they do not know.
const unknownAttribute = "AttributeName"

// alike returns an error if the request to create an existing topic again has different values. Missing values are
// allowed.
func (t *topic) alike(in *CreateTopicInput, wished *topic, account string) *wire.Error {
	has, wants := t.shown(account), wished.shown(account)
	for name := range in.Attributes {
		if name == fifoTopic {
			continue // it is part of the name
		}
		if has[name] != wants[name] {
			return invalid("Attributes Reason: Topic already exists with different attributes")
		}
	}
	for key, value := range wished.tags {
		if old, ok := t.tags[key]; !ok || old != value {
			return invalid("Tags Reason: Topic already exists with different tags")
		}
	}
	return nil
}

// DeleteTopicInput is the input of DeleteTopic.
type DeleteTopicInput struct {
	TopicInput
}

// deleteTopic deletes a topic and its subscriptions. Deleting a topic that does not exist succeeds (AWS's API
// reference, DeleteTopic).
func deleteTopic(c call, arn string, _ *DeleteTopicInput) (*Empty, error) {
	c.at.mu.Lock()
	defer c.at.mu.Unlock()
	if t, ok := c.at.topics[arn]; ok {
		for _, sub := range t.subscriptions {
			c.at.forget(sub)
			c.at.records.dropSubscription(sub)
		}
		c.at.records.dropTopic(t)
		delete(c.at.topics, arn)
		t.meter.end()
		// A subscription of this topic cannot be restored for another topic of the same name.
		maps.DeleteFunc(c.at.tokens, func(_ string, sub *subscription) bool {
			if sub.topicARN == arn {
				c.at.records.dropSubscription(sub)
			}
			return sub.topicARN == arn
		})
	}
	return &Empty{}, nil
}
