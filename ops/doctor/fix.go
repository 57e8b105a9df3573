package doctor

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/godwitmq/godwit/driver"
)

// Change is something that a fix changes, or would change.
type Change struct {
	Channel   string `json:"channel,omitempty"` // "": the bucket of large messages
	Resource  string `json:"resource"`
	Name      string `json:"name,omitempty"`
	Attribute string `json:"attribute,omitempty"` // "": the resource as a whole
	From      string `json:"from,omitempty"`
	To        string `json:"to,omitempty"`
	Risk      string `json:"risk,omitempty"` // what the change loses, or what it allows
}

// remedy is how a queue is to be described, so that its findings are mended.
type remedy struct {
	queue   driver.Channel
	changes []func(*driver.ChannelSpec)
}

// mendable reports whether a specification of the queue can be read, compared and applied. What Godwit was told to use
// is not Godwit's to change.
func (p *patient) mendable() bool {
	_, provisions := p.report.backend.(driver.Provisioner)
	return provisions && p.report.do.Specs != nil && p.report.do.Plan != nil && !p.Mapped
}

// remedy adds what mends a finding of the channel to what is done for its queue.
func (p *patient) remedy(change func(*driver.ChannelSpec)) {
	queue := p.Channel.Channel
	queue.DeadLetter = false
	all := p.report.remedies
	i := slices.IndexFunc(all, func(r *remedy) bool { return r.queue == queue })
	if i < 0 {
		i = len(all)
		all = append(all, &remedy{queue: queue})
	}
	all[i].changes = append(all[i].changes, change)
	p.report.remedies = all
}

// Fix plans, and unless dry is set makes, the changes that mend the findings that are Fixable. Each queue is read
// again, and changed to what it is with the mended settings. What has failed is an error beside the changes that were
// made; a second Fix repeats it.
func (r *Report) Fix(ctx context.Context, dry bool) (changes []Change, err error) {
	var errs []error
	if r.store != nil {
		if !dry {
			err = r.store.Ensure(ctx, driver.Auto)
		}
		if errs = append(errs, err); err == nil {
			changes = append(changes, Change{Resource: "bucket", Attribute: "lifecycle", To: "as the store needs it"})
		}
	}
	mend := func(c driver.Channel, made []Change, err error) {
		if changes = append(changes, made...); err != nil {
			errs = append(errs, fmt.Errorf("doctor: mend %s: %w", c, err))
		}
	}
	for _, one := range r.remedies {
		if ctx.Err() != nil {
			break
		}
		made, err := one.apply(ctx, r, dry)
		mend(one.queue, made, err)
	}
	for _, c := range r.single {
		if ctx.Err() != nil {
			break
		}
		differ, err := r.do.RequireReplicas(ctx, c, dry)
		mend(c, changesOf(c, differ), err)
	}
	return changes, errors.Join(append(errs, ctx.Err())...)
}

// changesOf are the differences that are changed.
func changesOf(c driver.Channel, differ []driver.Difference) (changes []Change) {
	for _, d := range differ {
		if d.Kind == driver.DiffersMissing || d.Kind == driver.DiffersValue {
			changes = append(changes, Change{c.String(), d.Resource, d.Name, d.Attribute, d.From, d.To, d.Risk})
		}
	}
	return changes
}

func (m *remedy) apply(ctx context.Context, r *Report, dry bool) (changes []Change, err error) {
	specs, err := r.do.Specs(ctx, []driver.Channel{m.queue})
	if err != nil {
		return nil, err
	}
	for _, change := range m.changes {
		change(&specs[0])
	}
	differ, err := r.do.Plan(ctx, specs)
	if err != nil {
		return nil, err
	}
	changes = changesOf(m.queue, differ)
	if dry || len(changes) == 0 {
		return changes, nil
	}
	if err := r.backend.(driver.Provisioner).Ensure(ctx, specs[0]); err != nil {
		return nil, err
	}
	return changes, nil
}
