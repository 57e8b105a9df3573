package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/godwitmq/godwit/driver"
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

// alertsOptions are the flags of `godwit alerts`.
type alertsOptions struct {
	backend        backendFlags
	output         output
	once           bool
	slack, webhook bool
	sns, state     string
	alerts         ops.AlertsOptions
}

func newAlerts() *cobra.Command {
	var o alertsOptions
	cmd := &cobra.Command{
		Use:   "alerts",
		Short: "Tell people what waits too long or too much, and which dead letters there are",
		Long: "Tell people what waits too long or too much, and which dead letters there are.\n\n" +
			"It watches all channels that Godwit has made, until it is stopped, or looks at them once with --once.\n" +
			"An alert is told once, again after 24 hours while it lasts, and once when it is resolved.\n" +
			"The tags alarm-depth (1000), alarm-age (900, in seconds), alarm-dead-letters (1) and critical of a channel\n" +
			"change its alerts. Everything is printed; --slack, --webhook and --sns tell others as well. Secrets come\n" +
			"from the environment: " + slackVariable + ", " + webhookVariable + ", " + webhookSecretVariable + ".",
		Example: "  godwit alerts --once\n" +
			"  godwit alerts --slack --state s3://acme-prod-godwit/alerts.json",
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.check(); err != nil {
				return usage(cmd, err)
			}
			return o.backend.use(cmd, func(ctx context.Context, b driver.Backend) error {
				return o.run(ctx, b, cmd.OutOrStdout())
			})
		},
	}
	o.backend.add(cmd)
	o.output.add(cmd)
	f := cmd.Flags()
	f.BoolVar(&o.once, "once", false, "look at everything once, and end")
	f.DurationVar(&o.alerts.Every, "every", 15*time.Minute, "how often to look at what waits")
	f.DurationVar(&o.alerts.EveryDeadLetters, "every-dead-letters", 12*time.Hour, "how often to look at dead letters")
	f.BoolVar(&o.slack, "slack", false, "tell Slack, by the incoming webhook in "+slackVariable)
	f.BoolVar(&o.webhook, "webhook", false,
		"post JSON to "+webhookVariable+", signed with the key in "+webhookSecretVariable)
	f.StringVar(&o.sns, "sns", "", "publish to the SNS topic with this `ARN`")
	f.StringVar(&o.state, "state", "",
		"where to remember who was told: a `file`, or s3://bucket/key; without it, in memory")
	f.StringSliceVar(&o.alerts.Owners, "owner", nil, "only channels whose tag owner is one of these `names`")
	return cmd
}

// check returns an error in the flags.
func (o *alertsOptions) check() error {
	if err := o.output.check(); err != nil {
		return err
	}
	switch {
	case !o.once && o.output == asJSON:
		return errors.New("--output json needs --once, because a list needs an end: use jsonl")
	case o.alerts.Every <= 0 || o.alerts.EveryDeadLetters <= 0:
		return fmt.Errorf("--every is %v and --every-dead-letters %v: both must be longer than zero", o.alerts.Every,
			o.alerts.EveryDeadLetters)
	case o.slack && os.Getenv(slackVariable) == "":
		return fmt.Errorf("--slack needs the address of an incoming webhook in the environment variable %s", slackVariable)
	case o.webhook && os.Getenv(webhookVariable) == "":
		return fmt.Errorf("--webhook needs an address in the environment variable %s", webhookVariable)
	case o.webhook && os.Getenv(webhookSecretVariable) == "":
		return fmt.Errorf("--webhook needs the key of its signatures in the environment variable %s", webhookSecretVariable)
	}
	return nil
}

