package jq_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/godwitmq/godwit/cmd/godwit/internal/jq"
)

// An expression that does not end is stopped, and one with a huge result is refused.
func TestExpressionsAreBounded(t *testing.T) {
	for text, want := range map[string]string{
		"last(repeat(.))":             "did not end within 1s",
		`"x" * 17000000`:              "are allowed",
		"[limit(5; repeat(1))] | add": "",
	} {
		e, err := jq.Parse(t.Context(), "--edit", text)
		if err != nil {
			t.Fatal(err)
		}
		_, err = e.Edit([]byte("{}"))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// An expression ends with its context: an interrupt does not wait for its time.
func TestExpressionsAreInterrupted(t *testing.T) {
	stopped := errors.New("stopped")
	ctx, stop := context.WithCancelCause(t.Context())
	stop(stopped)
	e, err := jq.Parse(ctx, "--edit", "def f: f; f")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Edit([]byte("{}")); !errors.Is(err, stopped) {
		t.Errorf("%v", err)
	}
}
