package manual

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Write writes a page of section 1 for a command and for each below it, such as godwit-local-stop.1, and returns their
// names.
func Write(root *cobra.Command, folder string) (names []string, err error) {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return nil, err
	}
	name := pageName(root) + ".1"
	if err := os.WriteFile(filepath.Join(folder, name), []byte(Page(root)), 0o644); err != nil {
		return nil, err
	}
	names = []string{name}
	for _, c := range root.Commands() {
		if !c.IsAvailableCommand() {
			continue
		}
		below, err := Write(c, folder)
		if names = append(names, below...); err != nil {
			return names, err
		}
	}
	return names, nil
}

func pageName(c *cobra.Command) string { return strings.ReplaceAll(c.CommandPath(), " ", "-") }

// Page returns the page of one command.
func Page(c *cobra.Command) string {
	var s strings.Builder
	name := pageName(c)
	fmt.Fprintf(&s, ".TH %s 1 \"\" \"Godwit\" \"Godwit\"\n.SH NAME\n%s \\- %s\n", quoted(strings.ToUpper(name)), text(name),
		text(c.Short))
	fmt.Fprintf(&s, ".SH SYNOPSIS\n.B %s\n.SH DESCRIPTION\n", text(c.UseLine()))
	for i, paragraph := range strings.Split(about(c, true), "\n\n") {
		if i > 0 {
			s.WriteString(".PP\n")
		}
		s.WriteString(lines(paragraph))
	}
	if c.HasAvailableLocalFlags() {
		s.WriteString(".SH OPTIONS\n")
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden {
				s.WriteString(option(f))
			}
		})
	}
	if c.Example != "" {
		fmt.Fprintf(&s, ".SH EXAMPLES\n.nf\n%s.fi\n", lines(c.Example))
	}
	var others []string
	if c.HasParent() {
		others = append(others, pageName(c.Parent()))
	}
	for _, below := range c.Commands() {
		if below.IsAvailableCommand() {
			others = append(others, pageName(below))
		}
	}
	if len(others) > 0 {
		s.WriteString(".SH SEE ALSO\n")
		for i, other := range others {
			comma := ","
			if i == len(others)-1 {
				comma = ""
			}
			fmt.Fprintf(&s, ".BR %s (1)%s\n", text(other), comma)
		}
	}
	return s.String()
}

// option is a flag with its value and what it does.
func option(f *pflag.Flag) string {
	value, usage := pflag.UnquoteUsage(f)
	name := "--" + f.Name
	if f.Shorthand != "" {
		name = "-" + f.Shorthand + ", " + name
	}
	if value != "" {
		name += " " + value
	}
	if f.DefValue != "" && f.DefValue != "false" && f.DefValue != "0" && f.DefValue != "[]" && f.DefValue != "0s" {
		usage += " (default " + f.DefValue + ")"
	}
	return fmt.Sprintf(".TP\n.B %s\n%s", text(name), lines(usage))
}

// lines are lines of text that roff does not take for requests.
func lines(s string) string {
	var out strings.Builder
	for line := range strings.Lines(s) {
		line = text(strings.TrimRight(line, "\n"))
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			line = `\&` + line
		}
		out.WriteString(line + "\n")
	}
	return out.String()
}

// text is a text in which roff replaces nothing.
func text(s string) string {
	return strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(s)
}

func quoted(s string) string { return `"` + s + `"` }
