package sns

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/godwitmq/godwit/localaws/keep"
	"github.com/godwitmq/godwit/localaws/sns/filter"
	"github.com/godwitmq/godwit/localaws/wire"
)

// The keys of records: of topics, subscriptions and the sequence numbers of FIFO topics by ARN; of the messages that a
// FIFO topic accepted by ARN and deduplication id.
const (
	topicRecord        = "topic/"
	subscriptionRecord = "subscription/"
	sequenceRecord     = "sequence/"
	acceptedRecord     = "accepted/"
)

// records writes the records of a service. Without a store, it writes nothing.
type records struct{ store keep.Store }

func (r records) put(key string, v any) {
	if r.store != nil {
		r.store.Write(keep.Change{Key: key, Value: []byte(asJSON(v))})
	}
}

func (r records) drop(key string) {
	if r.store != nil {
		r.store.Write(keep.Change{Key: key})
	}
}

// keptTopic is the record of a topic.
type keptTopic struct {
	Number     uint64
	ARN        string
	Attributes map[string]string
	Policy     string
	Tags       map[string]string
	Deleted    int
}

// topic keeps a topic. The caller holds the registry's lock.
func (r records) topic(t *topic) {
	if r.store != nil {
		r.put(topicRecord+t.arn, keptTopic{
			Number: t.number, ARN: t.arn, Attributes: t.attributes, Policy: t.policy.text(), Tags: t.tags,
			Deleted: t.deleted,
		})
	}
}

// dropTopic forgets a topic.
func (r records) dropTopic(t *topic) {
	r.drop(topicRecord + t.arn)
	if t.fifoOrder != nil && r.store != nil {
		t.fifoOrder.forget()
	}
}

// keptSubscription is the record of a subscription.
type keptSubscription struct {
	Number                           uint64
	ARN, Topic, Protocol, Endpoint   string
	Owner                            string
	Listed                           bool // false: it was canceled, and its token restores it
	Confirmed, Authenticated, Locked bool
	Token                            string    `json:",omitempty"`
	Until                            time.Time // the end of the token
	Raw                              bool
	Filter, Redrive, Delivery, Role  string `json:",omitempty"`
	Scope                            filter.Scope
}

// subscription keeps a subscription. The caller holds the registry's lock.
func (r records) subscription(sub *subscription, listed bool) {
	if r.store == nil {
		return
	}
	k := keptSubscription{
		Number: sub.number, ARN: sub.arn, Topic: sub.topicARN, Protocol: sub.protocol, Endpoint: sub.endpoint,
		Owner: sub.owner, Listed: listed, Confirmed: sub.confirmed, Authenticated: sub.authenticated,
		Locked: sub.locked, Token: sub.token, Until: sub.until, Raw: sub.settings.raw,
		Filter: sub.settings.filterText, Scope: sub.settings.scope, Redrive: sub.settings.redrive,
		Role: sub.settings.role,
	}
	if d := sub.settings.delivery; d != nil {
		k.Delivery = asJSON(d)
	}
	r.put(subscriptionRecord+sub.arn, k)
}

func (r records) dropSubscription(sub *subscription) { r.drop(subscriptionRecord + sub.arn) }

// keptOrder keeps what a FIFO topic accepted. The lock of the order guards it.
type keptOrder struct {
	records
	arn      string
	reserved uint64 // no message has had a larger number
}

// keptAcceptance is the record of a message that a FIFO topic accepted.
type keptAcceptance struct {
	ARN, Key, ID, Sequence string
	Until                  time.Time
}

// reserve is how many sequence numbers are reserved at a time.
const reserve = 4096

func (k *keptOrder) number(n uint64) {
	if k.store != nil && n > k.reserved {
		k.reserved = n + reserve
		k.put(sequenceRecord+k.arn, k.reserved)
	}
}

func (k *keptOrder) accepted(a *acceptance) {
	if k.store != nil {
		k.put(k.key(a), keptAcceptance{ARN: k.arn, Key: a.key, ID: a.id, Sequence: a.sequence, Until: a.until})
	}
}

func (k *keptOrder) key(a *acceptance) string { return acceptedRecord + k.arn + "\x00" + a.key }

// forget forgets everything that the topic accepted.
func (l *fifoOrder) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, a := range l.oldest {
		l.kept.drop(l.kept.key(a))
	}
	l.kept.drop(sequenceRecord + l.kept.arn)
	l.kept = keptOrder{}
}

// Kept is what was kept of the topics of all places.
type Kept struct {
	topics        []keptTopic
	subscriptions []keptSubscription
	sequences     map[string]uint64
	accepted      []keptAcceptance
}

