package main

import (
	"errors"
	"fmt"
	"net/url"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/godwitmq/godwit/cmd/godwit/internal/manual"
	"github.com/godwitmq/godwit/cmd/godwit/internal/screen"
	"github.com/godwitmq/godwit/ops"
)

// healthy is the health of a process in JSON.
type healthy struct {
	Healthy bool   `json:"healthy"`
	Reason  string `json:"reason,omitempty"` // why it is not
}

func newHealth() *cobra.Command {
	var (
		c ops.HealthCheck
		o screen.Output
	)
	cmd := &cobra.Command{
		Use:   "health",
		Short: "Say whether a process with consumers works, for Docker and others",
		Long: "Say whether a process with consumers works, for Docker and others that restart it.\n\n" +
			"It reads the file that the process writes (ops.HealthOptions.File), or asks one of the addresses that it\n" +
			"serves (ops.Health.Handler). It exits with 0, or with 1 and the reason.",
		Example: "  godwit health --file /tmp/godwit-health.json\n" +
			"  godwit health --url http://127.0.0.1:8080/livez\n\n" +
			"  HEALTHCHECK --interval=30s --timeout=10s --retries=5 --start-period=300s \\\n" +
			"      CMD [\"godwit\", \"health\", \"--file\", \"/tmp/godwit-health.json\"]",
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if (c.File == "") == (c.URL == "") {
				return usage(cmd, errors.New("name either --file or --url"))
			}
			if u, err := url.Parse(c.URL); c.URL != "" && (err != nil || u.Host == "" ||
				u.Scheme != "http" && u.Scheme != "https") {
				return usage(cmd, fmt.Errorf("--url is %q: use an address such as http://127.0.0.1:8080/livez", c.URL))
			}
			if c.URL != "" && c.Live {
				return usage(cmd, errors.New("--live is for --file: with --url, name the address of /livez"))
			}
			if c.StartPeriod < 0 {
				return usage(cmd, fmt.Errorf("--start-period is %v: it cannot be negative", c.StartPeriod))
			}
			if err := o.Check(); err != nil {
				return usage(cmd, err)
			}
			err := ops.CheckHealth(cmd.Context(), c)
			v := healthy{Healthy: err == nil}
			if err != nil {
				v.Reason, err = err.Error(), fmt.Errorf("unhealthy: %w", err)
			}
			if o == screen.AsTable { // the status says it all
				return err
			}
			return errors.Join(err, o.Print(cmd.OutOrStdout(), screen.Table{}, []any{v}))
		},
	}
	o.Add(cmd)
	manual.What(cmd, func(f *pflag.FlagSet) {
		f.StringVar(&c.File, "file", "", "the `file` that the process writes")
	})
	manual.Where(cmd, func(f *pflag.FlagSet) {
		f.StringVar(&c.URL, "url", "", "an `address` of the process, such as http://127.0.0.1:8080/livez")
	})
	f := cmd.Flags()
	f.BoolVar(&c.Live, "live", false, "ask only whether the process should be started again")
	f.DurationVar(&c.StartPeriod, "start-period", ops.DefaultStartPeriod,
		"how long after the start of process 1 there may be no file")
	return cmd
}
