package client

import (
	"context"
	"errors"
	"fmt"
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

// Clients are the clients of a backend, one for each service. Every call of theirs has a deadline.
type Clients struct {
	Region     string
	SQS        *sqs.Client
	Polls      *sqs.Client // long polls, with their own pool of connections
	SNS        *sns.Client
	STS        *sts.Client
	Tagging    *tagging.Client
	CloudWatch *cloudwatch.Client
	HTTP       *http.Client // of all calls but long polls

	polls  *http.Client
	closed atomic.Bool
}

// Connect creates the clients that the caller did not supply (nil), and sets deadlines for all of them. It makes no
// request.
func Connect(ctx context.Context, given *aws.Config, givenSQS *sqs.Client, givenSNS *sns.Client,
	transport http.RoundTripper) (
	*Clients, error,
) {
	conf, err := awsConfig(ctx, given, givenSQS, givenSNS)
	if err != nil {
		return nil, err
	}
	polls, work := newPools(transport)
	conf.APIOptions = append(slices.Clip(conf.APIOptions), deadlines)
	c := &Clients{Region: conf.Region, HTTP: work, polls: polls}
	if givenSQS != nil {
		c.SQS = sqs.New(givenSQS.Options(), func(o *sqs.Options) { o.APIOptions = append(o.APIOptions, deadlines) })
		c.Polls = c.SQS
	} else {
		c.SQS = sqs.NewFromConfig(conf, func(o *sqs.Options) { o.HTTPClient = work })
		c.Polls = sqs.NewFromConfig(conf, func(o *sqs.Options) { o.HTTPClient = polls })
	}
	if givenSNS != nil {
		c.SNS = sns.New(givenSNS.Options(), func(o *sns.Options) { o.APIOptions = append(o.APIOptions, deadlines) })
	} else {
		c.SNS = sns.NewFromConfig(conf, func(o *sns.Options) { o.HTTPClient = work })
	}
	c.STS = sts.NewFromConfig(conf, func(o *sts.Options) { o.HTTPClient = work })
	c.CloudWatch = cloudwatch.NewFromConfig(conf, func(o *cloudwatch.Options) { o.HTTPClient = work })
	c.Tagging = tagging.NewFromConfig(conf, func(o *tagging.Options) { o.HTTPClient = work })
	return c, nil
}

// awsConfig returns the configuration for the clients that the caller did not supply. If the caller supplied SQS and
// SNS, it is the region of the SNS client, because the account must be the one that the topics belong to.
func awsConfig(ctx context.Context, given *aws.Config, givenSQS *sqs.Client, givenSNS *sns.Client) (aws.Config, error) {
	switch {
	case given != nil:
		return *given, nil
	case givenSNS != nil && givenSQS != nil:
		so := givenSNS.Options()
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

// Close closes idle connections.
func (c *Clients) Close() {
	if !c.closed.Swap(true) {
		c.polls.CloseIdleConnections()
		c.HTTP.CloseIdleConnections()
	}
}

// Open returns an error if the clients are closed.
func (c *Clients) Open() error {
	if c.closed.Load() {
		return fmt.Errorf("snssqs: the backend is %w", driver.ErrClosed)
	}
	return nil
}

// Once turns off the SDK's retries of calls that the core repeats, keeps request bodies in memory, and turns off
// the SDK's checksums, because this package compares them message by message. It applies to the caller's client, too.
func Once(o *sqs.Options) {
	o.DisableMessageChecksumValidation = true
	o.Retryer = aws.NopRetryer{}
	o.HTTPClient = withBodies(o.HTTPClient)
}

// PublishOnce is Once for SNS.
func PublishOnce(o *sns.Options) {
	o.Retryer = aws.NopRetryer{}
	o.HTTPClient = withBodies(o.HTTPClient)
}

// Concurrently calls f for 0 to n-1, some at a time, and returns their errors.
func Concurrently(n, atOnce int, f func(i int) error) error {
	errs := make([]error, n)
	var wg sync.WaitGroup
	tokens := make(chan struct{}, atOnce)
	for i := range n {
		tokens <- struct{}{}
		wg.Go(func() {
			errs[i] = f(i)
			<-tokens
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}
