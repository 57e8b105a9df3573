package snssqs

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	tagging "github.com/aws/aws-sdk-go-v2/service/resourcegroupstaggingapi"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sts"

	"github.com/godwitmq/godwit/driver"
)

// Backend is a driver.Backend, driver.Provisioner, driver.Finder, driver.Inspector and driver.Operator on Amazon SNS
// and SQS.
type Backend struct {
	namespace    namespace
	names        map[string]Resource
	region       string
	log          *slog.Logger
	apart        apart
	attributes   Attributes
	attributesOf map[string]Attributes
	envelopes    envelopes
	before       before
	differing    onceFor // mapped channels with a warning about their settings
	cancelPolls  bool
	polls        *sqs.Client // long polls, with their own pool of connections
	sqs          *sqs.Client
	sns          *sns.Client
	account      *account
	tagging      *tagging.Client
	cloudwatch   *cloudwatch.Client
	clients      []*http.Client
	closed       atomic.Bool

	mu      sync.Mutex
	queues  map[driver.Channel]*queue             // queues that were found
	ensured map[driver.Channel]*queue             // that Ensure has found, for the sender that is opened next
	specs   map[driver.Channel]driver.ChannelSpec // what consumers of this process asked for, by channel
	handed  map[string]*ledger                    // finished messages that others delete, by queue; nil: none

	subscribers map[driver.Channel]*subscribers // of the exchanges that producers of this process may create
}

// Open creates the clients; it makes no request.
func Open(ctx context.Context, o *Options) (*Backend, error) {
	var opts Options
	if o != nil {
		opts = *o
	}
	if err := opts.check(); err != nil {
		return nil, err
	}
	large, err := newApart(&opts)
	if err != nil {
		return nil, err
	}
	conf, err := awsConfig(ctx, &opts)
	if err != nil {
		return nil, err
	}
	b := &Backend{
		namespace: namespace(opts.Namespace), names: opts.Names, region: conf.Region, log: opts.Logger,
		apart: large, attributes: opts.Attributes, attributesOf: opts.AttributesOf, cancelPolls: opts.CancelPolls,
		envelopes: envelopes{from: opts.EnvelopesFrom}, before: before{opts.BeforeSend, opts.BeforePublish},
		queues: map[driver.Channel]*queue{}, ensured: map[driver.Channel]*queue{},
		specs: map[driver.Channel]driver.ChannelSpec{}, subscribers: map[driver.Channel]*subscribers{},
	}
	if b.log == nil {
		b.log = slog.Default()
	}
	b.connect(conf, &opts)
	if opts.CheckSignatures {
		b.envelopes.signatures = newSignatures(b.clients[1], b.sns.Options().BaseEndpoint)
	}
	return b, nil
}

// connect creates the clients that the caller did not supply, and sets deadlines for all of them.
func (b *Backend) connect(conf aws.Config, o *Options) {
	polls, work := newClients(o.Transport)
	b.clients = []*http.Client{polls, work}
	conf.APIOptions = append(slices.Clip(conf.APIOptions), deadlines)
	if o.SQS != nil {
		b.sqs = sqs.New(o.SQS.Options(), func(so *sqs.Options) { so.APIOptions = append(so.APIOptions, deadlines) })
		b.polls = b.sqs
	} else {
		b.sqs = sqs.NewFromConfig(conf, func(so *sqs.Options) { so.HTTPClient = work })
		b.polls = sqs.NewFromConfig(conf, func(so *sqs.Options) { so.HTTPClient = polls })
	}
	if o.SNS != nil {
		b.sns = sns.New(o.SNS.Options(), func(so *sns.Options) { so.APIOptions = append(so.APIOptions, deadlines) })
	} else {
		b.sns = sns.NewFromConfig(conf, func(so *sns.Options) { so.HTTPClient = work })
	}
	b.account = &account{
		region: b.region, sts: sts.NewFromConfig(conf, func(so *sts.Options) { so.HTTPClient = work }),
	}
	b.cloudwatch = cloudwatch.NewFromConfig(conf, func(co *cloudwatch.Options) { co.HTTPClient = work })
	b.tagging = tagging.NewFromConfig(conf, func(so *tagging.Options) { so.HTTPClient = work })
}

// awsConfig returns the configuration for the clients that the caller did not supply. If the caller supplied SQS and
// SNS, it is that of the SNS client, because the account must be the one that the topics belong to.
func awsConfig(ctx context.Context, o *Options) (aws.Config, error) {
	switch {
	case o.AWS != nil:
		return *o.AWS, nil
	case o.SNS != nil && o.SQS != nil:
		so := o.SNS.Options()
		conf := aws.Config{Region: so.Region, Credentials: so.Credentials}
		if so.BaseEndpoint != nil && !strings.Contains(*so.BaseEndpoint, ".amazonaws.com") {
			conf.BaseEndpoint = so.BaseEndpoint // a local server has all services at one address
		}
		return conf, nil
	}
	conf, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return aws.Config{}, fmt.Errorf("snssqs: load the AWS configuration: %w", err)
	}
	if conf.Region == "" {
		return aws.Config{}, fmt.Errorf("snssqs: no AWS region: set AWS_REGION or Options.AWS")
	}
	conf.Credentials = explainedCredentials{conf.Credentials}
	return conf, nil
}

// explainedCredentials are credentials whose absence is explained by the error.
type explainedCredentials struct{ aws.CredentialsProvider }

func (h explainedCredentials) Retrieve(ctx context.Context) (aws.Credentials, error) {
	c, err := h.CredentialsProvider.Retrieve(ctx)
	if err != nil {
		err = fmt.Errorf("no AWS credentials were found: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, a profile "+
			"(AWS_PROFILE) or a role, "+
			"or Options.AWS; for the embedded server use local.Open, or what `godwit local` prints: %w", err)
	}
	return c, err
}

// Close closes idle connections. It does not end senders and receivers.
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

// remember records what a consumer asked for, for the checks of its receiver.
func (b *Backend) remember(s driver.ChannelSpec) {
	s.Again = false
	b.mu.Lock()
	b.specs[s.Channel] = s
	b.mu.Unlock()
}

// specOf returns what a consumer of this process asked for.
func (b *Backend) specOf(ch driver.Channel) (driver.ChannelSpec, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	s, known := b.specs[ch]
	return s, known
}

// noRetries turns off the SDK's retries of calls that the core repeats, keeps request bodies in memory, and turns off
// the SDK's checksums, because this package compares them message by message. It applies to the caller's client, too.
func noRetries(o *sqs.Options) {
	o.DisableMessageChecksumValidation = true
	o.Retryer = aws.NopRetryer{}
	o.HTTPClient = withBodies(o.HTTPClient)
}

// noPublishRetries is the same as once, for SNS.
func noPublishRetries(o *sns.Options) {
	o.Retryer = aws.NopRetryer{}
	o.HTTPClient = withBodies(o.HTTPClient)
}

// Operations returns what an operator can do with the channels. Peek works on localaws only.
func (b *Backend) Operations() driver.Operations {
	return driver.Operations{
		Catalog: b.Catalog, Plan: planner{b: b}.plan, Tag: planner{b: b}.tag,
		Wanted: planner{b: b}.wanted, Specs: planner{b: b}.specs,
		Activity: b.Activity, Peek: b.Peek, Return: b.Return,
		Move: b.Move, Moves: b.Moves, CancelMove: b.CancelMove,
		Purge: b.Purge, Remove: b.Remove, Snapshot: b.Snapshot, Restore: b.Restore,
		Pause: b.Pause, Resume: b.Resume,
	}
}
