package sns

import (
	"slices"
	"strconv"
	"time"

	"github.com/godwitmq/godwit/localaws/random"
	"github.com/godwitmq/godwit/localaws/sns/filter"
	"github.com/godwitmq/godwit/localaws/wire"
)

// subscription is one subscription. Its fields are guarded by the registry's lock. settings is replaced and never
// modified, so that a publish reads a consistent state of it.
type subscription struct {
	number   uint64
	arn      string
	topicARN string
	protocol string
	endpoint string
	owner    string // the account that subscribed

	confirmed     bool
	authenticated bool // ConfirmSubscription was signed, or was not needed
	locked        bool // only signed requests may unsubscribe
	token         string
	until         time.Time // the end of the token
	expire        func()    // stops the timer that removes an unconfirmed subscription

	settings *settings
	free     time.Time // when the endpoint's rate limit allows the next delivery
}

// settings are the attributes of a subscription that clients set.
type settings struct {
	raw        bool
	filterText string // as it was set; "": none
	scope      filter.Scope
	filter     *filter.Policy
	redrive    string // as it was set
	deadLetter string
	delivery   *subscriptionDelivery
	role       string // ARN; of firehose
}

// pendingFor is how long a subscription waits for its confirmation.
const pendingFor = 48 * time.Hour

const (
	pendingConfirmation = "pending confirmation" // what Subscribe answers instead of an ARN
	pendingListed       = "PendingConfirmation"  // what lists show instead of an ARN
)

// SubscriptionEntry is one subscription of a list.
type SubscriptionEntry struct {
	SubscriptionArn string `json:"SubscriptionArn"`
	Owner           string `json:"Owner"`
	Protocol        string `json:"Protocol"`
	Endpoint        string `json:"Endpoint"`
	TopicArn        string `json:"TopicArn"`
}

func (sub *subscription) entry() SubscriptionEntry {
	arn := sub.arn
	if !sub.confirmed {
		arn = pendingListed
	}
	return SubscriptionEntry{
		SubscriptionArn: arn, Owner: sub.owner, Protocol: sub.protocol, Endpoint: sub.endpoint,
		TopicArn: sub.topicARN,
	}
}

// shown returns the attributes as GetSubscriptionAttributes shows them.
func (r *registry) shown(sub *subscription) map[string]string {
	shown := map[string]string{
		"SubscriptionArn":              sub.arn,
		"TopicArn":                     sub.topicARN,
		"Protocol":                     sub.protocol,
		"Endpoint":                     sub.endpoint,
		"Owner":                        sub.owner,
		"SubscriptionPrincipal":        wire.UserARN(wire.PartitionOf(sub.arn), sub.owner),
		"PendingConfirmation":          strconv.FormatBool(!sub.confirmed),
		"ConfirmationWasAuthenticated": strconv.FormatBool(sub.authenticated),
		rawMessageDelivery:             strconv.FormatBool(sub.settings.raw),
	}
	if sub.settings.filterText != "" {
		shown[filterPolicy] = sub.settings.filterText
		shown[filterPolicyScope] = string(sub.settings.scope)
	}
	if sub.settings.redrive != "" {
		shown[redrivePolicy] = sub.settings.redrive
	}
	if sub.settings.role != "" {
		shown[subscriptionRole] = sub.settings.role
	}
	if !sub.of().overHTTP {
		return shown
	}
	if d := sub.settings.delivery; d != nil {
		shown[deliveryPolicy] = asJSON(d)
	}
	shown["EffectiveDeliveryPolicy"] = asJSON(sub.settings.delivery.over(r.topics[sub.topicARN].delivery))
	return shown
}

// add registers the subscription; the caller holds the lock.
func (r *registry) add(t *topic, sub *subscription) {
	if sub.number == 0 {
		sub.number = r.carrier.number.Add(1)
	}
	r.subscriptions[sub.arn] = sub
	t.subscriptions = append(slices.Clip(t.subscriptions), sub)
	r.records.subscription(sub, true)
}

