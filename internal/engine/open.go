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

// openWithin is how long one try to open a channel, or to make again what is missing of it, may take: a handful of
// requests. One that hangs is given up, or it would hang for longer than the service is away.
const openWithin = 30 * time.Second

var errHangs = fmt.Errorf("not done within %v", openWithin)

// service is a session's way to its service, beside verdicts and renewals.
type service struct {
	session *Session
	cfg     *Config
	obs     Observer
	recv    driver.Receiver // once it is open
}

// open opens the receiver. While the service is away it keeps trying, as pollers do later, until ctx ends: a process
// that starts during an outage would otherwise be one that is down after it.
func (s *service) open(ctx context.Context, o driver.ReceiverOptions) (driver.Receiver, error) {
	var failing time.Time
	for made := false; ; {
		var recv driver.Receiver
		err := s.call(ctx, calls.Open, func(ctx context.Context) (err error) {
			recv, err = s.cfg.Backend.Receiver(ctx, s.cfg.Channel, o)
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
		case s.session.Fatal() != nil: // too many panics of the hook, say
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
		_ = backoff.Sleep(ctx, wait) // ends early when ctx does, which the next try finds
	}
}

// provisions says whether what was found missing is made again.
func (s *service) provisions(err error) bool {
	return driver.ClassOf(err) == driver.NotFound && s.cfg.Provision != nil
}

// provisionAgain makes again what was found missing.
func (s *service) provisionAgain(ctx context.Context) error {
	return s.call(ctx, calls.Provision, s.cfg.Provision)
}

// call makes a call of a stage, and gives it up when it hangs.
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
