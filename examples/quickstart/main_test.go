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

// The README contains this program as it is.
func TestReadmeShowsThisProgram(t *testing.T) {
	program, err := os.ReadFile("main.go")
	if err != nil {
		t.Fatal(err)
	}
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	if want := "```go\n" + string(program) + "```"; !strings.Contains(string(readme), want) {
		t.Errorf("README.md does not show examples/quickstart/main.go; it should hold:\n%s", want)
	}
}
