package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

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
