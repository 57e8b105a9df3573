package ops_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
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
	"github.com/godwitmq/godwit/ops"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// watchedChannel is a channel of a street.
type watchedChannel struct {
	driver.ChannelInfo
	depth driver.Depth
	err   error
	age   driver.Reading[time.Duration]
	polls driver.Reading[int64]
}

// street is a backend with any channels.
type street struct {
	driver.Backend

	mu         sync.Mutex
	channels   []*watchedChannel
	catalogErr error
	meterErr   error
}

// add adds a channel such as orders or orders@dlq, with tags as name=value.
func (s *street) add(name string, waiting int64, tags ...string) *watchedChannel {
	queue, dead := strings.CutSuffix(name, "@dlq")
	queue, later := strings.CutSuffix(queue, "@later")
	queue, ticks := strings.CutSuffix(queue, "@ticks")
	w := &watchedChannel{depth: driver.Depth{Waiting: waiting, Oldest: -1}}
	w.Channel = driver.Channel{Queue: queue, DeadLetter: dead, Later: later, Ticks: ticks}
	w.Address = "arn:aws:sqs:eu-west-1:123456789012:" + strings.ReplaceAll(name, "@", "--")
	w.Tags = map[string]string{}
	for _, t := range tags {
		k, v, _ := strings.Cut(t, "=")
		w.Tags[k] = v
	}
	s.change(func() { s.channels = append(s.channels, w) })
	return w
}

func (s *street) change(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

func (s *street) Operations() driver.Operations {
	return driver.Operations{Catalog: s.Catalog, Inspect: s.Inspect, Activity: s.Activity}
}

func (s *street) Catalog(context.Context) (all []driver.ChannelInfo, err error) {
	s.change(func() {
		for _, w := range s.channels {
			all = append(all, w.ChannelInfo)
		}
		err = s.catalogErr
	})
	return all, err
}

func (s *street) Inspect(_ context.Context, c driver.Channel) (d driver.Depth, err error) {
	s.change(func() {
		for _, w := range s.channels {
			if w.Channel == c {
				d, err = w.depth, w.err
			}
		}
	})
	return d, err
}

func (s *street) Activity(_ context.Context, cs []driver.Channel, _ time.Time) (all []driver.Activity, err error) {
	s.change(func() {
		for _, c := range cs {
			for _, w := range s.channels {
				if w.Channel == c {
					all = append(all, driver.Activity{Channel: c, Oldest: w.age, EmptyReceives: w.polls})
				}
			}
		}
		err = s.meterErr
	})
	return all, err
}

// people is a notifier that remembers what it was told.
type people struct {
	mu    sync.Mutex
	told  []*driver.Notice
	fails func(n int) error // by the number of the try, from 1; nil: never
	tries int
}

func (p *people) Notify(_ context.Context, n *driver.Notice) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tries++
	if p.fails != nil {
		if err := p.fails(p.tries); err != nil {
			return err
		}
	}
	p.told = append(p.told, n)
	return nil
}

// heard returns and forgets what the people were told, as lines of state and text.
func (p *people) heard() (lines []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, n := range p.told {
		for _, i := range n.Items {
			critical := ""
			if i.Critical {
				critical = "CRITICAL "
			}
			lines = append(lines, fmt.Sprintf("%s%s %s: %s", critical, i.State, i.Channel, i.Text))
		}
	}
	p.told = nil
	return lines
}

