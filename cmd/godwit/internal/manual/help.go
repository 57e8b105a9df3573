package manual

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// A help fits the screen of a usual terminal.
const (
	Columns = 80
	Lines   = 40
)

// widestFlag is how wide the column of flags may be: the text of a longer flag begins on the next line.
const widestFlag = 27

// Annotations of commands and flags.
const (
	rareFlag  = "godwit_rare"  // of a flag
	groupFlag = "godwit_group" // of a flag
	more      = "godwit_more"  // of a command
	see       = "godwit_see"
)

// The groups of flags in a help, in their order.
const (
	what  = "What"
	how   = "How"
	where = "Where"
)

// What adds the flags that define makes to a command, in the group of what the command works on. Flags without a group
// are in that of how it works.
func What(c *cobra.Command, define func(f *pflag.FlagSet)) { add(c, what, define) }

// Where adds the flags that define makes to a command, in the group of what it talks to: services, and its own files
// and addresses.
func Where(c *cobra.Command, define func(f *pflag.FlagSet)) { add(c, where, define) }

func add(c *cobra.Command, group string, define func(f *pflag.FlagSet)) {
	set := pflag.NewFlagSet("", pflag.ContinueOnError)
	define(set)
	set.VisitAll(func(f *pflag.Flag) {
		f.Annotations = map[string][]string{groupFlag: {group}}
		c.Flags().AddFlag(f)
	})
}

// Rare leaves flags out of the help of a command, because it has more than a screen holds. They are in the manual.
func Rare(c *cobra.Command, flags ...string) {
	for _, name := range flags {
		if err := c.Flags().SetAnnotation(name, rareFlag, nil); err != nil {
			panic(err) // there is no such flag
		}
	}
}

// More adds paragraphs to a command's manual that its help has no room for, and the page of the documentation that
// explains it; "": there is none.
func More(c *cobra.Command, text, page string) {
	c.Annotations = map[string]string{more: text, see: page}
}

// Help is the help of a command, which fits a screen; or, with all, everything that its manual has.
func Help(c *cobra.Command, all bool) string {
	var b strings.Builder
	cut := !all && c.Annotations[more] != "" // something is left out
	b.WriteString(wrapped(about(c, all), Columns, ""))
	if !c.HasParent() { // one line for each command fills the screen
		return b.String() + commands(c) + "Start with `godwit demo`. `godwit COMMAND --help` explains a command.\n"
	}
	if c.Runnable() || !c.HasSubCommands() {
		fmt.Fprintf(&b, "\nUsage:\n%s", wrapped("  "+c.UseLine(), Columns, "    "))
	}
	if c.Example != "" {
		fmt.Fprintf(&b, "Example:\n%s\n", strings.TrimRight(c.Example, "\n"))
	}
	b.WriteString(commands(c))
	list := groups(c, all)
	width := 0
	for _, g := range list {
		for _, f := range g.flags {
			if n := utf8.RuneCountInString(nameOf(f)); n <= widestFlag {
				width = max(width, n)
			}
		}
	}
	for _, g := range list {
		fmt.Fprintf(&b, "\n%s:\n", g.title)
		for _, f := range g.flags {
			b.WriteString(flagLine(f, all, width))
		}
		cut = cut || g.cut
	}
	page := c.Annotations[see]
	switch name := strings.TrimPrefix(c.CommandPath(), "godwit "); {
	case cut && page != "":
		fmt.Fprintf(&b, "\nThere is more: godwit help %s --all, and %s.\n", name, page)
	case cut:
		fmt.Fprintf(&b, "\nThere is more: godwit help %s --all.\n", name)
	case page != "":
		fmt.Fprintf(&b, "\nSee also %s.\n", page)
	}
	return b.String()
}

// about is what a command does.
func about(c *cobra.Command, all bool) string {
	text := c.Long
	if text == "" {
		text = c.Short + "."
	}
	if rest := c.Annotations[more]; all && rest != "" {
		text += "\n\n" + rest
	}
	return text
}

// Reference is a page of the documentation with everything about a command and those below it.
func Reference(c *cobra.Command) string {
	var b strings.Builder
	for _, one := range append([]*cobra.Command{c}, c.Commands()...) {
		if one != c && one.HasSubCommands() {
			b.WriteString(Reference(one))
			continue
		}
		if one != c && !one.IsAvailableCommand() {
			continue
		}
		fmt.Fprintf(&b, "\n## %s\n\n", one.CommandPath())
		for line := range strings.Lines(Help(one, true)) {
			b.WriteString(strings.TrimRight("    "+line, " \n") + "\n")
		}
	}
	return b.String()
}

