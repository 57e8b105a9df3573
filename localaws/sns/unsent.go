package sns

import (
	"cmp"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/godwitmq/godwit/localaws/wire"
)

// Unsent is a message for a protocol that this server does not deliver to, such as email, as SNS would have sent it.
type Unsent struct {
	At              time.Time
	Account, Region string // of the topic, or of the call for a telephone number
	SubscriptionARN string // "": it was published to a telephone number
	Protocol        string
	Endpoint        string
	MessageID       string
	Subject         string
	Body            string
}

const (
	maxUnsent      = 1000     // how many unsent messages are kept; the oldest are dropped
	maxUnsentBytes = 16 << 20 // how many bytes of them
)

// unsent keeps the latest unsent messages, and remembers for which protocols the log has said that nothing is
// delivered. The zero value is usable.
type unsent struct {
	mu    sync.Mutex
	all   []Unsent
	bytes int
	said  map[string]bool
}

func (u *unsent) add(m Unsent) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.all = append(u.all, m)
	u.bytes += m.size()
	old := 0
	for len(u.all)-old > maxUnsent || u.bytes > maxUnsentBytes {
		u.bytes -= u.all[old].size()
		old++
	}
	u.all = slices.Delete(u.all, 0, old) // clears them
}

func (m *Unsent) size() int { return len(m.Body) + len(m.Subject) + len(m.Endpoint) }

func (u *unsent) list() []Unsent {
	u.mu.Lock()
	defer u.mu.Unlock()
	return slices.Clone(u.all)
}

// forget forgets the messages of a place.
func (u *unsent) forget(p wire.Place) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.all = slices.DeleteFunc(u.all, func(m Unsent) bool {
		is := m.Account == p.Account && m.Region == p.Region
		if is {
			u.bytes -= m.size()
		}
		return is
	})
}

// first reports whether it is called for a protocol for the first time.
func (u *unsent) first(protocol string) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.said[protocol] {
		return false
	}
	if u.said == nil {
		u.said = map[string]bool{}
	}
	u.said[protocol] = true
	return true
}

// keep keeps what a subscriber would have got.
func (s *sender) keep(m Unsent) {
	m.At, m.Account, m.Region = s.opts.Clock.Now(), s.opts.Account, s.opts.Region
	s.carrier.unsent.add(m)
	s.tellUnsent(m.Protocol)
}

// tellUnsent says once in the log that this server does not deliver to a protocol.
func (s *sender) tellUnsent(protocol string) {
	if s.carrier.unsent.first(protocol) {
		s.log.Warn("sns: this server delivers to sqs, http and https only; what others would get is listed under "+
			"/_localaws/unsent, and by SNS().Unsent", "protocol", protocol)
	}
}

// keepNotification keeps a notification for a subscription.
func (s *sender) keepNotification(n *notification, to recipient) {
	m := Unsent{
		SubscriptionARN: to.sub.arn, Protocol: to.sub.protocol, Endpoint: to.sub.endpoint, MessageID: n.message.id,
	}
	switch text := n.message.textFor(to.sub.protocol); {
	case to.sub.protocol == "email":
		m.Subject, m.Body = n.message.subject, text
		m.Subject = cmp.Or(m.Subject, "AWS Notification Message")
	case to.sub.protocol == "lambda":
		m.Body = n.lambdaEvent(to)
	case to.sub.protocol == "sms" || to.sub.protocol == "application" || to.settings.raw:
		m.Body = text
	default:
		m.Body = n.envelope(to)
	}
	s.keep(m)
}

// lambdaRecord is the only record of the event that a function gets. Its names differ from those of the envelope.
type lambdaRecord struct {
	EventSource          string
	EventVersion         string
	EventSubscriptionArn string
	Sns                  lambdaMessage
}

type lambdaMessage struct {
	Type              string
	MessageID         string `json:"MessageId"`
	TopicArn          string
	Subject           *string
	Message           string
	Timestamp         string
	SignatureVersion  string
	Signature         string
	SigningCertURL    string `json:"SigningCertUrl"`
	UnsubscribeURL    string `json:"UnsubscribeUrl"`
	MessageAttributes map[string]lambdaAttribute
}