func newAlerts(t *testing.T, b driver.Backend, o ops.AlertsOptions) *ops.Alerts {
	t.Helper()
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	a, err := ops.NewAlerts(b, &o)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func to(p ops.Notifier) []ops.Route { return []ops.Route{{Name: "people", To: p}} }

// once looks once, and compares what the people were told.
func once(t *testing.T, a *ops.Alerts, what ops.Look, p *people, want ...string) {
	t.Helper()
	if _, err := a.Once(t.Context(), what); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(want, p.heard()); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
}

// Channels without tags have the defaults, and tags change them. Sources and dead letters are looked at apart.
func TestAlertThresholds(t *testing.T) {
	s, p := &street{}, &people{}
	s.add("quiet", 999)
	s.add("many", 1000)
	s.add("few", 5, "alarm-depth=5")
	s.add("off", 5000, "alarm-depth=0")
	s.add("old", 1).age.Value = 15 * time.Minute
	s.add("young", 1).age.Value = 15*time.Minute - time.Second
	s.add("strict", 1, "alarm-age=60").age.Value = time.Minute
	s.add("kafka", 1).depth.Oldest = time.Hour
	s.add("new", 1).Created = time.Now()
	s.add("uncounted", 1).age.Err = driver.ErrNotCounted
	s.add("many@dlq", 0)
	s.add("few@dlq", 1)
	s.add("some@dlq", 9, "alarm-dead-letters=10")
	flight := s.add("flight@dlq", 0)
	flight.depth.InFlight = 2
	s.add("mapped", 5000).Mapped = true
	exchange := s.add("", 5000)
	exchange.Channel = driver.Channel{Exchange: "events"}
	a := newAlerts(t, s, ops.AlertsOptions{Routes: to(p)})
	once(t, a, ops.LookSources, p,
		"opened few: 5 messages waiting (limit 5)",
		"opened kafka: the oldest message is 1h old (limit 15m)",
		"opened many: 1000 messages waiting (limit 1000)",
		"opened old: the oldest message is 15m old (limit 15m)",
		"opened strict: the oldest message is 1m old (limit 1m)")
	once(t, a, ops.LookDeadLetters, p,
		"opened few@dlq: 1 dead letter (limit 1)", "opened flight@dlq: 2 dead letters (limit 1)")
}

// A threshold that is no number is named, and the default is used.
func TestAlertsNameWrongTags(t *testing.T) {
	s, p := &street{}, &people{}
	s.add("orders", 1000, "alarm-depth=many", "alarm-age=-1")
	s.add("orders@dlq", 1, "alarm-dead-letters=-5")
	once(t, newAlerts(t, s, ops.AlertsOptions{Routes: to(p)}), ops.LookAll, p,
		`opened orders: its tag alarm-depth is "many", which is no number: 1000 is used; its tag alarm-age is "-1", `+
			`which is below zero: 900 is used`,
		"opened orders: 1000 messages waiting (limit 1000)",
		"opened orders@dlq: 1 dead letter (limit 1)",
		`opened orders@dlq: its tag alarm-dead-letters is "-5", which is below zero: 1 is used`)
}

// An alert is told once, again after 24 hours while it lasts, and once when it is resolved. A channel that is deleted
// is resolved. One that opens again is told again.
func TestAlertsAreToldOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, p := &street{}, &people{}
		orders, bills := s.add("orders", 2000, "critical=true"), s.add("bills@dlq", 1)
		a := newAlerts(t, s, ops.AlertsOptions{Routes: to(p)})
		once(t, a, ops.LookAll, p, "CRITICAL opened orders: 2000 messages waiting (limit 1000)",
			"opened bills@dlq: 1 dead letter (limit 1)")
		for range 95 { // the looks of a day
			time.Sleep(15 * time.Minute)
			once(t, a, ops.LookAll, p)
		}
		time.Sleep(15*time.Minute - 10*time.Millisecond)
		once(t, a, ops.LookAll, p, "CRITICAL lasting orders: 2000 messages waiting (limit 1000)",
			"lasting bills@dlq: 1 dead letter (limit 1)")
		orders.depth.Waiting = 3
		s.channels = s.channels[:1]
		once(t, a, ops.LookSources, p, "CRITICAL resolved orders: 3 messages waiting (limit 1000)")
		once(t, a, ops.LookAll, p, "resolved bills@dlq: the channel does not exist any more")
		once(t, a, ops.LookAll, p)
		orders.depth.Waiting = 1001
		s.channels = append(s.channels, bills)
		once(t, a, ops.LookAll, p, "CRITICAL opened orders: 1001 messages waiting (limit 1000)",
			"opened bills@dlq: 1 dead letter (limit 1)")
	})
}

