package main

import (
	"os"
	"strings"
	"testing"
)

func Example() {
	main()
	// Output:
	// handled a kite at attempt 1
}

// The README shows this program, not one that compiled once.
func TestReadmeShowsThisProgram(t *testing.T) {
	program, err := os.ReadFile("main.go")
	if err != nil {
		t.Fatal(err)
	}
	_, code, _ := strings.Cut(string(program), "func main() {")
	code, _, _ = strings.Cut("func main() {"+code, "\nfunc check")
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	if want := "```go\n" + strings.TrimSpace(code) + "\n```"; !strings.Contains(string(readme), want) {
		t.Errorf("README.md does not show main of examples/quickstart/main.go; it should hold:\n%s", want)
	}
}
