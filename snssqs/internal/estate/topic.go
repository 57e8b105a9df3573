package estate

import (
	"fmt"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sns"

	"github.com/godwitmq/godwit/driver"
)

// defaultTopicBytes is the size that SNS accepts for a message, and for a batch, unless the topic allows more.
const defaultTopicBytes = 256 << 10

// Topic is what is known about an existing topic.
type Topic struct {
	Name, ARN, Region string
	Foreign           bool
	credentials       aws.CredentialsProvider // nil: the backend's
	Attributes        map[string]string
}

// MaxBytes returns the maximum size of a message, including attributes.
func (t *Topic) MaxBytes() int {
	n, err := strconv.Atoi(t.Attributes["MaximumMessageSize"])
	if err != nil || n <= 0 {
		return defaultTopicBytes
	}
	return n
}

// ExchangeOf returns the channel of the whole exchange that a channel belongs to.
func ExchangeOf(ch driver.Channel) driver.Channel {
	return driver.Channel{Exchange: ch.Exchange, Ordered: ch.Ordered}
}

// At directs a call to the topic's own region, with its credentials.
func (t *Topic) At() func(*sns.Options) {
	return func(o *sns.Options) {
		if t.Region != "" {
			o.Region = t.Region
		}
		if t.credentials != nil {
			o.Credentials = t.credentials
		}
	}
}

// securePolicy is the policy of a topic with the statement that forbids plain HTTP.
func (t *Topic) securePolicy() (string, error) {
	policy, err := MergePolicy(t.Attributes["Policy"], tlsOnly("sns:Publish", t.ARN))
	if err != nil {
		return "", fmt.Errorf("topic %s: %w", t.Name, err)
	}
	return policy, nil
}
