package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/godwitmq/godwit/cmd/godwit/internal/declared"
	"github.com/godwitmq/godwit/cmd/godwit/internal/manual"
	"github.com/godwitmq/godwit/cmd/godwit/internal/screen"
	"github.com/godwitmq/godwit/cmd/godwit/internal/selection"
	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/topology"
)

func newTopology() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "topology",
		Short: "List, import, export, adopt and delete declared channels",
		Long:  "List, import, export, adopt and delete declared channels. godwit plan and godwit apply compare and create them.",
		Args:  subcommand,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newTopologyLs(), newTopologyExport(), newTopologyImport(), newTopologyAdopt(), newTopologyDestroy())
	return cmd
}

// topologyLsOptions are the flags of `godwit topology ls`.
type topologyLsOptions struct {
	backend backendFlags
	output  screen.Output
	prices  string // a file
	list    topology.ResourcesOptions
}

func newTopologyLs() *cobra.Command {
	var o topologyLsOptions
	cmd := &cobra.Command{
		Use:   "ls",
		Short: "List all resources of the namespace with their owners",
		Long: "List all resources of the namespace: queues, dead letters and exchanges, with the owner, the topology that\n" +
			"has declared them, their age, what they did, and an estimate of the cost of their requests a month, each\n" +
			"64 KiB of a message as one, and of their requests to KMS. With --bucket, the payloads of large messages are\n" +
			"one of them, as far as S3 counts. What costs money although nothing is sent to it comes first.",
		Example: "  godwit topology ls --namespace prod\n  godwit topology ls -o json",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			err := o.output.Check()
			if err == nil {
				err = o.readPrices()
			}
			if err != nil {
				return usage(cmd, err)
			}
			return o.backend.use(cmd, func(ctx context.Context, b driver.Backend) error {
				return o.run(ctx, b, cmd.OutOrStdout(), cmd.ErrOrStderr())
			})
		},
	}
	o.backend.add(cmd)
	o.backend.addStore(cmd)
	o.output.Add(cmd)
	o.list.Since = 24 * time.Hour
	manual.What(cmd, func(f *pflag.FlagSet) {
		f.Var((*selection.Span)(&o.list.Since), "since", "the `period` whose requests are counted, as 90m or 7d")
	})
	cmd.Flags().StringVar(&o.prices, "prices", "", "a `file` in JSON with the prices of a million requests: date, queue, "+
		"ordered_queue, publish, ordered_publish, kms, store_put, store_get; and of a GiB, ordered_publish_gib, and "+
		"store_gib for a month")
	return cmd
}

// readPrices reads the file of prices, if there is one.
func (o *topologyLsOptions) readPrices() error {
	o.list.Prices = topology.DefaultPrices()
	if o.prices == "" {
		return nil
	}
	text, err := os.ReadFile(o.prices)
	if err == nil {
		d := json.NewDecoder(bytes.NewReader(text))
		d.DisallowUnknownFields()
		err = d.Decode(&o.list.Prices)
	}
	if err != nil {
		return fmt.Errorf("--prices: %w", err)
	}
	return nil
}

// run lists the resources, and the sums of their owners.
func (o *topologyLsOptions) run(ctx context.Context, b driver.Backend, out, errOut io.Writer) error {
	all, err := topology.Resources(ctx, b, &o.list)
	if err != nil {
		return err
	}
	t := screen.Table{Head: []string{"OWNER", "CHANNEL", "ROLE", "TOPOLOGY", "AGE", "SENT", "RECEIVED", "USD/MONTH"}}
	values := []any{}
	sums := map[string]float64{}
	for _, r := range all {
		age := ""
		if !r.Created.IsZero() {
			age = screen.Ago(time.Since(r.Created))
		}
		t.Rows = append(t.Rows, []string{
			r.Owner, r.Channel, r.Role, r.Topology, age, r.Sent.String(), r.Received.String(), r.Cost.String(),
		})
		values = append(values, r)
		if r.Cost.Known {
			sums[r.Owner] += r.Cost.Dollars
		}
	}
	if len(all) == 0 && o.output == screen.AsTable {
		return noChannels(ctx, b, "")
	}
	if err := o.output.Print(out, t, values); err != nil {
		return err
	}
	if len(all) == 0 {
		return noChannels(ctx, b, "")
	}
	for _, owner := range slices.Sorted(maps.Keys(sums)) {
		fmt.Fprintf(errOut, "%s: %.2f USD a month, with prices of %s\n", cmp.Or(owner, "no owner"), sums[owner],
			o.list.Prices.Date)
	}
	return nil
}

// topologyExportOptions are the flags of `godwit topology export`.
type topologyExportOptions struct {
	planOptions
	as      string
	imports bool
	later   bool
}

// exports are the forms of `godwit topology export`.
const exports = "mermaid, markdown, terraform, cloudformation, iam, asyncapi, keda or schema"

