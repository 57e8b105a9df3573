package snssqs

import (
	"fmt"
	"log/slog"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
)

// Options say how to reach AWS. The zero value takes everything from the environment, as AWS's own tools do;
// AWS_ENDPOINT_URL switches to a local server, or AWS_ENDPOINT_URL_SQS, AWS_ENDPOINT_URL_SNS and AWS_ENDPOINT_URL_STS (which
// tells whose account it is) together.
type Options struct {
	// Namespace is put in front of every queue's and topic's name: prod---orders.
	Namespace string
	// AWS is a ready configuration of the SDK (region, credentials, endpoint); nil: loaded from the environment.
	AWS *aws.Config
	// SQS and SNS are the caller's own clients, with middleware, credentials, endpoints of their own; nil: made from AWS.
	// Whatever retries they are set to, those of sends, polls and settles are off: the core repeats them. With both given
	// and no AWS, the environment is not looked at; SNS's account is asked for with the region and credentials of SNS.
	SQS *sqs.Client
	SNS *sns.Client
	// Names maps channels, as users spell them (orders, wishlist_events.*, wishlist_events.audit_log), to existing
	// resources. What no channel could be called is refused by Open; where something would be made for a channel that
	// is spelled nearly like an entry, that is an error.
	Names map[string]Resource
	// Transport carries the requests; nil: connection pools of our own, one for long polls and one for all else.
	Transport http.RoundTripper
	// CancelPolls ends an open long poll when the consumer stops, instead of waiting for it (of a FIFO queue: of asking
	// once more for what it was handed). That loses messages for the time of a lease unless the Transport never drops
	// an answer, as an in-process server's does not. false: nothing is lost.
	CancelPolls bool
	// Logger gets the warnings of the backend: a subscription that could not be checked, a queue that gives messages up
	// too soon. Set it to send them elsewhere, or slog.DiscardHandler's to silence them. nil: slog.Default().
	Logger *slog.Logger
}

func (o *Options) check() error {
	if ns := o.Namespace; ns != "" && !legalPart(ns) {
		return fmt.Errorf("snssqs: Options.Namespace is %q: use letters, digits, '_' and '-', begin and end with a "+
			"letter or digit, no '--', and not %q", ns, dlqPart)
	}
	return checkNames(o.Names)
}