// What could not be looked at is a line of its own, and neither opens nor resolves anything else.
func TestAlertsTellWhatIsUnknown(t *testing.T) {
	s, p := &street{}, &people{}
	orders := s.add("orders", 2000)
	classed := func(c driver.Class, text string) error { return &driver.Error{Class: c, Err: errors.New(text)} }
	a := newAlerts(t, s, ops.AlertsOptions{Routes: to(p)})
	once(t, a, ops.LookAll, p, "opened orders: 2000 messages waiting (limit 1000)")

	orders.err = classed(driver.Denied, "sqs:GetQueueAttributes")
	s.add("gone", 0).err = classed(driver.NotFound, "no queue")
	s.add("busy", 0).err = classed(driver.Throttled, "slow down")
	s.add("late", 1).age.Err = classed(driver.Transient, "partial")
	denied := "opened orders: it could not be looked at (denied): sqs:GetQueueAttributes"
	once(t, a, ops.LookAll, p, "opened busy: it could not be looked at (throttled): slow down",
		"opened gone: it is gone: it was deleted while it was looked at, or the service still lists it",
		"opened late: the age of its oldest message could not be looked up (transient): partial", denied)
	once(t, a, ops.LookAll, p)

	s.catalogErr = classed(driver.Denied, "tag:GetResources")
	once(t, a, ops.LookAll, p, "opened : the channels could not be listed (denied): tag:GetResources")
	s.catalogErr, s.meterErr, orders.err = nil, classed(driver.Denied, "cloudwatch:GetMetricData"), nil
	orders.depth.Waiting = 0
	once(t, a, ops.LookAll, p, "resolved : the channels can be listed again",
		"resolved orders: it can be looked at again", "resolved orders: 0 messages waiting (limit 1000)")
}

// Messages that wait for their time have no age that matters. There is an alert if nobody has received from them for a
// day, and if SQS can hide few more.
func TestAlertsOfLaterMessages(t *testing.T) {
	s, p := &street{}, &people{}
	later := s.add("orders@later", 0)
	later.depth.InFlight, later.age.Value = 5, 90*24*time.Hour
	later.polls.Err = &driver.Error{Class: driver.Denied, Err: errors.New("cloudwatch:GetMetricData")}
	a := newAlerts(t, s, ops.AlertsOptions{Routes: to(p)})
	once(t, a, ops.LookAll, p) // it is not known whether somebody polls
	later.polls = driver.Reading[int64]{Value: 4320}
	once(t, a, ops.LookAll, p)
	later.polls.Value, later.Created = 0, time.Now().Add(-time.Hour)
	once(t, a, ops.LookAll, p)
	later.Created = time.Now().Add(-48 * time.Hour)
	asleep := "orders@later: nobody has received from it for a day: run a consumer of the channel, which sends on what is " +
		"due; messages are lost 14 days after they were sent for the last time"
	once(t, a, ops.LookAll, p, "opened "+asleep)
	later.depth.InFlight, later.polls.Value = 110_000, 1
	once(t, a, ops.LookAll, p,
		"opened orders@later: 110000 messages hidden until they are due; SQS hides 120000 at most", "resolved orders@later: somebody receives from it")
	later.depth.InFlight = 0
	once(t, a, ops.LookAll, p,
		"resolved orders@later: 0 messages hidden until they are due; SQS hides 120000 at most")
	// A log says how long they are overdue.
	later.polls.Err = errors.New("not counted")
	later.depth = driver.Depth{Waiting: 2, Delayed: 3, Oldest: 25 * time.Hour}
	once(t, a, ops.LookAll, p, "opened orders@later: 2 messages overdue, the first for 25h: run a consumer of the channel, "+
		"which sends on what is due")
	later.depth = driver.Depth{Delayed: 3}
	once(t, a, ops.LookAll, p, "resolved orders@later: no message is overdue for a day")
}

