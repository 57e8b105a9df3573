package main

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/godwitmq/godwit/cmd/godwit/internal/manual"
	"github.com/godwitmq/godwit/ops"
)

// newRoot returns the command with its subcommands.
func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "godwit",
		Short: "Reliable asynchronous messaging over SNS + SQS + S3 or Kafka",
		Long: "Reliable asynchronous messaging over SNS + SQS + S3 or Kafka, with everything embedded for one " +
			"machine.\n" +
			"Start with `godwit demo`: it needs nothing installed.",
		Args: subcommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		// exitStatus prints errors once, and a failed run does not print the usage.
		SilenceErrors:              true,
		SilenceUsage:               true,
		SuggestionsMinimumDistance: 2,
		CompletionOptions:          cobra.CompletionOptions{HiddenDefaultCmd: true},
	}
	root.SetFlagErrorFunc(usage)
	quiet := root.PersistentFlags().BoolP("quiet", "q", false, "print results and errors, and no other messages")
	root.PersistentPreRun = func(cmd *cobra.Command, _ []string) {
		if *quiet {
			root.SetErr(io.Discard) // exitStatus prints errors elsewhere
		}
	}
	root.AddCommand(newDemo(), newLocal(), newLs(), newDescribe(), newDoctor(), newTop(), newSend(), newRun(),
		newPeek(), newTail(), newRequeue(), newExport(), newImport(), newOrphans(), newPause(), newResume(), newPurge(),
		newRm(), newRewind(), newPlan(), newApply(), newTopology(), newContext(), newConsole(), newMCP(),
		newHealth(), newDemand(), newAlerts(), newSweep(), newVersion(), newMan())
	return root
}

// usageError is an error in the command line.
type usageError struct {
	command string // "godwit local"
	err     error
}

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

func usage(cmd *cobra.Command, err error) error {
	return &usageError{command: cmd.CommandPath(), err: err}
}

// exitStatus prints an error, if there is one, and returns the exit status.
func exitStatus(err error, errOut io.Writer) int {
	if err == nil {
		return exitDone
	}
	if errors.Is(err, errFindings) {
		return exitWrong // they have been printed
	}
	fmt.Fprintf(errOut, "godwit: %v\n", err)
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
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version and the build information",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(cmd.OutOrStdout(), version(debug.ReadBuildInfo()))
			return err
		},
	}
}

// newMan is hidden: packages call it once, people read its pages.
func newMan() *cobra.Command {
	return &cobra.Command{
		Use:    "man FOLDER",
		Short:  "Write the manual pages of all commands into a folder",
		Long:   "Write the manual pages of all commands into a folder, for packages: godwit.1, godwit-ls.1 and so on.",
		Hidden: true,
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

// version returns one line from the information that the go command wrote into the binary. A build from a working tree
// has no version; then the line has the commit, if it is known.
func version(info *debug.BuildInfo, ok bool) string {
	release, commit := "(unknown)", ""
	if ok {
		release = info.Main.Version
		for _, s := range info.Settings {
			switch {
			case s.Key == "vcs.revision":
				commit = " " + s.Value[:min(12, len(s.Value))] + commit
			case s.Key == "vcs.modified" && s.Value == "true":
				commit += " (changed)"
			}
		}
	}
	if release == "" {
		release = "(devel)"
	}
	return fmt.Sprintf("godwit %s%s %s %s/%s", release, commit, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
