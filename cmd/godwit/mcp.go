package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"runtime/debug"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/godwitmq/godwit/cmd/godwit/internal/manual"
	"github.com/godwitmq/godwit/cmd/godwit/internal/mcpserver"
	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/ops/processes"
)

func newMCP() *cobra.Command {
	var b backendFlags
	var o mcpserver.Options
	var workers []string
	cmd := &cobra.Command{
		Use:   "mcp",
		Short: "Let a language model look at channels, by the Model Context Protocol",
		Long: "Let a language model look at channels, by the Model Context Protocol on standard input and output.\n\n" +
			"The program of the model starts it. It changes nothing, and hides bodies, headers, keys and the texts of\n" +
			"errors. With --bodies it shows them, marked as untrusted. With --act it can requeue dead letters: a plan\n" +
			"counts first, and its token starts it once.",
		Example: "  godwit mcp --context prod --workers 10.0.0.7:8080/workers\n" +
			"  godwit mcp --context staging --bodies --act --data ~/.godwit-mcp\n\n" +
			"  {\"mcpServers\": {\"godwit\":\n    {\"command\": \"godwit\", \"args\": [\"mcp\", \"--context\", \"prod\"]}}}",
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if o.Workers, err = processes.New(&processes.Options{Addresses: workers}); err != nil {
				return usage(cmd, fmt.Errorf("--workers: %w", err))
			}
			if o.Folder != "" && !o.Act {
				return usage(cmd, errors.New("--data keeps the journals of requeues, which need --act"))
			}
			for _, address := range o.Health {
				if u, err := url.Parse(address); err != nil || u.Host == "" {
					return usage(cmd, fmt.Errorf("--health is %q: use an address such as http://127.0.0.1:8080/readyz", address))
				}
			}
			return b.use(cmd, func(ctx context.Context, backend driver.Backend) error {
				o.Backend, o.Version = backend, version(debug.ReadBuildInfo()).String()
				o.Logger = slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), nil))
				s, err := mcpserver.New(o)
				if err != nil {
					return usage(cmd, fmt.Errorf("--data: %w", err))
				}
				return errors.Join(s.Run(ctx, cmd.InOrStdin(), cmd.OutOrStdout()), s.Close())
			})
		},
	}
	b.add(cmd)
	b.addStore(cmd)
	manual.Where(cmd, func(f *pflag.FlagSet) {
		f.StringVar(&o.Folder, "data", "", "the `folder` of the journals of requeues (default a temporary one)")
		f.StringArrayVar(&workers, "workers", nil,
			"the `address` at which a process serves ops.Workers, as for `godwit console`; may be repeated")
		f.StringArrayVar(&o.Health, "health", nil, "the `address` of a process's /readyz; may be repeated")
	})
	f := cmd.Flags()
	f.BoolVar(&o.Act, "act", false, "offer the tools that change something, and looks that receive messages")
	f.BoolVar(&o.Bodies, "bodies", false, "show bodies, headers, keys and the texts of errors to the model")
	return cmd
}
