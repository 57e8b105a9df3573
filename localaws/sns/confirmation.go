package sns

import (
	"time"
)

// askForConfirmation sends an endpoint the message with the SubscribeURL, which it has to visit to confirm.
func (s *Service) askForConfirmation(sub *subscription, baseURL string) {
	s.sendConfirmation(sub, baseURL, "SubscriptionConfirmation",
		"You have chosen to subscribe to the topic "+sub.topicARN+
			".\nTo confirm the subscription, visit the SubscribeURL included in this message.",
		func() { s.remove(sub) })
}

// tellCanceled tells an endpoint that its subscription was canceled, and how to restore it.
func (s *Service) tellCanceled(sub *subscription, baseURL string) {
	s.sendConfirmation(sub, baseURL, "UnsubscribeConfirmation",
		"You have chosen to deactivate subscription "+sub.arn+
			".\nTo cancel this operation and restore the subscription, visit the SubscribeURL included in this message.",
		func() {})
}

// sendConfirmation sends a confirmation with a new token. expired is called with the lock held, if the token was not
// used in time and the subscription is not confirmed.
func (s *Service) sendConfirmation(sub *subscription, baseURL, kind, text string, expired func()) {
	document, delays, ok := s.confirmationFor(sub, baseURL, kind, text, expired)
	if !ok {
		return
	}
	if p := sub.of(); !p.overHTTP {
		s.keep(Unsent{
			SubscriptionARN: sub.arn, Protocol: sub.protocol, Endpoint: sub.endpoint, MessageID: document.id,
			Subject: "AWS Notification - " + kind, Body: document.envelope(&s.signer),
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
	s.start(0, &post{
		endpoint: sub.endpoint, headers: headers, body: document.envelope(&s.signer), delays: delays,
		failed: func(reason string) {
			s.log.Warn("sns: a confirmation could not be delivered", "endpoint", loggable(sub.endpoint),
				"reason", reason)
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
