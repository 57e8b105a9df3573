package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/godwitmq/godwit/cmd/godwit/internal/connection"
	"github.com/godwitmq/godwit/cmd/godwit/internal/declared"
	"github.com/godwitmq/godwit/cmd/godwit/internal/manual"
	"github.com/godwitmq/godwit/cmd/godwit/internal/screen"
	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka"
	"github.com/godwitmq/godwit/ops"
	"github.com/godwitmq/godwit/s3store"
	"github.com/godwitmq/godwit/snssqs"
	"github.com/godwitmq/godwit/topology/onaws"
	"github.com/godwitmq/godwit/topology/onkafka"
)

// backendFlags are the flags with which an operator's command finds the channels. Addresses and credentials come from
// the environment, as for any client of AWS or Kafka.
type backendFlags struct {
	context   string // of godwit.yaml; "": none is named
	chosen    string // the context that is used; "": none is
	guarded   string // the protected context that is used and that no flag names; "": there is none
	quiet     bool   // what the context talks to is not told
	name      string // "aws" or "kafka"; "": the environment decides
	prefers   string // the backend where the environment names both; "": there is none
	namespace string
	names     string          // a file with Options.Names; "": none
	store     s3store.Options // of large messages; without a bucket: none
	decisions string          // s3://bucket/prefix, about messages that can be cancelled; "": none
}

const (
	onAWS   = "aws"
	onKafka = "kafka"
	// backendVariable names the backend where no flag does.
	backendVariable = "GODWIT_BACKEND"
)

func (b *backendFlags) add(cmd *cobra.Command) {
	b.addName(cmd)
	manual.Where(cmd, func(f *pflag.FlagSet) {
		f.StringVar(&b.namespace, "namespace", "", "the `namespace` of the channels")
	})
	addNames(cmd, &b.names)
	cmd.ValidArgsFunction = b.complete
}

// addName adds the only flag of a command whose other settings are in a file.
func (b *backendFlags) addName(cmd *cobra.Command) {
	manual.Where(cmd, func(f *pflag.FlagSet) {
		f.StringVar(&b.context, "context", "", "the `context` of godwit.yaml; it says what to talk to")
		f.StringVar(&b.name, "backend", "",
			"the `backend`: aws or kafka; without it, the one that the environment names")
	})
}

// completesWithin is how long a shell waits for the names of channels.
const completesWithin = 3 * time.Second

