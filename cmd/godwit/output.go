package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
)

// output is the form in which a command prints its result.
type output string

const (
	asTable     output = "table"
	asJSON      output = "json"
	asJSONLines output = "jsonl"
)

func (o *output) add(cmd *cobra.Command) {
	*o = asTable
	cmd.Flags().StringVarP((*string)(o), "output", "o", string(asTable),
		"the `form` of the result: table, json (one list) or jsonl (a line for each)")
}

func (o output) check() error {
	switch o {
	case asTable, asJSON, asJSONLines:
		return nil
	}
	return fmt.Errorf("--output is %q: use %s, %s or %s", string(o), asTable, asJSON, asJSONLines)
}

// table is a result as a table.
type table struct {
	head []string
	rows [][]string
}

// print prints a result: the table, or the values as JSON.
func (o output) print(to io.Writer, t table, values []any) error {
	switch o {
	case asJSON:
		enc := json.NewEncoder(to)
		enc.SetIndent("", "  ")
		return enc.Encode(values)
	case asJSONLines:
		enc := json.NewEncoder(to)
		for _, v := range values {
			if err := enc.Encode(v); err != nil {
				return err
			}
		}
		return nil
	}
	w := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	for _, row := range append([][]string{t.head}, t.rows...) {
		if _, err := fmt.Fprintln(w, strings.TrimRight(strings.Join(row, "\t"), "\t ")); err != nil {
			return err
		}
	}
	return w.Flush()
}
