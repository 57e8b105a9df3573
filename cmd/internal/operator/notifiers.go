package operator

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/ops"
	"github.com/godwitmq/godwit/snssqs"
)

// The environment variables with secrets. Flags would show them in the list of processes.
const (
	SlackVariable         = "GODWIT_SLACK_URL"
	WebhookVariable       = "GODWIT_WEBHOOK_URL"
	WebhookSecretVariable = "GODWIT_WEBHOOK_SECRET"
)

// Notifiers are who is told. The zero value is nobody.
type Notifiers struct {
	Slack, Webhook bool   // at the addresses in the environment
	Topic          string // the ARN of a topic of SNS; "": none
	TopicBy        string // the flag or variable of Topic, for errors
}

// Open makes the notifiers, as routes with the same names in all programs. SNS is used through the backend, or through
// one that end closes.
func (n *Notifiers) Open(ctx context.Context, b driver.Backend) (
	routes []ops.Route, end func(context.Context) error, err error,
) {
	end = func(context.Context) error { return nil }
	if n.Slack {
		to, err := ops.NewSlack(ops.SlackOptions{URL: os.Getenv(SlackVariable)})
		if err != nil {
			return nil, end, fmt.Errorf("%s: %w", SlackVariable, err)
		}
		routes = append(routes, ops.Route{Name: "slack", To: to})
	}
	if n.Webhook {
		to, err := ops.NewWebhook(ops.WebhookOptions{
			URL: os.Getenv(WebhookVariable), Secret: []byte(os.Getenv(WebhookSecretVariable)),
		})
		if err != nil {
			return nil, end, fmt.Errorf("%s and %s: %w", WebhookVariable, WebhookSecretVariable, err)
		}
		routes = append(routes, ops.Route{Name: "webhook", To: to})
	}
	if n.Topic == "" {
		return routes, end, nil
	}
	onSNS, ours := b.(*snssqs.Backend)
	if !ours {
		if onSNS, err = snssqs.Open(ctx, nil); err != nil {
			return nil, end, fmt.Errorf("%s: %w", n.TopicBy, err)
		}
		end = onSNS.Close
	}
	to, err := onSNS.NewNotifier(n.Topic)
	if err != nil {
		return nil, end, errors.Join(fmt.Errorf("%s: %w", n.TopicBy, err), end(ctx))
	}
	return append(routes, ops.Route{Name: "sns", To: to}), end, nil
}

// Name says in notices whose channels these are, such as aws prod. Programs with one state need the same.
func Name(service, namespace string) string {
	if namespace == "" {
		return service
	}
	return service + " " + namespace
}
