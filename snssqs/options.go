package snssqs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/claim"
	"github.com/godwitmq/godwit/internal/part"
	"github.com/godwitmq/godwit/snssqs/internal/estate"
	"github.com/godwitmq/godwit/snssqs/internal/trust"
	"github.com/godwitmq/godwit/snssqs/internal/wire"
)

// Options say how to reach AWS. The zero value takes everything from the environment, as AWS's own tools do. To use a
// local server, set AWS_ENDPOINT_URL, or AWS_ENDPOINT_URL_SQS, AWS_ENDPOINT_URL_SNS and AWS_ENDPOINT_URL_STS (which
// reports the account) together.
type Options struct {
	// Namespace is a prefix of the name of every queue and topic: prod---orders. Set it when several systems share
	// an AWS account.
	Namespace string
	// AWS is an SDK configuration (region, credentials, endpoint). Set it when the environment is not the right source.
	// nil: loaded from the environment.
	AWS *aws.Config
	// SQS is a client of the caller; nil: created from AWS. Set it when calls need middleware, credentials or an
	// endpoint of their own. The SDK's retries of sends, polls and settlements are turned off whatever the client's
	// setting, because the core repeats these calls. If both clients are set and AWS is nil, the environment is not
	// read, and the account is looked up with the region and credentials of SNS.
	SQS *sqs.Client
	// SNS is a client of the caller; nil: created from AWS. Set it as SQS.
	SNS *sns.Client
	// Names maps channels, as users write them (orders, wishlist_events.*, wishlist_events.audit_log), to existing
	// resources; set it to use queues and topics that Godwit did not create. Open refuses a name that cannot be a
	// channel. Provisioning a channel whose name is similar to an entry is an error.
	Names map[string]Resource
	// Attributes says which message attributes messages have. Set it when the defaults do not fit.
	Attributes Attributes
	// AttributesOf is Attributes for single destinations, by the channels as users write them (orders,
	// wishlist_events.*). Set it where a destination differs from the others; a zero field is that of the destination's
	// exchange, and then that of Attributes.
	AttributesOf map[string]Attributes
	// EnvelopesFrom says, by the channels as users write them, from which topics a message in SNS's own JSON is opened:
	// the ARNs of topics, or "*" for every topic; an empty list is no topic. A message arrives in that JSON through a
	// subscription without raw delivery. Set it where the default does not fit: the topic of the channel's exchange
	// and, for a queue in Names, the topics that the queue's policy lets in by aws:SourceArn or aws:SourceAccount. JSON
	// from other topics is the body, as it came; it is counted, and the first is logged.
	EnvelopesFrom map[string][]string
	// CheckSignatures rejects messages in SNS's own JSON whose signature (version 1 or 2) is not that of SNS, before
	// they are opened. Set it when programs that may not publish to the topics may send to the queues. The certificates
	// are read from SNS over HTTPS, and kept. SNS signs nothing for ordered topics and with raw delivery.
	CheckSignatures bool
	// Store keeps the bodies of large messages: open one with s3store.Open. Set it when messages can be larger than SQS
	// or SNS accept, or to receive from programs with Amazon's extended clients. nil: such a message is an error of
	// Send, and a received pointer is rejected.
	Store driver.Store
	// Large says which messages go to Store, and how they point to it. Set it when the defaults do not fit.
	Large Large
	// LargeOf is Large for single destinations, by the channels as users write them (orders, wishlist_events.*). Set it
	// where a destination differs from the others; a zero field counts as in Large.
	LargeOf map[string]Large
	// Decisions decide about messages that can be cancelled (godwit.Message.Cancellable): open them with
	// s3store.OpenDecisions. Set the same ones for the producers and the consumers of a channel. nil: such a message is
	// an error of Send, and a consumer leaves it to others.
	Decisions Decisions
	// Transport carries the requests; set it for a proxy or an in-process server. nil: our own connection pools, one
	// for long polls and one for other calls.
	Transport http.RoundTripper
	// BeforeSend is called with each request of messages to a queue, before each attempt to send it. Set it for what no
	// option covers: system attributes, or a limit of your own. It may change the entries, but not their number and
	// ids; an error of it fails the request, and the class of a [driver.Error] says whether it is repeated.
	BeforeSend func(ctx context.Context, in *sqs.SendMessageBatchInput) error
	// BeforePublish is BeforeSend for a request of messages to a topic. Set it as BeforeSend.
	BeforePublish func(ctx context.Context, in *sns.PublishBatchInput) error
	// CancelPolls cancels an open long poll when the consumer stops, instead of waiting for it. Messages of a canceled
	// poll are then invisible until their lease ends, unless the Transport never drops an answer, as that of an
	// in-process server. false: no message is stranded.
	CancelPolls bool
	// WakeFromProducers lets producers, too, send on the messages of their channels that wait for their time
	// (docs/later.md), while they are open. Set it where no consumer of Godwit runs all the time, as with AWS Lambda. A
	// producer then polls orders@later, if that exists. false: consumers do it.
	WakeFromProducers bool
	// Logger gets the backend's warnings: a subscription that could not be checked, a queue that dead-letters messages
	// too early. Set it to send them elsewhere, or to a logger with slog.DiscardHandler to silence them. nil:
	// slog.Default().
	Logger *slog.Logger
}

