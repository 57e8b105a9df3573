package console_test

import (
	"os"
	"strings"
	"testing"
)

// The script is small and brings nothing of others, and pages have neither scripts nor styles inside.
func TestAssets(t *testing.T) {
	read := func(file string) string {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	script := read("static/script.js")
	if len(script) > 20<<10 || strings.Contains(script, "import ") || strings.Contains(script, "//cdn") {
		t.Errorf("the script has %d bytes", len(script))
	}
	files, err := os.ReadDir("pages")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		page := read("pages/" + f.Name())
		for _, inline := range []string{" style=", "<style", " onclick", "javascript:"} {
			if strings.Contains(page, inline) {
				t.Errorf("%s has %q", f.Name(), inline)
			}
		}
	}
}