// complete returns the channels whose names begin with a text, for the completion of a shell. Without a backend, or
// without an answer in time, there are none.
func (b *backendFlags) complete(cmd *cobra.Command, args []string, begin string) ([]string, cobra.ShellCompDirective) {
	switch takes := strings.Contains(cmd.Use, "CHANNEL") || strings.Contains(cmd.Use, "PATTERN"); {
	case !takes:
		return nil, cobra.ShellCompDirectiveNoFileComp
	case len(args) > 0:
		return nil, cobra.ShellCompDirectiveDefault // a body, or a file
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), completesWithin)
	defer cancel()
	var names []string
	b.quiet = true
	if backend, err := b.open(ctx, cmd); err == nil {
		all, _ := ops.List(ctx, backend, &ops.ListOptions{NoDepths: true})
		for i := range all {
			if name := all[i].Channel.String(); strings.HasPrefix(name, begin) {
				names = append(names, name)
			}
		}
		_ = backend.Close(ctx)
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// addStore adds the flags for commands that read or send messages.
func (b *backendFlags) addStore(cmd *cobra.Command) {
	manual.Where(cmd, func(f *pflag.FlagSet) {
		f.StringVar(&b.store.Bucket, "bucket", "",
			"the `bucket` of large messages; as in the programs' s3store.Options")
		f.StringVar(&b.store.Prefix, "prefix", "", "the `prefix` of large messages in the bucket")
	})
	manual.Rare(cmd, "prefix")
}

// addDecisions adds the flag for commands that cancel messages, or send or wake those that can be cancelled.
func (b *backendFlags) addDecisions(cmd *cobra.Command) {
	cmd.Flags().StringVar(&b.decisions, "decisions", "",
		"the decisions about messages that can be cancelled: `s3://bucket/prefix`; as the programs have them")
	if cmd.Name() != "cancel" {
		manual.Rare(cmd, "decisions")
	}
}

// use opens the backend for a command's work, and closes it afterwards.
func (b *backendFlags) use(cmd *cobra.Command, work func(ctx context.Context, backend driver.Backend) error) error {
	backend, err := b.open(cmd.Context(), cmd)
	if err != nil {
		return err
	}
	err = work(cmd.Context(), backend)
	return errors.Join(b.located(err), backend.Close(context.WithoutCancel(cmd.Context())))
}

// located says what has set the address, if nothing answers there.
func (b *backendFlags) located(err error) error {
	if !errors.Is(err, syscall.ECONNREFUSED) {
		return err
	}
	if b.chosen != "" {
		return fmt.Errorf("%w (the context %s has set the address)", err, b.chosen)
	}
	name, _ := b.choose(os.Getenv)
	for _, one := range map[string][]string{
		onAWS: {"AWS_ENDPOINT_URL", "AWS_PROFILE"}, onKafka: {"KAFKA_BOOTSTRAP_SERVERS"},
	}[name] {
		if value := os.Getenv(one); value != "" {
			return fmt.Errorf("%w (%s, which is %s, has set the address)", err, one, value)
		}
	}
	return err
}

// onChannel makes what a command does whose only argument is a channel: it checks the format of the output, opens the
// backend, and calls work.
func onChannel(b *backendFlags, o *screen.Output, work func(
	ctx context.Context, backend driver.Backend, channel string, out, errOut io.Writer,
) error,
) func(cmd *cobra.Command, args []string) error {
	return func(cmd *cobra.Command, args []string) error {
		if err := o.Check(); err != nil {
			return usage(cmd, err)
		}
		return b.use(cmd, func(ctx context.Context, backend driver.Backend) error {
			return work(ctx, backend, args[0], cmd.OutOrStdout(), cmd.ErrOrStderr())
		})
	}
}

// open opens the backend. It makes no request, unless the environment names both.
func (b *backendFlags) open(ctx context.Context, cmd *cobra.Command) (driver.Backend, error) {
	switch err := b.enter(cmd); {
	case cmd.Context().Err() != nil: // at a question, or before
		return nil, context.Cause(cmd.Context())
	case errors.Is(err, screen.ErrRefused):
		return nil, err
	case err != nil:
		return nil, usage(cmd, err)
	}
	name, err := b.choose(os.Getenv)
	if both := new(bothError); errors.As(err, &both) {
		name, err = b.find(ctx, cmd, both)
		b.name = name
	}
	if err != nil {
		return nil, usage(cmd, err)
	}
	store, err := b.openStore(ctx, cmd)
	if err != nil {
		return nil, err
	}
	return b.connect(ctx, cmd, name, store)
}

// findsWithin is how long a backend is asked whether it has a channel.
const findsWithin = 10 * time.Second

// find returns the only backend that has the channel of a command, where the environment names both.
func (b *backendFlags) find(ctx context.Context, cmd *cobra.Command, both *bothError) (string, error) {
	args := cmd.Flags().Args()
	if !strings.Contains(cmd.Use, "CHANNEL") || len(args) == 0 || b.names != "" {
		return "", both
	}
	var have []string
	for _, name := range []string{onAWS, onKafka} {
		there, err := b.has(ctx, cmd, name, args[0])
		if err != nil {
			return "", fmt.Errorf("%w; %s cannot be asked whether it has %s: %w", both, name, args[0], err)
		}
		if there {
			have = append(have, name)
		}
	}
	switch len(have) {
	case 0:
		return "", fmt.Errorf("%w; neither has %s", both, args[0])
	case 1:
		if !b.quiet {
			fmt.Fprintf(cmd.ErrOrStderr(), "on %s, which alone has %s\n", have[0], args[0])
		}
		return have[0], nil
	}
	return "", fmt.Errorf("%w; both have %s", both, args[0])
}

// has reports whether a backend has a channel, or the one of dead letters.
func (b *backendFlags) has(ctx context.Context, cmd *cobra.Command, name, channel string) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, findsWithin)
	defer cancel()
	backend, err := b.connect(ctx, cmd, name, nil)
	if err != nil {
		return false, err
	}
	all, err := ops.List(ctx, backend, &ops.ListOptions{NoDepths: true})
	channel = strings.TrimSuffix(channel, "@dlq")
	there := slices.ContainsFunc(all, func(one ops.Listed) bool { return one.Channel.String() == channel })
	return there, errors.Join(err, backend.Close(ctx))
}