func (o *Options) check() error {
	if ns := o.Namespace; ns != "" && !part.Legal(ns) {
		return fmt.Errorf("snssqs: Options.Namespace is %q: use letters, digits, '_' and '-', begin and end with a "+
			"letter or digit, no '--', and not %q", ns, part.DeadLetters)
	}
	if err := o.checkAttributes(); err != nil {
		return err
	}
	if err := checkEnvelopes(o.EnvelopesFrom); err != nil {
		return err
	}
	return checkNames(o.Names)
}

// Decisions keep one short text for each name: the one that was written first, by whichever program. They are safe for
// concurrent use. The errors of their methods have classes, as those of a [driver.Store].
type Decisions interface {
	// Ensure creates what the decisions need, or compares it, as the mode says.
	Ensure(ctx context.Context, mode driver.Mode) error
	// Decide writes a text for a name, unless there is one already, and returns the text that there is then. After an
	// error nobody can say whether the text was written. Names have letters, digits, '.', '_' and '-'.
	Decide(ctx context.Context, name, text string) (decided string, err error)
	// Lifetime is how long a decision stays; 0: without a limit. A message that can be cancelled waits for at most four
	// weeks less than that.
	Lifetime() time.Duration
	// String is where the decisions are: the same text for the same place, and for no other one.
	String() string
}

// checkEnvelopes refuses settings of Options.EnvelopesFrom that can have no effect.
func checkEnvelopes(from map[string][]string) error {
	for channel, topics := range from {
		if strings.Contains(channel, "@") {
			return fmt.Errorf("snssqs: Options.EnvelopesFrom[%q]: name the channel itself; its dead letters are read as "+
				"its messages", channel)
		}
		if err := checkMapping(channel, Resource{}); err != nil {
			return fmt.Errorf("snssqs: Options.EnvelopesFrom[%q]: %w", channel, err)
		}
		for _, topic := range topics {
			if a, ok := estate.ParseARN(topic); topic != trust.AnyTopic && (!ok || a.Service != "sns") {
				return fmt.Errorf("snssqs: Options.EnvelopesFrom[%q] has %q: it must be the ARN of an SNS topic, or %q "+
					"for every topic", channel, topic, trust.AnyTopic)
			}
		}
	}
	return nil
}

// HeaderForm says how the headers of a message travel.
type HeaderForm uint8

const (
	HeadersDefault HeaderForm = iota // HeadersNative for a mapped resource (Options.Names), otherwise HeadersPacked
	HeadersNative                    // each is a message attribute with its type, at most ten in all
	HeadersPacked                    // all are in Godwit's attribute, however many
)

// Attributes says which message attributes a message has.
type Attributes struct {
	// Headers says how the headers travel; both forms are read everywhere. Set it to HeadersNative where programs
	// without Godwit, or filter policies on attributes, read them, and to HeadersPacked if only Godwit does, and
	// messages have many.
	Headers HeaderForm
	// RoutingKey is the attribute with the routing key, which filters check. Set it if other producers use an attribute
	// of another name; the filter policies of subscriptions that Godwit creates use it, too. "": routing_key.
	RoutingKey string
}

// checkAttributes refuses settings that cannot be right.
func (o *Options) checkAttributes() error {
	if err := o.Attributes.check("Options.Attributes"); err != nil {
		return err
	}
	for channel, a := range o.AttributesOf {
		field := fmt.Sprintf("Options.AttributesOf[%q]", channel)
		if err := a.check(field); err != nil {
			return err
		}
		if err := checkMapping(channel, Resource{}); err != nil {
			return fmt.Errorf("snssqs: %s: %w", field, err)
		}
	}
	return nil
}

func (a Attributes) check(field string) error {
	if a.Headers > HeadersPacked {
		return fmt.Errorf("snssqs: %s.Headers is %d: use one of the constants", field, a.Headers)
	}
	if a.RoutingKey != "" && !wire.LegalAttribute(a.RoutingKey) {
		return fmt.Errorf("snssqs: %s.RoutingKey is %q: it must be the name of a message attribute (letters, digits, '_', "+
			"'-' and '.'), and none that AWS or Godwit uses itself, as %q", field, a.RoutingKey, wire.EnvelopeAttribute)
	}
	return nil
}

// form returns the attributes of messages to a channel: those of the channel itself, then those of its exchange, then
// those of all.
func (o *Options) form(to driver.Channel, mapped bool) wire.Form {
	own, exchange := o.AttributesOf[to.String()], o.AttributesOf[estate.ExchangeOf(to).String()]
	f := wire.Form{
		Native: mapped, Routing: cmp.Or(own.RoutingKey, exchange.RoutingKey, o.Attributes.RoutingKey,
			wire.RoutingAttribute),
	}
	if headers := cmp.Or(own.Headers, exchange.Headers, o.Attributes.Headers); headers != HeadersDefault {
		f.Native = headers == HeadersNative
	}
	return f
}

