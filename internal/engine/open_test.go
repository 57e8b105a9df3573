package engine

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/godwitmq/godwit/driver"
)

// opener is a backend whose receivers are opened by a function of the test.
type opener struct {
	driver.Backend
	open func(ctx context.Context, try int) (driver.Receiver, error)
	try  int
}

func (o *opener) Receiver(ctx context.Context, _ driver.Channel, _ driver.ReceiverOptions) (driver.Receiver, error) {
	o.try++
	return o.open(ctx, o.try)
}

// The receiver is opened again while its service is away or hangs. A missing resource is created once. Other errors,
// and the end of the session, end it at once.
func TestOpeningAReceiver(t *testing.T) {
	fails := func(class driver.Class) error { return &driver.Error{Class: class, Err: errors.New(class.String())} }
	denied, away, missing := fails(driver.Denied), fails(driver.Transient), fails(driver.NotFound)
	for name, c := range map[string]struct {
		errs  []error // of the tries; nil: it hangs. Then it succeeds
		made  error   // of the creation
		tries int
		makes int
		want  error
		stops time.Duration // 0: never
		least time.Duration
	}{
		"at once":                 {tries: 1},
		"after an outage":         {errs: []error{away, away, away}, tries: 4, least: 3 * pollAgainLeast / 2},
		"after it hangs":          {errs: []error{nil}, tries: 2, least: openWithin},
		"denied":                  {errs: []error{denied}, tries: 1, want: denied},
		"missing":                 {errs: []error{missing}, tries: 2, makes: 1},
		"missing again":           {errs: []error{missing, missing}, tries: 2, makes: 1, want: missing},
		"cannot be created":       {errs: []error{missing}, made: denied, tries: 1, makes: 1, want: denied},
		"the creation fails once": {errs: []error{missing, missing}, made: away, tries: 3, makes: 2},
		"stopped during an outage": {
			errs: []error{away, away, away}, tries: 2, want: ErrStopped, stops: time.Second / 5,
		},
		"stopped while it hangs": {errs: []error{nil}, tries: 1, want: ErrStopped, stops: time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			s, service := bareSession(t, driver.ReceiveLimits{}, &Config{})
			back, makes := &opener{}, 0
			back.open = func(ctx context.Context, try int) (driver.Receiver, error) {
				if try > len(c.errs) {
					return service, nil
				}
				if err := c.errs[try-1]; err != nil {
					return nil, err
				}
				<-ctx.Done()
				return nil, ctx.Err()
			}
			s.cfg.Backend = back
			s.cfg.Provision = func(context.Context) error {
				if makes++; makes == 1 {
					return c.made
				}
				return nil
			}
			if c.stops > 0 {
				time.AfterFunc(c.stops, func() { s.Stop(nil) })
			}
			begun := time.Now()
			got, err := s.service.open(s.polls, driver.ReceiverOptions{})
			if !errors.Is(err, c.want) || (got == nil) != (err != nil) {
				t.Errorf("%s: %v, want %v", name, err, c.want)
			}
			if took := time.Since(begun); back.try != c.tries || makes != c.makes || took < c.least {
				t.Errorf("%s: %d tries and %d creations in %v; want %d, %d, at least %v", name, back.try, makes, took,
					c.tries, c.makes, c.least)
			}
		})
	}
}

// A resource is created again only if that is allowed.
func TestAMissingResourceThatMayNotBeCreated(t *testing.T) {
	s, _ := bareSession(t, driver.ReceiveLimits{}, &Config{})
	missing := fmt.Errorf("receive: %w", &driver.Error{Class: driver.NotFound, Err: errors.New("missing")})
	if s.service.provisions(missing) {
		t.Error("created again although that is not allowed")
	}
	s.cfg.Provision = func(context.Context) error { return nil }
	if !s.service.provisions(missing) || s.service.provisions(errors.New("other")) {
		t.Error("a missing resource is not created again, or another error creates one")
	}
}
