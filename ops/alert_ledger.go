package ops

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/godwitmq/godwit/driver"
)

const (
	ledgerVersion = 1
	// claimFor is how long a program that begins to send may take, with its retries. After it, another one sends.
	claimFor = notifyFor + time.Minute
	// tolerated is how much earlier than after [AlertsOptions.Again] an alert may be told again: a look is never
	// exactly as much later.
	tolerated = time.Minute
	// keepResolved is how long an alert stays that is resolved, if somebody could not be told so.
	keepResolved = 24 * time.Hour
)

// ledger is which alerts are open, and which route was told of them. It is the content of a [State].
type ledger struct {
	Version int    `json:"version"`
	Of      string `json:"of"` // whose state it is: AlertsOptions.Name
	// Alerts has the alerts by their keys.
	Alerts map[string]*ledgerEntry `json:"alerts"`
}

// ledgerEntry is one alert.
type ledgerEntry struct {
	alert
	Since    time.Time        `json:"since"`
	Resolved *time.Time       `json:"resolved,omitempty"` // nil: it is open
	Told     map[string]*told `json:"told,omitempty"`     // by route
}

// told is what a route was told of an alert.
type told struct {
	At    time.Time `json:"at,omitzero"`    // when it was told last that it is open; zero: never
	By    string    `json:"by,omitempty"`   // the program that is telling it now
	Until time.Time `json:"until,omitzero"` // until when that program may take
}

// readLedger reads a state. An empty one is a new ledger.
func readLedger(text []byte, of string) (*ledger, error) {
	l := &ledger{Version: ledgerVersion, Of: of, Alerts: map[string]*ledgerEntry{}}
	if len(text) == 0 {
		return l, nil
	}
	if err := json.Unmarshal(text, l); err != nil {
		return nil, fmt.Errorf("the state is none of alerts: %w: remove it, or use another one", err)
	}
	switch {
	case l.Version != ledgerVersion:
		return nil, fmt.Errorf("the state has version %d, and this program writes %d: use one version of godwit, or "+
			"another state", l.Version, ledgerVersion)
	case l.Of != of:
		return nil, fmt.Errorf("the state is that of the channels %q, and these are %q: use another state", l.Of, of)
	case l.Alerts == nil:
		l.Alerts = map[string]*ledgerEntry{}
	}
	for key, e := range l.Alerts {
		if e == nil {
			delete(l.Alerts, key)
		}
	}
	return l, nil
}

// note opens and resolves alerts after a look.
func (l *ledger) note(found *looked, mine func(a *alert) bool) {
	for i := range found.open {
		a := &found.open[i]
		e := l.Alerts[a.key()]
		switch {
		case e == nil:
			l.Alerts[a.key()] = &ledgerEntry{alert: *a, Since: found.at, Told: map[string]*told{}}
		case e.Resolved != nil: // open again, and some were not told that it was resolved
			e.alert, e.Since, e.Resolved = *a, found.at, nil
		default: // the text stays as it was told; tags may have changed
			e.Critical, e.Owner, e.Environment = a.Critical, a.Owner, a.Environment
		}
	}
	for key, e := range l.Alerts {
		_, fine := found.fine[key]
		gone := found.listed != nil && e.Channel != "" && found.what.covers(e.Dead) && !found.listed[e.Address] &&
			mine(&e.alert)
		if e.Resolved == nil && (fine || gone) {
			at := found.at
			e.Resolved = &at
		}
	}
}

// claim returns what a route has to be told after a look, and notes that this program does it. Nobody else tells it
// until the claim ends.
func (l *ledger) claim(r *Route, found *looked, by string, again time.Duration, mine func(a *alert) bool) (
	items []claimed,
) {
	now := found.at
	texts := map[string]string{}
	for i := range found.open {
		texts[found.open[i].key()] = found.open[i].Text
	}
	for _, key := range slices.Sorted(maps.Keys(l.Alerts)) {
		e := l.Alerts[key]
		if !r.takes(&e.alert) || !mine(&e.alert) {
			continue
		}
		t := e.Told[r.Name]
		if t != nil && t.By != "" && t.By != by && t.Until.After(now) {
			continue
		}
		state := driver.NoticeState("")
		text, seen := texts[key]
		if !seen {
			text = e.Text // another look has found it, and this route was not told yet
		}
		switch {
		case e.Resolved != nil && t != nil && !t.At.IsZero():
			state = driver.NoticeResolved
		case e.Resolved != nil:
		case t == nil || t.At.IsZero():
			state = driver.NoticeOpened
		case seen && now.Sub(t.At) >= again-tolerated:
			state = driver.NoticeLasting
		}
		if state == "" {
			continue
		}
		if t == nil {
			t = &told{}
			if e.Told == nil {
				e.Told = map[string]*told{}
			}
			e.Told[r.Name] = t
		}
		t.By, t.Until = by, now.Add(claimFor)
		if state == driver.NoticeResolved {
			text = resolvedText(e, found, key)
		}
		items = append(items, claimed{key: key, state: state, alert: e.alert, since: e.Since, text: text})
	}
	return items
}

// resolvedText says why an alert is over.
func resolvedText(e *ledgerEntry, found *looked, key string) string {
	text, fine := found.fine[key]
	switch {
	case fine:
		return text
	case found.listed != nil && e.Channel != "" && !found.listed[e.Address]:
		return "the channel does not exist any more"
	}
	return "an earlier look has found it resolved: " + e.Text
}

// claimed is an item that this program tells a route.
type claimed struct {
	key   string
	state driver.NoticeState
	alert alert
	since time.Time
	text  string
}

// settle ends claims: the route was told at a time, or, if it is zero, it was not, and nobody tries before until.
func (l *ledger) settle(route, by string, items []claimed, at, until time.Time) {
	for _, i := range items {
		e := l.Alerts[i.key]
		if e == nil || e.Told[route] == nil || e.Told[route].By != by {
			continue // the claim has ended, and another program has told it
		}
		t := e.Told[route]
		t.Until = until
		if until.IsZero() {
			t.By = ""
		}
		switch {
		case at.IsZero():
		case i.state == driver.NoticeResolved:
			delete(e.Told, route)
		default:
			t.At = at
		}
		if t.At.IsZero() && t.By == "" {
			delete(e.Told, route)
		}
	}
}

// clean removes alerts that are resolved, once nobody has to be told so any more.
func (l *ledger) clean(now time.Time) {
	maps.DeleteFunc(l.Alerts, func(_ string, e *ledgerEntry) bool {
		return e.Resolved != nil && (len(e.Told) == 0 || now.Sub(*e.Resolved) >= keepResolved)
	})
}

// inOrder orders items as people should read them: critical ones first, then what is new.
func inOrder(x, y claimed) int {
	rank := func(c *claimed) int {
		n := slices.Index([]driver.NoticeState{
			driver.NoticeOpened, driver.NoticeLasting, driver.NoticeResolved,
		}, c.state)
		if !c.alert.Critical {
			n += 10
		}
		return n
	}
	return cmp.Or(cmp.Compare(rank(&x), rank(&y)), cmp.Compare(x.alert.Channel, y.alert.Channel),
		cmp.Compare(x.key, y.key))
}
