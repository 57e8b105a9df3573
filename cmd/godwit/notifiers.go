package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka"
	"github.com/godwitmq/godwit/ops"
	"github.com/godwitmq/godwit/s3store"
	"github.com/godwitmq/godwit/snssqs"
)

// The environment variables with secrets. Flags would show them in the list of processes.
const (
	slackVariable         = "GODWIT_SLACK_URL"
	webhookVariable       = "GODWIT_WEBHOOK_URL"
	webhookSecretVariable = "GODWIT_WEBHOOK_SECRET"
)

// notifierFlags are the flags that say who is told.
type notifierFlags struct {
	slack, webhook bool
	sns            string
}

func (n *notifierFlags) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.BoolVar(&n.slack, "slack", false, "tell Slack, by the incoming webhook in "+slackVariable)
	f.BoolVar(&n.webhook, "webhook", false,
		"post JSON to "+webhookVariable+", signed with the key in "+webhookSecretVariable)
	f.StringVar(&n.sns, "sns", "", "publish to the SNS topic with this `ARN`")
}

// check returns an error in the flags, or in the environment that they need.
func (n *notifierFlags) check() error {
	switch {
	case n.slack && os.Getenv(slackVariable) == "":
		return fmt.Errorf("--slack needs the address of an incoming webhook in the environment variable %s", slackVariable)
	case n.webhook && os.Getenv(webhookVariable) == "":
		return fmt.Errorf("--webhook needs an address in the environment variable %s", webhookVariable)
	case n.webhook && os.Getenv(webhookSecretVariable) == "":
		return fmt.Errorf("--webhook needs the key of its signatures in the environment variable %s", webhookSecretVariable)
	}
	return nil
}

// open makes the notifiers. SNS is used through the backend, or through one that end closes.
func (n *notifierFlags) open(ctx context.Context, b driver.Backend) (
	routes []ops.Route, end func(context.Context) error, err error,
) {
	end = func(context.Context) error { return nil }
	if n.slack {
		to, err := ops.NewSlack(ops.SlackOptions{URL: os.Getenv(slackVariable)})
		if err != nil {
			return nil, end, fmt.Errorf("%s: %w", slackVariable, err)
		}
		routes = append(routes, ops.Route{Name: "slack", To: to})
	}
	if n.webhook {
		to, err := ops.NewWebhook(ops.WebhookOptions{
			URL: os.Getenv(webhookVariable), Secret: []byte(os.Getenv(webhookSecretVariable)),
		})
		if err != nil {
			return nil, end, fmt.Errorf("%s and %s: %w", webhookVariable, webhookSecretVariable, err)
		}
		routes = append(routes, ops.Route{Name: "webhook", To: to})
	}
	if n.sns == "" {
		return routes, end, nil
	}
	onSNS, ours := b.(*snssqs.Backend)
	if !ours {
		if onSNS, err = snssqs.Open(ctx, nil); err != nil {
			return nil, end, fmt.Errorf("--sns: %w", err)
		}
		end = onSNS.Close
	}
	to, err := onSNS.NewNotifier(n.sns)
	if err != nil {
		return nil, end, errors.Join(fmt.Errorf("--sns: %w", err), end(ctx))
	}
	return append(routes, ops.Route{Name: "sns", To: to}), end, nil
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
	bucket, key, _ := strings.Cut(rest, "/")
	return s3store.OpenState(ctx, &s3store.StateOptions{Bucket: bucket, Key: key})
}
