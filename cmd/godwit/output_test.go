package main

import (
	"bytes"
	"context"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka"
	"github.com/godwitmq/godwit/snssqs"
)

// Wrong input is told by the flag's name, and what to write instead, before anything is started.
func TestWrongInput(t *testing.T) {
	onServer(t)
	for _, c := range []struct {
		args string
		says string
	}{
		{"demand --workers 0", "--workers is 0: it must be positive"},
		{"demand --most -1", "--most is -1"},
		{"demand --service-time -1s", "--service-time is -1s"},
		{"demand [", "'[' needs a ']'"},
		{"ls [", "'[' needs a ']'"},
		{"ls a b", "one pattern at most"},
		{"requeue orders@dlq --kind nosuch", "the kinds are exhausted, permanent"},
		{"requeue orders@dlq --rate -3", "--rate is -3: it cannot be negative"},
		{"requeue orders@dlq --hold 0", "--hold is 0"},
		{"requeue orders@dlq --most -1", "--most is -1"},
		{"requeue orders@dlq --older 2x", "use a duration such as 90s, 2h or 3d"},
		{"requeue orders@dlq --older 3d --newer 1h", "no message is both"},
		{"requeue orders@dlq --attempts -1", "--attempts is -1"},
		{"export orders --most -1", "--most is -1"},
		{"peek orders --since 2099-01-01T00:00:00Z", "it has not come yet"},
		{"peek orders --since yesterday", "2h or 3d"},
		{"requeue orders@dlq --journal /nosuch/x", "--journal is /nosuch/x: /nosuch is no folder"},
		{"alerts --state s3://nosuch", "--state is \"s3://nosuch\": name a file, s3://bucket/key"},
		{"sweep --owner a --yes --journal ftp://x", "--journal is \"ftp://x\""},
		{"peek orders --kind nosuch", "the kinds are exhausted, permanent"},
		{"send orders x --at tomorrow", "--at is \"tomorrow\": write a time such as"},
		{"send orders x --delay 1h --at 2027-01-01T00:00:00Z", "--delay and --at are given"},
		{"health --url nonsense", "http://127.0.0.1:8080/livez"},
	} {
		var out, errOut bytes.Buffer
		status := run(t.Context(), strings.Fields(c.args), &out, &errOut)
		if status != exitUsage || !strings.Contains(errOut.String(), c.says) {
			t.Errorf("godwit %s: status %d, %s; want %q", c.args, status, &errOut, c.says)
		}
	}
	for _, args := range []string{"ls nosuch", "demand nosuch"} {
		var out, errOut bytes.Buffer
		if status := run(t.Context(), strings.Fields(args), &out, &errOut); status != exitNothing ||
			!strings.Contains(errOut.String(), "there are no channels") {
			t.Errorf("godwit %s: status %d, %s", args, status, &errOut)
		}
	}
}

// Each flag of each command that takes a number or a time refuses words and, unless they mean something, negative ones,
// before anything is started. What else a call needs is there, so that nothing else is wrong with it.
func TestWrongNumbers(t *testing.T) {
	onServer(t)
	besides := map[string]string{
		"send": "orders x", "run": "orders --exec true", "peek": "orders", "tail": "orders",
		"requeue": "orders@dlq", "export": "orders", "import": "orders --file /dev/null", "purge": "orders",
		"pause": "orders", "resume": "orders", "later ls": "orders",
		"rewind": "orders --to start", "rm": "orders", "describe": "orders", "health": "--url http://127.0.0.1:1",
		"orphans": "--bucket bodies",
	}
	negative := map[string]string{
		"requeue --max-deaths": "no bound", "run --wait": "polls do not wait", "rewind --partition": "queues have none",
	}
	seen := 0
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		for _, below := range c.Commands() {
			walk(below)
		}
		path := strings.Fields(c.CommandPath())[1:]
		name := strings.Join(path, " ")
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			values := map[string][]string{
				"int": {"many", "-1"}, "int32Slice": {"many", "-1"}, "float64": {"many", "-1"},
				"duration": {"soon", "-1s"},
			}[f.Value.Type()]
			if negative[name+" --"+f.Name] != "" {
				values = values[:1]
			}
			for _, value := range values {
				seen++
				args := slices.Concat(path, strings.Fields(besides[name]), []string{"--" + f.Name + "=" + value})
				_, errOut, status := call(t, args...)
				if status != exitUsage || !strings.Contains(errOut, "--"+f.Name) {
					t.Errorf("godwit %s: status %d, %s", strings.Join(args, " "), status, errOut)
				}
			}
		})
	}
	walk(newRoot())
	if seen < 60 {
		t.Errorf("only %d calls were made", seen)
	}
}

