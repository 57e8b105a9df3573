package ops

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/godwitmq/godwit/driver"
)

// endWithin bounds the calls by which a program that is stopped ends its claims.
const endWithin = 5 * time.Second

// AlertsOptions are the options of NewAlerts. Routes is required.
type AlertsOptions struct {
	// Routes are who is told of what. Set at least one.
	Routes []Route
	// State keeps who was told. Set it so that a restart, or a second program, does not tell everything again. nil: in
	// memory.
	State State
	// Name says in the notices whose channels these are, such as aws prod. Set it where several programs tell the same
	// people; all programs with one State need the same Name. "": godwit.
	Name string
	// Flags are added to the commands in the notices, such as --namespace prod. Set them to those that the people who
	// are told need to reach the same channels.
	Flags string
	// Owners restricts the channels to those with one of these values in the tag owner. Set it where other owners have
	// alerts of their own. Empty: all channels.
	Owners []string
	// Every is how often Run looks at what waits in channels. 0: 15 minutes. Lower it where 15 minutes are too late, at
	// the price of more requests.
	Every time.Duration
	// EveryDeadLetters is how often Run looks at dead letters. 0: 12 hours. Lower it where dead letters are urgent.
	EveryDeadLetters time.Duration
	// Again is after how long an alert that lasts is told again. 0: 24 hours. Change it where people forget sooner, or
	// do not forget.
	Again time.Duration
	// Logger gets what could not be told, or not be stored. nil: slog.Default(). Set it to log elsewhere.
	Logger *slog.Logger
}

// check returns an error for options that cannot work, and completes the others.
func (o *AlertsOptions) check() error {
	if o.Every < 0 || o.EveryDeadLetters < 0 || o.Again < 0 {
		return fmt.Errorf("ops: AlertsOptions has Every %v, EveryDeadLetters %v and Again %v: none can be negative",
			o.Every, o.EveryDeadLetters, o.Again)
	}
	if len(o.Routes) == 0 {
		return errors.New("ops: AlertsOptions.Routes is empty: nobody would be told")
	}
	names := map[string]bool{}
	for i, r := range o.Routes {
		switch {
		case r.To == nil:
			return fmt.Errorf("ops: AlertsOptions.Routes[%d].To is nil: set a notifier", i)
		case r.Name == "" || names[r.Name]:
			return fmt.Errorf("ops: AlertsOptions.Routes[%d].Name is %q: each route needs a name of its own", i, r.Name)
		}
		names[r.Name] = true
	}
	if slices.Contains(o.Owners, "") {
		return errors.New("ops: AlertsOptions.Owners has an empty name: leave it out")
	}
	o.Every = cmp.Or(o.Every, 15*time.Minute)
	o.EveryDeadLetters = cmp.Or(o.EveryDeadLetters, 12*time.Hour)
	o.Again = cmp.Or(o.Again, 24*time.Hour)
	o.Name = cmp.Or(o.Name, "godwit")
	if o.State == nil {
		o.State = &memoryState{}
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	return nil
}

// Alerts watches all channels of a backend that Godwit has made, without any configuration, and tells people what waits
// too long or too much, which dead letters there are, and what could not be looked at.
//
// Each alert is told once when it opens, again after 24 hours while it lasts, and once when it is resolved. A program
// that crashes between sending a notice and noting it in the state makes the next one send the notice a second time.
type Alerts struct {
	o    AlertsOptions
	do   driver.Operations
	sent sync.WaitGroup

	mu      sync.Mutex
	sending map[string]bool // by route: no second notice begins while one is being sent
	spare   memoryState     // replaces the state while that cannot be reached
}

// AlertReport is the result of one look.
type AlertReport struct {
	At       time.Time `json:"at"`
	Channels int       `json:"channels"` // that were looked at
	Open     int       `json:"open"`     // alerts that this look has found
	Told     int       `json:"told"`     // items that were told, of all routes
	Untold   int       `json:"untold"`   // alerts of this look that no route takes
}

// NewAlerts makes no request.
func NewAlerts(b driver.Backend, o *AlertsOptions) (*Alerts, error) {
	a := &Alerts{sending: map[string]bool{}}
	a.o = *cmp.Or(o, &AlertsOptions{})
	if err := a.o.check(); err != nil {
		return nil, err
	}
	if a.do = driver.OperationsOf(b); a.do.Catalog == nil || a.do.Inspect == nil {
		return nil, errors.New("ops: this backend cannot be watched: it does not list channels and count their messages")
	}
	return a, nil
}

// Run looks at once, and then at each interval, until ctx ends. What could not be told or stored is logged, and tried
// again at the next look. It returns nil.
func (a *Alerts) Run(ctx context.Context) error {
	sources, letters := time.NewTicker(a.o.Every), time.NewTicker(a.o.EveryDeadLetters)
	defer sources.Stop()
	defer letters.Stop()
	for what := LookAll; ctx.Err() == nil; {
		_, _ = a.round(ctx, what, func(r delivered) { // change has logged that the state could not be used
			if r.err != nil {
				a.o.Logger.Error("people could not be told of alerts; it is tried again at the next look",
					"route", r.route, "items", r.items, "error", r.err)
			}
		})
		select {
		case <-ctx.Done():
		case <-sources.C:
			what = LookSources
		case <-letters.C:
			what = LookDeadLetters
		}
	}
	a.sent.Wait()
	return nil
}

// Once looks once, tells everyone, and waits for that, with its retries for at most 15 minutes. What could not be told
// or stored is an error; alerts, and channels that could not be looked at, are no errors.
func (a *Alerts) Once(ctx context.Context, what Look) (*AlertReport, error) {
	if what == 0 || what&^LookAll != 0 {
		return nil, fmt.Errorf("ops: Look is %d: use LookSources, LookDeadLetters or LookAll", what)
	}
	var mu sync.Mutex
	var errs []error
	told := 0
	report, err := a.round(ctx, what, func(r delivered) {
		mu.Lock()
		defer mu.Unlock()
		if r.err != nil {
			errs = append(errs, fmt.Errorf("ops: tell %s of %d alerts: %w", r.route, r.items, r.err))
		} else {
			told += r.items
		}
	})
	a.sent.Wait()
	report.Told = told
	return report, errors.Join(append([]error{err}, errs...)...)
}

// round looks once, and begins to tell the routes.
func (a *Alerts) round(ctx context.Context, what Look, done func(delivered)) (*AlertReport, error) {
	found := a.look(ctx, what)
	report := &AlertReport{At: found.at, Channels: found.channels, Open: len(found.open)}
	if err := ctx.Err(); err != nil {
		return report, err // what could not be looked at because of that is no alert
	}
	for i := range found.open {
		one := &found.open[i]
		if !slices.ContainsFunc(a.o.Routes, func(r Route) bool { return r.takes(one) }) {
			report.Untold++
		}
	}
	if report.Untold > 0 {
		a.o.Logger.Warn("no route takes some alerts: add one without Owners and Environments", "alerts", report.Untold)
	}
	by := rand.Text() // of this look, so that a notice that is still being sent is not ours
	free := a.free()
	var plans [][]claimed
	err := a.change(ctx, func(l *ledger) {
		plans = make([][]claimed, len(free))
		l.note(found, a.mine)
		for i := range free {
			plans[i] = l.claim(&free[i], found, by, a.o.Again, a.mine)
		}
		l.clean(found.at)
	})
	for i := range plans {
		if len(plans[i]) == 0 {
			continue
		}
		slices.SortFunc(plans[i], inOrder)
		d := &delivery{
			a: a, route: free[i], by: by, items: plans[i], notice: a.notice(found.at, plans[i]), spare: err != nil,
		}
		a.setSending(d.route.Name, true)
		a.sent.Go(func() {
			err := d.send(ctx)
			a.setSending(d.route.Name, false)
			done(delivered{d.route.Name, len(d.items), err})
		})
	}
	return report, err
}

// mine reports whether an alert of the state is about channels that this program watches.
func (a *Alerts) mine(one *alert) bool {
	return len(a.o.Owners) == 0 || one.Kind == kindCatalog || slices.Contains(a.o.Owners, one.Owner)
}

// free returns the routes to which nothing is being sent.
func (a *Alerts) free() (routes []Route) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, r := range a.o.Routes {
		if !a.sending[r.Name] {
			routes = append(routes, r)
		}
	}
	return routes
}

