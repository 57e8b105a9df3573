package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/backoff"
	"github.com/godwitmq/godwit/internal/calls"
)

// openWithin is the limit of one try to open a channel, or to create again what is missing of it, which takes a few
// requests. Without it, a request that hangs could delay the session for longer than the outage.
const openWithin = 30 * time.Second

var errHangs = fmt.Errorf("not finished within %v", openWithin)

// service is the session's access to its service, except for verdicts and renewals.
type service struct {
	session *Session
	cfg     *Config
	obs     Observer
	recv    driver.Receiver // when it is open
}

// open opens the receiver. If the service does not answer, open keeps trying until ctx ends, as pollers do later.
// Otherwise a process that starts during an outage would be down after it.
func (s *service) open(ctx context.Context, o driver.ReceiverOptions) (driver.Receiver, error) {
	var failing time.Time
	for made := false; ; {
		var recv driver.Receiver
		err := s.call(ctx, calls.Open, func(ctx context.Context) (err error) {
			recv, err = s.cfg.receiver(ctx, o)
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
		err = s.cfg.Error("receive", "", err)
		switch {
		case s.session.Fatal() != nil: // for example after too many panics of hooks
			return nil, s.session.Fatal()
		case ctx.Err() != nil:
			return nil, ErrStopped
		case !driver.ClassOf(err).Passing():
			return nil, err
		}
		if failing.IsZero() {
			failing = time.Now()
		}
		wait := pollPause(time.Since(failing))
		s.obs.ReceiveFailed("opening the channel", err, wait)
		_ = backoff.Sleep(ctx, wait) // the next try checks ctx
	}
}

// receiver opens a receiver.
func (c *Config) receiver(ctx context.Context, o driver.ReceiverOptions) (driver.Receiver, error) {
	if c.Open != nil {
		return c.Open(ctx, o)
	}
	return c.Backend.Receiver(ctx, c.Channel, o)
}

// stalls asks the receiver how often it could return nothing, and why it does now, without the fleet's lock.
func (s *service) stalls(now time.Time) (times int64, complaints []string) {
	if r, ok := s.recv.(driver.Log); ok {
		return r.Stalls(now)
	}
	return 0, nil
}

// provisions reports whether a missing resource is created again.
func (s *service) provisions(err error) bool {
	return driver.ClassOf(err) == driver.NotFound && s.cfg.Provision != nil
}

// provisionAgain creates again what was found missing.
func (s *service) provisionAgain(ctx context.Context) error {
	return s.call(ctx, calls.Provision, s.cfg.Provision)
}

// call makes a call of a stage, and cancels it if it hangs.
func (s *service) call(ctx context.Context, at calls.Stage, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, openWithin, errHangs)
	defer cancel()
	s.cfg.Calls.Begin(at, 1)
	err := f(ctx)
	if err != nil && errors.Is(context.Cause(ctx), errHangs) {
		err = &driver.Error{Class: driver.Transient, Err: fmt.Errorf("%w: %w", errHangs, err)}
	}
	s.cfg.Calls.End(at, err)
	return err
}