// forget removes the subscription from the registry, but not from its topic; the caller holds the lock.
func (r *registry) forget(sub *subscription) {
	if sub.expire != nil {
		sub.expire()
	}
	delete(r.subscriptions, sub.arn)
	delete(r.tokens, sub.token)
}

// remove removes the subscription from its topic and from the registry; the caller holds the lock.
func (r *registry) remove(sub *subscription) {
	r.forget(sub)
	r.records.dropSubscription(sub)
	if t, ok := r.topics[sub.topicARN]; ok {
		t.deleted++
		t.subscriptions = slices.DeleteFunc(slices.Clone(t.subscriptions),
			func(x *subscription) bool { return x == sub })
		r.records.topic(t)
	}
}

// newToken gives the subscription a new token, which is valid for two days; the caller holds the lock. After that time,
// ended is called with the lock held.
func (r *registry) newToken(sub *subscription, ended func()) {
	delete(r.tokens, sub.token)
	if sub.expire != nil {
		sub.expire()
	}
	token := secret(r.opts.Random)
	sub.token, sub.until = token, r.opts.Clock.Now().Add(pendingFor)
	r.tokens[token] = sub
	r.records.subscription(sub, r.subscriptions[sub.arn] == sub)
	awaitConfirmation(r, sub, ended)
}

// awaitConfirmation calls ended when the subscription's token has ended.
func awaitConfirmation(r *registry, sub *subscription, ended func()) {
	token := sub.token
	sub.expire = r.opts.Clock.AfterFunc(sub.until.Sub(r.opts.Clock.Now()), func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.tokens[token] != sub {
			return
		}
		delete(r.tokens, token)
		sub.token = ""
		if r.subscriptions[sub.arn] == sub {
			r.records.subscription(sub, true)
		} else {
			r.records.dropSubscription(sub)
		}
		ended()
	})
}

// tokenLength is the number of characters in one of SNS's tokens.
const tokenLength = 288

// secret returns a random token of hexadecimal digits.
func secret(source *random.Source) string {
	const hex = "0123456789abcdef"
	b := make([]byte, tokenLength)
	for i := range b {
		b[i] = hex[source.IntN(len(hex))]
	}
	return string(b)
}

// UnsubscribeInput is the input of Unsubscribe.
type UnsubscribeInput struct {
	SubscriptionArn *string `json:"SubscriptionArn"`
}

// unsubscribe deletes a subscription; deleting one that does not exist succeeds. An endpoint that had to confirm is
// notified, with a token that restores the subscription.
func unsubscribe(c call, in *UnsubscribeInput) (*Empty, error) {
	arn, fault := c.subscriptionARN(in.SubscriptionArn)
	if fault != nil {
		return nil, fault
	}
	sub, fault := unsubscribed(c, arn)
	if fault != nil {
		return nil, fault
	}
	if sub != nil && !sub.of().atOnce {
		c.at.out.tellCanceled(sub, c.BaseURL)
	}
	return &Empty{}, nil
}

// unsubscribed removes the subscription and returns it, or returns nil if it does not exist.
func unsubscribed(c call, arn string) (*subscription, *wire.Error) {
	c.at.mu.Lock()
	defer c.at.mu.Unlock()
	sub, ok := c.at.subscriptions[arn]
	if ok {
		c.at.touch(c.at.topics[sub.topicARN])
	}
	switch {
	case !ok:
		return nil, nil
	case !sub.confirmed:
		// Terraform's provider looks for this text, and destroys the subscription with its topic.
		return nil, invalid("SubscriptionArn Reason: Cannot unsubscribe a subscription that is pending confirmation")
	case sub.locked && c.Caller == "":
		return nil, unauthorized(c.Account, c.Action, arn)
	}
	c.at.remove(sub)
	return sub, nil
}
