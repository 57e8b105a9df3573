package topology_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/fullrun"
	"github.com/godwitmq/godwit/local"
	"github.com/godwitmq/godwit/localaws"
	"github.com/godwitmq/godwit/localaws/wire"
	"github.com/godwitmq/godwit/topology"
)

// world is a server with the namespace prod, in virtual time.
type world struct {
	*testing.T
	b     *local.Backend
	quiet atomic.Bool // of used: calls are not noted
}

func inWorld(t *testing.T, f func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b, err := local.Open(t.Context(), &local.Options{
			Namespace: "prod", Server: &localaws.Options{Seed: 1}, Logger: slog.New(slog.DiscardHandler),
		})
		if err != nil {
			t.Fatal(err)
		}
		f(&world{T: t, b: b})
		if err := b.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
}

func (w *world) plan(s *topology.Spec) *topology.Changes {
	w.Helper()
	c, err := topology.Plan(w.Context(), w.b, s)
	if err != nil {
		w.Fatal(err)
	}
	return c
}

// lines are the steps of a plan.
func lines(steps []topology.Step) (all []string) {
	for _, s := range steps {
		all = append(all, strings.TrimSpace(fmt.Sprintf("%s %s %s %s", s.Kind, s.Channel, s.Resource, s.Attribute)))
	}
	return all
}

