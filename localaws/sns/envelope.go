package sns

import (
	"encoding/base64"
	"net/url"
	"strings"

	"github.com/godwitmq/godwit/localaws/sns/jsontext"
)

// timestampForm is SNS's format of a time.
const timestampForm = "2006-01-02T15:04:05.000Z"

// notification is one message of one topic during its delivery to the subscriptions.
type notification struct {
	topic   *topic // only its immutable fields may be read
	message *message
	version string // signature version
	baseURL string // the server's URL as the publisher used it
	signer  *signer

	signed map[string]string // signatures by text, because protocols may have texts of their own
}

// alone returns a copy of the notification for another goroutine.
func (n *notification) alone() *notification {
	c := *n
	c.signed = nil
	return &c
}

// envelope returns the JSON for a subscription without raw delivery, in SNS's layout.
func (n *notification) envelope(to recipient) string {
	text := n.message.textFor(to.sub.protocol)
	e := newDocument("Notification")
	e.add("MessageId", n.message.id)
	if n.topic.fifo {
		e.add("SequenceNumber", n.message.sequence)
	}
	e.add("TopicArn", n.topic.arn)
	if n.message.subject != "" {
		e.add("Subject", n.message.subject)
	}
	e.add("Message", text)
	e.add("Timestamp", n.message.timestamp)
	if !n.topic.fifo {
		e.add("SignatureVersion", n.version)
		e.add("Signature", n.sign(text))
		e.add("SigningCertURL", n.baseURL+n.signer.certificatePath())
	}
	e.add("UnsubscribeURL", n.unsubscribeURL(to))
	e.addAttributes(n.message)
	return e.end()
}

func (n *notification) unsubscribeURL(to recipient) string {
	return n.baseURL + "/?Action=Unsubscribe&SubscriptionArn=" + to.sub.arn
}

// sign signs the message once for all subscriptions with the same text. A notification is delivered to one subscription
// after another, so sign needs no lock.
func (n *notification) sign(text string) string {
	if signature, ok := n.signed[text]; ok {
		return signature
	}
	fields := []string{"Message", text, "MessageId", n.message.id}
	if n.message.subject != "" {
		fields = append(fields, "Subject", n.message.subject)
	}
	fields = append(fields, "Timestamp", n.message.timestamp, "TopicArn", n.topic.arn, "Type", "Notification")
	signature := n.signer.sign(n.version, fields)
	if n.signed == nil {
		n.signed = map[string]string{}
	}
	n.signed[text] = signature
	return signature
}

// document is a JSON object in SNS's layout: one member per line, spaces around the colon.
type document struct{ strings.Builder }

func newDocument(kind string) *document {
	e := &document{}
	e.WriteString("{\n  \"Type\" : ")
	jsontext.Quote(&e.Builder, kind)
	return e
}

func (e *document) add(name, value string) {
	e.WriteString(",\n  \"" + name + "\" : ")
	jsontext.Quote(&e.Builder, value)
}

func (e *document) addAttributes(m *message) {
	if len(m.names) == 0 {
		return
	}
	e.WriteString(",\n  \"MessageAttributes\" : {")
	for i, name := range m.names {
		if i > 0 {
			e.WriteByte(',')
		}
		a := m.attributes[name]
		e.WriteString("\n    ")
		jsontext.Quote(&e.Builder, name)
		e.WriteString(" : {\"Type\":")
		jsontext.Quote(&e.Builder, a.Type)
		e.WriteString(",\"Value\":")
		jsontext.Quote(&e.Builder, a.envelopeValue())
		e.WriteByte('}')
	}
	e.WriteString("\n  }")
}

// envelopeValue returns the value as envelopes have it: bytes in base64.
func (a Attribute) envelopeValue() string {
	if a.Binary != nil {
		return base64.StdEncoding.EncodeToString(a.Binary)
	}
	return a.Text
}

func (e *document) end() string {
	e.WriteString("\n}")
	return e.String()
}

// confirmation is the message that asks an endpoint to confirm, or tells it that its subscription was canceled.
type confirmation struct {
	kind, text       string
	id, token        string
	topicARN         string
	timestamp        string
	version, baseURL string
}

func (c *confirmation) envelope(s *signer) string {
	subscribe := c.baseURL + "/?" + "Action=ConfirmSubscription&TopicArn=" + c.topicARN + "&Token=" +
		url.QueryEscape(c.token)
	e := newDocument(c.kind)
	e.add("MessageId", c.id)
	e.add("Token", c.token)
	e.add("TopicArn", c.topicARN)
	e.add("Message", c.text)
	e.add("SubscribeURL", subscribe)
	e.add("Timestamp", c.timestamp)
	e.add("SignatureVersion", c.version)
	e.add("Signature", s.sign(c.version, []string{
		"Message", c.text, "MessageId", c.id, "SubscribeURL", subscribe, "Timestamp", c.timestamp,
		"Token", c.token, "TopicArn", c.topicARN, "Type", c.kind,
	}))
	e.add("SigningCertURL", c.baseURL+s.certificatePath())
	return e.end()
}
