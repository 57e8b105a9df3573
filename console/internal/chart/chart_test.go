package chart_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"html"
	"html/template"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// A drawn chart, with its name in a golden file.
type drawn struct {
	name  string
	chart interface{ SVG() template.HTML }
}

// golden compares charts with a page, which a browser shows.
func golden(t *testing.T, file string, charts []drawn) {
	t.Helper()
	var b strings.Builder
	b.WriteString("<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<title>" + file + "</title>\n" +
		"<link rel=\"stylesheet\" href=\"../../../static/style.css\">\n")
	for _, d := range charts {
		svg := string(d.chart.SVG())
		check(t, d.name, svg)
		if again := string(d.chart.SVG()); again != svg {
			t.Errorf("%s is drawn to other bytes the second time", d.name)
		}
		b.WriteString("<h2>" + html.EscapeString(d.name) + "</h2>\n" + strings.ReplaceAll(svg, "><", ">\n<") + "\n")
	}
	got, path := b.String(), filepath.Join("testdata", file)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}

// Elements and attributes that charts have. Everything else would be a mistake, or somebody's text that became one.
var (
	elements   = []string{"svg", "g", "a", "title", "rect", "path", "circle", "text"}
	attributes = []string{
		"class", "role", "aria-label", "viewBox", "width", "height", "font-size", "x", "y", "rx", "d", "cx", "cy", "r",
		"text-anchor", "stroke-width", "href",
	}
	coordinates = regexp.MustCompile(`^[MLCZhvz0-9. -]*$`)
)

// check looks for what no chart may have: it is not XML, has script or style, no name, or a coordinate is no number.
func check(t *testing.T, name, svg string) {
	t.Helper()
	for _, complaint := range complaints(svg) {
		t.Errorf("%s: %s", name, complaint)
	}
}

func complaints(svg string) (all []string) {
	complain := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	d := xml.NewDecoder(strings.NewReader(svg))
	var open []string
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			complain("it is not XML: %v", err)
			break
		}
		switch e := token.(type) {
		case xml.StartElement:
			if len(open) == 0 != (e.Name.Local == "svg") {
				complain("<%s> in %v", e.Name.Local, open)
			}
			open = append(open, e.Name.Local)
			if !slices.Contains(elements, e.Name.Local) {
				complain("the element %s", e.Name.Local)
			}
			for _, a := range e.Attr {
				all = append(all, attribute(e.Name.Local, a)...)
			}
		case xml.EndElement:
			open = open[:len(open)-1]
		case xml.CharData:
			if s := string(e); strings.Contains(s, "NaN") || strings.Contains(s, "Inf") {
				complain("the text %q", s)
			}
			if last := open[len(open)-1]; last != "title" && last != "text" {
				complain("a text in %v: %q", open, e)
			}
		default:
			complain("a %T", e)
		}
	}
	if !strings.Contains(svg, `aria-label="`) && !strings.Contains(svg, `"><title>`) {
		complain("it has no label")
	}
	return all
}

func attribute(element string, a xml.Attr) (all []string) {
	if !slices.Contains(attributes, a.Name.Local) {
		all = append(all, fmt.Sprintf("<%s> has the attribute %s", element, a.Name.Local))
	}
	switch a.Name.Local {
	case "class", "role", "aria-label", "text-anchor", "href":
	default:
		if !coordinates.MatchString(a.Value) || a.Value == "" {
			all = append(all, fmt.Sprintf("<%s %s=%q>", element, a.Name.Local, a.Value))
		}
	}
	if a.Name.Local == "href" && strings.Contains(a.Value, "javascript") {
		all = append(all, "a link "+a.Value)
	}
	return all
}

// The check finds what it is made for.
func TestComplaints(t *testing.T) {
	for svg, want := range map[string]string{
		`<svg aria-label="a"/>`:                                        "",
		`<svg aria-label="a" style="color: red"/>`:                     "<svg> has the attribute style",
		`<svg aria-label="a"><script>x</script></svg>`:                 "the element script",
		`<svg aria-label="a"><rect x="NaN"/></svg>`:                    `<rect x="NaN">`,
		`<svg aria-label="a"><text>NaN</text></svg>`:                   `the text "NaN"`,
		`<svg aria-label="a"><rect></svg>`:                             "it is not XML",
		`<svg/>`:                                                       "it has no label",
		`<svg aria-label="a"><a href="javascript:alert(1)"></a></svg>`: "a link javascript",
		`<svg aria-label="a"><g>text</g></svg>`:                        `a text in [svg g]: "text"`,
	} {
		got := strings.Join(complaints(svg), "\n")
		if want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", svg, got, want)
		}
	}
}

// The classes in use are those that doc.go lists, and the style sheet has a rule for each.
func TestClasses(t *testing.T) {
	used := map[string]bool{}
	pages, err := filepath.Glob("testdata/*.html")
	if err != nil || len(pages) < 10 {
		t.Fatalf("%d pages: %v", len(pages), err)
	}
	for _, page := range pages {
		for _, m := range regexp.MustCompile(`class="([^"]*)"`).FindAllStringSubmatch(read(t, page), -1) {
			for class := range strings.FieldsSeq(m[1]) {
				used[class] = true
			}
		}
	}
	name := regexp.MustCompile(`c-[a-z]+(-[a-z]+)*[0-9]?`)
	doc := strings.NewReplacer("c-s0 … c-s7", "c-s0 c-s1 c-s2 c-s3 c-s4 c-s5 c-s6 c-s7",
		"c-h0 … c-h5", "c-h0 c-h1 c-h2 c-h3 c-h4 c-h5").Replace(read(t, "doc.go"))
	_, doc, _ = strings.Cut(doc, "# Classes")
	var listed []string
	for _, class := range name.FindAllString(doc, -1) {
		listed = append(listed, class)
		if !used[class] {
			t.Errorf("doc.go lists %s, and no golden file has it", class)
		}
	}
	styled := regexp.MustCompile(`\.c-[a-z0-9-]+`).FindAllString(read(t, "../../static/style.css"), -1)
	for class := range used {
		if !slices.Contains(listed, class) {
			t.Errorf("doc.go does not list %s", class)
		}
		if !slices.Contains(styled, "."+class) {
			t.Errorf("static/style.css has no rule for %s", class)
		}
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(bytes.ReplaceAll(b, []byte("\r\n"), []byte("\n")))
}

var (
	unknown = math.NaN()
	zone    = time.FixedZone("CEST", 2*60*60)
	end     = time.Date(2026, 10, 3, 14, 25, 0, 0, zone)
)

// wave returns n values from low to high, which go up and down.
func wave(n int, low, high, turns float64) []float64 {
	values := make([]float64, n)
	for i := range values {
		at := 0.5 - math.Cos(2*math.Pi*turns*float64(i)/float64(n))/2
		values[i] = math.Round((low+(high-low)*at)*8) / 8
	}
	return values
}

// with replaces a part of values by one value.
func with(values []float64, from, to int, v float64) []float64 {
	for i := from; i < to; i++ {
		values[i] = v
	}
	return values
}
