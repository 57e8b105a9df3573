package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/godwitmq/godwit/localaws"
	"github.com/godwitmq/godwit/ops"
)

// inWorld runs a test in virtual time, with a function in this process.
func inWorld(t *testing.T, variables map[string]string, f func(w *world, g *function, log *bytes.Buffer)) {
	t.Helper()
	all := map[string]string{"GODWIT_STATE": "s3://" + bucket + "/states", "GODWIT_OWNER": "shop"}
	for _, name := range []string{
		"GODWIT_NAMESPACE", "GODWIT_ALERT_OWNERS", "GODWIT_SLACK_URL", "GODWIT_WEBHOOK_URL", "GODWIT_WEBHOOK_SECRET",
		"GODWIT_SNS_TOPIC",
	} {
		all[name] = ""
	}
	maps.Copy(all, variables)
	for name, value := range all {
		t.Setenv(name, value)
	}
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, all["GODWIT_NAMESPACE"])
		var log bytes.Buffer // the notifier of stdout writes one notice at a time
		f(w, &function{out: &log, aws: &w.conf, transport: w.Server().Transport()}, &log)
	})
}

// invoke invokes a function as Lambda does.
func (w *world) invoke(g *function, event string, timeout time.Duration) (answer []byte, err error) {
	w.Helper()
	ctx, cancel := context.WithTimeout(w.Context(), timeout)
	defer cancel()
	defer w.record()()
	answer, err = g.Invoke(ctx, []byte(event))
	if ctx.Err() != nil {
		w.Errorf("%s has ended after the deadline", event)
	}
	return answer, err
}

// actions are the findings of a report, as text.
func actions(r *ops.SweepReport) (lines []string) {
	for i := range r.Findings {
		f := &r.Findings[i]
		lines = append(lines, strings.TrimSpace(fmt.Sprintf("%s %s %s %s", f.Channel, f.Class, f.Action, f.Problem)))
	}
	slices.Sort(lines)
	return lines
}

// sweep invokes a sweep in this process.
func (w *world) sweep(g *function) *ops.SweepReport {
	w.Helper()
	answer, err := w.invoke(g, `{"run":"sweep"}`, 5*time.Minute)
	r := &ops.SweepReport{}
	if err = errors.Join(err, json.Unmarshal(answer, r)); err != nil {
		w.Fatalf("%s: %v", answer, err)
	}
	return r
}

