package main

import (
	"context"
	"time"

	"github.com/godwitmq/godwit/cmd/internal/operator"
	"github.com/godwitmq/godwit/ops"
	"github.com/godwitmq/godwit/snssqs"
)

// sweep announces and deletes what the owner does not use. Each run has a journal of its own, which exists only if
// something is deleted, so that it can be undone alone.
func (f *function) sweep(ctx context.Context, b *snssqs.Backend, routes []ops.Route, s *settings) (any, error) {
	state, err := s.named(s.sweepName()+".json").Open(ctx, f.storage())
	if err != nil {
		return nil, err
	}
	at := s.named(s.sweepName() + time.Now().UTC().Format("-20060102T150405Z") + ".journal")
	journal, err := at.Open(ctx, f.storage())
	if err != nil {
		return nil, err
	}
	o := &ops.SweepOptions{
		Owner: s.owner, Scheduled: true, State: state, Journal: ops.StateJournal{State: journal, Name: at.String()},
		Name: operator.Name(onAWS, s.namespace), Flags: s.flags(),
	}
	for _, r := range routes {
		o.Notifiers = append(o.Notifiers, r.To)
	}
	r, err := ops.Sweep(ctx, b, o)
	if r == nil {
		return nil, err // a nil pointer in an interface would be a report
	}
	return r, err
}
