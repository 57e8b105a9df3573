package godwit

import (
	"errors"
	"log/slog"
	"time"

	"github.com/godwitmq/godwit/driver"
)

// Defaults and limits of ProducerOptions.
const (
	defaultRetryFor = 20 * time.Second
	defaultBuffer   = 1000
	maxSendWait     = 10 * time.Second
)

// ProducerOptions configure a producer. The zero value is good for most.
type ProducerOptions struct {
	// Ordered says that the service keeps the messages of one order key in order. Set it when their order matters; the
	// consumers of the channel must set it, too. Of dead letters it is looked up.
	Ordered bool
	// RetryFor is how long a message is sent again after temporary errors of the service, counted from Send; 0: 20 s.
	// Lower it when the sender has a better answer to an outage than to wait. A last call may take a second more; a
	// call that hangs ends then, but not before 5 s.
	RetryFor time.Duration
	// Buffer is how many results of SendAsync may be open; 0: 1,000. SendAsync waits above it: raise it when calls to
	// the service take long, and lower it when memory is short.
	Buffer int
	// Middleware runs around the sending of every message; the first is outermost. Set it for what all messages need,
	// such as [Carry].
	Middleware []SendMiddleware
	// Provision says how far [NewProducer] may go to provide what it sends to; 0: it creates what is missing. Restrict
	// it when another program provisions.
	Provision ProvisionMode

	// KeysShareRequests lets messages of one order key travel in one request, up to ten, in their order; by default
	// each waits until the one before was accepted, so a key takes one message a round trip. Set it when few keys have
	// much traffic, and a late message does less harm than a slow key: SQS and SNS may refuse one message of a request
	// and accept those behind it, and the refused one is then sent again behind them. On Kafka it is an error, because
	// a key has no such limit there.
	KeysShareRequests bool

	// Linger is how long a message waits for others, so that one request carries ten; up to 10 s. Set it when requests
	// cost more than a delay: Send takes that much longer. 0: no longer than it takes for those that are likely to come
	// at once, 10 ms at most. A full request does not wait, nor does a message for which another of its order key
	// waits. On Kafka it is an error, because the client batches by itself.
	Linger time.Duration

	// Hooks are called when something happens, and change nothing. Set them to feed metrics and traces.
	Hooks ProducerHooks
	// Logger gets what a person on call needs: messages that the service does not deliver, because it took them for
	// duplicates. Set it to log elsewhere, or to slog.DiscardHandler for silence; nil: slog.Default(), from warnings
	// up.
	Logger *slog.Logger

	// HighThroughput recognizes duplicates per order key instead of per channel, on ordered channels of SQS and SNS.
	// Set it as the consumers do. It has an effect only when this producer is the first to create the channel.
	HighThroughput bool
	// Encryption is the key of the service's key store that encrypts messages; "": the service's own encryption. Set it
	// as the consumers do. It has an effect only when this producer is the first to create the channel.
	Encryption string
	// Ownership says whose the channel is, in tags of its resources. Set it as the consumers do. It has an effect only
	// when this producer is the first to create the channel.
	Ownership Ownership
}

// fit returns an error for options that the backend does not need, because it batches by itself.
func (o *ProducerOptions) fit(lim driver.SendLimits) error {
	if lim.Batch > 0 {
		return nil
	}
	if o.KeysShareRequests {
		return invalid("ProducerOptions.KeysShareRequests", true,
			"this backend batches by itself and keeps the order of a key: remove the option")
	}
	return optional(o.Linger, invalid("ProducerOptions.Linger", o.Linger,
		"this backend batches by itself: remove the option"))
}

// Spec returns what a producer with these options sends to, for programs that provision channels without producing. An
// error is one that [NewProducer] would return.
func (o *ProducerOptions) Spec(channel string) (driver.ChannelSpec, error) {
	own := *o
	ch, err := own.channel(channel)
	return own.spec(ch), err
}

// channel completes the options, and returns the channel of a name.
func (o *ProducerOptions) channel(name string) (driver.Channel, error) {
	ch, err := parseChannel(name, o.Ordered)
	if err != nil {
		return ch, err
	}
	if ch.Exchange != "" && ch.Queue != "" && !ch.DeadLetter {
		return ch, invalid("channel", name, "a producer sends to all queues of an exchange: "+ch.Exchange+".*")
	}
	return ch, o.complete(ch)
}

func (o *ProducerOptions) spec(ch driver.Channel) driver.ChannelSpec {
	return driver.ChannelSpec{
		Channel: ch, Mode: o.Provision.driver(),
		HighThroughput: o.HighThroughput, Encryption: o.Encryption, Tags: o.Ownership.tags(),
	}
}

func (o *ProducerOptions) complete(ch driver.Channel) error {
	if o.HighThroughput && !o.Ordered && !ch.DeadLetter { // the order of dead letters is looked up
		return invalid("ProducerOptions.HighThroughput", o.HighThroughput,
			"it is for ordered channels: set Ordered, too, or remove the option")
	}
	if o.KeysShareRequests && !o.Ordered && !ch.DeadLetter {
		return invalid("ProducerOptions.KeysShareRequests", true,
			"it is for ordered channels: set Ordered, too, or remove the option")
	}
	setDefault(&o.RetryFor, defaultRetryFor)
	setDefault(&o.Buffer, defaultBuffer)
	return errors.Join(
		eachSet("ProducerOptions.Middleware", o.Middleware),
		within("ProducerOptions.RetryFor", o.RetryFor, time.Millisecond, time.Hour),
		within("ProducerOptions.Linger", o.Linger, 0, maxSendWait),
		within("ProducerOptions.Buffer", o.Buffer, 1, 1_000_000),
		within("ProducerOptions.Provision", o.Provision, ProvisionAuto, ProvisionDeclare),
		o.Ownership.check("ProducerOptions.Ownership"),
	)
}