// A list says where nobody wakes delayed messages, if it is asked for that.
func TestListOfDelayedMessages(t *testing.T) {
	s := &street{}
	old := time.Now().Add(-48 * time.Hour)
	for _, name := range []string{"asleep", "awake", "overdue", "unknown", "young", "empty", "down"} {
		w := s.add(name+"@later", 5)
		w.Created = old
		switch name {
		case "awake":
			w.polls.Value = 1
		case "overdue":
			w.polls.Err, w.depth.Oldest = errors.New("not counted"), 25*time.Hour
		case "unknown":
			w.polls.Err = errors.New("denied")
		case "young":
			w.Created = time.Now()
		case "empty":
			w.depth.Waiting = 0
		case "down":
			w.err = errors.New("down")
		}
	}
	s.add("asleep", 5).Created = old
	s.add("asleep@ticks", 5).Created = old
	for _, asked := range []bool{false, true} {
		all, err := ops.List(t.Context(), s, &ops.ListOptions{Asleep: asked})
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range all {
			name := l.Channel.String()
			asleep := []string{"asleep@later", "asleep@ticks", "overdue@later"}
			if want := asked && slices.Contains(asleep, name); l.Asleep != want {
				t.Errorf("asked %v: %s is asleep: %v", asked, l.Channel, l.Asleep)
			}
		}
	}
	s.meterErr = errors.New("down")
	all, err := ops.List(t.Context(), s, &ops.ListOptions{Asleep: true})
	if err != nil || len(all) != 9 || all[0].Asleep {
		t.Errorf("without metrics: %v, %+v", err, all)
	}
}

