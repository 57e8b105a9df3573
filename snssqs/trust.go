package snssqs

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/godwitmq/godwit/driver"
)

// anyTopic in Options.EnvelopesFrom is every topic.
const anyTopic = "*"

// trust is the topics whose messages in SNS's JSON a channel opens, as patterns of ARNs. Whoever may send to a queue
// can write such JSON: the topic is only what it says.
type trust []string

func (t trust) includes(topicARN string) bool {
	return slices.ContainsFunc(t, func(pattern string) bool { return like(pattern, topicARN) })
}

// checkEnvelopes refuses settings of Options.EnvelopesFrom that can have no effect.
func checkEnvelopes(from map[string][]string) error {
	for channel, topics := range from {
		if strings.Contains(channel, "@") {
			return fmt.Errorf("snssqs: Options.EnvelopesFrom[%q]: name the channel itself; its dead letters are read as "+
				"its messages", channel)
		}
		if err := checkMapping(channel, Resource{}); err != nil {
			return fmt.Errorf("snssqs: Options.EnvelopesFrom[%q]: %w", channel, err)
		}
		for _, topic := range topics {
			if a, ok := parseARN(topic); topic != anyTopic && (!ok || a.service != "sns") {
				return fmt.Errorf("snssqs: Options.EnvelopesFrom[%q] has %q: it must be the ARN of an SNS topic, or %q "+
					"for every topic", channel, topic, anyTopic)
			}
		}
	}
	return nil
}

// envelopes is how messages in SNS's JSON are treated.
type envelopes struct {
	from       map[string][]string // Options.EnvelopesFrom
	signatures *signatures         // nil: they are not checked

	warned onceFor // channels with JSON that was not opened
}

// setting returns the entry of Options.EnvelopesFrom for a channel, or else that of its exchange.
func (e *envelopes) setting(ch driver.Channel) (topics []string, set bool) {
	if topics, set = e.from[ch.String()]; !set && ch.Exchange != "" {
		topics, set = e.from[exchange(ch).String()]
	}
	return topics, set
}

// trusts returns the topics whose JSON a channel opens: those of Options.EnvelopesFrom or, without an entry, that of
// its exchange and, for a mapped queue, those that the queue's policy lets in. The resource is the channel's queue or,
// for an exchange, its topic.
func (b *Backend) trusts(ch driver.Channel, resourceARN, policy string) trust {
	if topics, set := b.envelopes.setting(ch); set {
		return topics
	}
	var t trust
	if topic, ok := b.exchangeTopic(ch, resourceARN); ok {
		t = append(t, topic)
	}
	if as, mapped := b.mapped(ch); mapped && as.Queue != "" {
		t = append(t, letIn(policy)...)
	}
	return t
}

// queueTrusts is trusts of a channel with a queue. Dead letters are opened as the messages of their channel.
func (b *Backend) queueTrusts(ctx context.Context, ch driver.Channel, q *queue) (trust, error) {
	policy := q.policy()
	of := ch
	of.DeadLetter = false
	as, mapped := b.mapped(of)
	if _, set := b.envelopes.setting(of); ch.DeadLetter && mapped && as.Queue != "" && !set {
		main, err := b.known(ctx, of)
		switch {
		case err == nil:
			policy = main.policy()
		case driver.ClassOf(err).Passing():
			return nil, fmt.Errorf("which topics may send to %s: %w", of, err)
		default: // the queue is gone, or not for this program; its dead letters can be read without it
			policy = ""
		}
	}
	return b.trusts(of, q.arn(), policy), nil
}

// exchangeTopic returns the ARN of the topic of a channel's exchange, in the account and region of another resource of
// the channel unless it is mapped.
func (b *Backend) exchangeTopic(ch driver.Channel, resourceARN string) (string, bool) {
	if ch.Exchange == "" {
		return "", false
	}
	for _, name := range []driver.Channel{ch, exchange(ch)} {
		if r, ok := b.mapped(name); ok && r.Topic != "" {
			if _, named := parseARN(r.Topic); named {
				return r.Topic, true
			}
			return besideARN(resourceARN, r.Topic)
		}
	}
	name, err := b.namespace.topic(ch)
	if err != nil {
		return "", false
	}
	return besideARN(resourceARN, name)
}

