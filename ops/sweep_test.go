package ops_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/local"
	"github.com/godwitmq/godwit/localaws"
	"github.com/godwitmq/godwit/localaws/wire"
	"github.com/godwitmq/godwit/ops"
)

// yard is an account with channels that are used and others that are not.
type yard struct {
	*testing.T
	*local.Backend
	dir string
}

// inYard makes the channels, and lets four days pass; some are used on the last day.
func inYard(t *testing.T, f func(y *yard)) {
	t.Helper()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		b, err := local.Open(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = b.Close(context.Background()) }()
		y := &yard{t, b, dir}
		for _, name := range []string{
			"idle", "events.audit", "busy", "stale", "polled", "fed.idle", "fed.busy", "flooded",
		} {
			y.make(name, "shop", nil)
		}
		y.make("kept", "shop", map[string]string{"keep": "until the audit"})
		y.make("foreign", "bank", nil)
		y.put("stale", driver.Message{Body: []byte("a kite")})
		time.Sleep(95 * time.Hour)
		y.make("young", "shop", nil)
		y.put("busy", driver.Message{Body: []byte("a kite")})
		y.put("flooded", driver.Message{Body: []byte("a kite")})
		y.put("fed.*", driver.Message{Body: []byte("a kite"), RoutingKey: "busy"})
		y.poll("busy")
		y.poll("polled")
		y.poll("fed.busy")
		time.Sleep(time.Hour)
		f(y)
	})
}

func channelOf(name string) (ch driver.Channel) {
	name, ch.DeadLetter = strings.CutSuffix(name, "@dlq")
	ch.Queue = name
	if exchange, queue, many := strings.Cut(name, "."); many {
		ch.Exchange, ch.Queue = exchange, queue
		if queue == "*" {
			ch.Queue = ""
		}
	}
	return ch
}

// state is a state in files.
func (y *yard) state(name string) ops.State {
	y.Helper()
	s, err := ops.NewFileState(filepath.Join(y.dir, name))
	if err != nil {
		y.Fatal(err)
	}
	return s
}

// read returns the text of a file.
func (y *yard) read(path string) []byte {
	y.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		y.Fatal(err)
	}
	return text
}

func (y *yard) make(name, owner string, tags map[string]string) {
	y.Helper()
	all := map[string]string{"owner": owner}
	maps.Copy(all, tags)
	s := driver.ChannelSpec{Channel: channelOf(name), Owner: true, MaxReceives: 30, Tags: all}
	if s.Channel.Exchange != "" {
		s.Filter = driver.Filter{Exact: []string{s.Channel.Queue}}
	}
	if err := y.Ensure(y.Context(), s); err != nil {
		y.Fatal(err)
	}
}

func (y *yard) put(name string, m driver.Message) {
	y.Helper()
	s, err := y.Sender(y.Context(), channelOf(name))
	if err != nil {
		y.Fatal(err)
	}
	p, err := s.Prepare(y.Context(), &m)
	if err == nil {
		err = s.Send(y.Context(), []driver.Prepared{p})
	}
	if err = errors.Join(err, s.Close(y.Context())); err != nil {
		y.Fatal(err)
	}
}

