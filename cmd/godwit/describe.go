package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/godwitmq/godwit/cmd/godwit/internal/described"
	"github.com/godwitmq/godwit/cmd/godwit/internal/manual"
	"github.com/godwitmq/godwit/cmd/godwit/internal/screen"
	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/ops/describe"
	"github.com/godwitmq/godwit/ops/processes"
	"github.com/godwitmq/godwit/s3store"
)

// describeOptions are the flags of `godwit describe`.
type describeOptions struct {
	backend backendFlags
	output  screen.Output
	workers []string // addresses
	history string   // a file
}

func newDescribe() *cobra.Command {
	var o describeOptions
	cmd := &cobra.Command{
		Use:   "describe CHANNEL",
		Short: "Tell all about one channel",
		Long: "Tell all about one channel: what waits in it and in its dead letters, who consumes it, its last hour, its\n" +
			"settings, its policy in words, and who gets the messages of an exchange. What may not be looked at is told at the\n" +
			"end. On AWS, the last hour costs 72 metrics of CloudWatch (0.0007 $) without --history.",
		Example: "  godwit describe orders\n  godwit describe orders --workers 10.0.0.7:8080/workers --history history.bin\n" +
			"  godwit describe 'events.*' -o json",
		Args: oneChannel,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.output.Check(); err != nil {
				return usage(cmd, err)
			}
			if err := checkInput("--history", o.history); err != nil {
				return usage(cmd, err)
			}
			asked, err := processes.New(&processes.Options{Addresses: o.workers})
			if err != nil {
				return usage(cmd, fmt.Errorf("--workers: %w", err))
			}
			return o.backend.use(cmd, func(ctx context.Context, b driver.Backend) error {
				c, err := describe.Read(ctx, b, args[0], &describe.Options{
					Audience: true, Processes: asked, Payloads: o.backend.payloads(),
					LastHour: true, History: o.history,
				})
				if err != nil {
					return err
				}
				if o.output != screen.AsTable {
					return o.output.Print(cmd.OutOrStdout(), screen.Table{}, []any{described.Of(c)})
				}
				_, err = io.WriteString(cmd.OutOrStdout(), described.Text(c, time.Now()))
				return err
			})
		},
	}
	o.backend.add(cmd)
	o.backend.addStore(cmd)
	o.output.Add(cmd)
	manual.Where(cmd, func(f *pflag.FlagSet) {
		f.StringArrayVar(&o.workers, "workers", nil, aboutWorkers)
		f.StringVar(&o.history, "history", "",
			"the `file` of `godwit console --history` or of a sampler, for the last hour")
	})
	return cmd
}

// payloads returns a look at the bucket of large messages; nil: none is named.
func (b *backendFlags) payloads() func(ctx context.Context) (describe.Payloads, error) {
	if b.store.Bucket == "" {
		return nil
	}
	return func(ctx context.Context) (describe.Payloads, error) {
		p := describe.Payloads{Bucket: b.store.Bucket, Prefix: b.store.Prefix}
		s, err := s3store.Open(ctx, &b.store)
		if err != nil {
			return p, err
		}
		place, err := s.Look(ctx)
		p.Days = place.Days
		return p, err
	}
}