// besideARN is the ARN of a topic in the account and region of another resource.
func besideARN(resourceARN, topic string) (string, bool) {
	at, ok := parseARN(resourceARN)
	return identity{partition: at.partition, region: at.region, account: at.account}.arn("sns", topic), ok
}

// letIn returns the ARNs in the conditions of a policy's statements that let others send to the queue. If the policy
// does not have AWS's form, there are none: another program has written it.
func letIn(policy string) (arns []string) {
	var doc struct{ Statement oneOrMore[policyStatement] }
	if json.Unmarshal([]byte(policy), &doc) != nil {
		return nil
	}
	for _, s := range doc.Statement {
		if s.lets("sqs:sendmessage") {
			arns = append(arns, s.sources()...)
		}
	}
	slices.Sort(arns)
	return slices.Compact(arns)
}

// policyStatement is what letIn reads of a statement.
type policyStatement struct {
	Effect    string
	Action    oneOrMore[string]
	Condition map[string]map[string]oneOrMore[string] // values by operator and key
}

// lets reports whether the statement allows an action, which is in lower case.
func (s *policyStatement) lets(action string) bool {
	return s.Effect == "Allow" &&
		slices.ContainsFunc(s.Action, func(a string) bool { return like(strings.ToLower(a), action) })
}

// sources returns the ARNs that the statement lets in or, if it names none, all topics of the accounts that it lets in.
func (s *policyStatement) sources() []string {
	arns, named := s.values("aws:SourceArn")
	if named {
		return arns
	}
	accounts, _ := s.values("aws:SourceAccount")
	for _, account := range accounts {
		arns = append(arns, "arn:*:sns:*:"+account+":*")
	}
	return arns
}

// values returns the values that conditions require of a key, and whether any condition names the key.
func (s *policyStatement) values(key string) (values []string, named bool) {
	for operator, keys := range s.Condition {
		for k, vs := range keys {
			if !strings.EqualFold(k, key) {
				continue
			}
			named = true
			if requires(operator) {
				values = append(values, vs...)
			}
		}
	}
	return values, named
}

// requires reports whether an operator requires one of the values. A set's quantifier may stand in front of it.
func requires(operator string) bool {
	switch strings.TrimSuffix(operator[strings.LastIndexByte(operator, ':')+1:], "IfExists") {
	case "ArnEquals", "ArnLike", "StringEquals", "StringLike":
		return true
	}
	return false
}

// oneOrMore is a value of a policy that may be a list.
type oneOrMore[T any] []T

// UnmarshalJSON implements json.Unmarshaler.
func (o *oneOrMore[T]) UnmarshalJSON(text []byte) error {
	if json.Unmarshal(text, (*[]T)(o)) == nil {
		return nil
	}
	var one T
	if err := json.Unmarshal(text, &one); err != nil {
		return err
	}
	*o = []T{one}
	return nil
}

// like reports whether a text matches a pattern of a policy, in which * stands for any characters and ? for one.
func like(pattern, text string) bool {
	star, again := -1, 0 // where the last * was, and which part of the text is to be tried for it next
	p := 0
	for t := 0; t < len(text); {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, again = p, t
			p++
		case p < len(pattern) && (pattern[p] == '?' || pattern[p] == text[t]):
			p++
			t++
		case star >= 0:
			again++
			p, t = star+1, again
		default:
			return false
		}
	}
	return strings.Trim(pattern[p:], "*") == ""
}

// warnUntrusted says once for a channel how to open messages of a topic.
func (r *receiver) warnUntrusted(m *message) {
	of := r.from
	of.DeadLetter = false
	if r.b.envelopes.warned.first(of) {
		r.b.log.Warn("a message came in the JSON of an SNS topic that the channel does not trust, and its handler gets "+
			"that JSON; to open such messages, list the topic in snssqs.Options.EnvelopesFrom", "channel", of.String(),
			"topic", m.untrusted, "message", aws.ToString(m.MessageId))
	}
}