// connect opens one of the backends.
func (b *backendFlags) connect(ctx context.Context, cmd *cobra.Command, name string, store driver.Store) (
	backend driver.Backend, err error,
) {
	if name == onKafka {
		var names map[string]kafka.Resource
		if names, err = readNames[kafka.Resource](b.names); err != nil {
			return nil, usage(cmd, err)
		}
		backend, err = kafka.Open(ctx, &kafka.Options{
			Namespace: b.namespace, Names: names, Store: store, Logger: b.warnings(cmd),
		})
	} else {
		var names map[string]snssqs.Resource
		if names, err = readNames[snssqs.Resource](b.names); err != nil {
			return nil, usage(cmd, err)
		}
		o := &snssqs.Options{Namespace: b.namespace, Names: names, Store: store, Logger: b.warnings(cmd)}
		if b.decisions != "" {
			bucket, prefix, _ := strings.Cut(strings.TrimPrefix(b.decisions, "s3://"), "/")
			o.Decisions, err = s3store.OpenDecisions(ctx, &s3store.Options{Bucket: bucket, Prefix: prefix})
			if err != nil {
				return nil, usage(cmd, fmt.Errorf("--decisions is %q: write it as s3://acme-prod/decisions/: %w",
					b.decisions, err))
			}
		}
		backend, err = snssqs.Open(ctx, o)
	}
	if err != nil {
		return nil, opened(cmd, err)
	}
	return backend, nil
}

// warnings is the logger of a backend, whose lines reach standard error as everything else does: escaped, and not at
// all with --quiet.
func (b *backendFlags) warnings(cmd *cobra.Command) *slog.Logger {
	if b.quiet {
		return slog.New(slog.DiscardHandler)
	}
	return slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), &slog.HandlerOptions{Level: slog.LevelWarn}))
}

// check checks the flags for a command that may not need what they name.
func (b *backendFlags) check() (err error) {
	if b.context != "" {
		_, err = connection.Choose(b.context)
	} else if b.name != "" {
		_, err = b.choose(os.Getenv)
	}
	return err
}

// useFile opens the backend of a declaration for a command's work, and closes it afterwards. The file has the
// namespace, the names of existing resources and the bucket.
func (b *backendFlags) useFile(cmd *cobra.Command, f *declared.File,
	work func(ctx context.Context, backend driver.Backend) error,
) (err error) {
	if err := b.enter(cmd); err != nil {
		return usage(cmd, err)
	}
	name, err := b.choose(os.Getenv)
	if err != nil {
		return usage(cmd, err)
	}
	ctx := cmd.Context()
	var store driver.Store
	if o, there := f.Store(); there {
		if store, err = s3store.Open(ctx, o); err != nil {
			return err
		}
	}
	var backend driver.Backend
	if name == onKafka {
		o := onkafka.Options(f.Spec)
		o.Store, o.Logger = store, b.warnings(cmd)
		backend, err = kafka.Open(ctx, o)
	} else {
		o := onaws.Options(f.Spec)
		o.Store, o.Logger = store, b.warnings(cmd)
		backend, err = snssqs.Open(ctx, o)
	}
	if err != nil {
		return err
	}
	err = work(ctx, backend)
	return errors.Join(err, backend.Close(context.WithoutCancel(ctx)))
}

// enter makes the settings of the chosen context those of this process, where no flag says otherwise.
func (b *backendFlags) enter(cmd *cobra.Command) error {
	c, err := connection.Choose(b.context)
	if err != nil || c == nil {
		return err
	}
	if !c.Named {
		if _, err := b.choose(os.Getenv); err == nil {
			return nil // flags and the environment go before the file
		}
	}
	if b.name != "" {
		return fmt.Errorf("--backend has no effect beside the context %s, which says what to talk to: leave out one", c.Name)
	}
	if c.Protected && changes(cmd) && b.context == "" {
		return fmt.Errorf("the context %s is protected: to change something there, add --context %s", c.Name, c.Name)
	}
	if c.Protected && b.context == "" {
		b.guarded = c.Name
	}
	if c.Protected && changes(cmd) && loses(cmd) && screen.Interactive(cmd.InOrStdin()) {
		question := fmt.Sprintf("the context %s is protected: type its name to %s there: ", c.Name, cmd.Name())
		if err := screen.Ask(cmd.Context(), cmd.InOrStdin(), question, c.Name); err != nil {
			return err
		}
	}
	if err := c.Set(); err != nil {
		return err
	}
	b.chosen = c.Name
	if b.name = onAWS; c.OnKafka() {
		b.name = onKafka
	}
	b.namespace, b.names = cmp.Or(b.namespace, c.Namespace), cmp.Or(b.names, c.Names)
	if b.store.Bucket == "" {
		b.store.Bucket, b.store.Prefix = c.Payloads.Bucket, cmp.Or(b.store.Prefix, c.Payloads.Prefix)
	}
	if !c.Local() && !b.quiet {
		fmt.Fprintln(cmd.ErrOrStderr(), c)
	}
	return nil
}

