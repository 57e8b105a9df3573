package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/cmd/godwit/internal/manual"
	"github.com/godwitmq/godwit/cmd/godwit/internal/screen"
	"github.com/godwitmq/godwit/cmd/godwit/internal/worker"
	"github.com/godwitmq/godwit/driver"
)

// runOptions are the flags of `godwit run`.
type runOptions struct {
	backend  backendFlags
	consumer godwit.ConsumerOptions

	exec, worker, http string // one of them is set
	command            worker.Command
	workers            int
	secret             string // a file
	provision          string
	wait, waitAtMost   time.Duration // between attempts
	rate               string
	verbose            bool
}

func newRun() *cobra.Command {
	o := runOptions{workers: 1}
	cmd := &cobra.Command{
		Use:   "run CHANNEL (--exec COMMAND | --worker COMMAND | --http URL)",
		Short: "Handle messages with programs in any language",
		Long: "Handle messages with programs in any language, as a consumer in Go does.\n" +
			"A failure is tried again after a while, up to --max-attempts.",
		Example: "  godwit run orders --worker 'python3 worker.py' -j 8 --ordered",
		Args:    oneChannel,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.check(args[0]); err != nil {
				return usage(cmd, err)
			}
			return o.backend.use(cmd, func(ctx context.Context, b driver.Backend) error {
				return o.run(ctx, cmd, b, args[0])
			})
		},
	}
	o.backend.add(cmd)
	o.backend.addStore(cmd)
	o.backend.addDecisions(cmd)
	o.addHandler(cmd)
	o.addConsumer(cmd)
	manual.Rare(cmd, "filter-exclude", "break-after", "dead-letter-expired", "delay", "encryption-key", "lease",
		"max-age", "max-per-tenant", "name", "no-dead-letters", "owner", "retry-at-most", "wait", "http-secret")
	manual.More(cmd, "It has all the options of a consumer. A command without characters that mean something to a shell is "+
		"split at its spaces; another one runs in sh.", "docs/run.md")
	return cmd
}

func (o *runOptions) addHandler(cmd *cobra.Command) {
	manual.What(cmd, func(f *pflag.FlagSet) {
		f.StringVar(&o.exec, "exec", "",
			"run this `command` for each message; the body is its standard input, GODWIT_* variables have the rest; "+
				"status 0: done; 75: again later; 65: to the dead letters; others are failures")
		f.StringVar(&o.worker, "worker", "",
			"run this `command` -j times; each process gets one message after another, with a line of JSON each way")
		f.StringVar(&o.http, "http", "",
			"post each message to this `URL`; 2xx: done; 429, 503: again after Retry-After; other 4xx: to the "+
				"dead letters; 5xx, and no answer, are failures")
	})
	f := cmd.Flags()
	f.StringVar(&o.secret, "http-secret", "", "sign the requests with the secret in this `file`")
	f.IntVarP(&o.workers, "workers", "j", 1, "handle so `many` messages at once")
	f.BoolVarP(&o.verbose, "verbose", "v", false, "log what happens to each message")
}

