package telemetry_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/local"
	"github.com/godwitmq/godwit/local/kafkalocal"
	"github.com/godwitmq/godwit/localaws"
	"github.com/godwitmq/godwit/localaws/wire"
	"github.com/godwitmq/godwit/telemetry"
)

var prometheus = flag.String("prometheus", "", "the command prometheus, for TestQueriesHaveData")

// query is one of the dashboard or the rules.
type query struct{ of, text string }

// dashboard is what the tests read of Grafana's format.
type dashboard struct {
	Templating struct{ List []struct{ Name string } }
	Panels     []struct {
		ID                       int
		Type, Title, Description string
		GridPos                  struct{ X, Y, W, H int }
		FieldConfig              struct{ Defaults struct{ Unit string } }
		Targets                  []struct{ Expr, LegendFormat string }
	}
}

func readDashboard(t *testing.T) (d dashboard, queries []query) {
	t.Helper()
	text, err := os.ReadFile("dashboards/grafana.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	variables := strings.NewReplacer("$channel", ".*", "$__rate_interval", "1m")
	for _, p := range d.Panels {
		for _, target := range p.Targets {
			queries = append(queries, query{"panel " + p.Title, variables.Replace(target.Expr)})
		}
	}
	return d, queries
}

// rule is an alert, with its fields by name.
type rule map[string]string

// readRules reads the file of rules. promtool checks that it is YAML and has no other fields; this reads the fields of
// alerts, also those in blocks.
func readRules(t *testing.T) (rules []rule) {
	t.Helper()
	text, err := os.ReadFile("dashboards/alerts.yml")
	if err != nil {
		t.Fatal(err)
	}
	block, indent := "", 0
	for line := range strings.Lines(string(text)) {
		field := strings.TrimLeft(line, " -")
		depth := len(line) - len(field)
		field = strings.TrimSpace(field)
		if block != "" && (depth > indent || field == "") {
			rules[len(rules)-1][block] += field + "\n"
			continue
		}
		block = ""
		name, value, ok := strings.Cut(field, ":")
		if value = strings.TrimSpace(value); !ok || strings.HasPrefix(name, "#") {
			continue
		}
		if name == "alert" {
			rules = append(rules, rule{})
		}
		if len(rules) == 0 {
			continue
		}
		if value == "|-" || value == ">-" {
			block, indent = name, depth
		} else {
			rules[len(rules)-1][name] = value
		}
	}
	return rules
}

// threshold is the comparison of an alert's expression, without which it has data also while all is well.
var threshold = regexp.MustCompile(`\s[<>]=?\s[0-9.]+`)

func queriesOf(rules []rule) (queries []query) {
	for _, r := range rules {
		queries = append(queries, query{"alert " + r["alert"], threshold.ReplaceAllString(r["expr"], "")})
	}
	return queries
}

// Every panel says what it shows and in what unit, none covers another, and every metric of a query is one of ours.
func TestTheDashboard(t *testing.T) {
	d, queries := readDashboard(t)
	ours := prometheusNames(t)
	covered, ids := map[[2]int]string{}, map[int]bool{}
	for _, p := range d.Panels {
		if ids[p.ID] {
			t.Errorf("%q has the id of another panel", p.Title)
		}
		ids[p.ID] = true
		for x := range p.GridPos.W {
			for y := range p.GridPos.H {
				at := [2]int{p.GridPos.X + x, p.GridPos.Y + y}
				if covered[at] != "" || at[0] >= 24 {
					t.Errorf("%q is not beside %q", p.Title, covered[at])
				}
				covered[at] = p.Title
			}
		}
		if p.Type == "row" {
			continue
		}
		if !strings.HasSuffix(p.Description, ".") || p.FieldConfig.Defaults.Unit == "" || len(p.Targets) == 0 {
			t.Errorf("%q has no description, unit or query", p.Title)
		}
		for _, target := range p.Targets {
			if target.LegendFormat == "" {
				t.Errorf("a query of %q has no legend", p.Title)
			}
		}
	}
	if len(queries) < 30 {
		t.Errorf("there are only %d queries", len(queries))
	}
	known(t, ours, queries)
}

// Every alert has a severity, a summary, a description and a runbook of at least two sentences, and its metrics are
// ours.
func TestTheAlerts(t *testing.T) {
	rules := readRules(t)
	if len(rules) < 15 {
		t.Errorf("there are only %d rules", len(rules))
	}
	for _, r := range rules {
		switch r["severity"] {
		case "critical", "warning", "info":
		default:
			t.Errorf("%s: the severity is %q", r["alert"], r["severity"])
		}
		for field, sentences := range map[string]int{"summary": 1, "description": 1, "runbook": 2} {
			if strings.Count(r[field]+" ", ".\n")+strings.Count(r[field], ". ") < sentences {
				t.Errorf("%s: the %s is %q", r["alert"], field, r[field])
			}
		}
		if !threshold.MatchString(r["expr"]) {
			t.Errorf("%s: no threshold in %q", r["alert"], r["expr"])
		}
	}
	known(t, prometheusNames(t), queriesOf(rules))
}

// prometheusNames are the names of our metrics in Prometheus.
func prometheusNames(t *testing.T) map[string]bool {
	t.Helper()
	meters := &listing{}
	if _, err := telemetry.New(&telemetry.Options{Meters: meters}); err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, row := range meters.found {
		cells := strings.Split(row, " | ")
		name := strings.ReplaceAll(cells[0], ".", "_") + map[string]string{"s": "_seconds", "By": "_bytes"}[cells[2]]
		switch cells[1] {
		case "counter":
			names[name+"_total"] = true
		case "histogram":
			names[name+"_bucket"], names[name+"_sum"], names[name+"_count"] = true, true, true
		default:
			names[name] = true
		}
	}
	return names
}

// known returns an error for a query with a metric that is not ours.
func known(t *testing.T, ours map[string]bool, queries []query) {
	t.Helper()
	labels := regexp.MustCompile(`\{[^}]*\}|(by|on) \([^)]*\)`)
	for _, q := range queries {
		names := regexp.MustCompile(`\b(godwit|messaging)_\w+`).FindAllString(labels.ReplaceAllString(q.text, ""), -1)
		if len(names) == 0 {
			t.Errorf("%s: no metric in %s", q.of, q.text)
		}
		for _, name := range names {
			if !ours[name] {
				t.Errorf("%s: %s is no metric", q.of, name)
			}
		}
	}
}

// Each query of the dashboard and the rules has data in a Prometheus that scrapes producers and consumers.
func TestQueriesHaveData(t *testing.T) {
	if *prometheus == "" {
		t.Skip("no -prometheus: .ci/dashboards passes it")
	}
	tel, err := telemetry.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	page := httptest.NewServer(tel.Handler())
	defer page.Close()
	traffic(t, tel)
	at := startPrometheus(t, page.Listener.Addr().String())

	_, queries := readDashboard(t)
	queries = append(queries, queriesOf(readRules(t))...)
	missing := map[query]string{}
	for deadline := time.Now().Add(time.Minute); ; {
		clear(missing)
		for _, q := range queries {
			if err := at.hasData(q.text); err != nil {
				missing[q] = err.Error()
			}
		}
		if len(missing) == 0 || time.Now().After(deadline) {
			break
		}
		time.Sleep(time.Second)
	}
	for q, why := range missing {
		t.Errorf("%s: %s: %s", q.of, why, q.text)
	}
	var answer struct {
		Data struct {
			Groups []struct {
				Rules []struct{ Name, Health, LastError string }
			}
		}
	}
	if err := at.get("/api/v1/rules", nil, &answer); err != nil {
		t.Fatal(err)
	}
	evaluated := 0
	for _, group := range answer.Data.Groups {
		for _, r := range group.Rules {
			if evaluated++; r.Health != "ok" {
				t.Errorf("rule %s is %s: %s", r.Name, r.Health, r.LastError)
			}
		}
	}
	t.Logf("%d queries have data, %d rules were evaluated", len(queries)-len(missing), evaluated)
}

// traffic runs producers and consumers on SQS and Kafka until the test ends: messages that succeed, that fail and
// become dead letters, and requests that fail.
func traffic(t *testing.T, tel *telemetry.Telemetry) {
	t.Helper()
	aws, err := local.Open(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	kafka, err := kafkalocal.Open(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	aws.Server().Control("sqs.SendMessageBatch", func(context.Context, *localaws.Request) (o localaws.Outcome) {
		if rand.N(10) == 0 {
			o.Err = &wire.Error{Code: "InternalError", Fault: true}
		}
		return o
	})
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	for _, b := range []struct {
		godwit.Backend
		channel string
	}{{aws, "orders"}, {kafka, "payments"}} {
		c, err := godwit.NewConsumer(ctx, b.Backend, b.channel, tel.Consumer(&godwit.ConsumerOptions{
			MaxAttempts: 2, Backoff: godwit.Constant(100 * time.Millisecond), Logger: slog.New(slog.DiscardHandler),
		}))
		if err != nil {
			t.Fatal(err)
		}
		p, err := godwit.NewProducer(ctx, b.Backend, b.channel, tel.Producer(nil))
		if err != nil {
			t.Fatal(err)
		}
		running.Go(func() {
			if _, err := c.Run(ctx, func(context.Context, *godwit.Delivery) error {
				if rand.N(5) == 0 {
					return errors.New("no such user")
				}
				return nil
			}); err != nil {
				t.Error(err)
			}
		})
		running.Go(func() {
			for every := time.NewTicker(20 * time.Millisecond); ctx.Err() == nil; {
				_ = p.Send(ctx, godwit.Message{Body: []byte("x")})
				select {
				case <-every.C:
				case <-ctx.Done():
				}
			}
			if err := p.Close(context.WithoutCancel(ctx)); err != nil {
				t.Error(err)
			}
		})
	}
	t.Cleanup(func() {
		stop()
		running.Wait()
		if err := errors.Join(aws.Close(context.Background()), kafka.Close(context.Background())); err != nil {
			t.Error(err)
		}
	})
}

// server is the address of a Prometheus.
type server string

// startPrometheus starts a Prometheus that scrapes an address each second, on loopback.
func startPrometheus(t *testing.T, target string) server {
	t.Helper()
	dir := t.TempDir()
	rules, err := filepath.Abs("dashboards/alerts.yml")
	if err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(dir, "prometheus.yml")
	if err := os.WriteFile(config, fmt.Appendf(nil, "global: {scrape_interval: 1s, evaluation_interval: 1s}\n"+
		"rule_files: [%q]\nscrape_configs: [{job_name: godwit, static_configs: [{targets: [%q]}]}]\n", rules, target,
	), 0o600); err != nil {
		t.Fatal(err)
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := free.Addr().String()
	if err := free.Close(); err != nil {
		t.Fatal(err)
	}
	var log lines
	cmd := exec.Command(*prometheus, "--config.file="+config, "--storage.tsdb.path="+filepath.Join(dir, "data"),
		"--web.listen-address="+address)
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("prometheus:\n%s", strings.Join(log.with("level=error"), ""))
		}
	})
	return server("http://" + address)
}

func (s server) get(path string, values url.Values, into any) error {
	answer, err := http.Get(string(s) + path + "?" + values.Encode())
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	return json.NewDecoder(answer.Body).Decode(into)
}

// hasData returns an error unless a query has a series with a number.
func (s server) hasData(query string) error {
	var answer struct {
		Error string
		Data  struct {
			Result []struct{ Value [2]any }
		}
	}
	if err := s.get("/api/v1/query", url.Values{"query": {query}}, &answer); err != nil {
		return err
	}
	if answer.Error != "" {
		return errors.New(answer.Error)
	}
	for _, r := range answer.Data.Result {
		if v, err := strconv.ParseFloat(fmt.Sprint(r.Value[1]), 64); err == nil && !math.IsNaN(v) {
			return nil
		}
	}
	return fmt.Errorf("no data in %d series", len(answer.Data.Result))
}