// changes reports whether a command changes something: one with --yes only with it.
func changes(cmd *cobra.Command) bool {
	if yes := cmd.Flags().Lookup("yes"); yes != nil {
		return yes.Value.String() == "true"
	}
	return cmd.Name() == "send" || cmd.Name() == "run"
}

// loses reports whether what a command changes cannot be undone.
func loses(cmd *cobra.Command) bool {
	return cmd.Name() == "purge" || cmd.Name() == "rm" || cmd.Name() == "rewind"
}

// askFrom is how many messages a command moves or deletes without a question on a terminal.
const askFrom = 100

// askMany asks somebody at a terminal before many messages of a channel are moved or deleted.
func askMany(ctx context.Context, b driver.Backend, channel, do string) error {
	inspect := driver.OperationsOf(b).Inspect
	if inspect == nil || !screen.Interactive(os.Stdin) {
		return nil
	}
	info, err := ops.Find(ctx, b, channel)
	if err != nil {
		return err
	}
	depth, err := inspect(ctx, info.Channel)
	if err != nil || depth.All() <= askFrom {
		return err
	}
	question := fmt.Sprintf("%d messages are in %s: type y to %s: ", depth.All(), channel, do)
	return screen.Ask(ctx, os.Stdin, question, "y")
}

// openStore opens the store of large messages; nil: none is named.
func (b *backendFlags) openStore(ctx context.Context, cmd *cobra.Command) (driver.Store, error) {
	switch {
	case b.store.Bucket != "":
		s, err := s3store.Open(ctx, &b.store)
		if err != nil {
			return nil, opened(cmd, err)
		}
		return s, nil
	case b.store.Prefix != "":
		return nil, usage(cmd, errors.New("--prefix is set without --bucket: name the bucket as well"))
	}
	return nil, nil
}

// bothError is the error of an environment that names both backends.
type bothError struct {
	variable string // of AWS
}

func (e *bothError) Error() string {
	return fmt.Sprintf("KAFKA_BOOTSTRAP_SERVERS and %s are both set: say which with --backend %s or --backend %s, or with %s",
		e.variable, onKafka, onAWS, backendVariable)
}

// choose returns the name of the backend.
func (b *backendFlags) choose(env func(string) string) (string, error) {
	aws := ""
	for _, name := range []string{"AWS_ENDPOINT_URL", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE"} {
		if aws == "" && env(name) != "" {
			aws = name
		}
	}
	brokers := env("KAFKA_BOOTSTRAP_SERVERS")
	name, from := b.name, "--backend"
	if name == "" {
		name, from = env(backendVariable), backendVariable
	}
	switch {
	case name == onAWS, name == onKafka:
		return name, nil
	case name != "":
		return "", fmt.Errorf("%s is %q: use %s or %s", from, name, onAWS, onKafka)
	case brokers != "" && aws != "" && b.prefers != "":
		return b.prefers, nil
	case brokers != "" && aws != "":
		return "", &bothError{aws}
	case brokers != "":
		return onKafka, nil
	case aws != "":
		return onAWS, nil
	}
	return "", fmt.Errorf("neither AWS nor Kafka is set in the environment: set AWS_REGION (or AWS_PROFILE, or " +
		"AWS_ENDPOINT_URL as `godwit local` prints it), or KAFKA_BOOTSTRAP_SERVERS")
}

// addNames adds the flag for a file with the Names of the programs' options.
func addNames(cmd *cobra.Command, file *string) {
	manual.Where(cmd, func(f *pflag.FlagSet) {
		f.StringVar(file, "names", "", "a `file` in JSON with the Names of the programs' options")
	})
	manual.Rare(cmd, "names")
}

// readNames reads a file of names; "": there are none. R is the Resource of a backend, whose fields are the keys.
func readNames[R any](file string) (names map[string]R, err error) {
	if file == "" {
		return nil, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("--names: %w", err)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err = d.Decode(&names); err == nil {
		if _, more := d.Token(); more != io.EOF {
			err = fmt.Errorf("there is more after the first value")
		}
	}
	if err != nil {
		return nil, fmt.Errorf("--names: %s is not a JSON object of channels, with a field for each name: %w", file, err)
	}
	return names, nil
}
