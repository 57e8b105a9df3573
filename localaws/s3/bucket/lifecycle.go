package bucket

import (
	"slices"
	"strings"
	"time"
)

// Rule is one rule of a bucket's lifecycle.
type Rule struct {
	ID      string
	Enabled bool
	Filter  Filter
	// Days is the age at which objects expire; 0: not by age. Date is the midnight at which they expire; zero: none.
	Days int
	Date time.Time
	// AbortDays is the age at which uploads are aborted; 0: they are not.
	AbortDays int
	// ExpiredMarkers and NoncurrentDays are stored: a bucket without versions has neither.
	ExpiredMarkers *bool
	Noncurrent     *Noncurrent
	// Transitions and NoncurrentTransitions are stored, too, and do not act.
	Transitions           []Transition
	NoncurrentTransitions []Transition
}

// Inert reports whether the rule has transitions, which do not act.
func (r *Rule) Inert() bool { return len(r.Transitions)+len(r.NoncurrentTransitions) > 0 }

// Noncurrent is the expiry of earlier versions.
type Noncurrent struct{ Days, Newer int }

// Filter selects the objects of a rule. Form says how the client wrote it.
type Filter struct {
	Prefix      string
	Tags        []Tag
	GreaterThan *int64
	LessThan    *int64
	Form        FilterForm
}

// FilterForm is how a filter was written.
type FilterForm int

// The forms of a filter.
const (
	FormEmpty  FilterForm = iota // an empty Filter
	FormOld                      // a Prefix in the rule
	FormPrefix                   // one element in Filter
	FormTag
	FormGreater
	FormLess
	FormAnd // several in And
)

func (f Filter) matches(o *Object) bool {
	if !strings.HasPrefix(o.Key, f.Prefix) ||
		f.GreaterThan != nil && o.Size() <= *f.GreaterThan || f.LessThan != nil && o.Size() >= *f.LessThan {
		return false
	}
	for _, t := range f.Tags {
		if !slices.Contains(o.Tags, t) {
			return false
		}
	}
	return true
}

const day = 24 * time.Hour

// Midnight returns the first midnight UTC that is not before t.
func Midnight(t time.Time) time.Time {
	t = t.UTC()
	m := t.Truncate(day)
	if m.Before(t) {
		m = m.Add(day)
	}
	return m
}

// expiry returns when the rule expires an object.
func (r *Rule) expiry(o *Object) (at time.Time, ok bool) {
	switch {
	case !r.Enabled || r.Days == 0 && r.Date.IsZero() || !r.Filter.matches(o):
		return time.Time{}, false
	case r.Days > 0:
		return Midnight(o.Modified.Add(time.Duration(r.Days) * day)), true
	}
	return r.Date, true
}

// Expiry returns when an object of the bucket expires, and the rule that says so. ok is false if it does not expire.
func (s *Settings) Expiry(o *Object) (at time.Time, rule string, ok bool) {
	for i := range s.Lifecycle {
		if t, expires := s.Lifecycle[i].expiry(o); expires && (!ok || t.Before(at)) {
			at, rule, ok = t, s.Lifecycle[i].ID, true
		}
	}
	return at, rule, ok
}

// Abortion returns when an upload is aborted, and the rule that says so. ok is false if it is not.
func (s *Settings) Abortion(u *Upload) (at time.Time, rule string, ok bool) {
	for i := range s.Lifecycle {
		r := &s.Lifecycle[i]
		if !r.Enabled || r.AbortDays == 0 || !strings.HasPrefix(u.Key, r.Filter.Prefix) {
			continue
		}
		if t := Midnight(u.Initiated.Add(time.Duration(r.AbortDays) * day)); !ok || t.Before(at) {
			at, rule, ok = t, r.ID, true
		}
	}
	return at, rule, ok
}