// Add adds a record. ok is false if it is not one of SNS.
func (k *Kept) Add(key string, value []byte) (ok bool, err error) {
	kind, rest, _ := strings.Cut(key, "/")
	switch kind + "/" {
	case topicRecord:
		k.topics = append(k.topics, keptTopic{})
		return true, json.Unmarshal(value, &k.topics[len(k.topics)-1])
	case subscriptionRecord:
		k.subscriptions = append(k.subscriptions, keptSubscription{})
		return true, json.Unmarshal(value, &k.subscriptions[len(k.subscriptions)-1])
	case acceptedRecord:
		k.accepted = append(k.accepted, keptAcceptance{})
		return true, json.Unmarshal(value, &k.accepted[len(k.accepted)-1])
	case sequenceRecord:
		if k.sequences == nil {
			k.sequences = map[string]uint64{}
		}
		var n uint64
		err := json.Unmarshal(value, &n)
		k.sequences[rest] = n
		return true, err
	}
	return false, nil
}

// Restore creates the topics and their subscriptions in the services that in returns.
func (k *Kept) Restore(in func(wire.Place) *Service) error {
	of := func(arn string) *Service {
		at, _ := wire.PlaceOf(arn)
		return in(at)
	}
	slices.SortFunc(k.topics, func(a, b keptTopic) int { return cmp.Compare(a.Number, b.Number) })
	slices.SortFunc(k.subscriptions, func(a, b keptSubscription) int { return cmp.Compare(a.Number, b.Number) })
	slices.SortFunc(k.accepted, func(a, b keptAcceptance) int { return a.Until.Compare(b.Until) })
	for _, t := range k.topics {
		if err := t.restore(of(t.ARN), k.sequences[t.ARN]); err != nil {
			return fmt.Errorf("sns: the record of %s: %w", t.ARN, err)
		}
	}
	for _, s := range k.subscriptions {
		if err := s.restore(of(s.Topic)); err != nil {
			return fmt.Errorf("sns: the record of %s: %w", s.ARN, err)
		}
	}
	for _, a := range k.accepted {
		a.restore(of(a.ARN))
	}
	*k = Kept{}
	return nil
}

func (k *keptTopic) restore(s *Service, sequence uint64) error {
	name := k.ARN[strings.LastIndexByte(k.ARN, ':')+1:]
	attributes := maps.Clone(k.Attributes)
	if attributes == nil {
		attributes = map[string]string{}
	}
	attributes[accessPolicy] = k.Policy
	if strings.HasSuffix(name, ".fifo") {
		attributes[fifoTopic] = "true"
	}
	t, fault := wishedTopic(s.registry, &CreateTopicInput{Name: name, Attributes: attributes})
	if fault != nil {
		return fault
	}
	t.number, t.deleted = k.Number, k.Deleted
	if k.Tags != nil {
		t.tags = k.Tags
	}
	if t.fifoOrder != nil {
		t.fifoOrder.sequence, t.fifoOrder.kept.reserved = sequence, sequence
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.carrier.atLeast(t.number)
	s.topics[t.arn] = t
	return nil
}

func (k *keptSubscription) restore(s *Service) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.topics[k.Topic]
	if t == nil {
		if !s.records.store.Damaged() {
			s.records.drop(subscriptionRecord + k.ARN)
		}
		return nil
	}
	set := &settings{raw: k.Raw, scope: k.Scope}
	for _, part := range []struct{ name, text string }{
		{filterPolicy, k.Filter}, {redrivePolicy, k.Redrive}, {deliveryPolicy, k.Delivery}, {subscriptionRole, k.Role},
	} {
		if part.text == "" {
			continue
		}
		var fault *wire.Error
		if set, fault = set.with(part.name, part.text, t, k.Protocol, k.Endpoint); fault != nil {
			return fault
		}
	}
	sub := &subscription{
		number: k.Number, arn: k.ARN, topicARN: k.Topic, protocol: k.Protocol, endpoint: k.Endpoint, owner: k.Owner,
		confirmed: k.Confirmed, authenticated: k.Authenticated, locked: k.Locked, settings: set,
	}
	s.carrier.atLeast(sub.number)
	if k.Listed {
		s.add(t, sub)
	}
	if k.Token != "" {
		sub.token, sub.until = k.Token, k.Until
		s.tokens[sub.token] = sub
		awaitConfirmation(s.registry, sub, func() {
			if !sub.confirmed {
				s.remove(sub)
			}
		})
	}
	return nil
}

func (k *keptAcceptance) restore(s *Service) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.topics[k.ARN]
	if t == nil || t.fifoOrder == nil {
		if !s.records.store.Damaged() {
			s.records.drop(acceptedRecord + k.ARN + "\x00" + k.Key)
		}
		return
	}
	t.fifoOrder.restore(&acceptance{key: k.Key, id: k.ID, sequence: k.Sequence, until: k.Until})
}