// run watches the channels of a backend.
func (o *alertsOptions) run(ctx context.Context, b driver.Backend, out io.Writer) (err error) {
	p := &noticePrinter{out: out, form: o.output}
	o.alerts.Routes = []ops.Route{{Name: "stdout", To: p}}
	to := func(name string, n ops.Notifier, err error) error {
		o.alerts.Routes = append(o.alerts.Routes, ops.Route{Name: name, To: n})
		return err
	}
	if o.slack {
		n, err := ops.NewSlack(ops.SlackOptions{URL: os.Getenv(slackVariable)})
		if err := to("slack", n, err); err != nil {
			return fmt.Errorf("%s: %w", slackVariable, err)
		}
	}
	if o.webhook {
		n, err := ops.NewWebhook(ops.WebhookOptions{
			URL: os.Getenv(webhookVariable), Secret: []byte(os.Getenv(webhookSecretVariable)),
		})
		if err := to("webhook", n, err); err != nil {
			return fmt.Errorf("%s and %s: %w", webhookVariable, webhookSecretVariable, err)
		}
	}
	if o.sns != "" {
		onSNS, ours := b.(*snssqs.Backend)
		if !ours {
			if onSNS, err = snssqs.Open(ctx, nil); err != nil {
				return fmt.Errorf("--sns: %w", err)
			}
			defer func() { err = errors.Join(err, onSNS.Close(context.WithoutCancel(ctx))) }()
		}
		n, err := onSNS.NewNotifier(o.sns)
		if err := to("sns", n, err); err != nil {
			return fmt.Errorf("--sns: %w", err)
		}
	}
	if o.alerts.State, err = openState(ctx, o.state); err != nil {
		return fmt.Errorf("--state: %w", err)
	}
	o.alerts.Name, o.alerts.Flags = o.backend.describe(b)
	a, err := ops.NewAlerts(b, &o.alerts)
	if err != nil {
		return err
	}
	if !o.once {
		return a.Run(ctx)
	}
	_, err = a.Once(ctx, ops.LookAll)
	return errors.Join(err, p.end())
}

// describe returns the name of a backend for people, and the flags with which their commands reach it.
func (b *backendFlags) describe(opened driver.Backend) (name, flags string) {
	name = onKafka
	if _, ok := opened.(*snssqs.Backend); ok {
		name = onAWS
	}
	if b.name != "" {
		flags = "--backend " + b.name
	}
	if b.namespace != "" {
		name += " " + b.namespace
		flags = strings.TrimSpace(flags + " --namespace " + b.namespace)
	}
	return name, flags
}

// openState opens the state that a flag names; nil: in memory.
func openState(ctx context.Context, at string) (ops.AlertState, error) {
	scheme, rest, ok := strings.Cut(at, "://")
	switch {
	case at == "":
		return nil, nil
	case !ok:
		return ops.NewFileState(at)
	case scheme != "s3":
		return nil, fmt.Errorf("%q: name a file, or s3://bucket/key", at)
	}
	bucket, key, _ := strings.Cut(rest, "/")
	return s3store.OpenState(ctx, &s3store.StateOptions{Bucket: bucket, Key: key})
}

// noticePrinter is a notifier that prints.
type noticePrinter struct {
	out  io.Writer
	form output

	mu  sync.Mutex
	all []any // of asJSON, until the end
}

// Notify prints a notice: as text, or each of its items in JSON.
func (p *noticePrinter) Notify(ctx context.Context, n *driver.Notice) error {
	if p.form == asTable {
		return ops.NewWriterNotifier(p.out).Notify(ctx, n)
	}
	items := make([]any, len(n.Items))
	for i := range n.Items {
		items[i] = n.Items[i]
	}
	if p.form == asJSONLines {
		return p.form.print(p.out, table{}, items)
	}
	p.mu.Lock()
	p.all = append(p.all, items...)
	p.mu.Unlock()
	return nil
}

// end prints the list of asJSON.
func (p *noticePrinter) end() error {
	if p.form != asJSON {
		return nil
	}
	p.mu.Lock()
	items := append([]any{}, p.all...) // an empty list in JSON is not null
	p.mu.Unlock()
	return p.form.print(p.out, table{}, items)
}