func newTopologyExport() *cobra.Command {
	o := topologyExportOptions{planOptions: planOptions{output: screen.AsTable}}
	cmd := &cobra.Command{
		Use:   "export FILE --as FORM",
		Short: "Write declared channels in another form",
		Long: "Write the channels that a file declares in another form: a picture of Mermaid, a page of Markdown, a\n" +
			"configuration of Terraform or OpenTofu, a template of CloudFormation, policies of IAM, a document of AsyncAPI\n" +
			"3.0, or ScaledObjects of KEDA, which ask godwit demand. With --imports, Terraform imports what exists;\n" +
			"otherwise nothing is called. The form schema is the JSON Schema of such files.",
		Example: "  godwit topology export godwit.yaml --as mermaid\n" +
			"  godwit topology export godwit.yaml --as terraform --imports > main.tf.json",
		Args: oneFile,
		RunE: func(cmd *cobra.Command, args []string) error {
			f, err := o.read(cmd, args[0])
			if err != nil {
				return err
			}
			return o.run(cmd, f)
		},
	}
	o.backend.addName(cmd)
	manual.What(cmd, func(f *pflag.FlagSet) {
		f.StringVar(&o.as, "as", "", "the `form`: "+exports)
	})
	cmd.Flags().BoolVar(&o.imports, "imports", false, "import what exists (terraform)")
	cmd.Flags().BoolVar(&o.later, "later", false, "permit long delays, and schedules (iam)")
	return cmd
}

// run writes the export.
func (o *topologyExportOptions) run(cmd *cobra.Command, f *declared.File) error {
	write := func(text []byte, err error) error {
		if err == nil {
			_, err = cmd.OutOrStdout().Write(text)
		}
		return err
	}
	if o.imports && o.as != "terraform" {
		return usage(cmd, errors.New("--imports is for --as terraform: leave it out"))
	}
	if o.later && o.as != "iam" {
		return usage(cmd, errors.New("--later is for --as iam: leave it out"))
	}
	switch o.as {
	case "mermaid":
		return write([]byte(topology.Mermaid(f.Spec)), nil)
	case "markdown":
		return write([]byte(topology.Markdown(f.Spec)), nil)
	case "iam":
		policies, err := topology.Policies(f.Spec, &topology.PoliciesOptions{Later: o.later})
		if err != nil {
			return err
		}
		return write(json.MarshalIndent(policies, "", "  "))
	case "asyncapi":
		return write(topology.AsyncAPI(f.Spec))
	case "keda":
		return write(topology.ScaledObjects(f.Spec, nil))
	case "schema":
		return write(topology.Schema(), nil)
	case "cloudformation":
		return o.backend.useFile(cmd, f, func(_ context.Context, b driver.Backend) error {
			return write(topology.CloudFormation(b, f.Spec))
		})
	case "terraform":
		return o.backend.useFile(cmd, f, func(ctx context.Context, b driver.Backend) (err error) {
			var existing []driver.ChannelInfo
			if catalog := driver.OperationsOf(b).Catalog; o.imports && catalog != nil {
				if existing, err = catalog(ctx); err != nil {
					return err
				}
			}
			return write(topology.Terraform(b, f.Spec, existing))
		})
	}
	return usage(cmd, fmt.Errorf("--as is %q: use %s", o.as, exports))
}

func newTopologyImport() *cobra.Command {
	var backend backendFlags
	var name, terraform string
	cmd := &cobra.Command{
		Use:   "import",
		Short: "Write a file that declares what exists",
		Long: "Write a file that declares the channels of a namespace as they are. Nothing is changed. Add what is the\n" +
			"programs' own, such as processing_timeout, and then mark the channels as declared with godwit topology adopt.\n" +
			"With --terraform, the channels come from a state of Terraform or OpenTofu, and nothing is called. Its queues and\n" +
			"topics that Godwit has not made are declared as existing ones, which are used and never changed.",
		Example: "  godwit topology import --namespace prod --name shop > godwit.yaml\n" +
			"  terraform state pull |\n    godwit topology import --terraform - --name shop > godwit.yaml",
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if terraform != "" {
				if err := backend.check(); err != nil {
					return usage(cmd, err)
				}
				return importTerraform(cmd, terraform, name, backend.namespace)
			}
			return backend.use(cmd, func(ctx context.Context, b driver.Backend) error {
				s, err := topology.Import(ctx, b, name, backend.namespace)
				if err != nil {
					return err
				}
				_, err = cmd.OutOrStdout().Write(topology.Format(s))
				return err
			})
		},
	}
	backend.add(cmd)
	cmd.Flags().StringVar(&name, "name", "", "the `name` of the new topology")
	cmd.Flags().StringVar(&terraform, "terraform", "", "a `file` with a state of Terraform, or what terraform show -json "+
		"prints; -: standard input")
	return cmd
}

// importTerraform writes the declaration of a state.
func importTerraform(cmd *cobra.Command, file, name, namespace string) error {
	text, err := []byte(nil), error(nil)
	if file == "-" {
		text, err = io.ReadAll(cmd.InOrStdin())
	} else {
		text, err = os.ReadFile(file)
	}
	if err != nil {
		return usage(cmd, fmt.Errorf("--terraform: %w", err))
	}
	s, err := topology.ImportTerraform(text, name, namespace)
	if err != nil {
		return err
	}
	_, err = cmd.OutOrStdout().Write(topology.Format(s))
	return err
}