// Routes take channels by owner and environment. A program that watches one owner leaves the others' alerts open.
func TestAlertRoutes(t *testing.T) {
	s := &street{}
	s.add("orders", 2000, "owner=shop", "environment=production")
	s.add("bills", 2000, "owner=books", "environment=production")
	s.add("tests", 2000, "owner=shop", "environment=staging")
	s.add("stray", 2000)
	shop, production, all := &people{}, &people{}, &people{}
	a := newAlerts(t, s, ops.AlertsOptions{Routes: []ops.Route{
		{Name: "shop", To: shop, Owners: []string{"shop"}, Environments: []string{"production"}},
		{Name: "production", To: production, Environments: []string{"production"}},
		{Name: "all", To: all},
	}})
	if _, err := a.Once(t.Context(), ops.LookAll); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		p    *people
		want string
	}{
		"shop": {shop, "orders"}, "production": {production, "bills orders"}, "all": {all, "bills orders stray tests"},
	} {
		var got []string
		for _, line := range c.p.heard() {
			got = append(got, strings.TrimSuffix(strings.Fields(line)[1], ":"))
		}
		if diff := cmp.Diff(c.want, strings.Join(got, " ")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	few := newAlerts(t, s, ops.AlertsOptions{Routes: []ops.Route{{Name: "shop", To: shop, Owners: []string{"shop"}}}})
	if r, err := few.Once(t.Context(), ops.LookAll); err != nil || r.Untold != 2 || r.Told != 2 || r.Channels != 4 {
		t.Errorf("%+v, %v; want 2 untold", r, err)
	}
}

// One state serves programs for different owners. An owner who has nothing is told.
func TestAlertOwners(t *testing.T) {
	s, p, q := &street{}, &people{}, &people{}
	state := fileState(t)
	shop := s.add("orders", 2000, "owner=shop")
	books := s.add("bills", 2000, "owner=books")
	one := newAlerts(t, s, ops.AlertsOptions{Routes: to(p), State: state, Owners: []string{"shop", "nobody"}})
	two := newAlerts(t, s, ops.AlertsOptions{Routes: to(q), State: state, Owners: []string{"books"}})
	once(t, one, ops.LookAll, p, "opened : owner nobody has no channels: check the name and the tag owner",
		"opened orders: 2000 messages waiting (limit 1000)")
	once(t, two, ops.LookAll, q, "opened bills: 2000 messages waiting (limit 1000)")
	shop.depth.Waiting, books.depth.Waiting = 0, 0
	once(t, one, ops.LookAll, p, "resolved orders: 0 messages waiting (limit 1000)")
	once(t, two, ops.LookAll, q, "resolved bills: 0 messages waiting (limit 1000)")
}

// Two daemons with one state tell everything once, for two days of virtual time.
func TestTwoAlertDaemons(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, p, state := &street{}, &people{}, fileState(t)
		for i := range 20 {
			s.add(fmt.Sprintf("orders-%02d@dlq", i), 1)
		}
		ctx, stop := context.WithCancel(t.Context())
		var done sync.WaitGroup
		for range 2 {
			a := newAlerts(t, s, ops.AlertsOptions{Routes: to(p), State: state})
			done.Go(func() {
				if err := a.Run(ctx); err != nil {
					t.Error(err)
				}
			})
		}
		count := func(want string) {
			t.Helper()
			synctest.Wait()
			got := map[string]int{}
			for _, line := range p.heard() {
				got[strings.Fields(line)[0]]++
			}
			if diff := cmp.Diff(want, strings.TrimPrefix(fmt.Sprint(got), "map")); diff != "" {
				t.Errorf("after %v (-want +got):\n%s", time.Now(), diff)
			}
		}
		time.Sleep(time.Hour)
		count("[opened:20]")
		time.Sleep(20 * time.Hour)
		count("[]")
		time.Sleep(4 * time.Hour)
		count("[lasting:20]")
		s.change(func() {
			for _, w := range s.channels {
				w.depth = driver.Depth{}
			}
		})
		time.Sleep(24 * time.Hour)
		count("[resolved:20]")
		stop()
		done.Wait()
	})
}

// A notifier that fails is tried for 15 minutes with pauses, and the others are told at once. What could not be told is
// told after the next look, also a dead letter after a look at sources.
func TestAlertsTryAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, well, ill := &street{}, &people{}, &people{}
		s.add("orders@dlq", 1)
		broken := true
		ill.fails = func(int) error {
			if !broken {
				return nil
			}
			return &driver.Error{Class: driver.Transient, Err: errors.New("no answer")}
		}
		a := newAlerts(t, s, ops.AlertsOptions{Routes: []ops.Route{{Name: "ill", To: ill}, {Name: "well", To: well}}})
		began := time.Now()
		var wg sync.WaitGroup
		wg.Go(func() {
			if _, err := a.Once(t.Context(), ops.LookDeadLetters); err == nil || !strings.Contains(err.Error(),
				"no answer") {
				t.Errorf("%v", err)
			}
		})
		synctest.Wait()
		if got := well.heard(); len(got) != 1 {
			t.Errorf("the other was told %q", got)
		}
		wg.Wait()
		took := time.Since(began)
		if took < 12*time.Minute || took > 16*time.Minute || ill.tries < 10 || ill.tries > 60 {
			t.Errorf("tried %d times within %v", ill.tries, took)
		}
		broken = false
		once(t, a, ops.LookSources, ill, "opened orders@dlq: 1 dead letter (limit 1)")
		if got := well.heard(); len(got) != 0 {
			t.Errorf("the other was told again: %q", got)
		}
	})
}

