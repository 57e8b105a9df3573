package rest

import (
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

type sample struct {
	Name  string
	Count *int
	On    bool
	At    *time.Time
	Item  []sampleItem
	Group []string `xml:"Group>One"`
}

type sampleItem struct {
	Key  string
	Size int64
}

var sampleShape = newShape(reflect.TypeFor[sample]())

func read(text string) (*sample, *Error) {
	var s sample
	bad := decodeXML([]byte(text), "Sample", sampleShape, reflect.ValueOf(&s).Elem())
	return &s, bad
}

func written(s *sample) string {
	return string(appendDocument(nil, "Sample", "", sampleShape, reflect.ValueOf(s).Elem()))
}

// TestXML: a document that is written is read as the same.
func TestXML(t *testing.T) {
	n, at := 3, time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, s := range []*sample{
		{},
		{
			Name: "a <&>\"\r\n\t é 😀", Count: &n, On: true, At: &at,
			Item: []sampleItem{{"x", 1}, {"", 1 << 40}}, Group: []string{"p", "q"},
		},
		{Group: []string{}},
	} {
		got, bad := read(written(s))
		if bad != nil {
			t.Errorf("%s: %v", written(s), bad)
		} else if diff := cmp.Diff(s, got); diff != "" {
			t.Errorf("%s: -want +got:\n%s", written(s), diff)
		}
	}
}

// TestXMLIsStrict: what the schema does not have is malformed.
func TestXMLIsStrict(t *testing.T) {
	for _, text := range []string{
		"", "<Sample>", "<Other/>", "<Sample><X/></Sample>", "<Sample>text</Sample>", "<Sample/><Sample/>",
		"<Sample><Name>a</Name><Name>b</Name></Sample>", "<Sample><Count>x</Count></Sample>",
		"<Sample><Name><Y/></Name></Sample>", "<Sample><Group><Two/></Group></Sample>", "<Sample/>x",
		"<Sample><Count>99999999999</Count></Sample>", "<Sample><At>today</At></Sample>",
	} {
		if _, bad := read(text); bad == nil {
			t.Errorf("%s is accepted", text)
		}
	}
	if s, bad := read(`<?xml version="1.0"?><!-- c --><Sample xmlns="http://x/"> <Name> a </Name> </Sample> `); bad != nil ||
		s.Name != " a " {
		t.Errorf("%+v %v", s, bad)
	}
}

// FuzzXML: no document makes the decoder panic, and what it accepts is the same after it was written.
func FuzzXML(f *testing.F) {
	f.Add("<Sample><Name>a</Name><Count>1</Count><Item><Key>k</Key></Item><Group><One>x</One></Group></Sample>")
	f.Fuzz(func(t *testing.T, text string) {
		s, bad := read(text)
		if bad != nil {
			return
		}
		if s.At != nil {
			return // the answer decides about its precision
		}
		again, bad := read(written(s))
		if bad != nil {
			t.Fatalf("%s: %v", written(s), bad)
		}
		if diff := cmp.Diff(s, again); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	})
}
