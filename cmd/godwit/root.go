package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/godwitmq/godwit/cmd/godwit/internal/manual"
	"github.com/godwitmq/godwit/cmd/godwit/internal/screen"
	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/ops"
)

// newRoot returns the command with its subcommands.
func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "godwit",
		Short: "Reliable asynchronous messaging over SNS + SQS + S3 or Kafka",
		Long:  "Reliable asynchronous messaging over SNS + SQS + S3 or Kafka.",
		Args:  subcommand,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		// exitStatus prints errors once, and a failed run does not print the usage.
		SilenceErrors:              true,
		SilenceUsage:               true,
		SuggestionsMinimumDistance: 2,
		CompletionOptions:          cobra.CompletionOptions{HiddenDefaultCmd: true},
	}
	root.SetFlagErrorFunc(usage)
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
		fmt.Fprint(cmd.OutOrStdout(), manual.Help(cmd, false))
	})
	root.SetHelpCommand(newHelp())
	quiet := root.PersistentFlags().BoolP("quiet", "q", false, "print results and errors, and no other messages")
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		if *quiet {
			root.SetErr(io.Discard) // exitStatus prints errors elsewhere
		}
		return notEmpty(cmd)
	}
	for _, g := range []struct {
		title    string
		commands []*cobra.Command
	}{
		{"Develop", []*cobra.Command{
			newDemo(), newLocal(), newSend(), newRun(), newPlan(), newApply(), newTopology(),
		}},
		{"Look", []*cobra.Command{
			newLs(), newDescribe(), newTop(), newDoctor(), newPeek(), newTail(), newConsole(), newMCP(),
		}},
		{"Mend", []*cobra.Command{
			newRequeue(), newPurge(), newExport(), newImport(), newPause(), newResume(), newRewind(), newRm(),
			newLater(),
		}},
		{"Operate", []*cobra.Command{newAlerts(), newDemand(), newHealth(), newSweep(), newOrphans()}},
		{"The command itself", []*cobra.Command{newContext(), newVersion(), newMan()}},
	} {
		root.AddGroup(&cobra.Group{ID: g.title, Title: g.title})
		for _, c := range g.commands {
			c.GroupID = g.title
		}
		root.AddCommand(g.commands...)
	}
	return root
}

// newHelp replaces cobra's command, which has no flag.
func newHelp() *cobra.Command {
	all := false
	cmd := &cobra.Command{
		Use:     "help [COMMAND]",
		Short:   "Explain a command",
		Long:    "Explain a command: with --all, every flag and every detail, as the manual pages do.",
		Hidden:  true,
		Example: "  godwit help run --all",
		RunE: func(cmd *cobra.Command, args []string) error {
			of, rest, err := cmd.Root().Find(args)
			if err != nil || of == cmd.Root() && len(rest) > 0 {
				return subcommand(cmd.Root(), args)
			}
			_, err = fmt.Fprint(cmd.OutOrStdout(), manual.Help(of, all))
			return err
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "everything, not only what fits a screen")
	return cmd
}

// notEmpty refuses flags with an empty text. That is mostly a variable of a script that is not set, and without the
// flag the command may do more than what was wanted: select all messages, or work somewhere else.
func notEmpty(cmd *cobra.Command) (err error) {
	cmd.Flags().Visit(func(f *pflag.Flag) {
		values := []string{f.Value.String()}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			values = list.GetSlice()
		}
		if err == nil && (len(values) == 0 || slices.Contains(values, "")) {
			err = usage(cmd, fmt.Errorf("--%s is empty: write a value, or leave the flag out", f.Name))
		}
	})
	return err
}

// usageError is an error in the command line.
type usageError struct {
	command string // "godwit local"
	err     error
}

func (e *usageError) Error() string { return flagged(e.err) }
func (e *usageError) Unwrap() error { return e.err }

func usage(cmd *cobra.Command, err error) error {
	return &usageError{command: cmd.CommandPath(), err: err}
}