func (o *runOptions) addConsumer(cmd *cobra.Command) {
	c := &o.consumer
	manual.What(cmd, func(f *pflag.FlagSet) {
		f.StringSliceVar(&c.Filter.Exact, "filter", nil, "only messages with these routing `keys`; of an exchange")
		f.StringSliceVar(&c.Filter.Prefix, "filter-prefix", nil, "only routing `keys` that begin so")
		f.StringSliceVar(&c.Filter.Exclude, "filter-exclude", nil, "all but those with these routing `keys`")
	})
	f := cmd.Flags()
	f.StringVar(&c.Name, "name", "", "the consumer's `name` in dead letters and logs; without it, the channel's")
	f.BoolVar(&c.Ordered, "ordered", false, "keep the order of each order key")
	f.StringVar(&o.provision, "provision", "auto",
		"`auto`, verify or never; auto creates and changes what the channel needs, verify only checks it, never does nothing")
	f.DurationVar(&c.ProcessingTimeout, "timeout", 0, "how long a message may take (default 5m)")
	f.IntVar(&c.MaxAttempts, "max-attempts", 0, "so `many` failures make a dead letter (default 3)")
	f.DurationVar(&o.wait, "retry", 5*time.Second, "the pause after the first failure; it doubles each time")
	f.DurationVar(&o.waitAtMost, "retry-at-most", 10*time.Minute, "the longest pause")
	f.IntVar(&c.BreakAfter, "break-after", 0, "pause after so `many` failures in a row")
	f.StringVar(&o.rate, "rate", "", "start at most so many messages a time; such as `100` (a second) or 600/m")
	f.IntVar(&c.MaxPerTenant, "max-per-tenant", 0, "handle at most so `many` messages of one order key at once")
	f.DurationVar(&c.Lease, "lease", 0, "how long the service leaves a message to this process; 30s by default, renewed")
	f.DurationVar(&c.WaitTime, "wait", 0, "how long a poll stays open; 20s by default; a stop may take as long")
	f.DurationVar(&c.ShutdownTimeout, "shutdown-timeout", 0, "how long a stop may take (default 30s)")
	f.DurationVar(&c.Delay, "delay", 0, "how long every message waits before it can be received")
	f.BoolVar(&c.NoDeadLetters, "no-dead-letters", false, "stop with the error instead of making a dead letter")
	f.DurationVar(&c.MaxAge, "max-age", 0, "do not handle messages that are older")
	f.BoolVar(&c.DeadLetterExpired, "dead-letter-expired", false, "make dead letters of messages that have expired")
	f.StringVar(&c.Encryption, "encryption-key", "", "the `key` of KMS that encrypts the queue")
	f.StringVar(&c.Ownership.Owner, "owner", "", "the `owner` in the tags of what is created")
}

// check checks the flags that the consumer does not check.
func (o *runOptions) check(channel string) (err error) {
	given := 0
	for _, one := range []string{o.exec, o.worker, o.http} {
		if one != "" {
			given++
		}
	}
	switch {
	case given != 1:
		return errors.New("say what handles the messages, with one of --exec, --worker and --http")
	case o.secret != "" && o.http == "":
		return errors.New("--http-secret signs requests: it needs --http")
	case o.workers < 1:
		return fmt.Errorf("--workers is %d: it must be at least 1", o.workers)
	case o.wait <= 0 || o.waitAtMost < o.wait:
		return fmt.Errorf("--retry is %v and --retry-at-most %v: the first must be positive, and at most the second", o.wait,
			o.waitAtMost)
	case o.http != "":
		if err := worker.CheckURL(o.http); err != nil {
			return fmt.Errorf("--http: %w", err)
		}
	}
	for flag, line := range map[string]string{"--exec": o.exec, "--worker": o.worker} {
		if line == "" {
			continue
		}
		if o.command, err = worker.NewCommand(line); err != nil {
			return fmt.Errorf("%s: %w", flag, err)
		}
	}
	if err := checkFilter(channel, &o.consumer.Filter); err != nil {
		return err
	}
	modes := map[string]godwit.ProvisionMode{
		"auto": godwit.ProvisionAuto, "verify": godwit.ProvisionVerify, "never": godwit.ProvisionNever,
	}
	mode, ok := modes[o.provision]
	if !ok {
		return fmt.Errorf("--provision is %q: use auto, verify or never", o.provision)
	}
	o.consumer.Provision = mode
	if o.rate == "" {
		return nil
	}
	rate, err := parseRate(o.rate)
	o.consumer.Rate = rate
	return err
}

// checkFilter checks the flags of a filter.
func checkFilter(channel string, f *godwit.Filter) error {
	for _, one := range []struct {
		flag string
		keys []string
	}{{"--filter", f.Exact}, {"--filter-prefix", f.Prefix}, {"--filter-exclude", f.Exclude}} {
		if len(one.keys) > 0 && !ofExchange(channel) {
			return fmt.Errorf("%s is for a channel of an exchange, such as events.mail: %s is none", one.flag, channel)
		}
	}
	if len(f.Exclude) > 0 && len(f.Exact)+len(f.Prefix) > 0 {
		return errors.New("--filter-exclude does not go with --filter and --filter-prefix: use one of them")
	}
	return nil
}

// ofExchange reports whether a name is that of an exchange, or of one of its channels: only their messages have routing
// keys.
func ofExchange(channel string) bool { return strings.Contains(channel, ".") }

