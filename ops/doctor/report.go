package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/ops/describe"
)

// Options are the options of Examine. The zero value is usable.
type Options struct {
	// Match selects channels by a pattern of path.Match. Set it to examine a part of many channels. "": all.
	Match string
	// Store is the store of large messages, whose bucket is looked at. Set it where programs have one. nil: there is
	// none.
	Store driver.Store
}

// Level says how bad a finding is.
type Level uint8

const (
	Note    Level = iota // worth knowing
	Warning              // it does harm one day
	Problem              // it loses messages, or lets others in
)

func (l Level) String() string { return [...]string{"note", "warning", "problem"}[l] }

// Finding is something wrong or risky.
type Finding struct {
	Level   Level
	Channel string // "": the credentials, the clock or the bucket
	What    string // what is there
	Means   string // what it leads to
	Mend    string // what to do
	Fixable bool   // whether Report.Fix mends it
}

// Report is the result of a look.
type Report struct {
	Channels int       // how many were looked at
	Findings []Finding // the worst first
	Unknown  []error   // what could not be looked at

	Identity string   // who calls, as the service says it; "": unknown
	Source   string   // where the credentials are from; "": unknown
	Allowed  []string // the calls that were tried and are allowed

	backend  driver.Backend
	do       driver.Operations
	remedies []*remedy
	single   []driver.Channel // whose messages are acknowledged by one broker, although there are replicas
	store    driver.Store     // of a bucket that is not as it should be; nil: there is none
}

// Examine looks at channels.
func Examine(ctx context.Context, b driver.Backend, o *Options) (*Report, error) {
	opts := *cmp.Or(o, &Options{})
	if _, err := path.Match(opts.Match, ""); err != nil {
		return nil, fmt.Errorf("doctor: Options.Match is %q: %w", opts.Match, err)
	}
	selected := func(c driver.Channel) bool {
		ok, _ := path.Match(opts.Match, c.String())
		return ok || opts.Match == ""
	}
	do := driver.OperationsOf(b)
	if do.Snapshot == nil {
		return nil, errors.New("doctor: this backend does not tell the settings of its channels")
	}
	r := &Report{backend: b, do: do}
	if works, err := r.examineAccess(ctx, do); err != nil || !works {
		return r, err
	}
	r.examineStore(ctx, opts.Store)
	all, err := describe.All(ctx, b, func(c driver.Channel) bool { // a queue is examined together with its dead letters
		queue := c
		queue.DeadLetter = false
		return selected(c) || selected(queue)
	})
	if err != nil {
		return nil, fmt.Errorf("doctor: %w", err)
	}
	byName := map[driver.Channel]*describe.Channel{}
	addresses := map[string]bool{}
	for _, c := range all {
		byName[c.Channel] = c
		addresses[c.Address] = true
		r.Unknown = append(r.Unknown, c.Problems...)
	}
	for _, c := range all {
		if !selected(c.Channel) {
			continue
		}
		r.Channels++
		p := &patient{Channel: c, report: r, letters: byName[deadLettersOf(c.Channel)], addresses: addresses}
		for _, check := range checks() {
			check(p)
		}
		tiers(ctx, p)
	}
	slices.SortStableFunc(r.Findings, func(a, b Finding) int { return cmp.Compare(b.Level, a.Level) })
	return r, nil
}

func deadLettersOf(c driver.Channel) driver.Channel {
	c.DeadLetter = true
	return c
}

// patient is a channel that is examined.
type patient struct {
	*describe.Channel
	report    *Report
	letters   *describe.Channel // its dead letters; nil: there are none, or they were not selected
	addresses map[string]bool   // of all channels that were looked at
}

func (p *patient) found(l Level, what, means, mend string) {
	p.report.Findings = append(p.report.Findings, Finding{l, p.Channel.Channel.String(), what, means, mend, false})
}

// fixable is found with a remedy, if the queue's specification can be changed.
func (p *patient) fixable(change func(*driver.ChannelSpec), l Level, what, means, mend string) {
	p.found(l, what, means, mend)
	if p.mendable() {
		p.remedy(change)
		p.report.Findings[len(p.report.Findings)-1].Fixable = true
	}
}

// fixedByReplicas says that Report.Fix mends the last finding, where the backend can require replicas.
func (p *patient) fixedByReplicas() {
	if p.report.do.RequireReplicas == nil || p.Mapped {
		return
	}
	p.report.Findings[len(p.report.Findings)-1].Fixable = true
	if !slices.Contains(p.report.single, p.Channel.Channel) {
		p.report.single = append(p.report.single, p.Channel.Channel)
	}
}
