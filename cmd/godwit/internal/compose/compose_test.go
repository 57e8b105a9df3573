package compose_test

import (
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/cmd/godwit/internal/compose"
)

func all(next compose.Source) (ms []godwit.Message, err error) {
	for {
		m, err := next()
		if errors.Is(err, io.EOF) {
			return ms, nil
		}
		if err != nil {
			return ms, err
		}
		ms = append(ms, m)
	}
}

// A message is repeated, with its number and time where it has templates.
func TestRepeat(t *testing.T) {
	at := time.Date(2026, 11, 26, 10, 0, 0, 0, time.FixedZone("", 3600))
	now := func() time.Time { return at }
	m := godwit.Message{
		Body: []byte(`{"id": {{.N}}}`), OrderKey: "k{{.N}}", RoutingKey: "A", DedupID: "d{{.N}}",
		Headers: godwit.Headers{{Name: "at", Value: `{{.Time.Format "15:04"}}`}},
	}
	next, err := compose.Repeat(m, 2, true, now)
	if err != nil {
		t.Fatal(err)
	}
	got, err := all(next)
	if err != nil {
		t.Fatal(err)
	}
	want := []godwit.Message{{
		Body: []byte(`{"id": 1}`), OrderKey: "k1", RoutingKey: "A", DedupID: "d1",
		Headers: godwit.Headers{{Name: "at", Value: "09:00"}},
	}, {
		Body: []byte(`{"id": 2}`), OrderKey: "k2", RoutingKey: "A", DedupID: "d2",
		Headers: godwit.Headers{{Name: "at", Value: "09:00"}},
	}}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(godwit.Message{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	next, err = compose.Repeat(m, 3, false, now)
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := all(next); len(got) != 3 || string(got[2].Body) != string(m.Body) {
		t.Errorf("%+v", got)
	}
	next, err = compose.Repeat(godwit.Message{
		Body: []byte(`a{{ .N }}{{printf "%03d" .N}} {{.Time.Unix}}{{.Time}}`),
	}, 1, true, now)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := all(next); err != nil || string(got[0].Body) != "a1001 17956836002026-11-26 09:00:00 +0000 UTC" {
		t.Errorf("%v: %q", err, got[0].Body)
	}
	for _, body := range []string{"{{.N", "{{.Number}}", "{{nothing}}", `{{printf "%s" .N}}`, `{{.Time.Format 3}}`} {
		if _, err := compose.Repeat(godwit.Message{Body: []byte(body)}, 1, true, now); err == nil ||
			!strings.Contains(err.Error(), "the body is no template") {
			t.Errorf("%s: %v", body, err)
		}
	}
}

// Each line is a message. What it does not say is as in the message of the flags.
func TestLines(t *testing.T) {
	rest := godwit.Message{RoutingKey: "A", Headers: godwit.Headers{{Name: "a", Value: "1"}}}
	got, err := all(compose.Lines(strings.NewReader(
		`{"body": "täxt", "order_key": "k", "headers": [{"name": "b", "value": "2"}], "delay": "30s"}`+"\n\n"+
			`{"body": {"id": 7}, "routing_key": "B", "type": "order", "version": 2, "content_type": "json"}`+"\n"+
			`{"body_base64": "/w==", "dedup_id": "d"}`), rest))
	if err != nil {
		t.Fatal(err)
	}
	want := []godwit.Message{{
		Body: []byte("täxt"), OrderKey: "k", RoutingKey: "A", Delay: 30 * time.Second,
		Headers: godwit.Headers{{Name: "a", Value: "1"}, {Name: "b", Value: "2"}},
	}, {
		Body: []byte(`{"id": 7}`), RoutingKey: "B", Type: "order", Version: 2, ContentType: "json",
		Headers: rest.Headers,
	}, {
		Body: []byte{0xff}, RoutingKey: "A", DedupID: "d", Headers: rest.Headers,
	}}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(godwit.Message{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for line, want := range map[string]string{
		"nope":                               "line 2: it is no message in JSON",
		`{"boddy": 1}`:                       `unknown field "boddy"`,
		`{"body": 1, "body_base64": "aa"}`:   "base64",
		`{"body": "a"} {"body": "b"}`:        "something behind the message",
		`{"delay": "soon"}`:                  `delay is "soon"`,
		`{"body": 1, "body_base64": "/w=="}`: "body and body_base64",
	} {
		got, err := all(compose.Lines(strings.NewReader("{}\n"+line), rest))
		if len(got) != 1 || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %d messages, %v, want %s", line, len(got), err, want)
		}
	}
}

func FuzzLines(f *testing.F) {
	f.Add("{\"body\": \"a\"}\n{\"body\": {}}\n")
	f.Fuzz(func(t *testing.T, text string) {
		ms, _ := all(compose.Lines(strings.NewReader(text), godwit.Message{}))
		if len(ms) > strings.Count(text, "\n")+1 {
			t.Errorf("%d messages of %q", len(ms), text)
		}
	})
}
