package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/godwitmq/godwit/cmd/godwit/internal/manual"
	"github.com/godwitmq/godwit/cmd/godwit/internal/screen"
	"github.com/godwitmq/godwit/cmd/internal/operator"
	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka"
	"github.com/godwitmq/godwit/ops"
	"github.com/godwitmq/godwit/snssqs"
)

// alertsOptions are the flags of `godwit alerts`.
type alertsOptions struct {
	backend   backendFlags
	output    screen.Output
	notifiers notifierFlags
	once      bool
	state     string
	alerts    ops.AlertsOptions
}

func newAlerts() *cobra.Command {
	var o alertsOptions
	cmd := &cobra.Command{
		Use:   "alerts",
		Short: "Tell people what waits too long, and which dead letters there are",
		Long: "Tell people what waits too long or too much, and which dead letters there are.\n\n" +
			"It watches all channels that Godwit has made, until it is stopped, or looks at them once with --once.\n" +
			"An alert is told once, again after 24 hours while it lasts, and once when it is resolved.\n" +
			"The tags alarm-depth (1000), alarm-age (900, in seconds), alarm-dead-letters (1) and critical of a channel\n" +
			"change its alerts. Everything is printed; --slack, --webhook and --sns tell others as well. Secrets come\n" +
			"from the environment: " + operator.SlackVariable + ", " + operator.WebhookVariable + ", " +
			operator.WebhookSecretVariable + ".",
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
	o.output.Add(cmd)
	manual.What(cmd, func(f *pflag.FlagSet) {
		f.StringSliceVar(&o.alerts.Owners, "owner", nil, "only channels whose tag owner is one of these `names`")
	})
	manual.Where(cmd, func(f *pflag.FlagSet) {
		f.StringVar(&o.state, "state", "",
			"where to remember who was told: a `file`, s3://bucket/key, or kafka://name; without it, in memory")
	})
	f := cmd.Flags()
	f.BoolVar(&o.once, "once", false, "look at everything once, and end")
	f.DurationVar(&o.alerts.Every, "every", 15*time.Minute, "how often to look at what waits")
	f.DurationVar(&o.alerts.EveryDeadLetters, "every-dead-letters", 12*time.Hour, "how often to look at dead letters")
	o.notifiers.add(cmd)
	return cmd
}

// check returns an error in the flags.
func (o *alertsOptions) check() error {
	if err := o.output.Check(); err != nil {
		return err
	}
	switch {
	case !o.once && o.output == screen.AsJSON:
		return errors.New("--output json needs --once, because a list needs an end: use jsonl")
	case o.alerts.Every <= 0 || o.alerts.EveryDeadLetters <= 0:
		return fmt.Errorf("--every is %v and --every-dead-letters %v: both must be longer than zero", o.alerts.Every,
			o.alerts.EveryDeadLetters)
	}
	return errors.Join(checkState("--state", o.state), o.notifiers.check())
}

// run watches the channels of a backend.
func (o *alertsOptions) run(ctx context.Context, b driver.Backend, out io.Writer) (err error) {
	p := &noticePrinter{out: out, form: o.output}
	others, end, err := o.notifiers.open(ctx, b)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end(context.WithoutCancel(ctx))) }()
	o.alerts.Routes = append([]ops.Route{{Name: "stdout", To: p}}, others...)
	if o.alerts.State, err = openState(ctx, o.state, b); err != nil {
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
	name = operator.Name(name, b.namespace)
	if b.namespace != "" {
		flags = strings.TrimSpace(flags + " --namespace " + b.namespace)
	}
	if b.names != "" {
		flags = strings.TrimSpace(flags + " --names " + b.names)
	}
	return name, flags
}

// noticePrinter is a notifier that prints.
type noticePrinter struct {
	out  io.Writer
	form screen.Output

	mu  sync.Mutex
	all []any // of screen.AsJSON, until the end
}

// Notify prints a notice: as text, or each of its items in JSON.
func (p *noticePrinter) Notify(ctx context.Context, n *driver.Notice) error {
	if p.form == screen.AsTable {
		return ops.NewWriterNotifier(p.out).Notify(ctx, n)
	}
	items := make([]any, len(n.Items))
	for i := range n.Items {
		items[i] = n.Items[i]
	}
	if p.form == screen.AsJSONLines {
		return p.form.Print(p.out, screen.Table{}, items)
	}
	p.mu.Lock()
	p.all = append(p.all, items...)
	p.mu.Unlock()
	return nil
}

// end prints the list of screen.AsJSON.
func (p *noticePrinter) end() error {
	if p.form != screen.AsJSON {
		return nil
	}
	p.mu.Lock()
	items := append([]any{}, p.all...) // an empty list in JSON is not null
	p.mu.Unlock()
	return p.form.Print(p.out, screen.Table{}, items)
}

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
	case n.sns != "" && !topicARN.MatchString(n.sns):
		return fmt.Errorf("--sns is %q: use the ARN of a topic, such as arn:aws:sns:eu-west-1:123456789012:alerts", n.sns)
	}
	return nil
}

// topicARN matches ARNs of topics of SNS that are not ordered: ordered ones send no mail.
var topicARN = regexp.MustCompile(`^arn:[a-z-]+:sns:[a-z0-9-]+:[0-9]{12}:[A-Za-z0-9_-]+$`)

// open makes the notifiers. SNS is used through the backend, or through one that end closes.
func (n *notifierFlags) open(ctx context.Context, b driver.Backend) (
	routes []ops.Route, end func(context.Context) error, err error,
) {
	wanted := operator.Notifiers{Slack: n.slack, Webhook: n.webhook, Topic: n.sns, TopicBy: "--sns"}
	return wanted.Open(ctx, b)
}

// checkState refuses what is no state before anything is started.
func checkState(flag, at string) error {
	scheme, rest, ok := strings.Cut(at, "://")
	bucket, key, _ := strings.Cut(rest, "/")
	switch {
	case !ok:
		return checkFile(flag, at)
	case scheme == "kafka", scheme == "s3" && bucket != "" && key != "":
		return nil
	}
	return fmt.Errorf("%s is %q: name a file, s3://bucket/key, or kafka://name", flag, at)
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
