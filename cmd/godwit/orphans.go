package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/godwitmq/godwit/cmd/godwit/internal/manual"
	"github.com/godwitmq/godwit/cmd/godwit/internal/screen"
	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/ops"
)

// orphansOptions are the flags of `godwit orphans`.
type orphansOptions struct {
	backend backendFlags
	output  screen.Output
	orphans ops.OrphansOptions
}

func newOrphans() *cobra.Command {
	var o orphansOptions
	cmd := &cobra.Command{
		Use:   "orphans --bucket BUCKET",
		Short: "List bodies of large messages in S3 that nothing points to (Kafka)",
		Long: "List bodies of large messages in S3 that nothing points to (Kafka).\n\n" +
			"It reads all topics of the namespace, with tiers and dead letters, and the list of the bucket's objects.\n" +
			"A body is listed if it is older than a day and no record has a pointer to it. Nothing is deleted.\n" +
			"Brokers do not show topics that the user may not describe: it needs permission for all of them.\n" +
			"On SQS, the lifecycle of the bucket deletes what is left, because messages of a queue cannot be listed.",
		Example: "  godwit orphans --bucket acme-prod-payloads --older-than 168h -o jsonl",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			err := o.output.Check()
			if err == nil && o.orphans.OlderThan < ops.LeastOrphanAge {
				err = fmt.Errorf("--older-than is %v: a body younger than %v may be that of a message which is being sent",
					o.orphans.OlderThan, ops.LeastOrphanAge)
			}
			if err != nil {
				return usage(cmd, err)
			}
			return o.backend.use(cmd, func(ctx context.Context, b driver.Backend) error {
				if o.backend.store.Bucket == "" {
					return usage(cmd, errors.New("--bucket is missing: name the one of the producers' s3store.Options"))
				}
				return o.run(ctx, b, cmd.OutOrStdout(), cmd.ErrOrStderr())
			})
		},
	}
	o.output.Add(cmd)
	manual.What(cmd, func(f *pflag.FlagSet) {
		f.DurationVar(&o.orphans.OlderThan, "older-than", ops.LeastOrphanAge,
			"leave out younger objects: a `duration` of a day or more")
	})
	o.backend.prefers = onKafka // the variables of AWS are those of the bucket
	o.backend.add(cmd)
	o.backend.addStore(cmd)
	return cmd
}

// orphan is an object in JSON.
type orphan struct {
	Topic   string    `json:"topic"`
	Bucket  string    `json:"bucket"`
	Key     string    `json:"key"`
	Size    int64     `json:"size"`
	Written time.Time `json:"written"`
}

// run lists the orphans of a backend's store.
func (o *orphansOptions) run(ctx context.Context, b driver.Backend, out, errOut io.Writer) error {
	all, err := ops.Orphans(ctx, b, &o.orphans)
	if err != nil {
		return err
	}
	t := screen.Table{Head: []string{"TOPIC", "KEY", "BYTES", "WRITTEN"}}
	values := []any{} // an empty list in JSON is not null
	bytes := int64(0)
	for _, one := range all {
		v := orphan{
			Topic: one.Address, Bucket: one.Bucket, Key: one.Key, Size: one.Size, Written: one.Written.UTC(),
		}
		t.Rows = append(t.Rows, []string{
			v.Topic, v.Key, strconv.FormatInt(v.Size, 10), v.Written.Format(time.DateTime),
		})
		values = append(values, v)
		bytes += v.Size
	}
	if err := o.output.Print(out, t, values); err != nil {
		return err
	}
	fmt.Fprintf(errOut, "nothing points to %d objects of %d bytes; nothing was deleted\n", len(all), bytes)
	return nil
}
