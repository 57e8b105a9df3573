package sns

import (
	"net/mail"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/godwitmq/godwit/localaws/sns/filter"
	"github.com/godwitmq/godwit/localaws/wire"
)

// SubscribeInput is the input of Subscribe.
type SubscribeInput struct {
	TopicInput
	Protocol              string            `json:"Protocol"`
	Endpoint              string            `json:"Endpoint"`
	Attributes            map[string]string `json:"Attributes"`
	ReturnSubscriptionArn bool              `json:"ReturnSubscriptionArn"`
}

// SubscribeOutput is the output of Subscribe.
type SubscribeOutput struct {
	SubscriptionArn string `json:"SubscriptionArn"`
}

// subscribe subscribes a queue of the caller at once; an http or https endpoint, and the owners of an email address or
// of a queue of another account, have to confirm first (AWS's API reference; recorded on AWS, 2025-10-06).
func subscribe(c call, arn string, in *SubscribeInput) (*SubscribeOutput, error) {
	return enroll(c, arn, in)
}

// enroll subscribes an endpoint for the account of a call. The topic's policy is not asked.
func enroll(c call, arn string, in *SubscribeInput) (*SubscribeOutput, error) {
	if in.Protocol == "" {
		return nil, invalid("Protocol Reason: no value for required parameter")
	}
	sub, fault := subscribed(c.at.registry, arn, c.Account, in)
	if fault != nil {
		return nil, fault
	}
	if !sub.of().delivered {
		c.at.out.tellUnsent(sub.protocol)
	}
	if !c.at.isConfirmed(sub) {
		c.at.out.askForConfirmation(sub, c.BaseURL)
		if !in.ReturnSubscriptionArn {
			return &SubscribeOutput{SubscriptionArn: pendingConfirmation}, nil
		}
	}
	return &SubscribeOutput{SubscriptionArn: sub.arn}, nil
}

// subscribed returns the existing subscription that the request describes, or a new one.
func subscribed(r *registry, arn, owner string, in *SubscribeInput) (*subscription, *wire.Error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	t, fault := r.topic(arn)
	if fault != nil {
		return nil, fault
	}
	if fault := checkFilter(in.Attributes); fault != nil {
		return nil, fault
	}
	p, fault := protocolNamed(in.Protocol)
	if fault == nil {
		fault = t.checkEndpoint(p, in.Protocol, in.Endpoint)
	}
	if fault != nil {
		return nil, fault
	}
	wished, fault := wishedSettings(in, t)
	if fault == nil {
		fault = attributesFault(redrivePolicy, wished.checkPlace(arn, owner))
	}
	if fault != nil {
		return nil, fault
	}
	for _, old := range t.subscriptions {
		if old.protocol == in.Protocol && old.endpoint == in.Endpoint {
			return old, old.settings.alike(wished, in.Attributes)
		}
	}
	if fault := t.roomForSubscription(wished); fault != nil {
		return nil, fault
	}
	atOnce := p.atOnce && (r.opts.Leniency != nil || !isForeign(in, owner))
	sub := &subscription{
		arn: arn + ":" + r.opts.Random.UUID(), topicARN: arn, protocol: in.Protocol, endpoint: in.Endpoint,
		owner: owner, confirmed: atOnce, authenticated: atOnce, settings: wished,
	}
	r.add(t, sub)
	return sub, nil
}

// isForeign reports whether an endpoint is a queue of another account than the subscriber's.
func isForeign(in *SubscribeInput, owner string) bool {
	at, ok := wire.PlaceOf(in.Endpoint)
	return in.Protocol == "sqs" && ok && at.Account != owner
}

func wishedSettings(in *SubscribeInput, t *topic) (*settings, *wire.Error) {
	wished := &settings{scope: filter.MessageAttributes}
	for name := range in.Attributes {
		if !slices.Contains(settingOrder, name) {
			_, fault := wished.with(name, "", t, in.Protocol, in.Endpoint)
			return nil, attributesReason(name, fault)
		}
	}
	for _, name := range settingOrder {
		value, given := in.Attributes[name]
		if !given {
			continue
		}
		var fault *wire.Error
		if wished, fault = wished.with(name, value, t, in.Protocol, in.Endpoint); fault != nil {
			return nil, attributesReason(name, fault)
		}
	}
	if in.Protocol == "firehose" && wished.role == "" {
		return nil, invalid("Attributes Reason: a firehose subscription needs the attribute %s", subscriptionRole)
	}
	return wished, nil
}

// checkFilter checks a filter policy, which SNS does before it looks at protocol and endpoint.
func checkFilter(given map[string]string) *wire.Error {
	n := &settings{scope: filter.MessageAttributes}
	for _, name := range []string{filterPolicyScope, filterPolicy} {
		value, there := given[name]
		if !there {
			continue
		}
		fault := n.setScope
		if name == filterPolicy {
			fault = n.setFilter
		}
		if f := fault(value); f != nil {
			return attributesReason(name, f)
		}
	}
	return nil
}

func (t *topic) checkEndpoint(p protocol, name, endpoint string) *wire.Error {
	if fault := p.check(endpoint); fault != nil && (!t.fifo || name == "sqs") {
		return fault
	}
	switch {
	case name == "sqs" && strings.HasSuffix(endpoint, ".fifo") && !t.fifo:
		// SNS's own text has the doubled words.
		return invalid("Invalid parameter: Endpoint Reason: FIFO SQS Queues can not be subscribed to standard " +
			"SNS topics")
	case t.fifo && name != "sqs":
		return invalid("Invalid protocol type: %s", name)
	case !p.large && t.maximumSize() > defaultMaximumSize:
		return invalid("Protocol Reason: a topic with a MaximumMessageSize above %d does not support %s subscriptions",
			defaultMaximumSize, name)
	}
	return nil
}

