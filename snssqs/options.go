package snssqs

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/part"
	"github.com/godwitmq/godwit/snssqs/internal/estate"
	"github.com/godwitmq/godwit/snssqs/internal/trust"
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
	// where a destination differs from the others; a zero field is that of Large.
	LargeOf map[string]Large
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
