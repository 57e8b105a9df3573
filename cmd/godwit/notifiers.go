package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/godwitmq/godwit/cmd/internal/operator"
	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka"
	"github.com/godwitmq/godwit/ops"
)

// notifierFlags are the flags that say who is told.
type notifierFlags struct {
	slack, webhook bool
	sns            string
}

func (n *notifierFlags) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.BoolVar(&n.slack, "slack", false, "tell Slack, by the incoming webhook in "+operator.SlackVariable)
	f.BoolVar(&n.webhook, "webhook", false,
		"post JSON to "+operator.WebhookVariable+", signed with the key in "+operator.WebhookSecretVariable)
	f.StringVar(&n.sns, "sns", "", "publish to the SNS topic with this `ARN`")
}

// check returns an error in the flags, or in the environment that they need.
func (n *notifierFlags) check() error {
	switch {
	case n.slack && os.Getenv(operator.SlackVariable) == "":
		return fmt.Errorf("--slack needs the address of an incoming webhook in the environment variable %s",
			operator.SlackVariable)
	case n.webhook && os.Getenv(operator.WebhookVariable) == "":
		return fmt.Errorf("--webhook needs an address in the environment variable %s", operator.WebhookVariable)
	case n.webhook && os.Getenv(operator.WebhookSecretVariable) == "":
		return fmt.Errorf("--webhook needs the key of its signatures in the environment variable %s",
			operator.WebhookSecretVariable)
	}
	return nil
}

// open makes the notifiers. SNS is used through the backend, or through one that end closes.
func (n *notifierFlags) open(ctx context.Context, b driver.Backend) (
	routes []ops.Route, end func(context.Context) error, err error,
) {
	wanted := operator.Notifiers{Slack: n.slack, Webhook: n.webhook, Topic: n.sns, TopicBy: "--sns"}
	return wanted.Open(ctx, b)
}

// openState opens the state that a flag names; nil: in memory. One on Kafka is on the brokers of the backend.
func openState(ctx context.Context, at string, b driver.Backend) (ops.State, error) {
	scheme, rest, ok := strings.Cut(at, "://")
	switch {
	case at == "":
		return nil, nil
	case !ok:
		return ops.NewFileState(at)
	case scheme == "kafka":
		onKafka, ok := b.(*kafka.Backend)
		if !ok {
			return nil, fmt.Errorf("%q: the channels are not on Kafka: name a file, or s3://bucket/key", at)
		}
		return onKafka.OpenState(rest)
	case scheme != "s3":
		return nil, fmt.Errorf("%q: name a file, s3://bucket/key, or kafka://name", at)
	}
	s, err := operator.ParseState(at)
	if err != nil {
		return nil, err
	}
	return s.Open(ctx, nil)
}
