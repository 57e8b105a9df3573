package estate

import (
	"github.com/aws/aws-sdk-go-v2/aws"

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
	return &Estate{
		Names: names, Clients: c.Clients, Account: id,
		Queues: &Queues{Names: names, sqs: c.Clients.SQS, found: map[driver.Channel]*Queue{}},
		Topics: &Topics{Names: names, sns: c.Clients.SNS, account: id},
	}
}

// Mapping is a Resource of the options: the queue, dead-letter queue or topic that a channel has instead of its own.
type Mapping struct {
	Queue, DeadLetters, Topic string                  // by URL, ARN or name; "": there is none
	Credentials               aws.CredentialsProvider // nil: those of the backend
	RequireRoutingKey         bool
}
