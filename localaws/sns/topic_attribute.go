package sns

import (
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/godwitmq/godwit/localaws/wire"
)

// The attributes of a topic that have an effect here.
const (
	accessPolicy              = "Policy"
	contentBasedDeduplication = "ContentBasedDeduplication"
	deliveryPolicy            = "DeliveryPolicy"
	displayName               = "DisplayName"
	fifoThroughputScope       = "FifoThroughputScope"
	fifoTopic                 = "FifoTopic"
	kmsMasterKeyID            = "KmsMasterKeyId"
	maximumMessageSize        = "MaximumMessageSize"
	signatureVersion          = "SignatureVersion"
	tracingConfig             = "TracingConfig"
)

// unsupported are attributes of SNS that this server does not have.
var unsupported = []string{"ArchivePolicy", "DataProtectionPolicy", "ReplayPolicy"}

const maxDisplayName = 100 // SNS: characters

// feedback reports whether name is a delivery status attribute, and whether its value is a percentage. They are stored
// and shown; nothing is logged for them, because there is no CloudWatch Logs here.
func feedback(name string) (known, percentage bool) {
	for _, endpoint := range []string{"HTTP", "SQS", "Lambda", "Firehose", "Application"} {
		switch strings.TrimPrefix(name, endpoint) {
		case "SuccessFeedbackRoleArn", "FailureFeedbackRoleArn":
			return true, false
		case "SuccessFeedbackSampleRate":
			return true, true
		}
	}
	return false, false
}

// set changes one attribute of a topic, or refuses it. The reason is without "Invalid parameter: ", because CreateTopic
// has another prefix.
func (t *topic) set(name, value string) *wire.Error {
	if slices.Contains(unsupported, name) {
		return invalid("%s is not supported by this server", name)
	}
	switch name {
	case deliveryPolicy:
		return t.setDeliveryPolicy(value)
	case accessPolicy:
		p, err := parsePolicy(value)
		if err != nil {
			return err
		}
		t.policy = p
		return nil
	case maximumMessageSize:
		if err := t.checkMaximumSize(value); err != nil {
			return err
		}
	default:
		if name == contentBasedDeduplication {
			value = strings.ToLower(value) // AWS accepts a boolean in either case and shows it in lower case
		}
		if err := t.check(name, value); err != nil {
			return err
		}
	}
	if value == "" {
		delete(t.attributes, name)
		return nil
	}
	t.attributes[name] = value
	return nil
}

// setDeliveryPolicy sets a topic's policy, or removes it if text is "". Only members that were set are shown.
func (t *topic) setDeliveryPolicy(text string) *wire.Error {
	var d topicDelivery
	if text == "" {
		t.delivery = d
		delete(t.attributes, deliveryPolicy)
		return nil
	}
	if fault := readPolicy(text, &d); fault != nil {
		return fault
	}
	if fault := checkDelivery(d.HTTP.Retry, d.HTTP.Throttle, d.HTTP.Request); fault != nil {
		return fault
	}
	t.delivery = d
	t.attributes[deliveryPolicy] = asJSON(d)
	return nil
}

// check checks the attributes that are only stored.
func (t *topic) check(name, value string) *wire.Error {
	ok := true
	switch name {
	case displayName:
		ok = len(value) <= maxDisplayName && !strings.ContainsFunc(value, unicode.IsControl)
	case signatureVersion:
		ok = value == "1" || value == "2"
	case tracingConfig:
		ok = value == "PassThrough" || value == "Active"
	case contentBasedDeduplication:
		ok = t.fifo && (value == "true" || value == "false")
	case fifoThroughputScope:
		ok = t.fifo && (value == "Topic" || value == "MessageGroup")
	case kmsMasterKeyID:
	default:
		known, percentage := feedback(name)
		if !known {
			return invalid(unknownAttribute)
		}
		if n, err := strconv.Atoi(value); percentage && value != "" && (err != nil || n < 0 || n > 100) {
			ok = false
		}
	}
	if !ok {
		return invalid("%s", name)
	}
	return nil
}

// checkMaximumSize checks SNS's rules for large messages: only SQS, Lambda and Firehose subscriptions, and at most a
// hundred of them.
func (t *topic) checkMaximumSize(value string) *wire.Error {
	n, err := strconv.Atoi(value)
	if err != nil || n < leastMaximumSize || n > largestMaximumSize {
		return invalid("MaximumMessageSize Reason: must be between %d and %d", leastMaximumSize, largestMaximumSize)
	}
	if n <= defaultMaximumSize {
		return nil
	}
	if len(t.subscriptions) > maxLargeSubscribed {
		return invalid("MaximumMessageSize Reason: a topic with a MaximumMessageSize above %d must have %d or fewer "+
			"subscriptions", defaultMaximumSize, maxLargeSubscribed)
	}
	for _, sub := range t.subscriptions {
		if !sub.of().large {
			return invalid("MaximumMessageSize Reason: a topic with a MaximumMessageSize above %d does not support "+
				"%s subscriptions", defaultMaximumSize, sub.protocol)
		}
	}
	return nil
}

// GetTopicAttributesInput is the input of GetTopicAttributes.
type GetTopicAttributesInput struct {
	TopicInput
}

// GetTopicAttributesOutput is the output of GetTopicAttributes.
type GetTopicAttributesOutput struct {
	Attributes map[string]string `json:"Attributes"`
}

// getTopicAttributes shows the policy as it was set and the effective delivery policy with its defaults. It also counts
// the subscriptions: confirmed, pending, and deleted (AWS's API reference).
func getTopicAttributes(c call, t *topic, _ *GetTopicAttributesInput) (*GetTopicAttributesOutput, error) {
	return &GetTopicAttributesOutput{Attributes: t.shown(c.at.opts.Account)}, nil
}

// SetTopicAttributesInput is the input of SetTopicAttributes.
type SetTopicAttributesInput struct {
	TopicInput
	AttributeName  string `json:"AttributeName"`
	AttributeValue string `json:"AttributeValue"`
}

// setTopicAttributes changes one attribute. FifoTopic cannot be changed, and MaximumMessageSize above 256 KiB restricts
// the topic's subscriptions (What's New of AWS, September 2026).
func setTopicAttributes(c call, t *topic, in *SetTopicAttributesInput) (*Empty, error) {
	if fault := t.set(in.AttributeName, in.AttributeValue); fault != nil {
		return nil, fault
	}
	c.at.records.topic(t)
	return &Empty{}, nil
}
