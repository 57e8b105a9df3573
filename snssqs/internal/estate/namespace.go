package estate

import (
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/part"
	"github.com/godwitmq/godwit/snssqs/internal/wire"
)

const (
	fifoSuffix     = ".fifo"
	dlqPart        = part.DeadLetters
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
	return driver.Channel{Exchange: ch.Queue, Ordered: ch.Ordered}, ok && ch.Exchange == "" && !ch.DeadLetter
}

// legalParts returns an error for a part of a channel's name that is not valid.
func legalParts(ch driver.Channel, parts ...string) error {
	for _, one := range parts {
		if !part.Legal(one) {
			return fmt.Errorf("channel %s: %q cannot be a part of a name: use letters, digits, '_' and '-', begin "+
				"and end with a letter or digit, no '--', and not %q", ch, one, dlqPart)
		}
	}
	return nil
}

// Folder is where the bodies of a channel's messages are.
func (ns namespace) Folder(ch driver.Channel) string {
	folder := wire.TopicFolder + "/" + ch.Exchange
	if ch.Queue != "" {
		ch.Ordered = false
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
