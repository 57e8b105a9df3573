package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/godwitmq/godwit/cmd/godwit/internal/manual"
	"github.com/godwitmq/godwit/cmd/godwit/internal/screen"
	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/ops"
)

// demandOptions are the flags of `godwit demand`.
type demandOptions struct {
	backend backendFlags
	output  screen.Output
	serve   string
	demand  ops.DemandOptions
}

func newDemand() *cobra.Command {
	var o demandOptions
	cmd := &cobra.Command{
		Use:   "demand [PATTERN]",
		Short: "Say how many processes the channels need, for autoscalers",
		Long: "Say how many processes the channels need, for autoscalers.\n\n" +
			"The number follows from what waits, its age, and how long a handler takes; no consumer has to run. It is 0\n" +
			"only where nothing waits and nothing is in flight. With --serve, GET /demand?channel=NAME answers with JSON,\n" +
			"which KEDA's metrics-api reads.",
		Example: "  godwit demand\n  godwit demand orders --service-time 200ms --workers 64 -o json\n" +
			"  godwit demand --serve 0.0.0.0:8081",
		Args: onePattern,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := errors.Join(o.output.Check(), o.check()); err != nil {
				return usage(cmd, err)
			}
			if len(args) > 0 {
				o.demand.Match = args[0]
			}
			return o.backend.use(cmd, func(ctx context.Context, b driver.Backend) error {
				return o.run(ctx, b, cmd.OutOrStdout(), cmd.ErrOrStderr())
			})
		},
	}
	o.backend.add(cmd)
	o.output.Add(cmd)
	d := &o.demand
	manual.Where(cmd, func(f *pflag.FlagSet) {
		f.StringVar(&o.serve, "serve", "", "answer on this `host:port` until the command is stopped; without a host "+
			"on loopback")
	})
	f := cmd.Flags()
	f.DurationVar(&d.ServiceTime, "service-time", ops.DefaultServiceTime, "how long a handler takes")
	f.DurationVar(&d.Tolerance, "tolerance", ops.DefaultTolerance, "how old messages may be when their handlers start")
	f.IntVar(&d.Workers, "workers", ops.DefaultWorkers, "how many handlers a process runs at once")
	f.IntVar(&d.Most, "most", 0, "at most so many processes; 0: no limit")
	return cmd
}

// check checks the numbers.
func (o *demandOptions) check() error {
	switch d := &o.demand; {
	case d.ServiceTime <= 0:
		return fmt.Errorf("--service-time is %v: it must be positive", d.ServiceTime)
	case d.Tolerance <= 0:
		return fmt.Errorf("--tolerance is %v: it must be positive", d.Tolerance)
	case d.Workers <= 0:
		return fmt.Errorf("--workers is %d: it must be positive", d.Workers)
	case d.Most < 0:
		return fmt.Errorf("--most is %d: it cannot be negative; 0 is no limit", d.Most)
	}
	if _, _, err := net.SplitHostPort(o.serve); o.serve != "" && err != nil {
		return fmt.Errorf("--serve %q is not of the form host:port, like 127.0.0.1:8081 or 0.0.0.0:8081", o.serve)
	}
	return nil
}

func (o *demandOptions) run(ctx context.Context, b driver.Backend, out, errOut io.Writer) error {
	if o.serve != "" {
		return o.answer(ctx, b, errOut)
	}
	all, err := ops.Demand(ctx, b, &o.demand)
	if err != nil {
		return err
	}
	var nothing error
	if len(all) == 0 {
		if nothing = noChannels(ctx, b, o.demand.Match); o.output == screen.AsTable || !errors.Is(nothing, errNothing) {
			return nothing
		}
	}
	t := screen.Table{Head: []string{"CHANNEL", "BACKLOG", "IN FLIGHT", "OLDEST", "WORKERS", "CONSUMERS", "NOTES"}}
	values := []any{}
	var failed []error
	for _, d := range all {
		values = append(values, d)
		if d.Problem != "" {
			failed = append(failed, errors.New(d.Problem))
			t.Rows = append(t.Rows, []string{d.Channel, "", "", "", "", "", "could not be looked at"})
			continue
		}
		oldest := ""
		if d.AgeSeconds > 0 {
			oldest = screen.Ago(time.Duration(d.AgeSeconds * float64(time.Second)))
		}
		t.Rows = append(t.Rows, []string{
			d.Channel, strconv.FormatInt(d.Backlog, 10), strconv.FormatInt(d.InFlight, 10), oldest,
			strconv.Itoa(d.Workers), strconv.Itoa(d.Consumers),
		})
	}
	return errors.Join(append([]error{o.output.Print(out, t, values), nothing}, failed...)...)
}

// answer serves until ctx ends.
func (o *demandOptions) answer(ctx context.Context, b driver.Backend, errOut io.Writer) error {
	h, err := ops.DemandHandler(b, &o.demand)
	if err != nil {
		return err
	}
	host, port, err := net.SplitHostPort(o.serve)
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", onLoopback(host, port))
	if err != nil {
		return fmt.Errorf("--serve: %w", err)
	}
	fmt.Fprintf(errOut, "serving http://%s/demand\n", l.Addr())
	return serveHTTP(ctx, l, h)
}

// serveHTTP serves until ctx ends.
func serveHTTP(ctx context.Context, l net.Listener, h http.Handler) error {
	server := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	stopped := make(chan error, 1)
	release := context.AfterFunc(ctx, func() {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		stopped <- server.Shutdown(closing)
	})
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		release()
		return err
	}
	return <-stopped
}
