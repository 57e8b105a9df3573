package sns

import (
	"strings"
	"time"

	"github.com/godwitmq/godwit/localaws/wire"
)

// ConfirmSubscriptionInput is the input of ConfirmSubscription.
type ConfirmSubscriptionInput struct {
	TopicArn                  *string `json:"TopicArn"`
	Token                     *string `json:"Token"`
	AuthenticateOnUnsubscribe string  `json:"AuthenticateOnUnsubscribe"`
}

// ConfirmSubscriptionOutput is the output of ConfirmSubscription.
type ConfirmSubscriptionOutput struct {
	SubscriptionArn string `json:"SubscriptionArn"`
}

// confirmSubscription confirms a subscription with the token that was sent to its endpoint. A token can be used again,
// and restores a subscription that was canceled with it. As on SNS only the token decides, also for a caller of another
// account: of the topic's ARN, only region and account are checked.
func confirmSubscription(c call, in *ConfirmSubscriptionInput) (*ConfirmSubscriptionOutput, error) {
	switch {
	case in.TopicArn == nil:
		return nil, invalid("TopicArn Reason: no value for required parameter")
	case in.Token == nil:
		return nil, invalid("Token Reason: no value for required parameter")
	}
	parts, fault := parseARN("TopicArn", in.TopicArn)
	if fault != nil || c.ours("Topic", parts) != nil {
		return nil, invalid("Topic")
	}
	if strings.Trim(*in.Token, "0123456789abcdef") != "" {
		return nil, &wire.Error{Code: "InvalidParameter", Message: "Invalid token"}
	}
	c.at.mu.Lock()
	defer c.at.mu.Unlock()
	sub, ok := c.at.tokens[*in.Token]
	if !ok {
		return nil, invalid("Token")
	}
	t, fault := c.at.topic(sub.topicARN)
	if fault != nil {
		return nil, fault
	}
	if _, there := c.at.subscriptions[sub.arn]; !there {
		t.deleted--
		c.at.add(t, sub)
	}
	signed := c.Caller != ""
	sub.confirmed = true
	sub.authenticated = signed
	sub.locked = signed && strings.EqualFold(in.AuthenticateOnUnsubscribe, "true")
	c.at.records.subscription(sub, true)
	c.at.records.topic(t)
	return &ConfirmSubscriptionOutput{SubscriptionArn: sub.arn}, nil
}

// askForConfirmation sends an endpoint the message with the SubscribeURL, which it has to visit to confirm.
func (s *sender) askForConfirmation(sub *subscription, baseURL string) {
	s.sendConfirmation(sub, baseURL, "SubscriptionConfirmation",
		"You have chosen to subscribe to the topic "+sub.topicARN+
			".\nTo confirm the subscription, visit the SubscribeURL included in this message.",
		func() { s.remove(sub) })
}

// tellCanceled tells an endpoint that its subscription was canceled, and how to restore it.
func (s *sender) tellCanceled(sub *subscription, baseURL string) {
	s.sendConfirmation(sub, baseURL, "UnsubscribeConfirmation",
		"You have chosen to deactivate subscription "+sub.arn+
			".\nTo cancel this operation and restore the subscription, visit the SubscribeURL included in this message.",
		func() {})
}

// sendConfirmation sends a confirmation with a new token. expired is called with the lock held, if the token was not
// used in time and the subscription is not confirmed.
func (s *sender) sendConfirmation(sub *subscription, baseURL, kind, text string, expired func()) {
	document, delays, ok := s.confirmationFor(sub, baseURL, kind, text, expired)
	if !ok {
		return
	}
	p := sub.of()
	if p.delivered && !p.overHTTP {
		s.askQueue(sub, document)
		return
	}
	if !p.overHTTP {
		s.keep(Unsent{
			SubscriptionARN: sub.arn, Protocol: sub.protocol, Endpoint: sub.endpoint, MessageID: document.id,
			Subject: "AWS Notification - " + kind, Body: document.envelope(&s.carrier.signer),
		})
		return
	}
	headers := map[string]string{
		"Content-Type":           defaultContentType,
		"X-Amz-Sns-Message-Type": kind,
		"X-Amz-Sns-Message-Id":   document.id,
		"X-Amz-Sns-Topic-Arn":    sub.topicARN,
	}
	if kind == "UnsubscribeConfirmation" {
		headers["X-Amz-Sns-Subscription-Arn"] = sub.arn
	}
	s.carrier.start(0, &post{
		owner: s.place(), endpoint: sub.endpoint,
		headers: headers, body: document.envelope(&s.carrier.signer), delays: delays,
		failed: func(reason string) {
			s.log.Warn("sns: a confirmation could not be delivered", "endpoint", loggable(sub.endpoint),
				"reason", reason)
		},
	})
}

// askQueue sends a confirmation to the queue of another account. Its owner confirms with what the message says.
func (s *sender) askQueue(sub *subscription, document *confirmation) {
	m := QueueMessage{Body: document.envelope(&s.carrier.signer)}
	if strings.HasSuffix(sub.endpoint, ".fifo") {
		m.GroupID, m.DeduplicationID = document.kind, document.id
	}
	if err := s.opts.Queues.Deliver(sub.endpoint, sub.topicARN, m); err != nil {
		s.log.Warn("sns: a confirmation could not be delivered", "endpoint", sub.endpoint, "reason", err)
	}
}

func (s *sender) confirmationFor(sub *subscription, baseURL, kind, text string, expired func()) (*confirmation,
	[]time.Duration, bool,
) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, ok := s.topics[sub.topicARN]
	if !ok {
		return nil, nil, false
	}
	s.newToken(sub, func() {
		if !sub.confirmed {
			expired()
		}
	})
	return &confirmation{
		kind: kind, text: text, id: s.opts.Random.UUID(), token: sub.token, topicARN: sub.topicARN,
		timestamp: s.opts.Clock.Now().UTC().Format(timestampForm), version: t.signatureVersion(), baseURL: baseURL,
	}, sub.settings.delivery.over(t.delivery).Retry.delays(), true
}
