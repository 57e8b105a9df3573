package house

import (
	"strings"
	"testing"
	"testing/fstest"
)

// doc is the doc.go of a package.
const doc = "// Package p is documented.\npackage p\n"

// Each case except the first makes one mistake in a small repository, and names the expected complaint.
func TestJudge(t *testing.T) {
	rooms := []room{
		{path: "seam"},
		{path: "back", ours: []string{"seam", "internal/..."}, others: []string{"example.org/sdk"}},
		{path: "internal/lane", ours: []string{"seam"}},
		{path: "sim", tests: true},
	}
	const base = module + "/"
	cases := []struct {
		name, file, text string
		want             string
		static           string
	}{
		{
			name: "as planned", file: "back/x.go",
			text: `import ("context"; "` + base + `seam"; "` + base + `internal/lane"; "example.org/sdk/v2/s3")`,
		},
		{name: "unlisted package", file: "odd/x.go", want: "package odd is not in the plan: add its line"},
		{
			name: "against the direction", file: "seam/x.go", text: `import "` + base + `back"`,
			want: "seam may not import " + base + "back: the plan has no such direction",
		},
		{
			name: "on another system only", file: "seam/x_windows.go", text: `import "` + base + `back"`,
			want: "seam/x_windows.go: seam may not import",
		},
		{name: "behind a build tag", file: "seam/x.go", text: `import "` + base + `back"`, want: "seam may not import"},
		{name: "in a test it may", file: "seam/x_test.go", text: `import "` + base + `back"`},
		{
			name: "unlisted module", file: "back/x.go", text: `import "example.org/other"`,
			want: "back may not import example.org/other: its room does not list this module",
		},
		{
			name: "module of a similar name", file: "back/x.go", text: `import "example.org/sdkish"`,
			want: "may not import example.org/sdkish",
		},
		{name: "code in a package of tests", file: "sim/x.go", want: "sim/x.go: sim is a package of tests alone"},
		{
			name: "importing a package of tests", file: "back/x.go", text: `import "` + base + `sim"`,
			want: base + "sim: it is a package of tests alone",
		},
		{name: "init", file: "back/x.go", text: "func init() {}", want: "back/x.go: func init() runs before"},
		{name: "method named init", file: "back/x.go", text: "type t int\nfunc (t) init() {}"},
		{
			name: "variable without value", file: "back/x.go", text: "var n int",
			want: "variable n is package-level state",
		},
		{name: "explained variable", file: "back/x.go", text: "var n int", static: "back.n"},
		{
			name: "explanation of nothing", file: "back/x.go", static: "back.n",
			want: "statics explains back.n, which is not there",
		},
		{
			name: "empty map", file: "back/x.go", text: "var m = map[string]int{}",
			want: "variable m is package-level state",
		},
		{
			name: "made map", file: "back/x.go", text: "var m = make(map[string]int)",
			want: "variable m is package-level state",
		},
		{
			name: "mutex", file: "back/x.go", text: "import \"sync\"\nvar m = sync.Mutex{}",
			want: "variable m is package-level state",
		},
		{
			name: "pointer", file: "back/x.go", text: "type t struct{}\nvar p = &t{}",
			want: "variable p is package-level state",
		},
		{
			name: "table, sentinel, assertion", file: "back/x.go",
			text: "import \"errors\"\nvar (\ntable = map[string]int{\"a\": 1}\nerrNo = errors.New(\"no\")\n_ error = " +
				"(*t)(nil)\n)\ntype t struct{ error }",
		},
		{name: "embedded file", file: "back/x.go", text: "import _ \"embed\"\n//go:embed x\nvar page string"},
		{
			name: "no doc.go", file: "back/doc.go", text: "// no comment on the package\n\nvar _ = 1",
			want: "package back has no doc.go",
		},
		{name: "nested module", file: "tools/x.go"},
		{name: "testdata", file: "back/testdata/x.go"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			house := fstest.MapFS{"tools/go.mod": {Data: []byte("module tools")}}
			for _, r := range rooms {
				house[r.path+"/doc.go"] = &fstest.MapFile{Data: []byte(doc)}
			}
			tag := ""
			if c.name == "behind a build tag" {
				tag = "//go:build never\n\n"
			}
			house[c.file] = &fstest.MapFile{Data: []byte(tag + "package p\n" + c.text)}
			sources, err := inspect(house)
			if err != nil {
				t.Fatal(err)
			}
			statics := map[string]string{}
			if c.static != "" {
				statics[c.static] = "because"
			}
			expect(t, judge(rooms, statics, sources), c.want)
		})
	}
}

// A plan that lists a package which does not exist, or lists one twice, is wrong.
func TestJudgePlan(t *testing.T) {
	house := fstest.MapFS{"seam/doc.go": {Data: []byte(doc)}}
	sources, err := inspect(house)
	if err != nil {
		t.Fatal(err)
	}
	expect(t, judge([]room{{path: "seam"}, {path: "gone"}}, nil, sources), "plan lists gone, which has no Go file")
	expect(t, judge([]room{{path: "seam"}, {path: "seam"}}, nil, sources), "plan lists seam twice")
}

// A file that does not parse is an error, not an empty package.
func TestInspectBrokenFile(t *testing.T) {
	if _, err := inspect(fstest.MapFS{"seam/x.go": {Data: []byte("package")}}); err == nil {
		t.Fatal("a file that does not parse was accepted")
	}
}

// expect wants exactly one complaint that contains want, or none for "".
func expect(t *testing.T, got []string, want string) {
	t.Helper()
	switch {
	case want == "" && len(got) == 0:
	case want != "" && len(got) == 1 && strings.Contains(got[0], want):
	default:
		t.Errorf("complaints:\n%s\nwant one with: %q", strings.Join(got, "\n"), want)
	}
}
