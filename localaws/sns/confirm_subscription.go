package sns

import (
	"context"
	"strings"

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
func (s *Service) confirmSubscription(_ context.Context, c *wire.Call,
	in *ConfirmSubscriptionInput,
) (*ConfirmSubscriptionOutput, error) {
	switch {
	case in.TopicArn == nil:
		return nil, invalid("TopicArn Reason: no value for required parameter")
	case in.Token == nil:
		return nil, invalid("Token Reason: no value for required parameter")
	}
	parts, fault := parseARN("TopicArn", in.TopicArn)
	if fault != nil || s.ours(c, "Topic", parts) != nil {
		return nil, invalid("Topic")
	}
	if strings.Trim(*in.Token, "0123456789abcdef") != "" {
		return nil, &wire.Error{Code: "InvalidParameter", Message: "Invalid token"}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	sub, ok := s.tokens[*in.Token]
	if !ok {
		return nil, invalid("Token")
	}
	t, fault := s.topic(sub.topicARN)
	if fault != nil {
		return nil, fault
	}
	if _, there := s.subscriptions[sub.arn]; !there {
		t.deleted--
		s.add(t, sub)
	}
	signed := c.Caller != ""
	sub.confirmed = true
	sub.authenticated = signed
	sub.locked = signed && strings.EqualFold(in.AuthenticateOnUnsubscribe, "true")
	s.records.subscription(sub, true)
	s.records.topic(t)
	return &ConfirmSubscriptionOutput{SubscriptionArn: sub.arn}, nil
}