func (w *world) planIs(what string, s *topology.Spec, want ...string) {
	w.Helper()
	if diff := cmp.Diff(want, lines(w.plan(s).Steps)); diff != "" {
		w.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func (w *world) apply(s *topology.Spec, o *topology.ApplyOptions) topology.Applied {
	w.Helper()
	done, err := topology.Apply(w.Context(), w.b, s, o)
	if err != nil {
		w.Fatal(err)
	}
	return done
}

// A declaration is planned, applied with a report of each step, and is then the same. Apply does nothing more.
func TestApply(t *testing.T) {
	inWorld(t, func(w *world) {
		s := shop(t)
		c := w.plan(s)
		if !c.Drift() || c.Same != 0 || len(c.Steps) != 1+2+5*2+3 || c.Steps[0].Resource != "bucket" ||
			c.Steps[0].Name != s.Payloads.Bucket {
			t.Errorf("the first plan: %d the same, %q", c.Same, lines(c.Steps))
		}
		var told []topology.Step
		done := w.apply(s, &topology.ApplyOptions{
			Planned: c, Progress: func(s topology.Step) { told = append(told, s) },
		})
		if diff := cmp.Diff(c.Steps, told); diff != "" || len(done.Left) > 0 || !cmp.Equal(done.Done, told) {
			t.Errorf("%d left (-planned +told):\n%s", len(done.Left), diff)
		}
		if c := w.plan(s); c.Drift() || c.Same != 7 {
			t.Errorf("after it was applied: %d the same, %q", c.Same, lines(c.Steps))
		}
		before := w.b.Server().Calls()
		if done := w.apply(s, nil); len(done.Done) > 0 {
			t.Errorf("the second time: %q", lines(done.Done))
		}
		for call, n := range w.b.Server().Calls() {
			reads := strings.Contains(call, ".Get") || strings.Contains(call, ".List")
			if !reads && n != before[call] {
				t.Errorf("an apply without steps calls %s", call)
			}
		}
		if _, err := topology.Apply(w.Context(), w.b, s, &topology.ApplyOptions{Planned: c}); !errors.Is(err,
			topology.ErrChanged) {
			t.Errorf("a plan that is too old: %v", err)
		}
	})
}

// An undeclared channel is an orphan of the topology that declared it, and of no other.
func TestOrphans(t *testing.T) {
	inWorld(t, func(w *world) {
		s := shop(t)
		w.apply(s, nil)
		other := &topology.Spec{Name: "other", Channels: map[string]topology.Channel{"refunds": {}}}
		w.apply(other, nil)
		delete(s.Channels, "wishes.audit")
		w.planIs("a channel is not declared any more", s,
			"orphan wishes.audit queue", "orphan wishes.audit@dlq dead-letters")
		all, err := topology.Destroy(w.Context(), w.b, s, &topology.DestroyOptions{Orphans: true, Delete: true})
		if err != nil || len(all) != 2 || !all[0].Deleted || !all[1].Deleted {
			t.Errorf("destroy the orphans: %+v, %v", all, err)
		}
		w.planIs("after they were destroyed", s)
		w.planIs("another topology", other)
	})
}

// A channel with another order than declared is replaced by a person, and is no orphan before that, nor are the queues
// of such an exchange. Apply leaves them, and makes all others.
func TestReplace(t *testing.T) {
	inWorld(t, func(w *world) {
		s := &topology.Spec{
			Name: "shop", Exchanges: map[string]topology.Exchange{"e": {}},
			Channels: map[string]topology.Channel{"orders": {}, "left": {}, "e.a": {}},
		}
		w.apply(s, nil)
		s.Exchanges["e"] = topology.Exchange{Ordered: true}
		s.Channels = map[string]topology.Channel{"orders": {Ordered: true}, "bills": {}, "e.a": {Ordered: true}}
		orphans := []string{"orphan left queue", "orphan left@dlq dead-letters"}
		w.planIs("another order", s, append([]string{
			"replace e.* topic Ordered", "create bills dead letters", "create bills queue",
			"replace orders dead letters Ordered",
		}, orphans...)...)
		done := w.apply(s, nil)
		if len(done.Done) != 2 || len(done.Left) != 4 || done.Left[1].ByHand[0] != "stop the producers of orders" {
			t.Errorf("%q are done, %+v are left", lines(done.Done), done.Left)
		}
		if same := w.plan(s).Same; same != 1 {
			t.Errorf("%d are the same, want the bills", same)
		}
		for _, old := range []driver.Channel{
			{Queue: "orders"},
			{Queue: "orders", DeadLetter: true},
			{Exchange: "e", Queue: "a"},
			{Exchange: "e", Queue: "a", DeadLetter: true},
			{Exchange: "e"},
		} {
			if _, err := w.b.Remove(w.Context(), old, false); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(2 * time.Minute)
		w.apply(s, nil)
		w.planIs("the old ones were removed", s, orphans...)
	})
}

// What programs have made is adopted: it is tagged, and the plan says how it differs. Another topology's is refused.
func TestAdopt(t *testing.T) {
	inWorld(t, func(w *world) {
		s := shop(t)
		o, err := s.Consumer("orders")
		if err != nil {
			t.Fatal(err)
		}
		o.Ownership.Owner = "somebody"
		if _, err := godwit.NewConsumer(w.Context(), w.b, "orders", o); err != nil {
			t.Fatal(err)
		}
		s.Channels, s.Exchanges = map[string]topology.Channel{"orders": s.Channels["orders"]}, nil
		tag := "tag topology"
		w.planIs("before", s,
			"change orders dead letters tag owner", "change orders dead letters "+tag,
			"change orders queue tag owner", "change orders queue "+tag)
		for _, dry := range []bool{true, false} {
			adopted, err := topology.Adopt(w.Context(), w.b, s, dry)
			if diff := cmp.Diff([]string{"change orders queue " + tag, "change orders@dlq dead-letters " + tag},
				lines(adopted)); err != nil || diff != "" {
				t.Errorf("dry %v: %v (-want +got):\n%s", dry, err, diff)
			}
		}
		w.planIs("adopted", s, "change orders dead letters tag owner", "change orders queue tag owner")
		s.Name = "other"
		if _, err := topology.Adopt(w.Context(), w.b, s, false); err == nil || !strings.Contains(err.Error(),
			"declared by topology shop") {
			t.Errorf("another topology's: %v", err)
		}
	})
}

// Destroy begins with a dry run, refuses messages unless each channel with some is named, and deletes nothing else.
func TestDestroy(t *testing.T) {
	inWorld(t, func(w *world) {
		s := shop(t)
		w.apply(s, nil)
		if _, err := godwit.NewConsumer(w.Context(), w.b, "others", nil); err != nil {
			t.Fatal(err)
		}
		p, err := godwit.NewProducer(w.Context(), w.b, "invoices", nil)
		if err == nil {
			err = errors.Join(p.Send(w.Context(), godwit.Message{Body: []byte("a")}), p.Close(w.Context()))
		}
		if err != nil {
			t.Fatal(err)
		}
		all, err := topology.Destroy(w.Context(), w.b, s, nil)
		if err != nil || len(all) != 12 || all[0].Deleted {
			t.Fatalf("a dry run: %d, %v", len(all), err)
		}
		w.planIs("after the dry run", s)
		_, err = topology.Destroy(w.Context(), w.b, s, &topology.DestroyOptions{Delete: true})
		if err == nil || !strings.Contains(err.Error(), "invoices has 1") {
			t.Errorf("with a message: %v", err)
		}
		w.planIs("after the refusal", s)
		if _, err = topology.Destroy(w.Context(), w.b, s, &topology.DestroyOptions{
			Delete: true, NonEmpty: []string{"invoices"},
		}); err != nil {
			t.Error(err)
		}
		left, err := w.b.Catalog(w.Context())
		if err != nil || len(left) != 2 || left[0].Channel.Queue != "others" {
			t.Errorf("left: %+v, %v", left, err)
		}
	})
}

// random is a declaration with random channels.
func random(r *rand.Rand) *topology.Spec {
	s := &topology.Spec{
		Name: "random", Owner: "shop", Exchanges: map[string]topology.Exchange{},
		Channels: map[string]topology.Channel{},
	}
	for i := range 1 + r.IntN(2) {
		e := topology.Exchange{
			Ordered: r.IntN(2) == 0, KMSKey: []string{"", "alias/a"}[r.IntN(2)],
			Owner: []string{"", "team-e"}[r.IntN(2)], Tags: map[string]string{"e": fmt.Sprint(r.IntN(2))},
			Attributes: []map[string]string{
				nil,
				{"TracingConfig": "Active"},
				{"DisplayName": "Shop: #1", "SignatureVersion": "2"},
				{"SQSFailureFeedbackRoleArn": "arn:aws:iam::000000000000:role/log"},
			}[r.IntN(4)],
		}
		e.HighThroughput = e.Ordered && r.IntN(2) == 0
		s.Exchanges[fmt.Sprintf("e%d", i)] = e
	}
	for i := range 1 + r.IntN(4) {
		c := topology.Channel{
			Delay:     time.Duration(r.IntN(900)) * time.Second,
			Retention: time.Minute + time.Duration(r.IntN(300))*time.Hour,
			Lease:     3*time.Second + time.Duration(r.IntN(100))*time.Second, MaxAttempts: 1 + r.IntN(20),
			NoDeadLetters: r.IntN(4) == 0, KMSKey: []string{"", "alias/a"}[r.IntN(2)], Critical: r.IntN(2) == 0,
			Alarms: topology.Alarms{
				Depth: r.IntN(3), DeadLetters: r.IntN(2), Age: time.Duration(r.IntN(2)) * time.Minute,
			},
			Tags: map[string]string{"k": fmt.Sprint(r.IntN(3))}, Keep: []string{"", "audit"}[r.IntN(2)],
			Owner: []string{"", "team-c"}[r.IntN(2)],
		}
		if !c.NoDeadLetters && r.IntN(2) == 0 {
			c.DeadLetterRetention = c.Retention + time.Duration(r.IntN(36))*time.Hour
		}
		name := fmt.Sprintf("c%d", i)
		if r.IntN(2) == 0 {
			exchange := fmt.Sprintf("e%d", r.IntN(len(s.Exchanges)))
			name = exchange + "." + name
			c.Ordered = s.Exchanges[exchange].Ordered
			c.Filter = []topology.Filter{
				{}, {Exact: []string{"A"}}, {Prefix: []string{"B."}}, {Exclude: []string{"C"}},
			}[r.IntN(4)]
		} else {
			c.Ordered = r.IntN(2) == 0
		}
		c.HighThroughput = c.Ordered && r.IntN(2) == 0
		c.Attributes = []map[string]string{
			nil, nil,
			{"ReceiveMessageWaitTimeSeconds": "20"},
			{"RedriveAllowPolicy": `{"redrivePermission":"denyAll"}`, "MaximumMessageSize": "2048"},
		}[r.IntN(4)]
		if c.KMSKey != "" && r.IntN(2) == 0 {
			c.Attributes = map[string]string{"KmsDataKeyReusePeriodSeconds": "60"}
		}
		s.Channels[name] = c
	}
	return s
}

// alterations change one thing of a channel, and name the attributes that a plan then has.
var alterations = map[string]struct {
	change func(c *topology.Channel)
	want   []string
}{
	"delay": {func(c *topology.Channel) { c.Delay = 900 * time.Second }, []string{"DelaySeconds"}},
	"retention": {func(c *topology.Channel) { c.Retention = 61 * time.Second }, []string{
		"MessageRetentionPeriod",
	}},
	"lease":    {func(c *topology.Channel) { c.Lease = time.Hour }, []string{"VisibilityTimeout"}},
	"attempts": {func(c *topology.Channel) { c.MaxAttempts = 100 }, []string{"RedrivePolicy"}},
	"a tag":    {func(c *topology.Channel) { c.Tags = map[string]string{"k": "new"} }, []string{"tag k"}},
	"alarms":   {func(c *topology.Channel) { c.Alarms.Age = time.Hour }, []string{"tag alarm-age"}},
	"owner":    {func(c *topology.Channel) { c.Owner = "another" }, []string{"tag owner"}},
	"keep":     {func(c *topology.Channel) { c.Keep = "longer" }, []string{"tag keep"}},
	"key": {
		func(c *topology.Channel) { c.KMSKey = "alias/b" }, []string{"KmsMasterKeyId", "SqsManagedSseEnabled"},
	},
	"an attribute": {
		func(c *topology.Channel) { c.Attributes = map[string]string{"MaximumMessageSize": "4096"} },
		[]string{"MaximumMessageSize"},
	},
	"dead letters' retention": {func(c *topology.Channel) {
		if !c.NoDeadLetters {
			c.DeadLetterRetention = 13 * 24 * time.Hour
		}
	}, []string{"MessageRetentionPeriod"}},
	"throughput": {func(c *topology.Channel) { c.HighThroughput = c.Ordered && !c.HighThroughput }, []string{
		"DeduplicationScope", "FifoThroughputLimit",
	}},
}

// exchangeAlterations are those of an exchange.
var exchangeAlterations = map[string]struct {
	change func(e *topology.Exchange)
	want   []string
}{
	"key": {func(e *topology.Exchange) { e.KMSKey = "alias/b" }, []string{"KmsMasterKeyId"}},
	"an attribute": {
		func(e *topology.Exchange) { e.Attributes = map[string]string{"DisplayName": "Other"} },
		[]string{"DisplayName"},
	},
	"a tag": {func(e *topology.Exchange) { e.Tags = map[string]string{"e": "new"} }, []string{"tag e"}},
	"throughput": {func(e *topology.Exchange) { e.HighThroughput = e.Ordered && !e.HighThroughput }, []string{
		"FifoThroughputScope",
	}},
}

// alter changes one thing of a declaration at random. It returns what, of which channel, and the attributes that a plan
// then has; nil: nothing is different.
func alter(r *rand.Rand, s *topology.Spec) (what, channel string, want []string) {
	before := topology.Format(s)
	if names := s.ExchangeNames(); r.IntN(4) == 0 {
		kinds := slices.Sorted(maps.Keys(exchangeAlterations))
		name, kind := names[r.IntN(len(names))], kinds[r.IntN(len(kinds))]
		e, a := s.Exchanges[name], exchangeAlterations[kind]
		a.change(&e)
		s.Exchanges[name] = e
		what, channel, want = kind, name+".*", a.want
	} else {
		names, kinds := s.ChannelNames(), slices.Sorted(maps.Keys(alterations))
		name, kind := names[r.IntN(len(names))], kinds[r.IntN(len(kinds))]
		c, a := s.Channels[name], alterations[kind]
		a.change(&c)
		s.Channels[name] = c
		if what, channel, want = kind, name, a.want; kind == "attempts" && c.NoDeadLetters {
			return what, channel, nil // then there is no redrive policy
		}
	}
	if bytes.Equal(before, topology.Format(s)) {
		want = nil
	}
	return what, channel, want
}

// A random declaration is applied, and its plan is empty. After one thing is changed, the plan names exactly that, and
// after it is applied it is empty again.
func TestRoundTrip(t *testing.T) {
	for seed := range uint64(fullrun.Pick(20, 500)) {
		inWorld(t, func(w *world) {
			r := rand.New(rand.NewPCG(seed, 1))
			s := random(r)
			w.apply(s, nil)
			w.planIs(fmt.Sprintf("seed %d, applied", seed), s)
			what, name, want := alter(r, s)
			if want == nil {
				return
			}
			for _, step := range w.plan(s).Steps {
				right := step.Channel == name && step.Kind == topology.StepChange
				if !right || !slices.Contains(want, step.Attribute) {
					t.Errorf("seed %d, %s of %s: %+v", seed, what, name, step)
				}
			}
			if w.plan(s).Same != len(s.Channels)+len(s.Exchanges)-1 {
				t.Errorf("seed %d, %s of %s: the plan has %q", seed, what, name, lines(w.plan(s).Steps))
			}
			w.apply(s, nil)
			w.planIs(fmt.Sprintf("seed %d, %s of %s was applied", seed, what, name), s)
		})
		if t.Failed() {
			return
		}
	}
}

// changed is the declaration of testdata with something else in everything that it has, and with more of it.
func changed(t *testing.T) *topology.Spec {
	t.Helper()
	s := shop(t)
	for name, e := range s.Exchanges {
		e.KMSKey, e.HighThroughput, e.Owner = "alias/b", e.Ordered, "another"
		e.Attributes = map[string]string{"TracingConfig": "PassThrough", "DisplayName": "Shop"}
		s.Exchanges[name] = e
	}
	for name, c := range s.Channels {
		c.KMSKey, c.Delay, c.Retention, c.Lease, c.MaxAttempts = "alias/b", time.Minute, time.Hour, time.Hour, 30
		c.Owner, c.Keep, c.Attributes = "another", "longer", map[string]string{"MaximumMessageSize": "2048"}
		if strings.HasPrefix(name, "wishes.") {
			c.Filter = topology.Filter{Exclude: []string{"X"}}
		}
		s.Channels[name] = c
	}
	s.Exchanges["news"], s.Channels["news.all"] = topology.Exchange{}, topology.Channel{}
	s.Channels["ledger.copy"] = topology.Channel{Ordered: true}
	return s
}

// An apply that breaks at one of its calls, before or after it took effect, is completed by the next one: where nothing
// exists, and where everything is different.
func TestApplyBrokenAtEachCall(t *testing.T) {
	refused := &wire.Error{Code: "AccessDenied", Message: "denied", Status: 403}
	for i, v := range []struct{ exists, after bool }{{false, false}, {false, true}, {true, false}, {true, true}} {
		every := fullrun.Pick[int64](20, 1)
		n := min(every, int64(1+i))
		for ; ; n += every {
			var broken atomic.Bool
			inWorld(t, func(w *world) {
				s := shop(t)
				if v.exists {
					w.apply(s, nil)
					s = changed(t)
				}
				var calls atomic.Int64
				stop := w.b.Server().Control("*", func(context.Context, *localaws.Request) localaws.Outcome {
					if calls.Add(1) != n {
						return localaws.Outcome{}
					}
					broken.Store(true)
					if v.after {
						return localaws.Outcome{ErrAfter: refused}
					}
					return localaws.Outcome{Err: refused}
				})
				_, _ = topology.Apply(w.Context(), w.b, s, nil) // some calls need not succeed
				stop()
				w.apply(s, nil)
				w.planIs(fmt.Sprintf("call %d failed, %+v", n, v), s)
			})
			if !broken.Load() || t.Failed() {
				break
			}
		}
		t.Logf("%+v: %d calls at most", v, n)
	}
}

// Two applies at once end in the declared state, where nothing exists and where something is different.
func TestTwoAppliesAtOnce(t *testing.T) {
	for seed := range uint64(fullrun.Pick(6, 500)) {
		inWorld(t, func(w *world) {
			r := rand.New(rand.NewPCG(seed, 2))
			s := random(r)
			if seed%2 == 0 {
				w.apply(s, nil)
				_, _, _ = alter(r, s)
				_, _, _ = alter(r, s)
			}
			var mu sync.Mutex
			w.b.Server().Control("*", func(context.Context, *localaws.Request) localaws.Outcome {
				mu.Lock()
				defer mu.Unlock()
				return localaws.Outcome{Delay: time.Duration(r.IntN(50)) * time.Millisecond}
			})
			var both sync.WaitGroup
			for range 2 {
				both.Go(func() {
					if _, err := topology.Apply(w.Context(), w.b, s, nil); err != nil {
						t.Errorf("seed %d: %v", seed, err)
					}
				})
			}
			both.Wait()
			w.planIs(fmt.Sprintf("seed %d", seed), s)
		})
		if t.Failed() {
			return
		}
	}
}

// deploy starts the consumers of all channels, one after another for a minute each, with other options than declared.
func (w *world) deploy(s *topology.Spec) {
	for _, name := range s.ChannelNames() {
		o, err := s.Consumer(name)
		if err != nil {
			w.Error(err)
			return
		}
		o.MaxAttempts, o.Delay, o.Ownership.Owner = 9, time.Minute, "somebody"
		if strings.HasPrefix(name, "wishes.") {
			o.Filter = godwit.Filter{Exact: []string{"X"}}
		}
		o.Logger = slog.New(slog.DiscardHandler)
		ctx, stop := context.WithTimeout(w.Context(), time.Minute)
		c, err := godwit.NewConsumer(ctx, w.b, name, o)
		if err == nil {
			_, err = c.Run(ctx, func(context.Context, *godwit.Delivery) error { return nil })
		}
		if stop(); err != nil {
			w.Errorf("deploy %s: %v", name, err)
		}
	}
}

// While a program with other options is deployed again and again for an hour, and the topology is applied beside it,
// the attributes stay as declared. The program may be first: then one apply changes what it has made. A change of the
// declaration sets one attribute once.
func TestProgramsBesideATopology(t *testing.T) {
	for seed := range uint64(fullrun.Pick(2, 50)) {
		inWorld(t, func(w *world) {
			s := shop(t)
			r := rand.New(rand.NewPCG(seed, 7))
			var mu sync.Mutex
			var set []string // what was set since the last change of the declaration
			w.b.Server().Control("*", func(_ context.Context, q *localaws.Request) localaws.Outcome {
				mu.Lock()
				defer mu.Unlock()
				if strings.HasPrefix(q.Action, "Set") || strings.HasPrefix(q.Action, "Tag") {
					set = append(set, q.Action)
				}
				return localaws.Outcome{Delay: time.Duration(r.IntN(100)) * time.Millisecond}
			})
			settled := func(want ...string) {
				mu.Lock()
				defer mu.Unlock()
				if diff := cmp.Diff(want, set); diff != "" {
					t.Errorf("seed %d: set at %v (-want +got):\n%s", seed, time.Now(), diff)
				}
				set = nil
			}
			if seed%3 > 0 {
				w.apply(s, nil)
				set = nil
			}
			var program sync.WaitGroup
			program.Go(func() {
				for range 12 { // every five minutes of an hour
					w.deploy(shop(t))
				}
			})
			for i := range 20 {
				w.apply(s, nil)
				switch {
				case i == 2 && seed%3 == 0: // all that the program had made first has been changed
					mu.Lock()
					set = nil
					mu.Unlock()
				case i == 9:
					settled()
					c := s.Channels["invoices"]
					c.Lease = time.Hour
					s.Channels["invoices"] = c
				}
				time.Sleep(3 * time.Minute)
			}
			program.Wait()
			settled("SetQueueAttributes")
			w.planIs(fmt.Sprintf("seed %d, after an hour", seed), s)
		})
		if t.Failed() {
			return
		}
	}
}

// A declaration with mistakes calls nothing.
func TestMistakesCallNothing(t *testing.T) {
	inWorld(t, func(w *world) {
		s := &topology.Spec{Channels: map[string]topology.Channel{"orders": {Delay: time.Hour}, "a@dlq": {}}}
		_, err := topology.Plan(w.Context(), w.b, s)
		_, applyErr := topology.Apply(w.Context(), w.b, s, nil)
		_, adoptErr := topology.Adopt(w.Context(), w.b, s, false)
		for _, err := range []error{err, applyErr, adoptErr} {
			if wrong, ok := errors.AsType[*topology.MistakesError](err); !ok || len(wrong.Mistakes) != 2 {
				t.Errorf("two mistakes: %v", err)
			}
		}
		if calls := w.b.Server().Calls(); len(calls) > 0 {
			t.Errorf("a declaration with mistakes calls %v", calls)
		}
	})
}

// A plan of 300 channels takes less than 5 s when each request takes 50 ms. It stays within the rates that SNS and
// tagging document, also if each channel has an exchange of its own.
func TestPlanOfManyChannels(t *testing.T) {
	allowed := map[string]int{
		"sns.ListTagsForResource": 10, "sns.ListSubscriptionsByTopic": 30, "tagging.GetResources": 15,
	}
	for exchanges, c := range map[int]struct {
		channels int
		most     time.Duration
	}{10: {300, 5 * time.Second}, 45: {135, 6 * time.Second}} {
		inWorld(t, func(w *world) {
			s := &topology.Spec{Exchanges: map[string]topology.Exchange{}, Channels: map[string]topology.Channel{}}
			for i := range c.channels {
				name := fmt.Sprintf("c%d", i)
				if i%3 == 0 {
					exchange := fmt.Sprintf("e%d", i/3%exchanges)
					s.Exchanges[exchange] = topology.Exchange{}
					name = exchange + "." + name
				}
				s.Channels[name] = topology.Channel{}
			}
			w.apply(s, nil)
			var mu sync.Mutex
			calls := map[string][]time.Time{}
			w.b.Server().Control("*", func(_ context.Context, r *localaws.Request) localaws.Outcome {
				mu.Lock()
				defer mu.Unlock()
				name := r.Service + "." + r.Action
				if is := append(calls[name], time.Now()); allowed[name] > 0 {
					calls[name] = is
					if n := len(is) - 1 - allowed[name]; n >= 0 && is[len(is)-1].Sub(is[n]) < time.Second {
						t.Errorf("%d exchanges: over %d calls of %s within a second", exchanges, allowed[name], name)
					}
				}
				return localaws.Outcome{Delay: 50 * time.Millisecond}
			})
			begun := time.Now()
			w.planIs("all are declared", s)
			took := time.Since(begun)
			t.Logf("%d exchanges: %v", exchanges, took)
			if took > c.most {
				t.Errorf("%d exchanges: the plan took %v", exchanges, took)
			}
		})
	}
}

// A backend without the operations is refused.
func TestWithoutOperations(t *testing.T) {
	if _, err := topology.Plan(t.Context(), struct{ driver.Backend }{}, shop(t)); err == nil {
		t.Error("a backend without operations is planned")
	}
}

// Resources are listed with their owners and with what their requests cost; the unused ones that cost money come first.
func TestResources(t *testing.T) {
	inWorld(t, func(w *world) {
		s := shop(t)
		w.apply(s, nil)
		p, err := godwit.NewProducer(w.Context(), w.b, "invoices", nil)
		if err == nil {
			err = errors.Join(p.Send(w.Context(), godwit.Message{Body: []byte("a")}), p.Close(w.Context()))
		}
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithTimeout(w.Context(), 10*time.Minute)
		o, err := s.Consumer("orders")
		if err != nil {
			t.Fatal(err)
		}
		c, err := godwit.NewConsumer(ctx, w.b, "orders", o)
		if err == nil {
			_, err = c.Run(ctx, func(context.Context, *godwit.Delivery) error { return nil }) // only empty receives
		}
		if stop(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		all, err := topology.Resources(w.Context(), w.b, &topology.ResourcesOptions{
			Prices: topology.Prices{Date: "today", Queue: 1, OrderedQueue: 1e6},
		})
		if err != nil || len(all) != 12+1 {
			t.Fatalf("%d resources, %v", len(all), err)
		}
		if i := slices.IndexFunc(all, func(r topology.Resource) bool { return r.Role == "payloads" }); i < 0 ||
			all[i].Name != local.Bucket || all[i].Cost.Known || all[i].Stored.Known {
			t.Errorf("payloads that nobody counts: %+v", all[max(i, 0)])
		}
		first := all[0]
		if first.Channel != "orders" || first.Owner != "team-shop" || first.Topology != "shop" ||
			first.EmptyReceives.Value == 0 || first.Cost.Dollars != float64(30*first.EmptyReceives.Value) {
			t.Errorf("the first is %+v", first)
		}
		i := slices.IndexFunc(all, func(r topology.Resource) bool { return r.Channel == "invoices" })
		if all[i].Sent.Value != 1 || all[i].SentBytes.Value == 0 || all[i].Created.IsZero() {
			t.Errorf("with a message: %+v", all[i])
		}
		unknown := topology.Resource{}
		text, err := json.Marshal(unknown)
		if err != nil || !strings.Contains(string(text), `"sent":null`) || unknown.Cost.String() != "?" {
			t.Errorf("unknown numbers: %s, %v", text, err)
		}
	})
}

// counted is a service with its numbers of a day.
type counted struct {
	*local.Backend
	sent, received, bytes, puts, gets int64
}

func (c counted) Operations() driver.Operations {
	do := c.Backend.Operations()
	do.Activity = func(_ context.Context, cs []driver.Channel, _ time.Time) ([]driver.Activity, error) {
		all := make([]driver.Activity, len(cs))
		for i, ch := range cs {
			all[i].Channel = ch
			if all[i].Sent.Value = c.sent; ch.Queue != "" {
				all[i].Received.Value = c.received
			}
		}
		return all, nil
	}
	do.Stored = func(context.Context, time.Time) (driver.Stored, error) {
		n := func(v int64) driver.Reading[int64] { return driver.Reading[int64]{Value: v} }
		return driver.Stored{Name: "acme", Bytes: n(c.bytes), Puts: n(c.puts), Gets: n(c.gets)}, nil
	}
	return do
}

// An estimate has the requests to KMS, at most as many as data keys or messages need, and what S3 counts.
func TestResourcesOfKMSAndS3(t *testing.T) {
	inWorld(t, func(w *world) {
		w.apply(&topology.Spec{
			Namespace: "prod", Exchanges: map[string]topology.Exchange{"e": {KMSKey: "alias/shop"}},
			Channels: map[string]topology.Channel{
				"open": {}, "secret": {KMSKey: "alias/shop"},
				"rare": {KMSKey: "alias/shop", Attributes: map[string]string{"KmsDataKeyReusePeriodSeconds": "86400"}},
			},
		}, nil)
		costs := func(c counted, prices topology.Prices, want map[string]float64) {
			t.Helper()
			all, err := topology.Resources(w.Context(), c, &topology.ResourcesOptions{Prices: prices})
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]float64{}
			for _, r := range all {
				if got[r.Channel] = r.Cost.Dollars; !r.Cost.Known {
					t.Errorf("%+v", r)
				}
				open := r.Role == "payloads" || strings.HasPrefix(r.Channel, "open")
				if encrypted := r.KMSKey == "alias/shop"; encrypted == open {
					t.Errorf("%s has the key %q", r.Channel, r.KMSKey)
				}
			}
			if diff := cmp.Diff(want, got, cmpopts.EquateApprox(0, 1e-9)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		}
		costs(counted{w.b, 1000, 1000, 0, 0, 0}, topology.Prices{Date: "today", KMS: 1e6}, map[string]float64{
			"open": 0, "open@dlq": 0, "payloads": 0, "e.*": 2 * 8640, "secret": 3 * 8640, "secret@dlq": 3 * 8640,
			"rare": 3 * 30, "rare@dlq": 3 * 8640,
		})
		costs(counted{w.b, 1, 2, 0, 0, 0}, topology.Prices{Date: "today", KMS: 1e6}, map[string]float64{
			"open": 0, "open@dlq": 0, "payloads": 0, "e.*": 2 * 30, "secret": 4 * 30, "secret@dlq": 4 * 30,
			"rare": 3 * 30, "rare@dlq": 4 * 30,
		})
		prices := topology.Prices{Date: "today", StoreGiB: 2, StorePut: 1e6, StoreGet: 2e6}
		costs(counted{w.b, 0, 0, 10 << 30, 3, 5}, prices, map[string]float64{
			"open": 0, "open@dlq": 0, "payloads": 20 + 30*(3+10), "e.*": 0, "secret": 0, "secret@dlq": 0, "rare": 0,
			"rare@dlq": 0,
		})
	})
}
