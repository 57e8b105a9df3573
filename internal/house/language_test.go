package house

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

const (
	// columns is the width of a line. A tab counts as tabWidth columns.
	columns  = 120
	tabWidth = 4
	// longLiteral is the width from which a string literal may exceed the line: an error text of AWS, or JSON, is
	// easier to find in one piece.
	longLiteral = 60
)

// archaisms are words and phrases that many readers have to look up.
var archaisms = []string{
	"anew", "of late", "by and by", "for ever", "for want of", "lest", "thereof", "whence", "albeit", "ere long",
	"hitherto",
	"corpse", "epitaph", "graveyard",
}

// All packages and pages keep the rules of the language that a test can check.
func TestLanguage(t *testing.T) {
	house := os.DirFS("../..")
	texts := rules(t, house)
	err := walk(house, func(name string) {
		for _, complaint := range texts.complaints(name, text(t, house, name)) {
			t.Errorf("%s", complaint)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
}

// registered finds the names of actions where a service registers them.
var registered = regexp.MustCompile(`\b(?:(?:wire|rest)\.Op|on[A-Z]\w*|in[A-Z]\w*)\((?:\w+, )?"(\w+)"`)

// Each action of AWS has one function of its name: sendMessageBatch for SendMessageBatch. Its comment has one to three
// lines: what AWS does that surprises, with the recording or the page that shows it.
func TestActionsHaveHeaders(t *testing.T) {
	house, seen := os.DirFS("../.."), 0
	for _, service := range []string{"sqs", "sns", "sts", "tagging", "s3", "cloudwatch"} {
		files, err := fs.Glob(house, path.Join("localaws", service, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		// s3/absent.go answers for settings that a bucket never has, most of them by one function.
		files = slices.DeleteFunc(files, func(file string) bool {
			return strings.HasSuffix(file, "_test.go") || strings.HasSuffix(file, "s3/absent.go")
		})
		actions := map[string]int{} // functions by action, in lower case
		for _, file := range files {
			for _, m := range registered.FindAllStringSubmatch(text(t, house, file), -1) {
				actions[strings.ToLower(m[1])] = 0
			}
		}
		for _, file := range files {
			parsed, err := parser.ParseFile(token.NewFileSet(), file, text(t, house, file), parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range parsed.Decls {
				f, is := d.(*ast.FuncDecl)
				if !is {
					continue
				}
				name := strings.ToLower(f.Name.Name)
				if _, is := actions[name]; !is || f.Name.IsExported() {
					continue
				}
				actions[name]++
				if f.Doc == nil || len(f.Doc.List) > 3 {
					t.Errorf("%s: %s has no header of one to three lines: say what AWS does that surprises, and the "+
						"recording or the page that shows it", file, f.Name)
				}
			}
		}
		for name, functions := range actions {
			if seen++; functions != 1 {
				t.Errorf("the action %s of %s has %d functions of its name", name, service, functions)
			}
		}
	}
	if seen < 110 {
		t.Errorf("found %d actions: the pattern that finds them finds too little", seen)
	}
}

// The rules find what they are made for, and nothing else.
func TestRules(t *testing.T) {
	r := wording{avoid("graveyard", ""), avoid("give back", "release")}
	long := strings.Repeat("x", columns)
	for _, c := range []struct{ name, file, text, want string }{
		{"fine", "a/x.go", "package a\n\n// f releases a delivery.\nfunc f() {}\n", ""},
		{"a comment", "a/x.go", "package a\n\n// The graveyard.\n", "a/x.go:3: \"graveyard\": use another word"},
		{
			"in two lines", "a/x.go", "package a\n\n// They give\n// back a message.\n",
			`"give back": the word is "release"`,
		},
		{
			"a string", "a/x.go", "package a\n\nconst s = \"Give back\"\n",
			`a/x.go:3: "give back": the word is "release"`,
		},
		{"an identifier", "a/x.go", "package a\n\nvar graveyard int\n", ""},
		{"part of a word", "a/x.go", "package a\n\n// graveyards\n", ""},
		{"a long line", "a/x.go", "package a\n\n// " + long + "\n", "a/x.go:3: 123 columns"},
		{"a tab", "a/x.go", "package a\n\nfunc f() {\n\t// " + long[6:] + "\n}\n", "a/x.go:4: 121 columns"},
		{"a long literal", "a/x.go", "package a\n\nconst s = \"" + long + "\"\n", ""},
		{"a raw string", "a/x.go", "package a\n\nconst s = `\n" + long + long + "\n`\n", ""},
		{"a file name", "a/sendMessage.go", "package a\n", "a/sendMessage.go: name it in snake_case"},
		{"a page", "docs/x.md", "The graveyard.\n", "docs/x.md:1: \"graveyard\": use another word"},
		{"a page's code", "docs/x.md", "The `graveyard`.\n", ""},
		{"a page's long line", "docs/x.md", long + "x\n", "docs/x.md:1: 121 columns"},
		{
			"a page's table and code", "docs/x.md",
			"| " + long + " |\n\n```\n" + long + "x\n```\n\n<https://" + long + ">\n", "",
		},
	} {
		t.Run(c.name, func(t *testing.T) { expect(t, r.complaints(c.file, c.text), c.want) })
	}
}

// snake turns SendMessageBatch into send_message_batch.
func snake(name string) string {
	var b strings.Builder
	for i, c := range name {
		if i > 0 && unicode.IsUpper(c) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(c))
	}
	return b.String()
}

// generated is the end of the names of files that protoc writes.
const generated = ".pb.go"

// walk calls f for each Go file of every module that people write, and for each page.
func walk(house fs.FS, f func(name string)) error {
	return fs.WalkDir(house, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if base := path.Base(name); d.IsDir() && name != "." &&
			(base == "testdata" || base[0] == '.' || base[0] == '_') {
			return fs.SkipDir
		}
		if !d.IsDir() && (path.Ext(name) == ".go" && !strings.HasSuffix(name, generated) || isPage(name)) {
			f(name)
		}
		return nil
	})
}

// isPage reports whether a file is a page of the documentation. CHANGELOG.md is not: it has the words of earlier times.
func isPage(name string) bool {
	return name == "README.md" || name == "CONTRIBUTING.md" ||
		path.Ext(name) == ".md" && strings.HasPrefix(name, "docs/")
}

// A wording is a list of phrases to avoid.
type wording []phrase

// A phrase is found as whole words, in any case and across line breaks.
type phrase struct {
	text    string
	instead string // the word of the glossary; "": another one
	first   string // the first word, in lower case
	pattern *regexp.Regexp
}

func avoid(text, instead string) phrase {
	words := strings.Fields(text)
	first := strings.ToLower(words[0])
	for i, w := range words {
		words[i] = regexp.QuoteMeta(w)
	}
	return phrase{text, instead, first, regexp.MustCompile(`(?i)\b` + strings.Join(words, `[\s/]+`) + `\b`)}
}

// rules are the archaisms, and the phrases in the last column of docs/glossary.md, each with the word to use instead.
func rules(t *testing.T, house fs.FS) (r wording) {
	t.Helper()
	for _, a := range archaisms {
		r = append(r, avoid(a, ""))
	}
	row := regexp.MustCompile(`(?m)^\| \*\*([^*]+)\*\* \|.*\| ([^|]*) \|$`)
	listed := 0
	for _, m := range row.FindAllStringSubmatch(text(t, house, "docs/glossary.md"), -1) {
		for instead := range strings.SplitSeq(m[2], ", ") {
			if instead = strings.TrimSpace(instead); instead != "" && instead != "–" {
				r, listed = append(r, avoid(instead, m[1])), listed+1
			}
		}
	}
	if listed < 10 {
		t.Errorf("docs/glossary.md lists %d phrases to avoid: the pattern that finds them finds too little", listed)
	}
	return r
}

// complaints are the rules that a file breaks.
func (r wording) complaints(name, text string) (all []string) {
	if path.Ext(name) == ".md" {
		if name != "docs/glossary.md" { // it has to name the phrases
			all = r.find(name, 1, prose(text))
		}
		return append(all, tooWide(name, prose(text), nil)...)
	}
	if !regexp.MustCompile(`^[a-z0-9]+(_[a-z0-9]+)*\.go$`).MatchString(path.Base(name)) {
		all = append(all, name+": name it in snake_case")
	}
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, name, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return append(all, err.Error())
	}
	if name != "internal/house/language_test.go" { // it has to name the phrases
		for _, c := range file.Comments {
			all = append(all, r.find(name, set.Position(c.Pos()).Line, c.Text())...)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if s, ok := n.(*ast.BasicLit); ok && s.Kind == token.STRING {
				all = append(all, r.find(name, set.Position(s.Pos()).Line, s.Value)...)
			}
			return true
		})
	}
	return append(all, tooWide(name, text, literals(text))...)
}

// find complains of each phrase in a text that begins at a line of its file.
func (r wording) find(name string, line int, text string) (all []string) {
	lower := strings.ToLower(text)
	for _, p := range r {
		if !strings.Contains(lower, p.first) { // most texts hold none, and a pattern costs much more
			continue
		}
		for _, at := range p.pattern.FindAllStringIndex(text, -1) {
			use := "use another word"
			if p.instead != "" {
				use = fmt.Sprintf("the word is %q", p.instead)
			}
			all = append(all, fmt.Sprintf("%s:%d: %q: %s", name, line+strings.Count(text[:at[0]], "\n"), p.text, use))
		}
	}
	return all
}

// prose blanks what may be wide in a page and is not prose: tables, links and code. Code in a line keeps its width.
func prose(page string) string {
	lines := strings.Split(page, "\n")
	code := false
	for i, line := range lines {
		fence := strings.HasPrefix(strings.TrimSpace(line), "```")
		if code = code != fence; code || fence || strings.HasPrefix(line, "|") || strings.Contains(line, "](") ||
			strings.Contains(line, "://") || strings.HasPrefix(line, "    ") {
			lines[i] = ""
		}
	}
	return regexp.MustCompile("`[^`\n]+`").ReplaceAllStringFunc(strings.Join(lines, "\n"),
		func(code string) string { return strings.Repeat("_", utf8.RuneCountInString(code)) })
}

// tooWide complains of lines with more columns than allowed, except those in wide.
func tooWide(name, text string, wide map[int]bool) (all []string) {
	line := 0
	for l := range strings.SplitSeq(text, "\n") {
		line++
		n := utf8.RuneCountInString(l) + (tabWidth-1)*strings.Count(l, "\t")
		if n > columns && !wide[line] && !strings.Contains(l, "://") {
			all = append(all, fmt.Sprintf("%s:%d: %d columns, and %d are allowed", name, line, n, columns))
		}
	}
	return all
}

// literals are the lines of a Go file that hold a long string literal, or a part of one.
func literals(text string) map[int]bool {
	set := token.NewFileSet()
	file := set.AddFile("", set.Base(), len(text))
	var s scanner.Scanner
	s.Init(file, []byte(text), nil, 0)
	lines := map[int]bool{}
	for {
		pos, tok, lit := s.Scan()
		if tok == token.EOF {
			return lines
		}
		if tok == token.STRING && utf8.RuneCountInString(lit) >= longLiteral {
			for line := range strings.Count(lit, "\n") + 1 {
				lines[file.Line(pos)+line] = true
			}
		}
	}
}