// Warnings of a backend's client reach standard error with what the command prints, and not with --quiet.
func TestWarnings(t *testing.T) {
	t.Setenv("KAFKA_BOOTSTRAP_SERVERS", "127.0.0.1:1")
	t.Setenv(backendVariable, onKafka)
	for args, warns := range map[string]bool{"ls": true, "ls -q": false} {
		_, errOut, status := call(t, strings.Fields(args)...)
		if status != exitFailed || strings.Contains(errOut, "level=WARN") != warns ||
			!strings.Contains(errOut, "KAFKA_BOOTSTRAP_SERVERS, which is 127.0.0.1:1, has set the address") {
			t.Errorf("godwit %s: status %d: %s", args, status, errOut)
		}
	}
}

// What senders and services write is escaped in every command that shows it. Kafka takes everything in every field.
func TestNothingControlsTheTerminal(t *testing.T) {
	if apart(t) {
		return
	}
	const evil, marks = "x\x1b[2J\u009b\u202e\r", "\u009b\u202e"
	t.Run(onAWS, func(t *testing.T) {
		onServer(t)
		b, err := snssqs.Open(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		nothingControls(t, b, evil, godwit.Message{
			Body: []byte(`{"a":"` + marks + `"}`), Type: "t" + marks, RoutingKey: "a.b",
			Headers: godwit.Headers{{Name: "h", Value: marks}},
		}, "export orders@dlq --receive")
	})
	t.Run(onKafka, func(t *testing.T) {
		onBrokers(t)
		b, err := kafka.Open(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		nothingControls(t, b, evil, godwit.Message{
			Body: []byte(evil), Type: evil, ContentType: evil, OrderKey: evil, RoutingKey: "a.b" + evil,
			Headers: godwit.Headers{{Name: "h" + evil, Value: evil}},
		}, "export orders@dlq", "tail orders --since 1h -n 1", "peek orders --finished")
	})
}

// nothingControls sends a message, rejects it, and looks at it with commands that must show it.
func nothingControls(t *testing.T, b driver.Backend, evil string, m godwit.Message, more ...string) {
	t.Helper()
	defer func() { _ = b.Close(context.WithoutCancel(t.Context())) }()
	p, err := godwit.NewProducer(t.Context(), b, "orders", nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Send(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	c, err := godwit.NewConsumer(ctx, b, "orders", &godwit.ConsumerOptions{
		Logger: slog.New(slog.DiscardHandler), WaitTime: time.Second,
		Hooks: godwit.Hooks{Settled: func(godwit.Settling) { stop() }},
	})
	if err == nil {
		_, err = c.Run(ctx, func(context.Context, *godwit.Delivery) error {
			return godwit.Permanent(errors.New("bad " + evil))
		})
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range append([]string{
		"peek orders@dlq", "peek orders@dlq -o json", "peek orders@dlq --groups",
		"peek orders@dlq --groups=exact -o jsonl", "requeue orders@dlq", "ls", "requeue orders@dlq --yes --edit .a.b",
		"peek x" + evil, "ls x" + evil, "purge x" + evil, "requeue orders@dlq --kind x" + evil,
		"describe orders@dlq", "run x" + evil + " --exec true", "send x" + evil + " y", "ls --context x" + evil,
	}, more...) {
		var out, errOut bytes.Buffer
		run(t.Context(), strings.Split(args, " "), &out, &errOut)
		if shown := out.String() + errOut.String(); strings.ContainsAny(shown, "\x1b\u009b\u202e\r") || shown == "" {
			t.Errorf("godwit %q prints %q", args, shown)
		}
	}
}

// Everything is printed through the writer of package screen, which escapes. These places are the exceptions.
func TestOneWayToPrint(t *testing.T) {
	exceptions := map[string]string{
		"main.go os.Stdout":                         "goes into the writer",
		"main.go os.Stderr":                         "goes into the writer",
		"internal/screen/ask.go os.Stderr":          "through a writer of its own, also of a quiet command",
		"internal/worker/pool.go slog.Default":      "the command sets a logger",
		"internal/mcpserver/server.go slog.Default": "the command sets a logger",
		"ls.go screen.TerminalOf":                   "clears the terminal",
		"demo.go screen.TerminalOf":                 "draws progress",
		"top.go screen.TerminalOf":                  "is a dashboard, which escapes each text",
		"export.go screen.TerminalOf":               "asks only",
	}
	used := map[string]bool{}
	err := filepath.WalkDir(".", func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			return err
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			s, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			of, ok := s.X.(*ast.Ident)
			if !ok {
				return true
			}
			switch what := of.Name + "." + s.Sel.Name; what {
			case "os.Stdout", "os.Stderr", "fmt.Print", "fmt.Printf", "fmt.Println", "slog.Default", "slog.Info",
				"slog.Warn", "slog.Error", "log.Print", "log.Printf", "log.Println", "log.Fatal", "log.Fatalf",
				"screen.TerminalOf":
				used[filepath.ToSlash(file)+" "+what] = true
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for place := range used {
		if exceptions[place] == "" {
			t.Errorf("%s may pass the escapes: print with the command's OutOrStdout or ErrOrStderr", place)
		}
	}
	for place := range exceptions {
		if !used[place] {
			t.Errorf("%s is no exception any more: remove it", place)
		}
	}
}