func (a *Alerts) setSending(route string, on bool) {
	a.mu.Lock()
	a.sending[route] = on
	a.mu.Unlock()
}

// change changes the state. If the state cannot be reached, the change is made in memory and an error is logged and
// returned: people who are told twice are better than people who are not told.
func (a *Alerts) change(ctx context.Context, f func(l *ledger)) error {
	err := a.changeIn(ctx, a.o.State, f)
	if err == nil || ctx.Err() != nil {
		return err
	}
	err = fmt.Errorf("ops: the state of alerts: %w", err)
	a.o.Logger.Error("the state of alerts cannot be used: this process remembers by itself who was told", "error", err)
	return errors.Join(err, a.changeIn(ctx, &a.spare, f))
}

func (a *Alerts) changeIn(ctx context.Context, s State, f func(l *ledger)) error {
	var now []byte
	err := changeState(ctx, s, func(text []byte) ([]byte, error) {
		l, err := readLedger(text, a.o.Name)
		if err != nil {
			return nil, err
		}
		f(l)
		now, err = json.Marshal(l)
		return now, err
	})
	if err == nil && s != &a.spare {
		a.remember(ctx, now)
	}
	return err
}

// remember keeps a copy of the state, for the time in which it cannot be reached.
func (a *Alerts) remember(ctx context.Context, text []byte) {
	_, version, _ := a.spare.Load(ctx)
	_ = a.spare.Store(ctx, text, version) // a copy that is as new is there already
}

// title counts the items of a notice.
func title(name string, items []claimed) string {
	counts := map[driver.NoticeState]int{}
	critical := 0
	for _, i := range items {
		counts[i.state]++
		if i.alert.Critical && i.state != driver.NoticeResolved {
			critical++
		}
	}
	var parts []string
	for _, s := range []driver.NoticeState{driver.NoticeOpened, driver.NoticeLasting, driver.NoticeResolved} {
		if counts[s] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", counts[s], s))
		}
	}
	text := name + ": " + strings.Join(parts, ", ")
	if critical > 0 {
		text = fmt.Sprintf("CRITICAL: %s (%d critical)", text, critical)
	}
	return text
}