const (
	// defaultAbove is the threshold of Amazon's extended clients: a message of 262,144 bytes is sent as it is.
	defaultAbove = 256 << 10
)

// PointerFormat is how a message points to its body in a store. It matters only for the programs that read it with
// Amazon's extended clients; docs/large-messages.md says which of them reads what. Godwit reads all formats.
type PointerFormat uint8

const (
	PointerDefault PointerFormat = iota // as Options.Large says; there, PointerCurrent
	PointerCurrent                      // the current class, and the attribute ExtendedPayloadSize
	PointerMixed                        // the current class, and the attribute SQSLargePayloadSize
	PointerLegacy                       // the class of the first clients, and the attribute SQSLargePayloadSize
)

// Compression is how bodies are compressed in a store.
type Compression uint8

const (
	CompressionDefault Compression = iota // as Options.Large says; there, CompressionNone
	CompressionNone                       // bodies are stored as they are
	CompressionZstd                       // bodies are compressed with zstd
)

// Large says which messages go to Options.Store, and how they point to it.
type Large struct {
	// Above is the size above which the body of a message goes to the store, with the attributes; 0: 262,144 bytes.
	// Raise it, up to the limit of the queue or topic, when a request to S3 costs more than a large message. Lower it
	// when receives of ten large messages take too long; a negative value sends every body to the store.
	Above int
	// Pointers is the format of the pointers. Set it to what the extended clients of the channel's consumers read.
	Pointers PointerFormat
	// Compression says how bodies are compressed in the store; only Godwit reads compressed ones. Set it to
	// CompressionZstd for texts that compress well, if all consumers of the channel use Godwit.
	Compression Compression
}

// apart says which bodies go to a store.
type apart struct {
	store driver.Store // nil: there is none
	all   Large
	of    map[string]Large
}

// newApart checks the options about large messages.
func newApart(o *Options) (apart, error) {
	a := apart{store: o.Store, all: o.Large, of: o.LargeOf}
	if o.Store == nil {
		if o.Large != (Large{}) || len(o.LargeOf) > 0 {
			return a, errors.New("snssqs: Options.Large and LargeOf have no effect without Store: open one with s3store.Open")
		}
		return a, nil
	}
	if keeps := o.Store.Lifetime(); keeps > 0 && keeps < wire.LongestStay {
		return a, fmt.Errorf("snssqs: Options.Store deletes objects after %d days, and a message can stay for %d days in its "+
			"queue and the dead letters together: raise s3store.Options.Lifetime", keeps/(24*time.Hour),
			wire.LongestStay/(24*time.Hour))
	}
	errs := []error{o.Large.check("Options.Large")}
	for channel, l := range o.LargeOf {
		errs = append(errs, l.or(o.Large).check(fmt.Sprintf("Options.LargeOf[%q]", channel)))
		if err := checkMapping(channel, Resource{}); err != nil {
			errs = append(errs, fmt.Errorf("snssqs: Options.LargeOf[%q]: %w", channel, err))
		}
	}
	return a, errors.Join(errs...)
}

func (l Large) check(field string) error {
	if l.Pointers > PointerLegacy {
		return fmt.Errorf("snssqs: %s.Pointers is %d: use one of the constants", field, l.Pointers)
	}
	if l.Compression > CompressionZstd {
		return fmt.Errorf("snssqs: %s.Compression is %d: use one of the constants", field, l.Compression)
	}
	if l.Compression == CompressionZstd && l.Pointers > PointerCurrent {
		return fmt.Errorf("snssqs: %s has CompressionZstd, and Pointers for programs with Amazon's extended clients, which "+
			"cannot read compressed bodies: choose one of both", field)
	}
	return nil
}

// or returns l, with the values of all for its zero fields.
func (l Large) or(all Large) Large {
	return Large{
		cmp.Or(l.Above, all.Above), cmp.Or(l.Pointers, all.Pointers), cmp.Or(l.Compression, all.Compression),
	}
}

// uploads is for a sender to a channel whose service accepts messages of limit bytes, and whose bodies are in a folder;
// nil: there is no store.
func (a *apart) uploads(to driver.Channel, folder string, limit int) *wire.Uploads {
	if a.store == nil {
		return nil
	}
	of := to
	of.DeadLetter = false
	l := a.of[of.String()].or(a.all).or(Large{Above: defaultAbove, Pointers: PointerCurrent})
	return &wire.Uploads{
		Store: a.store, Folder: folder, Above: min(max(l.Above, 0), limit),
		Format: claim.Format(l.Pointers - PointerCurrent), Zip: l.Compression == CompressionZstd,
	}
}
