package godwit

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/backoff"
)

// openWithin is how long one try to open a channel, or to make again what is missing of it, may take: a handful of requests.
// One that hangs is given up, or it would hang for longer than the service is away.
const openWithin = 30 * time.Second

var errHangs = fmt.Errorf("not done within %v", openWithin)

// errStopped is why a session has not begun that was told to stop before it could.
var errStopped = errors.New("told to stop before it began")

// open opens the receiver. While the service is away it keeps trying, as pollers do later, until ctx ends: a process that
// starts during an outage would otherwise be one that is down after it.
func (s *session) open(ctx context.Context, o driver.ReceiverOptions) (driver.Receiver, error) {
	var failing time.Time
	for made := false; ; {
		var recv driver.Receiver
		err := s.call(ctx, stageOpen, func(ctx context.Context) (err error) {
			recv, err = s.c.backend.Receiver(ctx, s.c.channel, o)
			return err
		})
		if err == nil {
			return recv, nil
		}
		if !made && s.provisions(err) {
			if err = s.provisionAgain(ctx); err == nil {
				made = true
				continue
			}
		}
		err = wrapError("receive", s.c.name, "", err)
		switch {
		case s.fatal() != nil: // too many panics of the hook, say
			return nil, s.fatal()
		case ctx.Err() != nil:
			return nil, errStopped
		case !driver.ClassOf(err).Passing():
			return nil, err
		}
		if failing.IsZero() {
			failing = time.Now()
		}
		wait := pollPause(time.Since(failing))
		s.c.log.Warn("opening the channel failed, trying again", "error", err, "in", wait)
		observe(s, s.c.o.Hooks.ReceiveFailed, err)
		_ = backoff.Sleep(ctx, wait) // ends early when ctx does, which the next try finds
	}
}

// provisions says whether what was found missing is made again.
func (s *session) provisions(err error) bool {
	return driver.ClassOf(err) == driver.NotFound && s.c.o.Provision == ProvisionAuto
}

// provisionAgain makes again what was found missing.
func (s *session) provisionAgain(ctx context.Context) error {
	spec := s.c.spec()
	spec.Again = true
	return s.call(ctx, stageProvision, func(ctx context.Context) error {
		return provision(ctx, s.c.backend, s.c.name, spec)
	})
}

// call makes a call of a stage, and gives it up when it hangs.
func (s *session) call(ctx context.Context, at stage, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, openWithin, errHangs)
	defer cancel()
	s.health.calls.begin(at, 1)
	err := f(ctx)
	if err != nil && errors.Is(context.Cause(ctx), errHangs) {
		err = &driver.Error{Class: driver.Transient, Err: fmt.Errorf("%w: %w", errHangs, err)}
	}
	s.health.calls.end(at, err)
	return err
}