// opened returns the error of something that the options of flags have opened: it is one in the command line if it is
// about such an option.
func opened(cmd *cobra.Command, err error) error {
	if err != nil && flagged(err) != err.Error() {
		return usage(cmd, err)
	}
	return err
}

// flagged is the text of an error with the names of flags instead of those of options in Go.
func flagged(err error) string {
	return strings.NewReplacer(
		"snssqs: Options.Namespace", "--namespace", "kafka: Options.Namespace", "--namespace",
		"snssqs: Options.Names", "--names", "kafka: Options.Names", "--names",
		"s3store: Options.Bucket", "--bucket", "s3store: Options.Prefix", "--prefix",
		"localaws: Options.Account", "--account", "localaws: Options.Region", "--region",
		"localaws: Options.AllowHosts", "--allow-host", "localaws: Options.AllowOrigins", "--allow-origin",
		"localaws: Options.AllowEndpoints", "--allow-endpoint",
		"console: make Options.Folder", "--data", "console: Options.Traces", "--traces",
		"console: ops: read the history in", "--history",
		"ops: read the history in", "--history", "ops: AlertsOptions.Owners", "--owner",
		"RemoveOptions.Messages (--messages)", "--messages", "RequeueOptions.Hold (--hold)", "--hold",
		"RequeueOptions.To (--to)", "--to", "PeekOptions.Receive (--receive)", "--receive",
		"PurgeOptions.Shared (--shared)", "--shared", "RequeueOptions.LoseOrder (--lose-order)", "--lose-order",
		"ConsumerOptions.ProcessingTimeout", "--timeout", "ConsumerOptions.MaxAttempts", "--max-attempts",
		"ConsumerOptions.BreakAfter", "--break-after", "ConsumerOptions.Rate", "--rate",
		"ConsumerOptions.MaxPerTenant", "--max-per-tenant", "ConsumerOptions.Lease", "--lease",
		"ConsumerOptions.WaitTime", "--wait", "ConsumerOptions.MaxAge", "--max-age",
		"ConsumerOptions.DeadLetterExpired", "--dead-letter-expired",
		"ConsumerOptions.ShutdownTimeout", "--shutdown-timeout", "ConsumerOptions.Delay", "--delay",
		"ConsumerOptions.Concurrency", "--workers", "ConsumerOptions.Filter", "--filter",
		"ConsumerOptions.Ordered", "--ordered", "ConsumerOptions.Ownership.Owner", "--owner",
		"ConsumerOptions.Name", "--name", "ConsumerOptions.Encryption", "--encryption-key",
		"ProducerOptions.Ordered", "--ordered",
	).Replace(err.Error())
}

func isFolder(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}

// checkInput returns an error for a file that a flag names and that cannot be read.
func checkInput(flag, file string) error {
	if file == "" || file == "-" {
		return nil
	}
	if _, err := os.Stat(file); err != nil {
		return fmt.Errorf("%s: %w", flag, err)
	}
	if isFolder(file) {
		return fmt.Errorf("%s is %s, which is a folder: name a file", flag, file)
	}
	return nil
}

// checkFile returns an error for a file that a flag names and that cannot be written.
func checkFile(flag, file string) error {
	switch folder := filepath.Dir(file); {
	case file == "" || file == "-":
		return nil
	case !isFolder(folder):
		return fmt.Errorf("%s is %s: %s is no folder", flag, file, folder)
	case isFolder(file):
		return fmt.Errorf("%s is %s, which is a folder: name a file", flag, file)
	}
	return nil
}

