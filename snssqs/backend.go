package snssqs

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/godwitmq/godwit/driver"
)

// Backend is a driver.Backend, driver.Provisioner and driver.Inspector on Amazon SNS and SQS.
type Backend struct {
	namespace   namespace
	log         *slog.Logger
	cancelPolls bool
	polls       *sqs.Client // long polls, with a pool of connections of their own
	sqs         *sqs.Client
	sns         *sns.Client
	clients     []*http.Client
	closed      atomic.Bool

	mu     sync.Mutex
	queues map[string]*queue // found before, by name
}

// Open prepares the clients; it makes no request.
func Open(ctx context.Context, o *Options) (*Backend, error) {
	var opts Options
	if o != nil {
		opts = *o
	}
	if err := opts.check(); err != nil {
		return nil, err
	}
	conf, err := awsConfig(ctx, opts.AWS)
	if err != nil {
		return nil, err
	}
	b := &Backend{namespace: namespace(opts.Namespace), log: opts.Logger, cancelPolls: opts.CancelPolls,
		queues: map[string]*queue{}}
	if b.log == nil {
		b.log = slog.New(slog.DiscardHandler)
	}
	polls, work := newClients(opts.Transport)
	b.clients = []*http.Client{polls, work}
	b.polls = sqs.NewFromConfig(conf, func(so *sqs.Options) { so.HTTPClient = polls })
	b.sqs = sqs.NewFromConfig(conf, func(so *sqs.Options) { so.HTTPClient = work })
	b.sns = sns.NewFromConfig(conf, func(so *sns.Options) { so.HTTPClient = work })
	return b, nil
}

func awsConfig(ctx context.Context, given *aws.Config) (aws.Config, error) {
	if given != nil {
		return *given, nil
	}
	conf, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return aws.Config{}, fmt.Errorf("snssqs: load the AWS configuration: %w", err)
	}
	if conf.Region == "" {
		return aws.Config{}, fmt.Errorf("snssqs: no AWS region: set AWS_REGION or Options.AWS")
	}
	return conf, nil
}

// Close lets go of idle connections. It does not end what senders and receivers do.
func (b *Backend) Close(context.Context) error {
	if b.closed.Swap(true) {
		return nil
	}
	for _, c := range b.clients {
		c.CloseIdleConnections()
	}
	return nil
}

func (b *Backend) open() error {
	if b.closed.Load() {
		return fmt.Errorf("snssqs: the backend is %w", driver.ErrClosed)
	}
	return nil
}

// once turns the SDK's retries off, for calls that the core repeats.
func once(o *sqs.Options) { o.Retryer = aws.NopRetryer{} }