// commands are the commands below a command, in their groups.
func commands(c *cobra.Command) string {
	var b strings.Builder
	list := func(title, id string) {
		for _, below := range c.Commands() {
			if !below.IsAvailableCommand() || below.GroupID != id {
				continue
			}
			if title != "" {
				b.WriteString(title + ":\n")
				title = ""
			}
			fmt.Fprintf(&b, "  %-9s %s\n", below.Name(), below.Short)
		}
	}
	for _, g := range c.Groups() {
		list(g.Title, g.ID)
	}
	list("Commands", "")
	if b.Len() == 0 {
		return ""
	}
	return "\n" + b.String()
}

// group are flags of one kind.
type group struct {
	title string
	flags []*pflag.Flag
	cut   bool // some are left out, or a part of their texts
}

// groups are the flags of a command by what they say: what it works on, how, and where. Empty groups are left out.
func groups(c *cobra.Command, all bool) (found []group) {
	list := []group{{title: what}, {title: how}, {title: where}}
	place := func(f *pflag.Flag) {
		_, rare := f.Annotations[rareFlag]
		title := how
		if of := f.Annotations[groupFlag]; len(of) > 0 {
			title = of[0]
		}
		g := &list[slices.IndexFunc(list, func(g group) bool { return g.title == title })]
		switch {
		case f.Hidden, f.Name == "help":
		case rare && !all:
			g.cut = true
		default:
			g.flags = append(g.flags, f)
			g.cut = g.cut || !all && brief(f.Usage) != f.Usage
		}
	}
	c.LocalFlags().VisitAll(place)
	c.InheritedFlags().VisitAll(place)
	return slices.DeleteFunc(list, func(g group) bool { return len(g.flags) == 0 })
}

// nameOf is a flag with its value.
func nameOf(f *pflag.Flag) string {
	value, _ := pflag.UnquoteUsage(f)
	name := "    --" + f.Name
	if f.Shorthand != "" {
		name = "-" + f.Shorthand + ", --" + f.Name
	}
	if value != "" {
		name += " " + value
	}
	return name
}

// flagLine is a flag with its text, behind a column for its name.
func flagLine(f *pflag.Flag, all bool, width int) string {
	name := nameOf(f)
	_, usage := pflag.UnquoteUsage(f)
	if !all {
		usage = brief(usage)
	}
	if d := defaultOf(f); d != "" {
		usage += " (default " + d + ")"
	}
	text := wrapped(strings.ReplaceAll(usage, "\n", " "), Columns-width-4, "")
	indent := strings.Repeat(" ", width+4)
	text = strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n"+indent) + "\n"
	if utf8.RuneCountInString(name) > width {
		return "  " + name + "\n" + indent + text
	}
	return fmt.Sprintf("  %-*s  %s", width, name, text)
}

// brief is the text of a flag up to the first semicolon: the rest is for the manual.
func brief(usage string) string {
	text, _, _ := strings.Cut(usage, ";")
	return text
}

// defaultOf is the default of a flag; "": it need not be told.
func defaultOf(f *pflag.Flag) string {
	switch d := strings.TrimSuffix(strings.TrimSuffix(f.DefValue, "0s"), "0m"); d {
	case "", "false", "0", "[]", "table":
		return ""
	default:
		return d
	}
}

// wrapped breaks the paragraphs of a text into lines of at most so many columns. Lines that begin with a space stay as
// they are, unless they are too long.
func wrapped(text string, columns int, indent string) string {
	var b strings.Builder
	line := ""
	flush := func() {
		if line != "" {
			b.WriteString(line + "\n")
			line = ""
		}
	}
	for in := range strings.SplitSeq(text, "\n") {
		verbatim := strings.HasPrefix(in, " ")
		if in == "" || verbatim {
			flush()
		}
		if in == "" || verbatim && utf8.RuneCountInString(in) <= columns {
			b.WriteString(in + "\n")
			continue
		}
		if verbatim {
			line = in[:len(in)-len(strings.TrimLeft(in, " "))-1]
		}
		for word := range strings.FieldsSeq(in) {
			switch {
			case line == "":
				line = word
			case utf8.RuneCountInString(line+" "+word) > columns:
				flush()
				line = indent + word
			default:
				line += " " + word
			}
		}
	}
	flush()
	return b.String()
}