// maxFilters is how many subscriptions of a topic may have a filter policy.
const maxFilters = 200

func (t *topic) roomForSubscription(wished *settings) *wire.Error {
	switch n := len(t.subscriptions); {
	case t.fifo && n >= maxFIFOSubscribed:
		return limitExceeded("SubscriptionLimitExceeded", "Subscription limit exceeded")
	case n >= maxLargeSubscribed && t.maximumSize() > defaultMaximumSize:
		return invalid("TopicArn Reason: a topic with a MaximumMessageSize above %d must have %d or fewer subscriptions", defaultMaximumSize, maxLargeSubscribed)
	case wished.filter != nil:
		return t.roomForFilter()
	}
	return nil
}

func (t *topic) roomForFilter() *wire.Error {
	filters := 0
	for _, sub := range t.subscriptions {
		if sub.settings.filter != nil {
			filters++
		}
	}
	if filters >= maxFilters {
		return limitExceeded("FilterPolicyLimitExceeded", "Filter policy limit exceeded")
	}
	return nil
}

// alike returns an error if the request to subscribe again has different attributes; missing ones are allowed.
func (n *settings) alike(wished *settings, given map[string]string) *wire.Error {
	same := map[string]bool{
		rawMessageDelivery: n.raw == wished.raw,
		filterPolicy:       n.filterText == wished.filterText,
		filterPolicyScope:  n.scope == wished.scope,
		redrivePolicy:      n.deadLetter == wished.deadLetter,
		deliveryPolicy:     asJSON(n.delivery) == asJSON(wished.delivery),
		subscriptionRole:   n.role == wished.role,
	}
	for name := range given {
		if !same[name] {
			return invalid("Attributes Reason: Subscription already exists with different attributes")
		}
	}
	return nil
}

// protocol is a way to deliver to subscribers.
type protocol struct {
	atOnce    bool // a subscription needs no confirmation
	delivered bool // this server delivers; what other protocols would have sent is kept as unsent
	large     bool // a topic whose messages may have more than 256 KiB can have such subscriptions
	overHTTP  bool
	// check returns SNS's reason to refuse an endpoint of the protocol; nil: the endpoint is good.
	check func(endpoint string) *wire.Error
}

// protocols are SNS's, by their names in Subscribe.
var protocols = map[string]protocol{
	"sqs":         {atOnce: true, delivered: true, large: true, check: arnOf("sqs", "SQS endpoint ARN")},
	"http":        {delivered: true, overHTTP: true, check: urlOf("http")},
	"https":       {delivered: true, overHTTP: true, check: urlOf("https")},
	"email":       {check: checkEmail},
	"email-json":  {check: checkEmail},
	"sms":         {atOnce: true, check: checkPhone},
	"lambda":      {atOnce: true, large: true, check: arnOf("lambda", "Lambda endpoint ARN")},
	"firehose":    {atOnce: true, large: true, check: arnOf("firehose", "Firehose endpoint ARN")},
	"application": {atOnce: true, check: checkApplication},
}

// protocolNamed returns the protocol with a name, or SNS's error.
func protocolNamed(name string) (protocol, *wire.Error) {
	p, ok := protocols[name]
	if !ok {
		return p, invalid("Amazon SNS does not support this protocol string: %s", name)
	}
	return p, nil
}

// of returns the protocol of a subscription, which was checked when it was made.
func (sub *subscription) of() protocol { return protocols[sub.protocol] }

func arnOf(service, reason string) func(string) *wire.Error {
	return func(endpoint string) *wire.Error {
		parts := strings.Split(endpoint, ":")
		if len(parts) < arnElements || parts[0] != "arn" || parts[2] != service || parts[5] == "" {
			return invalid("%s", reason)
		}
		return nil
	}
}

// checkApplication checks the ARN of a mobile endpoint.
func checkApplication(endpoint string) *wire.Error {
	parts := strings.SplitN(endpoint, ":", arnElements)
	if arnOf("sns", "")(endpoint) != nil || !strings.HasPrefix(parts[arnElements-1], "endpoint/") {
		return invalid("Application endpoint arn invalid:%s", endpoint)
	}
	return nil
}

func urlOf(scheme string) func(string) *wire.Error {
	return func(endpoint string) *wire.Error {
		u, err := url.Parse(endpoint)
		if err != nil || u.Scheme != scheme || u.Host == "" {
			return invalid("Endpoint must match the specified protocol")
		}
		return nil
	}
}

func checkEmail(endpoint string) *wire.Error {
	if a, err := mail.ParseAddress(endpoint); err != nil || a.Address != endpoint {
		return invalid("Email address")
	}
	return nil
}

// smsForm is SNS's form of a subscribing telephone number: separators are allowed between its digits.
var smsForm = regexp.MustCompile(`^\+?[0-9]+([./-][0-9]+)*$`)

func checkPhone(endpoint string) *wire.Error {
	if !smsForm.MatchString(endpoint) {
		return &wire.Error{Code: "InvalidParameter", Message: "Invalid SMS endpoint: " + endpoint}
	}
	return nil
}