// parseRate reads a number in a time, such as 100/s.
func parseRate(text string) (godwit.Rate, error) {
	periods := map[string]time.Duration{"s": time.Second, "m": time.Minute, "h": time.Hour}
	number, unit, ok := strings.Cut(text, "/")
	if !ok {
		unit = "s"
	}
	n, err := strconv.Atoi(number)
	if per, ok := periods[unit]; ok && err == nil && n > 0 {
		return godwit.Rate{Events: n, Per: per}, nil
	}
	return godwit.Rate{}, fmt.Errorf("--rate is %q: use a number and a time, such as 100/s, 600/m or 5000/h", text)
}

func (o *runOptions) run(ctx context.Context, cmd *cobra.Command, b driver.Backend, channel string) error {
	errOut := cmd.ErrOrStderr()
	level := slog.LevelInfo
	if o.verbose {
		level = slog.LevelDebug
	}
	output := &worker.Lines{To: errOut}
	o.consumer.Logger = slog.New(slog.NewTextHandler(output, &slog.HandlerOptions{Level: level}))
	o.consumer.Concurrency = o.workers
	// On ordered channels, a handler returns when its process has ended, which is soon enough: the consumer goes on.
	o.consumer.MaxAbandoned = min(4*o.workers, maxHandlers)
	o.consumer.Stream = o.exec != "" // the process reads the body piece by piece
	retry := godwit.Exponential(o.wait, o.waitAtMost)
	o.consumer.Backoff = retry
	c, err := godwit.NewConsumer(ctx, b, channel, &o.consumer)
	if errors.Is(err, godwit.ErrInvalid) {
		return usage(cmd, err)
	}
	if err != nil {
		return err
	}
	handle, end, err := o.open(ctx, cmd, c, output, retry)
	if err != nil {
		return err
	}
	told := context.AfterFunc(ctx, func() {
		fmt.Fprintln(output, "stopping: open polls and running handlers may take a while; interrupt again to end at once")
	})
	report, err := c.Run(ctx, handle)
	told()
	err = errors.Join(err, end())
	fmt.Fprintf(errOut, "%d handled, %d retried, %d dead letters, %d released, in %s\n", report.Handled, report.Retried,
		report.Rejected, report.Released, screen.Ago(report.Took))
	return err
}

// maxHandlers is the largest number that a consumer takes.
const maxHandlers = 100_000

// open prepares the handler. Workers run before the first message is received.
func (o *runOptions) open(ctx context.Context, cmd *cobra.Command, c *godwit.Consumer, output *worker.Lines,
	retry godwit.Backoff,
) (handle godwit.Handler, end func() error, err error) {
	nothing := func() error { return nil }
	if o.http != "" {
		p := &worker.Post{URL: o.http, Backoff: retry, Client: worker.NewClient(o.workers)}
		if p.Secret, err = readSecret(o.secret); err != nil {
			return nil, nil, usage(cmd, err)
		}
		return p.Handle, nothing, nil
	}
	if o.exec != "" {
		e := &worker.Exec{Command: o.command, Backoff: retry, Output: output, Ordered: o.consumer.Ordered}
		return e.Handle, e.Close, nil
	}
	timeout := o.consumer.ProcessingTimeout
	if timeout == 0 {
		timeout = 5 * time.Minute
	}
	p, err := worker.NewPool(ctx, worker.PoolOptions{
		Command: o.command, Workers: o.workers, Channel: c.Channel(), Timeout: timeout, Backoff: retry, Output: output,
		Ordered: o.consumer.Ordered,
		Log:     o.consumer.Logger,
		Resize: func(handlers int) {
			if err := c.SetConcurrency(min(handlers, maxHandlers)); err != nil { // its number is within the limits
				o.consumer.Logger.Error("the number of handlers cannot be changed", "error", err)
			}
		},
	})
	if err != nil {
		return nil, nil, err
	}
	return p.Handle, p.Close, nil
}

// readSecret reads a secret from a file, without the end of its line.
func readSecret(file string) ([]byte, error) {
	if file == "" {
		return nil, nil
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("--http-secret: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, 64<<10))
	if err != nil {
		return nil, fmt.Errorf("--http-secret: %w", err)
	}
	secret := strings.TrimRight(string(text), "\r\n")
	if secret == "" {
		return nil, fmt.Errorf("--http-secret: %s is empty", file)
	}
	return []byte(secret), nil
}
