package main

import (
	"context"

	"github.com/godwitmq/godwit/cmd/internal/operator"
	"github.com/godwitmq/godwit/ops"
	"github.com/godwitmq/godwit/s3store"
	"github.com/godwitmq/godwit/snssqs"
)

// onAWS is the name of the service in notices, as the command has it: both may share a state.
const onAWS = "aws"

// alerts looks once, and tells the routes.
func (f *function) alerts(ctx context.Context, b *snssqs.Backend, routes []ops.Route, s *settings, what ops.Look) (
	any, error,
) {
	state, err := s.named("alerts.json").Open(ctx, f.storage())
	if err != nil {
		return nil, err
	}
	a, err := ops.NewAlerts(b, &ops.AlertsOptions{
		Routes: routes, State: state, Name: operator.Name(onAWS, s.namespace), Flags: s.flags(), Owners: s.owners,
	})
	if err != nil {
		return nil, err
	}
	return a.Once(ctx, what)
}

// storage are the options of all states.
func (f *function) storage() *s3store.StateOptions {
	return &s3store.StateOptions{AWS: f.aws, Transport: f.transport}
}
