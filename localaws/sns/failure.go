package sns

import (
	"time"

	"github.com/godwitmq/godwit/localaws/wire"
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

// place returns the place of the subscription's topic.
func (f *Failure) place() wire.Place {
	p, _ := wire.PlaceOf(f.SubscriptionARN)
	return p
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
