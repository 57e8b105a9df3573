package sns

import (
	"log/slog"
	"time"
)

// Failure is a delivery that finally failed.
type Failure struct {
	At              time.Time
	SubscriptionARN string
	Endpoint        string
	MessageID       string
	Reason          string
	DeadLetterQueue string // where the message went instead; "": the message is lost
}

// maxFailures is how many failures are kept; the oldest are dropped.
const maxFailures = 1000

// deadLetter sends a message that could not be delivered to the subscription's dead-letter queue, if it has one.
func (s *Service) deadLetter(n *notification, to recipient, reason string) (f Failure) {
	defer func() { n.topic.meter.countFailure(f, to.settings.deadLetter != "") }()
	f = Failure{
		At: s.opts.Clock.Now(), SubscriptionARN: to.sub.arn, Endpoint: to.sub.endpoint,
		MessageID: n.message.id, Reason: reason,
	}
	dead := to.settings.deadLetter
	if dead == "" {
		return f
	}
	if err := s.intoQueue(n, to, dead); err != nil {
		f.Reason += "; its dead-letter queue " + dead + " refused it too: " + err.Error()
		return f
	}
	f.DeadLetterQueue = dead
	return f
}

// record keeps failures and logs them. The caller holds no lock.
func (s *Service) record(failures []Failure) {
	if len(failures) == 0 {
		return
	}
	s.mu.Lock()
	s.failures = append(s.failures, failures...)
	s.failures = s.failures[max(0, len(s.failures)-maxFailures):]
	s.mu.Unlock()
	for _, f := range failures {
		s.log.Warn("sns: a delivery failed",
			slog.String("subscription", f.SubscriptionARN), slog.String("endpoint", loggable(f.Endpoint)),
			slog.String("message", f.MessageID), slog.String("reason", f.Reason),
			slog.String("dead letter queue", f.DeadLetterQueue), slog.Bool("lost", f.DeadLetterQueue == ""))
	}
}