type lambdaAttribute struct{ Type, Value string }

// lambdaEvent returns the event that a function would get.
func (n *notification) lambdaEvent(to recipient) string {
	text := n.message.textFor(to.sub.protocol)
	m := lambdaMessage{
		Type: "Notification", MessageID: n.message.id, TopicArn: n.topic.arn, Message: text,
		Timestamp: n.message.timestamp, SignatureVersion: n.version, Signature: n.sign(text),
		SigningCertURL: n.baseURL + n.signer.certificatePath(), UnsubscribeURL: n.unsubscribeURL(to),
		MessageAttributes: map[string]lambdaAttribute{},
	}
	if n.message.subject != "" {
		m.Subject = &n.message.subject
	}
	for _, name := range n.message.names {
		a := n.message.attributes[name]
		m.MessageAttributes[name] = lambdaAttribute{a.Type, a.envelopeValue()}
	}
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	event := map[string][]lambdaRecord{"Records": {{
		EventSource: "aws:sns", EventVersion: "1.0", EventSubscriptionArn: to.sub.arn, Sns: m,
	}}}
	if err := e.Encode(event); err != nil {
		panic("sns: an event cannot be written as JSON: " + err.Error())
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// PhoneNumberInput is the input of CheckIfPhoneNumberIsOptedOut and of OptInPhoneNumber.
type PhoneNumberInput struct {
	PhoneNumber *string `json:"phoneNumber"`
}

// CheckIfPhoneNumberIsOptedOutOutput is the output of CheckIfPhoneNumberIsOptedOut.
type CheckIfPhoneNumberIsOptedOutOutput struct {
	IsOptedOut bool `json:"isOptedOut"`
}

// checkIfPhoneNumberIsOptedOut answers no: a number opts out by its answer to a message, and this server sends none
// (AWS's API reference; recorded on AWS, 2025-10-06).
func checkIfPhoneNumberIsOptedOut(_ call, in *PhoneNumberInput) (*CheckIfPhoneNumberIsOptedOutOutput, error) {
	if fault := in.check(); fault != nil {
		return nil, fault
	}
	return &CheckIfPhoneNumberIsOptedOutOutput{}, nil
}

// numberForm is the form E.164, which these actions require.
var numberForm = regexp.MustCompile(`^\+?[1-9][0-9]{6,14}$`)

func (in *PhoneNumberInput) check() *wire.Error {
	switch {
	case in.PhoneNumber == nil:
		return invalid("PhoneNumber Reason: no value for required parameter")
	case !numberForm.MatchString(*in.PhoneNumber):
		return invalid("PhoneNumber Reason: input incorrectly formatted")
	}
	return nil
}

// optInPhoneNumber succeeds: every number is opted in, because this server sends no message that a number could answer.
func optInPhoneNumber(_ call, in *PhoneNumberInput) (*Empty, error) {
	if fault := in.check(); fault != nil {
		return nil, fault
	}
	return &Empty{}, nil
}

// ListPhoneNumbersOptedOutInput is the input of ListPhoneNumbersOptedOut.
type ListPhoneNumbersOptedOutInput struct {
	NextToken *string `json:"nextToken"`
}

// ListPhoneNumbersOptedOutOutput is the output of ListPhoneNumbersOptedOut.
type ListPhoneNumbersOptedOutOutput struct {
	PhoneNumbers []string `json:"phoneNumbers"`
	NextToken    string   `json:"nextToken"`
}

// listPhoneNumbersOptedOut lists none: a number opts out by its answer to a message, and this server sends none.
func listPhoneNumbersOptedOut(_ call, in *ListPhoneNumbersOptedOutInput) (*ListPhoneNumbersOptedOutOutput, error) {
	if _, fault := readToken(in.NextToken); fault != nil {
		return nil, fault
	}
	return &ListPhoneNumbersOptedOutOutput{PhoneNumbers: []string{}}, nil
}
