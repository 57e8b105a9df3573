package sns

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strconv"

	"github.com/godwitmq/godwit/localaws/wire"
)

// topic is one topic. Its fields are guarded by the service's lock, except fifoOrder, which has its own lock.
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

// topic looks up a topic, and tells it that there was a call; the caller holds the lock.
func (s *Service) topic(arn string) (*topic, *wire.Error) {
	t, ok := s.topics[arn]
	if !ok {
		return nil, noTopic()
	}
	s.touch(t)
	return t, nil
}

// inOrder returns the topics in order of creation; the caller holds the lock.
func (s *Service) inOrder() []*topic {
	return slices.SortedFunc(maps.Values(s.topics), func(a, b *topic) int { return compareNumbers(a.number, b.number) })
}

func compareNumbers(a, b uint64) int {
	if a < b {
		return -1
	}
	return 1
}

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
