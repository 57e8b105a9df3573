package estate

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sts"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/snssqs/internal/client"
	"github.com/godwitmq/godwit/snssqs/internal/wire"
)

// Estate is the queues and topics of a namespace, with the clients that reach them.
type Estate struct {
	*Names
	Queues  *Queues
	Topics  *Topics
	Account *Account
	Listing *Listing
	Clients *client.Clients
}

// Config says which queues and topics an estate has.
type Config struct {
	Clients       *client.Clients
	Namespace     string
	Mappings      map[string]Mapping
	Form          func(ch driver.Channel, mapped bool) wire.Form // the attributes of messages
	EnvelopesFrom map[string][]string                            // Options.EnvelopesFrom
}

// New makes no request.
func New(c Config) *Estate {
	names := &Names{namespace: namespace(c.Namespace), Mappings: c.Mappings, form: c.Form, envelopes: c.EnvelopesFrom}
	id := &Account{region: c.Clients.Region, sts: c.Clients.STS, turn: make(chan struct{}, 1)}
	listing := &Listing{
		sqs: c.Clients.SQS, sns: c.Clients.SNS, prefix: names.Prefix(), turn: make(chan struct{}, 1),
	}
	return &Estate{
		Names: names, Clients: c.Clients, Account: id, Listing: listing,
		Queues: &Queues{Names: names, sqs: c.Clients.SQS},
		Topics: &Topics{Names: names, sns: c.Clients.SNS, account: id},
	}
}

// Mapping is a Resource of the options: the queue, dead-letter queue or topic that a channel has instead of its own.
type Mapping struct {
	Queue, DeadLetters, Topic string                  // by URL, ARN or name; "": there is none
	Credentials               aws.CredentialsProvider // nil: those of the backend
	RequireRoutingKey         bool
}

// Account is the account of the credentials.
type Account struct {
	region string
	sts    *sts.Client
	turn   chan struct{} // the right to ask the service
	known  atomic.Pointer[ARN]
}

// WhoAmI returns an ARN of the account without service and name, and asks the service only once, because the account of
// the credentials does not change.
func (a *Account) WhoAmI(ctx context.Context) (id ARN, err error) {
	if known := a.known.Load(); known != nil {
		return *known, nil
	}
	select {
	case a.turn <- struct{}{}:
		defer func() { <-a.turn }()
	case <-ctx.Done():
		return id, fmt.Errorf("find out the AWS account: %w", context.Cause(ctx))
	}
	if known := a.known.Load(); known != nil { // another caller had the turn before
		return *known, nil
	}
	out, err := a.sts.GetCallerIdentity(ctx, &sts.GetCallerIdentityInput{})
	if err != nil {
		return id, fmt.Errorf("find out the AWS account: %w", client.Failed(err, "sts:GetCallerIdentity"))
	}
	id = ARN{partition: "aws", Region: a.region, Account: aws.ToString(out.Account)}
	if parts := strings.SplitN(aws.ToString(out.Arn), ":", 3); len(parts) == 3 && parts[1] != "" {
		id.partition = parts[1]
	}
	a.known.Store(&id)
	return id, nil
}

// ARN is a parsed ARN.
type ARN struct{ partition, Service, Region, Account, Name string }

// ParseARN reads an ARN; false: the text has another form.
func ParseARN(s string) (a ARN, ok bool) {
	parts := strings.SplitN(s, ":", 6)
	if len(parts) != 6 || parts[0] != "arn" {
		return a, false
	}
	return ARN{parts[1], parts[2], parts[3], parts[4], parts[5]}, true
}

// Beside is the ARN of a resource of the same account and region.
func (a ARN) Beside(service, name string) string {
	return strings.Join([]string{"arn", a.partition, service, a.Region, a.Account, name}, ":")
}