// topologyFileOptions are the flags of the commands that change what a file declares.
type topologyFileOptions struct {
	planOptions
	yes     bool
	destroy topology.DestroyOptions
}

func newTopologyAdopt() *cobra.Command {
	var o topologyFileOptions
	cmd := &cobra.Command{
		Use:   "adopt FILE",
		Short: "Mark channels that programs have made as declared",
		Long: "Mark channels that exist and that a file declares, with the tag topology. Nothing else is changed. Programs\n" +
			"leave them as they are from then on, and godwit plan says how they differ. Without --yes, the command only\n" +
			"prints what would be marked.",
		Example: "  godwit topology adopt godwit.yaml\n  godwit topology adopt godwit.yaml --yes",
		Args:    oneFile,
		RunE:    o.with(o.adopt),
	}
	o.add(cmd)
	return cmd
}

func newTopologyDestroy() *cobra.Command {
	var o topologyFileOptions
	cmd := &cobra.Command{
		Use:   "destroy FILE",
		Short: "Delete what a file has declared",
		Long: "Delete what has the tag of the topology of a file: queues, then dead letters, then exchanges. Without --yes,\n" +
			"the command only prints what would be deleted. It is refused, before anything is deleted, if a channel has\n" +
			"messages and --messages-of does not name it. On Kafka, name each channel with --untagged.",
		Example: "  godwit topology destroy godwit.yaml\n" +
			"  godwit topology destroy godwit.yaml --orphans --messages-of orders@dlq --yes",
		Args: oneFile,
		RunE: o.with(o.delete),
	}
	o.add(cmd)
	manual.What(cmd, func(f *pflag.FlagSet) {
		f.BoolVar(&o.destroy.Orphans, "orphans", false, "only what the file does not declare any more")
		f.StringSliceVar(&o.destroy.NonEmpty, "messages-of", nil,
			"also this `channel`, whose messages are lost; may be repeated")
		f.StringSliceVar(&o.destroy.Untagged, "untagged", nil,
			"also this `channel`, if the service has no tags; may be repeated")
	})
	return cmd
}

func (o *topologyFileOptions) add(cmd *cobra.Command) {
	o.backend.addName(cmd)
	o.output.Add(cmd)
	addYes(cmd, &o.yes)
}

// adopt marks what exists, or prints it.
func (o *topologyFileOptions) adopt(ctx context.Context, b driver.Backend, f *declared.File,
	out, errOut io.Writer,
) error {
	steps, err := topology.Adopt(ctx, b, f.Spec, !o.yes)
	if err != nil {
		return err
	}
	if err := printSteps(o.output, out, errOut, steps); err != nil {
		return err
	}
	o.told(errOut, fmt.Sprintf("%d resources are marked", len(steps)),
		fmt.Sprintf("%d resources would be marked", len(steps)))
	return nil
}

// told ends a command that needs --yes.
func (o *topologyFileOptions) told(errOut io.Writer, done, would string) {
	if o.yes {
		fmt.Fprintf(errOut, "done: %s\n", done)
		return
	}
	fmt.Fprintf(errOut, "nothing was changed: %s; add --yes to do it\n", would)
}

// stray returns an error for a name of a flag that means nothing of what would be deleted.
func (o *topologyFileOptions) stray(all []topology.Destroyed) error {
	for _, one := range []struct {
		flag  string
		names []string
	}{{"--messages-of", o.destroy.NonEmpty}, {"--untagged", o.destroy.Untagged}} {
		for _, name := range one.names {
			if !slices.ContainsFunc(all, func(d topology.Destroyed) bool { return d.Channel == name }) {
				err := fmt.Errorf("%s is %q, and no such channel would be deleted", one.flag, name)
				return &usageError{"godwit topology destroy", err}
			}
		}
	}
	return nil
}

// delete deletes, or prints what would be deleted.
func (o *topologyFileOptions) delete(ctx context.Context, b driver.Backend, f *declared.File,
	out, errOut io.Writer,
) error {
	o.destroy.Delete = o.yes
	all, err := topology.Destroy(ctx, b, f.Spec, &o.destroy)
	if err == nil && !o.yes { // after a failure, --yes may be repeated when some are gone
		err = o.stray(all)
	}
	t := screen.Table{Head: []string{"CHANNEL", "NAME", "MESSAGES", "DELETED"}}
	values := []any{}
	messages := int64(0)
	for _, d := range all {
		t.Rows = append(t.Rows, []string{
			d.Channel, d.Name, strconv.FormatInt(d.Messages, 10), strconv.FormatBool(d.Deleted),
		})
		values = append(values, d)
		messages += d.Messages
	}
	if printErr := o.output.Print(out, t, values); err != nil || printErr != nil {
		return errors.Join(err, printErr)
	}
	what := fmt.Sprintf("%d resources with %d messages", len(all), messages)
	o.told(errOut, what+" are deleted", what+" would be deleted")
	return nil
}
