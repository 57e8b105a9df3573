package sns

import (
	"time"
)

// askForConfirmation sends an endpoint the letter that it has to answer by visiting the SubscribeURL.
func (s *Service) askForConfirmation(sub *subscription, baseURL string) {
	s.sendConfirmation(sub, baseURL, "SubscriptionConfirmation",
		"You have chosen to subscribe to the topic "+sub.topicARN+
			".\nTo confirm the subscription, visit the SubscribeURL included in this message.",
		func() { s.remove(sub) })
}

// tellCancelled tells an endpoint that its subscription ended, and how to bring it back.
func (s *Service) tellCancelled(sub *subscription, baseURL string) {
	s.sendConfirmation(sub, baseURL, "UnsubscribeConfirmation",
		"You have chosen to deactivate subscription "+sub.arn+
			".\nTo cancel this operation and restore the subscription, visit the SubscribeURL included in this message.",
		func() {})
}

// sendConfirmation sends a letter with a fresh token. expired is called, with the lock held, if nobody used
// the token in time and the subscription is not confirmed.
func (s *Service) sendConfirmation(sub *subscription, baseURL, kind, text string, expired func()) {
	letter, delays, ok := s.confirmationFor(sub, baseURL, kind, text, expired)
	if !ok {
		return
	}
	headers := map[string]string{
		"Content-Type":           defaultContentType,
		"X-Amz-Sns-Message-Type": kind,
		"X-Amz-Sns-Message-Id":   letter.id,
		"X-Amz-Sns-Topic-Arn":    sub.topicARN,
	}
	if kind == "UnsubscribeConfirmation" {
		headers["X-Amz-Sns-Subscription-Arn"] = sub.arn
	}
	s.after(0, &post{
		endpoint: sub.endpoint, headers: headers, body: letter.envelope(&s.signer), delays: delays,
		failed: func(reason string) {
			s.log.Warn("sns: a confirmation could not be delivered", "endpoint", sub.endpoint, "reason", reason)
		},
	})
}

func (s *Service) confirmationFor(sub *subscription, baseURL, kind, text string, expired func()) (*confirmation,
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