func (y *yard) poll(name string) {
	y.Helper()
	r, err := y.Receiver(y.Context(), channelOf(name), driver.ReceiverOptions{Concurrency: 10})
	if err != nil {
		y.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(y.Context(), time.Minute)
	defer cancel()
	ds, err := r.Receive(ctx, driver.Ask{Max: 10}, nil)
	for i := range ds {
		err = errors.Join(err, r.Settle(y.Context(), []driver.Settlement{{Handle: ds[i].Handle, Action: driver.Done}}))
	}
	if err = errors.Join(err, r.Close(y.Context())); err != nil {
		y.Fatal(err)
	}
}

// classes are the findings as text.
func classes(r *ops.SweepReport) []string {
	lines := []string{}
	for _, f := range r.Findings {
		lines = append(lines, strings.TrimSpace(fmt.Sprintf("%s %s %s", f.Channel, f.Class, f.Action)))
	}
	slices.Sort(lines)
	return lines
}

func (y *yard) sweep(o ops.SweepOptions) *ops.SweepReport {
	y.Helper()
	r, err := ops.Sweep(y.Context(), y.Backend, &o)
	if err != nil {
		y.Fatal(err)
	}
	return r
}

// names are the channels that exist.
func (y *yard) names() (all []string) {
	y.Helper()
	infos, err := y.Catalog(y.Context())
	if err != nil {
		y.Fatal(err)
	}
	for _, info := range infos {
		all = append(all, info.Channel.String())
	}
	return all
}

// fail makes calls of actions fail.
func (y *yard) fail(actions string, fault *wire.Error) (stop func()) {
	return y.Server().Control(actions, func(context.Context, *localaws.Request) localaws.Outcome {
		return localaws.Outcome{Err: fault}
	})
}

var accessDenied = &wire.Error{Code: "AccessDenied", Message: "no", Status: 403}

// A sweep without options tells what is not used, and deletes nothing. A sleeping queue counts as zero.
func TestSweepReports(t *testing.T) {
	inYard(t, func(y *yard) {
		before := y.names()
		r := y.sweep(ops.SweepOptions{})
		want := []string{
			"events.* unused", "events.audit unused", "events.audit@dlq unused", "fed.idle without producers",
			"flooded without consumers", "foreign unused", "foreign@dlq unused", "idle unused", "idle@dlq unused",
			"kept kept", "polled without producers", "stale stale", "young kept",
		}
		if diff := cmp.Diff(want, classes(r)); diff != "" {
			t.Errorf("(-want +got):\n%s%s", diff, r.Text())
		}
		if diff := cmp.Diff(before, y.names()); diff != "" || r.Journal != "" {
			t.Errorf("journal %q, (-want +got):\n%s", r.Journal, diff)
		}
		for _, text := range []string{
			"13 channels", "queues unused:", "idle (shop)", "foreign (bank)", "stale:", "without consumers:",
			"tagged keep=until the audit", "exchanges unused:",
		} {
			if !strings.Contains(strings.Replace(r.Text(), fmt.Sprint(r.LookedAt, " "), "13 ", 1), text) {
				t.Errorf("%q is missing in\n%s", text, r.Text())
			}
		}
	})
}

// What could not be found out is never deleted, and says why. Only what needs no answer, that a queue is used, stays
// known.
func TestSweepOfTheUnknown(t *testing.T) {
	for name, actions := range map[string]struct {
		action string
		fault  *wire.Error
	}{
		"metrics denied": {"cloudwatch.GetMetricData", accessDenied},
		"metrics fail":   {"cloudwatch.GetMetricData", &wire.Error{Code: "InternalServiceFault", Fault: true}},
		"counts denied":  {"sqs.GetQueueAttributes", accessDenied},
		"tags denied":    {"sqs.ListQueueTags", accessDenied},
	} {
		t.Run(name, func(t *testing.T) {
			inYard(t, func(y *yard) {
				before := y.names()
				stop := y.fail(actions.action, actions.fault)
				r, err := ops.Sweep(y.Context(), y.Backend, &ops.SweepOptions{
					Owner: "shop", Yes: true, Journal: ops.FileJournal(filepath.Join(y.dir, "journal")),
				})
				stop()
				if r == nil {
					t.Fatal(err)
				}
				for _, f := range r.Findings {
					if f.Action != ops.SweepNothing && f.Action != ops.SweepFailed {
						t.Errorf("%+v", f)
					}
				}
				if name != "tags denied" && !slices.Contains(classes(r), "idle unknown") &&
					!slices.Contains(classes(r), "idle kept") {
					t.Errorf("%s", r.Text())
				}
				if diff := cmp.Diff(before, y.names()); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			})
		})
	}
}

// elsewhere is a backend with the CloudWatch of another region, where nothing is counted.
type elsewhere struct {
	*local.Backend
	counts *local.Backend
}

func (e elsewhere) Operations() driver.Operations {
	do := e.Backend.Operations()
	do.Activity = e.counts.Operations().Activity
	return do
}

// Where CloudWatch has counted nothing at all, everything is unknown, and nothing is deleted.
func TestSweepWithoutMetrics(t *testing.T) {
	inYard(t, func(y *yard) {
		other, err := local.Open(y.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = other.Close(context.Background()) }()
		calls := y.Server().Calls()["sqs.GetQueueAttributes"]
		r, err := ops.Sweep(y.Context(), elsewhere{y.Backend, other}, &ops.SweepOptions{
			Owner: "shop", Yes: true, Journal: ops.FileJournal(filepath.Join(y.dir, "journal")),
		})
		if err != nil {
			t.Fatal(err)
		}
		queues := 0
		for _, f := range r.Findings {
			if f.Class != ops.SweepUnknown || f.Action != "" || !strings.Contains(f.Reason, "counted nothing") {
				t.Errorf("%+v", f)
			}
			if f.Role == "queue" {
				queues++
			}
		}
		// The catalog calls each queue, with its dead letters, and the sweep each unknown one, which wakes it.
		if calls = y.Server().Calls()["sqs.GetQueueAttributes"] - calls; queues != 10 || calls < 3*queues {
			t.Errorf("%d calls of %d queues\n%s", calls, queues, r.Text())
		}
	})
}

// Topics that nobody has called are not counted, so that what they feed is unknown. The sweep wakes them, and the next
// one knows more.
func TestSweepWakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, err := local.Open(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = b.Close(context.Background()) }()
		y := &yard{T: t, Backend: b}
		y.make("events.audit", "shop", nil)
		time.Sleep(5 * 24 * time.Hour)
		unknown := []string{"events.* unknown", "events.audit unknown"}
		if diff := cmp.Diff(unknown, classes(y.sweep(ops.SweepOptions{Owner: "shop"}))); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		time.Sleep(12 * time.Hour)
		known := []string{"events.* unused", "events.audit unused", "events.audit@dlq unused"}
		if diff := cmp.Diff(known, classes(y.sweep(ops.SweepOptions{Owner: "shop"}))); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// What a sweep has deleted is there again after an undo, with attributes, policy, tags and subscriptions, and a second
// undo changes nothing.
func TestSweepAndUndo(t *testing.T) {
	inYard(t, func(y *yard) {
		gone := []string{"events.*", "events.audit", "events.audit@dlq", "idle", "idle@dlq"}
		before, shots := y.names(), map[string]string{}
		for _, name := range gone {
			s, err := y.Snapshot(y.Context(), channelOf(name))
			if err != nil {
				t.Fatal(err)
			}
			shots[name] = string(s.Data)
		}
		journal := ops.FileJournal(filepath.Join(y.dir, "journal"))
		r := y.sweep(ops.SweepOptions{Owner: "shop", Yes: true, Journal: journal})
		left := slices.DeleteFunc(slices.Clone(before), func(name string) bool { return slices.Contains(gone, name) })
		if diff := cmp.Diff(left, y.names()); diff != "" {
			t.Fatalf("(-want +got):\n%s%s", diff, r.Text())
		}
		for i := range 2 {
			all, err := ops.Undo(y.Context(), y.Backend, y.read(r.Journal))
			if err != nil || len(all) != len(gone) {
				t.Fatalf("%+v, %v", all, err)
			}
			for _, one := range all {
				if made := len(one.Made) > 0; made != (i == 0) {
					t.Errorf("undo %d: %+v", i+1, one)
				}
			}
			if diff := cmp.Diff(before, y.names()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		}
		for _, name := range gone {
			s, err := y.Snapshot(y.Context(), channelOf(name))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(subscriptionless(shots[name]), subscriptionless(string(s.Data))); diff != "" {
				t.Errorf("%s (-want +got):\n%s", name, diff)
			}
		}
		y.put("events.*", driver.Message{Body: []byte("again"), RoutingKey: "audit"})
		y.put("events.*", driver.Message{Body: []byte("filtered"), RoutingKey: "other"})
		time.Sleep(time.Second)
		if d, err := y.Inspect(y.Context(), channelOf("events.audit")); err != nil || d.Waiting != 1 {
			t.Errorf("%+v, %v", d, err)
		}
	})
}

// subscriptionless is a snapshot without the id of a subscription, which is a new one.
func subscriptionless(data string) string {
	at := strings.Index(data, `"arn":"arn:aws:sns:us-east-1:000000000000:events:`)
	if at < 0 {
		return data
	}
	end := at + strings.Index(data[at:], `,`)
	return data[:at] + data[end:]
}

// A channel that changes between the look and its deletion stays.
func TestSweepLooksAgain(t *testing.T) {
	for name, change := range map[string]func(y *yard){
		"a message": func(y *yard) { y.put("idle", driver.Message{Body: []byte("late")}) },
		"a tag":     func(y *yard) { y.make("idle", "shop", map[string]string{"keep": "yes"}) },
		"an owner":  func(y *yard) { y.make("idle", "bank", nil) },
	} {
		t.Run(name, func(t *testing.T) {
			inYard(t, func(y *yard) {
				var once sync.Once
				y.Server().Control("sqs.DeleteQueue", func(context.Context, *localaws.Request) localaws.Outcome {
					once.Do(func() { change(y) }) // the first deletion is of events.audit
					return localaws.Outcome{}
				})
				r, err := ops.Sweep(y.Context(), y.Backend, &ops.SweepOptions{
					Owner: "shop", Yes: true, Journal: ops.FileJournal(filepath.Join(y.dir, "journal")),
				})
				if err == nil || !slices.Contains(classes(r), "idle unused failed") ||
					!slices.Contains(classes(r), "idle@dlq unused failed") {
					t.Errorf("%v\n%s", err, r.Text())
				}
				for _, name := range []string{"idle", "idle@dlq"} {
					if !slices.Contains(y.names(), name) {
						t.Errorf("%s is gone", name)
					}
				}
			})
		})
	}
}

// A schedule deletes what the run before has announced, half a day ago at least, and nothing that was used meanwhile.
func TestSweepScheduled(t *testing.T) {
	inYard(t, func(y *yard) {
		o := ops.SweepOptions{
			Owner: "shop", Scheduled: true, State: y.state("state"),
			Journal: ops.FileJournal(filepath.Join(y.dir, "journal")),
		}
		for i, want := range []string{
			"announced events.* events.audit events.audit@dlq idle idle@dlq",
			"announced events.* events.audit events.audit@dlq idle idle@dlq", // at the same time
			"announced events.*, deleted events.audit events.audit@dlq",      // idle is used
		} {
			r := y.sweep(o)
			done := map[ops.SweepAction][]string{}
			for _, f := range r.Findings {
				if f.Action != "" {
					done[f.Action] = append(done[f.Action], f.Channel)
				}
			}
			var parts []string
			for _, action := range []ops.SweepAction{ops.SweepAnnounced, ops.SweepDeleted, ops.SweepFailed} {
				if all := done[action]; len(all) > 0 {
					slices.Sort(all)
					parts = append(parts, string(action)+" "+strings.Join(all, " "))
				}
			}
			if i == 2 {
				want = "deleted events.* events.audit events.audit@dlq"
			}
			if got := strings.Join(parts, ", "); got != want {
				t.Fatalf("run %d: %s, want %s\n%s", i+1, got, want, r.Text())
			}
			if i == 1 {
				y.put("fed.*", driver.Message{Body: []byte("a kite")})
				y.poll("idle")
				time.Sleep(24 * time.Hour)
			}
		}
	})
}

// A sweep that is killed between the journal and the deletion, or in the middle of it, can be undone, and repeated.
func TestSweepKilled(t *testing.T) {
	for _, action := range []string{"sns.Unsubscribe", "sqs.DeleteQueue", "sns.DeleteTopic"} {
		t.Run(action, func(t *testing.T) {
			inYard(t, func(y *yard) {
				before := y.names()
				ctx, kill := context.WithCancel(y.Context())
				defer kill()
				stop := y.Server().Control(action, func(context.Context, *localaws.Request) localaws.Outcome {
					kill()
					return localaws.Outcome{Err: accessDenied}
				})
				path := filepath.Join(y.dir, "journal")
				o := ops.SweepOptions{Owner: "shop", Yes: true, Journal: ops.FileJournal(path)}
				if _, err := ops.Sweep(ctx, y.Backend, &o); err == nil {
					t.Fatal("it was not killed")
				}
				stop()
				text, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, append(text, `{"version":1,"chan`...), 0o600); err != nil { // torn
					t.Fatal(err)
				}
				_, err = ops.Sweep(y.Context(), y.Backend, &o)
				if action != "sns.DeleteTopic" && (err == nil || !strings.Contains(err.Error(), "torn")) {
					t.Errorf("%v", err)
				}
				if _, err := ops.Undo(y.Context(), y.Backend, y.read(path)); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(before, y.names()); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
				y.put("events.*", driver.Message{Body: []byte("again"), RoutingKey: "audit"})
				time.Sleep(time.Second)
				if d, err := y.Inspect(y.Context(), channelOf("events.audit")); err != nil || d.Waiting != 1 {
					t.Errorf("%+v, %v", d, err)
				}
			})
		})
	}
}

// A sweep tells its notifiers what it has found and done, however often they fail for the moment, and keeps its journal
// in a state.
func TestSweepTells(t *testing.T) {
	inYard(t, func(y *yard) {
		before := y.names()
		var told []*driver.Notice
		tries := 0
		n := notifierFunc(func(n *driver.Notice) error {
			if tries++; tries < 3 {
				return &driver.Error{Class: driver.Throttled, Err: errors.New("429")}
			}
			told = append(told, n)
			return nil
		})
		journal := ops.StateJournal{State: y.state("journal"), Name: "s3://acme/journal"}
		o := ops.SweepOptions{
			Owner: "shop", Scheduled: true, State: y.state("state"), Journal: journal, Name: "aws prod",
			Flags: "--namespace prod", Notifiers: []ops.Notifier{n},
		}
		y.sweep(o)
		time.Sleep(24 * time.Hour)
		y.sweep(o)
		var kinds []string
		for _, n := range told {
			for _, i := range n.Items {
				kinds = append(kinds, i.Kind+" "+i.Channel+": "+strings.Join(i.Commands, "; "))
			}
		}
		ls := func(name string) string { return name + ": godwit ls '" + name + "' --namespace prod" }
		undo := ": godwit sweep --undo s3://acme/journal --namespace prod"
		want := []string{
			"exchanges announced " + ls("events.*"), "queues announced " + ls("events.audit"),
			"queues announced " + ls("idle"), "queues announced " + ls("events.audit@dlq"),
			"queues announced " + ls("idle@dlq"), "stale " + ls("stale"), "without producers " + ls("fed.idle"),
			"without producers " + ls("polled"), "without consumers " + ls("flooded"),
			"exchanges deleted events.*" + undo, "queues deleted events.audit" + undo, "queues deleted idle" + undo,
			"queues deleted events.audit@dlq" + undo, "queues deleted idle@dlq" + undo,
		}
		if diff := cmp.Diff(want, kinds[:min(len(want), len(kinds))]); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if len(told) != 2 || !strings.HasPrefix(told[1].Title, "aws prod: sweep: ") ||
			!strings.Contains(told[1].Text, "godwit sweep --undo s3://acme/journal") {
			t.Errorf("%+v", told)
		}
		text, _, err := journal.State.Load(y.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ops.Undo(y.Context(), y.Backend, text); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(before, y.names()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// notifierFunc is a function that is told.
type notifierFunc func(n *driver.Notice) error

func (f notifierFunc) Notify(_ context.Context, n *driver.Notice) error { return f(n) }

// Two sweeps at once delete the same, once, and one journal describes it.
func TestTwoSweeps(t *testing.T) {
	inYard(t, func(y *yard) {
		before := y.names()
		path := filepath.Join(y.dir, "journal")
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() {
				r, err := ops.Sweep(y.Context(), y.Backend, &ops.SweepOptions{
					Owner: "shop", Yes: true, Journal: ops.FileJournal(path),
				})
				for _, f := range r.Findings {
					if f.Class == ops.SweepUnused && f.Action != ops.SweepDeleted && f.Action != ops.SweepGone {
						t.Errorf("%+v, %v", f, err)
					}
				}
			})
		}
		wg.Wait()
		if len(y.names()) != len(before)-5 {
			t.Errorf("%v", y.names())
		}
		lines := slices.Collect(bytes.Lines(y.read(path)))
		slices.Reverse(lines) // two sweeps may mix their lines
		if _, err := ops.Undo(y.Context(), y.Backend, bytes.Join(lines, nil)); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(before, y.names()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// Options that make no sense, an owner who has nothing, and files that are something else are errors that say what to
// do. Nothing is deleted.
func TestSweepRefuses(t *testing.T) {
	dir := t.TempDir()
	text := []byte("a list\nof things\n")
	odd := fileState(t)
	if err := odd.Store(t.Context(), text, ""); err != nil {
		t.Fatal(err)
	}
	torn := filepath.Join(dir, "torn")
	if err := os.WriteFile(torn, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	b, err := local.Open(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = b.Close(context.Background()) }()
	y := &yard{T: t, Backend: b}
	y.make("idle", "shop", nil)
	for want, o := range map[string]ops.SweepOptions{
		"has no Owner":         {Yes: true},
		"both Yes":             {Owner: "shop", Yes: true, Scheduled: true},
		"no State":             {Owner: "shop", Scheduled: true},
		"there are channels":   {Owner: "bank"},
		"no state of a sweep":  {Owner: "shop", State: odd},
		"no such bucket":       {Owner: "shop", State: brokenState{}},
		"channels of shop":     {Owner: "shops", Yes: true},
		"to delete at once, o": {Owner: "shop", Yes: true, Scheduled: true, State: odd},
	} {
		if _, err := ops.Sweep(t.Context(), b, &o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", o, err, want)
		}
	}
	if _, err := ops.Undo(t.Context(), b, text); err == nil || !strings.Contains(err.Error(), "line 1") {
		t.Errorf("%v", err)
	}
	if _, err := ops.Undo(t.Context(), b, nil); err == nil || !strings.Contains(err.Error(), "no deletion") {
		t.Errorf("%v", err)
	}
	if err := ops.FileJournal(torn).Append(t.Context(), []byte("{}\n")); err == nil ||
		!strings.Contains(err.Error(), "torn") {
		t.Errorf("%v", err)
	}
	if _, err := ops.Sweep(t.Context(), shop(t), nil); err == nil || !strings.Contains(err.Error(), "cannot be swept") {
		t.Errorf("%v", err)
	}
	if _, err := ops.Undo(t.Context(), shop(t), text); err == nil ||
		!strings.Contains(err.Error(), "cannot make again") {
		t.Errorf("%v", err)
	}
}

// A sweep that may delete only some channels leaves every other one, also if nobody uses it; none at all, if there are
// none.
func TestSweepOnly(t *testing.T) {
	inYard(t, func(y *yard) {
		before := y.names()
		o := ops.SweepOptions{
			Owner: "shop", Yes: true, Only: []string{}, Journal: ops.FileJournal(filepath.Join(y.dir, "journal")),
		}
		y.sweep(o)
		if diff := cmp.Diff(before, y.names()); diff != "" {
			t.Errorf("without a name: %s", diff)
		}
		o.Only = []string{"idle", "busy", "foreign"}
		y.sweep(o)
		want := slices.DeleteFunc(slices.Clone(before), func(name string) bool { return name == "idle" })
		if diff := cmp.Diff(want, y.names()); diff != "" {
			t.Errorf("with three names, of which one is unused: %s", diff)
		}
	})
}

// A channel without producers and consumers stays while delayed messages, or ticks of schedules, wait beside it. If
// none do, that queue goes with its channel.
func TestSweepOfMessagesBeside(t *testing.T) {
	for beside, m := range map[driver.Channel]driver.Message{
		{Queue: "idle", Later: true}:                {Delay: 30 * 24 * time.Hour},
		{Queue: "idle", Ticks: true, Ordered: true}: {Tick: true, OrderKey: "schedule/a", DedupID: "schedule/a/1"},
	} {
		inYard(t, func(y *yard) {
			if err := y.Ensure(y.Context(), driver.ChannelSpec{
				Channel: driver.Channel{Queue: "idle"}, Tags: map[string]string{"owner": "shop"},
			}); err != nil {
				t.Fatal(err)
			}
			y.put("idle", m)
			time.Sleep(5 * 24 * time.Hour) // so that the send is not seen
			are := func(class string) {
				t.Helper()
				got := classes(y.sweep(ops.SweepOptions{}))
				for _, want := range []string{"idle " + class, beside.String() + " " + class} {
					if !slices.Contains(got, want) {
						t.Errorf("%s is missing in %q", want, got)
					}
				}
			}
			are("stale")
			if _, err := driver.OperationsOf(y.Backend).Purge(y.Context(), beside, false); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Hour)
			are("unused")
		})
	}
}