// The first sweep announces what nobody uses, the one of the next day deletes it, and its journal in S3 makes it again.
// People are told of both.
func TestSweepsOfTwoDays(t *testing.T) {
	inWorld(t, map[string]string{
		"GODWIT_NAMESPACE": "prod", "GODWIT_SNS_TOPIC": "arn:aws:sns:us-east-1:000000000000:people",
	}, func(w *world, g *function, log *bytes.Buffer) {
		for _, name := range []string{"idle", "events.audit", "stale", "busy", "fed.audit"} {
			w.make(name)
		}
		w.put("stale", "a kite")
		time.Sleep(95 * time.Hour)
		use := func() {
			w.put("busy", "a kite")
			w.put("fed.*", "a kite")
		}
		use()
		time.Sleep(time.Hour)
		before := w.names()
		kept := []string{"busy without consumers", "fed.audit without consumers", "stale stale"}
		unused := []string{
			"events.* unused", "events.audit unused", "events.audit@dlq unused", "idle unused", "idle@dlq unused",
		}
		left := []string{"busy", "busy@dlq", "fed.*", "fed.audit", "fed.audit@dlq", "stale", "stale@dlq"}
		with := func(action string) (all []string) {
			for _, one := range unused {
				all = append(all, one+" "+action)
			}
			all = append(all, kept...)
			slices.Sort(all)
			return all
		}
		first := w.sweep(g)
		if diff := cmp.Diff(with("announced"), actions(first)); diff != "" || first.Journal != "" {
			t.Errorf("the first sweep, journal %q (-want +got):\n%s", first.Journal, diff)
		}
		again := w.sweep(g) // a second one within the day is no second run
		if diff := cmp.Diff(with("announced"), actions(again)); diff != "" {
			t.Errorf("again (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(before, w.names()); diff != "" {
			t.Errorf("deleted too early (-want +got):\n%s", diff)
		}
		time.Sleep(24*time.Hour - 2*time.Minute)
		use()
		second := w.sweep(g)
		if diff := cmp.Diff(with("deleted"), actions(second)); diff != "" {
			t.Errorf("the second sweep (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(left, w.names()); diff != "" {
			t.Errorf("what is left (-want +got):\n%s", diff)
		}
		key, ours := strings.CutPrefix(second.Journal, "s3://"+bucket+"/")
		if !ours || !strings.HasPrefix(key, "states/prod/sweep-shop-2000") {
			t.Fatalf("the journal is %q", second.Journal)
		}
		for _, text := range []string{"queues announced", "queues deleted", "godwit sweep --undo " + second.Journal} {
			if !strings.Contains(log.String(), text) && !strings.Contains(strings.ToLower(log.String()), text) {
				t.Errorf("%q is missing in\n%s", text, log)
			}
		}
		if n := w.Server().Calls()["sns.Publish"]; n != 3 {
			t.Errorf("SNS has %d notices", n)
		}
		time.Sleep(2 * time.Minute) // SQS reserves the names of deleted queues
		if _, err := ops.Undo(w.Context(), w.Backend, w.object(key)); err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff(before, w.names()); diff != "" {
			t.Errorf("after the undo (-want +got):\n%s", diff)
		}
		if third := w.sweep(g); third.Journal != "" { // what was made again has to be announced again
			t.Errorf("a third sweep has journal %q", third.Journal)
		}
		w.granted("GodwitSweepFunction", "cloudwatch:ListMetrics", "s3:ListBucket")
	})
}

// A state and journals of two namespaces, or of two owners, are apart.
func TestStatesAreApart(t *testing.T) {
	for _, c := range []struct{ state, namespace, owner, alerts, sweep string }{
		{"s3://acme", "", "shop", "s3://acme/alerts.json", "s3://acme/sweep-shop"},
		{"s3://acme/", "prod", "shop", "s3://acme/prod/alerts.json", "s3://acme/prod/sweep-shop"},
		{"s3://acme/a/b", "prod", "bank", "s3://acme/a/b/prod/alerts.json", "s3://acme/a/b/prod/sweep-bank"},
		{"s3://acme/a/b/", "", "team a/../b", "s3://acme/a/b/alerts.json", "s3://acme/a/b/sweep-team%20a%2F..%2Fb"},
	} {
		t.Setenv(stateVariable, c.state)
		t.Setenv(namespaceVariable, c.namespace)
		t.Setenv(ownerVariable, c.owner)
		s, err := readSettings(runSweep)
		if err != nil {
			t.Fatal(err)
		}
		if got := s.named("alerts.json").String(); got != c.alerts {
			t.Errorf("%+v: %s", c, got)
		}
		if got := s.named(s.sweepName()).String(); got != c.sweep {
			t.Errorf("%+v: %s", c, got)
		}
	}
}

// A topic that does not answer ends the run before the function's deadline, and the next run tells its alerts.
func TestTheDeadline(t *testing.T) {
	inWorld(t, map[string]string{"GODWIT_SNS_TOPIC": "arn:aws:sns:us-east-1:000000000000:people"},
		func(w *world, g *function, log *bytes.Buffer) {
			w.make("orders")
			w.put("orders", "a kite", "a kite")
			hang := func(ctx context.Context, _ *localaws.Request) localaws.Outcome {
				<-ctx.Done()
				return localaws.Outcome{Drop: true}
			}
			stop := w.Server().Control("sns.Publish", hang)
			began := time.Now()
			_, err := w.invoke(g, `{"run":"sources"}`, time.Minute)
			stop()
			if !errors.Is(err, errDeadline) || !strings.Contains(err.Error(), "sns") ||
				time.Since(began) > 51*time.Second {
				t.Errorf("after %v: %v", time.Since(began), err)
			}
			if !strings.Contains(log.String(), `"channels":1,"open":1,"told":1`) {
				t.Errorf("the log is %s", log)
			}
			answer, err := w.invoke(g, `{"run":"sources"}`, time.Minute)
			if err != nil || !strings.Contains(string(answer), `"told":1`) {
				t.Errorf("the next run: %s, %v", answer, err)
			}
			// A sweep puts what it has found into the log.
			time.Sleep(96 * time.Hour)
			w.Server().Control("sns.Publish", hang)
			began = time.Now()
			_, err = w.invoke(g, `{"run":"sweep"}`, 2*time.Minute)
			if !errors.Is(err, errDeadline) || time.Since(began) > 111*time.Second {
				t.Errorf("a sweep after %v: %v", time.Since(began), err)
			}
			if !strings.Contains(log.String(), `run sweep has failed; its report is {"at":`) {
				t.Errorf("the log is %s", log)
			}
		})
}

// In a process of its own, a sweep announces an exchange without queues, and a later one deletes it. The clock of the
// process cannot be moved, so days pass by editing what it has noted.
func TestSweepsOfAFunction(t *testing.T) {
	w := newWorld(t, "")
	w.make("old_events.audit")
	w.make("events.audit")
	if _, err := ops.Remove(t.Context(), w.Backend, "old_events.audit", nil); err != nil {
		t.Fatal(err)
	}
	w.put("events.*", "a kite")
	w.Server().Advance(time.Minute) // CloudWatch counts by the minute
	f := w.start(t, map[string]string{"GODWIT_OWNER": "shop"})
	const state = "states/sweep-shop.json"
	earlier := func(what string, d time.Duration) {
		w.edit(state, func(s map[string]any) {
			all := s[what].(map[string]any)
			if len(all) == 0 {
				t.Errorf("the state has no %s", what)
			}
			for address := range all {
				all[address] = time.Now().Add(-d).UTC()
			}
		})
	}
	sweep := func() []string {
		stop := w.record()
		defer stop()
		r := report[ops.SweepReport](t, f, `{"run":"sweep"}`)
		all := []string{}
		for _, one := range actions(&r) {
			if strings.HasPrefix(one, "old_events.*") {
				all = append(all, one)
			}
		}
		return all
	}
	for _, step := range []struct {
		then string // what is made earlier before it
		want string
	}{
		{"", "old_events.* kept"}, // nobody knows how old it is
		{"seen", "old_events.* unused announced"},
		{"", "old_events.* unused announced"},
		{"announced", "old_events.* unused deleted"},
	} {
		if step.then != "" {
			earlier(step.then, 96*time.Hour)
		}
		if got := sweep(); len(got) != 1 || got[0] != step.want {
			t.Errorf("%q, want %q", got, step.want)
		}
	}
	if slices.Contains(w.names(), "old_events.*") || !slices.Contains(w.names(), "events.*") {
		t.Errorf("there are %q", w.names())
	}
	if !strings.Contains(f.Log(), "godwit sweep --undo s3://"+bucket+"/states/sweep-shop-") {
		t.Error("the log does not say how to make it again")
	}
}
