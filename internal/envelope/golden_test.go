package envelope_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/godwitmq/godwit/internal/envelope"
)

// fixtures are the envelopes in testdata. Such texts are in queues for up to 14 days, and in dead letters for longer,
// so every version must stay readable: add fixtures, never change one.
func fixtures() map[string]envelope.Envelope {
	return map[string]envelope.Envelope{
		"v1-minimal.json": {Version: 1},
		"v1-full.json": {
			Version: 1, Headers: map[string]string{
				"locale": "de",
				"trace":  "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
			},
			OrderKey: "a key with spaces", ContentType: "application/json", Type: "order", TypeVersion: 2,
			Encoding: envelope.Base64,
		},
		"v1-dead.json": {
			Version: 1, Headers: map[string]string{"locale": "de"},
			Deaths: []envelope.Death{
				{
					Error: "no such user", Kind: "permanent", Consumer: "billing", Channel: "orders", ID: "7e2a",
					OrderKey: "ada", Attempts: 3,
					First: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
					Last:  time.Date(2026, 1, 2, 2, 5, 6, 5e8, time.UTC),
				},
				{Kind: "timeout", Channel: "orders", ID: "91c0", Attempts: 1},
			},
		},
		"v1-typed.json": {Version: 1, Typed: []envelope.Packed{
			{Name: "amount", Type: "Number", Text: "1.50"}, {Name: "key", Type: "Binary", Binary: []byte{0, 0xff}},
		}},
		"v1-expires.json": {
			Version: 1, ContentType: "text/plain", Expires: 5_401_500, First: 1_767_323_045_678,
		},
		"v1-wrapped.json":      {Version: 1, Wrapped: true, Deaths: []envelope.Death{{Kind: "permanent", ID: "1"}}},
		"v1-later-fields.json": {Version: 1, Headers: map[string]string{"locale": "de"}, OrderKey: "ada"},
	}
}

func TestEveryFixtureIsReadable(t *testing.T) {
	files, err := filepath.Glob("testdata/*.json")
	if err != nil {
		t.Fatal(err)
	}
	want := fixtures()
	if len(files) != len(want) {
		t.Errorf("testdata has %d fixtures, and this test has %d", len(files), len(want))
	}
	for _, file := range files {
		got, err := envelope.Parse(fixture(t, file))
		if err != nil {
			t.Errorf("%s: %v", file, err)
		}
		if diff := cmp.Diff(want[filepath.Base(file)], got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", file, diff)
		}
	}
}

// The current version writes the fixtures byte for byte.
func TestFixturesAreWritten(t *testing.T) {
	for _, name := range []string{"v1-minimal.json", "v1-full.json", "v1-expires.json"} {
		if diff := cmp.Diff(fixture(t, filepath.Join("testdata", name)), fixtures()[name].String()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func fixture(t testing.TB, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(string(text), "\n")
}