// A wish of the service to wait is respected, also one beyond the 15 minutes. An error that is not temporary, and a
// panic, wait for the next look.
func TestAlertsWaitAsAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, p := &street{}, &people{}
		s.add("orders", 2000)
		began := time.Now()
		p.fails = func(n int) error {
			switch {
			case n == 1:
				return &driver.Error{Class: driver.Throttled, After: 7 * time.Minute, Err: errors.New("later")}
			case n == 2 && time.Since(began) == 7*time.Minute:
				return &driver.Error{Class: driver.Throttled, After: time.Hour, Err: errors.New("much later")}
			case n == 2:
				return fmt.Errorf("asked after %v", time.Since(began))
			case n == 3 && time.Since(began) < time.Hour+7*time.Minute:
				return fmt.Errorf("asked again after %v", time.Since(began))
			case n == 3:
				panic("a bug")
			}
			return nil
		}
		a := newAlerts(t, s, ops.AlertsOptions{Routes: to(p)})
		for _, want := range []string{"much later", "", "", "", "", "a bug"} {
			_, err := a.Once(t.Context(), ops.LookAll)
			if got := fmt.Sprint(err); want == "" && err != nil || want != "" && !strings.Contains(got, want) {
				t.Errorf("after %v: %v, want %q", time.Since(began), err, want)
			}
			time.Sleep(14 * time.Minute)
		}
		once(t, a, ops.LookAll, p, "opened orders: 2000 messages waiting (limit 1000)")
	})
}

// brokenState is a state that cannot be reached.
type brokenState struct{}

func (brokenState) Load(context.Context) ([]byte, string, error) {
	return nil, "", errors.New("no such bucket")
}

func (brokenState) Store(context.Context, []byte, string) error { return errors.New("no such bucket") }

// While the state cannot be reached, the program tells people all the same, and once.
func TestAlertsWithoutTheirState(t *testing.T) {
	s, p := &street{}, &people{}
	s.add("orders", 2000)
	a := newAlerts(t, s, ops.AlertsOptions{Routes: to(p), State: brokenState{}})
	for _, want := range [][]string{{"opened orders: 2000 messages waiting (limit 1000)"}, nil} {
		if _, err := a.Once(t.Context(), ops.LookAll); err == nil || !strings.Contains(err.Error(), "no such bucket") {
			t.Errorf("%v", err)
		}
		if diff := cmp.Diff(want, p.heard()); diff != "" {
			t.Errorf("told (-want +got):\n%s", diff)
		}
	}
}

// strictState is a state that cannot be used after its context has ended, as that of a service.
type strictState struct{ ops.State }

func (s strictState) Load(ctx context.Context) ([]byte, string, error) {
	if ctx.Err() != nil {
		return nil, "", ctx.Err()
	}
	return s.State.Load(ctx)
}

// A program that is stopped while it tells people ends its claim, so that the next one tells them at once.
func TestAlertsAreStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, p, state := &street{}, &people{}, strictState{fileState(t)}
		s.add("orders", 2000)
		p.fails = func(n int) error {
			if n > 1 {
				return nil
			}
			return &driver.Error{Class: driver.Throttled, After: 5 * time.Minute, Err: errors.New("later")}
		}
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		if err := newAlerts(t, s, ops.AlertsOptions{Routes: to(p), State: state}).Run(ctx); err != nil {
			t.Error(err)
		}
		once(t, newAlerts(t, s, ops.AlertsOptions{Routes: to(p), State: state}), ops.LookAll, p,
			"opened orders: 2000 messages waiting (limit 1000)")
	})
}

