package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/godwitmq/godwit/cmd/godwit/internal/connection"
	"github.com/godwitmq/godwit/cmd/godwit/internal/screen"
)

const aboutContexts = "A context says what a command talks to. It is a connection of godwit.yaml, or of the file that\n" +
	connection.FileVariable + " names; docs/operations.md has examples. A command uses the context that --context names, or\n" +
	connection.ContextVariable + ", or the one that was chosen for the file, if the environment names neither AWS nor Kafka."

func newContext() *cobra.Command {
	cmd := &cobra.Command{
		Use: "context", Short: "List, choose and show connections",
		Long: "List, choose and show connections.\n\n" + aboutContexts,
		Args: subcommand, RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newContextLs(), newContextUse(), newContextShow())
	return cmd
}

func newContextLs() *cobra.Command {
	var out screen.Output
	cmd := &cobra.Command{
		Use: "ls", Short: "List the contexts of godwit.yaml", Long: "List the contexts of godwit.yaml. A star marks the chosen one.",
		Example: "  godwit context ls", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := out.Check(); err != nil {
				return usage(cmd, err)
			}
			file := connection.File()
			all, err := connection.All(file)
			if err != nil {
				return usage(cmd, err)
			}
			if len(all) == 0 {
				return fmt.Errorf("%w: %s has no contexts, or is not here", errNothing, file)
			}
			current, err := connection.Current(file)
			if err != nil {
				return err
			}
			t, values := screen.Table{Head: []string{"", "NAME", "TALKS TO", "PROTECTED"}}, []any{}
			for _, name := range slices.Sorted(maps.Keys(all)) {
				c := connection.Context{Name: name, File: file, Context: all[name]}
				row := []string{"", name, c.Target(), ""}
				if name == current {
					row[0] = "*"
				}
				if c.Protected {
					row[3] = "yes"
				}
				t.Rows = append(t.Rows, row)
				values = append(values, map[string]any{
					"name": name, "target": c.Target(), "protected": c.Protected, "current": name == current,
				})
			}
			return out.Print(cmd.OutOrStdout(), t, values)
		},
	}
	out.Add(cmd)
	return cmd
}

func newContextUse() *cobra.Command {
	none := false
	cmd := &cobra.Command{
		Use: "use NAME", Short: "Choose the context that commands use here",
		Long:    "Choose the context that commands use where godwit.yaml is. The choice is yours, and not in the file.",
		Example: "  godwit context use staging\n  godwit context use --none",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if none == (len(args) == 1) {
				return usage(cmd, errors.New("name a context, or --none"))
			}
			if none {
				return connection.Use(connection.File(), "")
			}
			if _, err := connection.Choose(args[0]); err != nil {
				return usage(cmd, err)
			}
			return connection.Use(connection.File(), args[0])
		},
	}
	cmd.Flags().BoolVar(&none, "none", false, "choose no context")
	return cmd
}

func newContextShow() *cobra.Command {
	var o screen.Output
	cmd := &cobra.Command{
		Use: "show [NAME]", Short: "Show the settings of a context, without secrets",
		Long:    "Show the settings of a context, without secrets: of the one that commands use here, or of the named one.",
		Example: "  godwit context show production", Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.Check(); err != nil {
				return usage(cmd, err)
			}
			c, err := connection.Choose(append(args, "")[0])
			if err != nil {
				return usage(cmd, err)
			}
			if c == nil {
				return fmt.Errorf("%w: no context is chosen for %s", errNothing, connection.File())
			}
			t := screen.Table{
				Head: []string{"SETTING", "VALUE"}, Rows: [][]string{{"name", c.Name}, {"file", c.File}},
			}
			settings := c.Settings()
			var add func(prefix string, of map[string]any)
			add = func(prefix string, of map[string]any) {
				for _, name := range slices.Sorted(maps.Keys(of)) {
					if below, ok := of[name].(map[string]any); ok {
						add(prefix+name+".", below)
						continue
					}
					t.Rows = append(t.Rows, []string{prefix + name, fmt.Sprint(of[name])})
				}
			}
			add("", settings)
			return o.Print(cmd.OutOrStdout(), t, []any{
				map[string]any{"name": c.Name, "file": c.File, "settings": settings},
			})
		},
	}
	o.Add(cmd)
	return cmd
}