// exitStatus prints an error, if there is one, and returns the exit status.
func exitStatus(err error, errOut io.Writer) int {
	if err == nil {
		return exitDone
	}
	if errors.Is(err, errFindings) {
		return exitWrong // they have been printed
	}
	fmt.Fprintf(errOut, "godwit: %s\n", flagged(err))
	if wrong, ok := errors.AsType[*usageError](err); ok {
		fmt.Fprintf(errOut, "Run '%s --help' for usage.\n", wrong.command)
		return exitUsage
	}
	_, unseen := errors.AsType[*ops.UnseenError](err)
	_, part := errors.AsType[*partError](err)
	_, missing := errors.AsType[*ops.NoChannelError](err)
	switch {
	case unseen, part:
		return exitPart
	case missing, errors.Is(err, errNothing):
		return exitNothing
	}
	return exitFailed
}

// errNothing is the error of a command that has found nothing to do or to show.
var errNothing = errors.New("nothing was found")

// missing adds errNothing to the error of something that does not exist and that a flag names.
func missing(err error) error {
	if _, told := errors.AsType[*ops.NoChannelError](err); driver.ClassOf(err) == driver.NotFound && !told {
		return fmt.Errorf("%w: %w", errNothing, err)
	}
	return err
}

// errFindings is the error of a command that was asked for what is wrong, and has printed it.
var errFindings = errors.New("something is wrong")

// partError is the error of a command that has done only a part.
type partError struct{ why string }

func (e *partError) Error() string { return e.why }

// subcommand refuses arguments of the root that are not a subcommand.
func subcommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	hint := ""
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		hint = fmt.Sprintf(" (perhaps %s?)", strings.Join(near, ", "))
	}
	return usage(cmd, fmt.Errorf("unknown command %q%s", args[0], hint))
}

// noArgs is for subcommands with flags only.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return usage(cmd, fmt.Errorf("%s takes no arguments, only flags: got %q", cmd.CommandPath(), args[0]))
}

func newVersion() *cobra.Command {
	var o screen.Output
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Print the version and the build information",
		Example: "  godwit version -o json",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.Check(); err != nil {
				return usage(cmd, err)
			}
			v := version(debug.ReadBuildInfo())
			if o != screen.AsTable {
				return o.Print(cmd.OutOrStdout(), screen.Table{}, []any{v})
			}
			_, err := fmt.Fprintln(cmd.OutOrStdout(), v)
			return err
		},
	}
	o.Add(cmd)
	return cmd
}

// newMan is hidden: packages call it once, people read its pages.
func newMan() *cobra.Command {
	return &cobra.Command{
		Use:     "man FOLDER",
		Short:   "Write the manual pages of all commands into a folder",
		Long:    "Write the manual pages of all commands into a folder, for packages: godwit.1, godwit-ls.1 and so on.",
		Example: "  godwit man /usr/local/share/man/man1",
		Hidden:  true,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usage(cmd, fmt.Errorf("name one folder, such as /usr/local/share/man/man1: got %d", len(args)))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			names, err := manual.Write(cmd.Root(), args[0])
			if err == nil {
				fmt.Fprintf(cmd.ErrOrStderr(), "%d pages are in %s\n", len(names), args[0])
			}
			return err
		},
	}
}

// build is what the go command wrote into the binary.
type build struct {
	Version string `json:"version"`
	Commit  string `json:"commit,omitempty"`
	Changed bool   `json:"changed"` // the working tree had changes
	Go      string `json:"go"`
	OS      string `json:"os"`
	Arch    string `json:"arch"`
}

// version returns the build. One from a working tree has no version; then it has the commit, if that is known.
func version(info *debug.BuildInfo, ok bool) build {
	b := build{Version: "(unknown)", Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
	if !ok {
		return b
	}
	b.Version = cmp.Or(info.Main.Version, "(devel)")
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Commit = s.Value[:min(12, len(s.Value))]
		case "vcs.modified":
			b.Changed = s.Value == "true"
		}
	}
	return b
}

func (b build) String() string {
	text := "godwit " + b.Version
	if b.Commit != "" {
		text += " " + b.Commit
	}
	if b.Changed {
		text += " (changed)"
	}
	return text + fmt.Sprintf(" %s %s/%s", b.Go, b.OS, b.Arch)
}