// The options that cannot work are refused.
func TestAlertsOptions(t *testing.T) {
	route := ops.Route{Name: "people", To: &people{}}
	for want, o := range map[string]ops.AlertsOptions{
		"Routes is empty":  {},
		"Routes[0].To":     {Routes: []ops.Route{{Name: "x"}}},
		"Routes[1].Name":   {Routes: []ops.Route{route, route}},
		"none can be nega": {Routes: []ops.Route{route}, Every: -1},
		"Owners":           {Routes: []ops.Route{route}, Owners: []string{""}},
	} {
		if _, err := ops.NewAlerts(&street{}, &o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if _, err := ops.NewAlerts(struct{ driver.Backend }{}, &ops.AlertsOptions{Routes: []ops.Route{route}}); err == nil {
		t.Error("a backend without abilities was taken")
	}
	a := newAlerts(t, &street{}, ops.AlertsOptions{Routes: []ops.Route{route}})
	if _, err := a.Once(t.Context(), 8); err == nil {
		t.Error("a look at nothing was made")
	}
}

// The notices as text, and as Slack gets them: normal ones, critical ones, resolved ones, and those of 200 channels.
func TestNotices(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slack := &recorder{}
		to, err := ops.NewSlack(ops.SlackOptions{URL: "https://hooks.slack.com/services/T/B/x", Transport: slack})
		if err != nil {
			t.Fatal(err)
		}
		var text bytes.Buffer
		told := func(t *testing.T, name string, a *ops.Alerts) {
			t.Helper()
			text.Reset()
			slack.bodies = nil
			if _, err := a.Once(t.Context(), ops.LookAll); err != nil {
				t.Fatal(err)
			}
			var pretty bytes.Buffer
			for _, b := range slack.bodies {
				if err := json.Indent(&pretty, b, "", "  "); err != nil {
					t.Fatal(err)
				}
			}
			golden(t, name, text.String()+"--- slack\n"+pretty.String()+"\n")
		}
		watch := func(s *street) *ops.Alerts {
			return newAlerts(t, s, ops.AlertsOptions{
				Routes: []ops.Route{{Name: "text", To: ops.NewWriterNotifier(&text)}, {Name: "slack", To: to}},
				Name:   "aws prod", Flags: "--backend aws --namespace prod",
			})
		}
		s := &street{}
		orders := s.add("orders", 2000)
		letters := s.add("orders@dlq", 12, "owner=shop & <!channel>", "environment=production")
		s.add("bills", 0).err = &driver.Error{Class: driver.Denied, Err: errors.New("no\npermission for `sqs:X`")}
		a := watch(s)
		told(t, "normal", a)
		orders.depth, letters.depth = driver.Depth{}, driver.Depth{}
		time.Sleep(time.Hour)
		told(t, "resolved", a)

		s = &street{}
		s.add("orders@dlq", 1)
		s.add("payments@dlq", 3, "critical=true", "owner=payments")
		told(t, "critical", watch(s))

		s = &street{}
		for i := range 200 {
			tags := []string{"owner=team"}
			if i >= 190 {
				tags = append(tags, "critical=true")
			}
			s.add(fmt.Sprintf("orders-%03d@dlq", i), int64(i+1), tags...)
		}
		told(t, "many", watch(s))
		var m struct{ Blocks []any }
		if err := json.Unmarshal(slack.bodies[0], &m); err != nil || len(m.Blocks) > 50 || len(slack.bodies) != 1 {
			t.Errorf("%v: %d blocks in %d messages", err, len(m.Blocks), len(slack.bodies))
		}

		s = &street{} // short lines: here the number of blocks is the limit
		for i := range 200 {
			s.add(fmt.Sprintf("o%d@dlq", i), 1)
		}
		a = watch(s)
		if _, err := a.Once(t.Context(), ops.LookAll); err != nil {
			t.Fatal(err)
		}
		for _, c := range s.channels {
			c.depth = driver.Depth{}
		}
		told(t, "many-resolved", a)
		m.Blocks = nil
		if err := json.Unmarshal(slack.bodies[0], &m); err != nil || len(m.Blocks) != 50 ||
			!strings.Contains(string(slack.bodies[0]), "and 152 more") {
			t.Errorf("%v: %d blocks", err, len(m.Blocks))
		}
	})
}

// golden compares got with testdata/alerts-NAME.golden.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", "alerts-"+name+".golden")
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v (write it with: go test ./ops -run TestNotices -update)", err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got), or rewrite it with -update:\n%s", file, diff)
	}
}
