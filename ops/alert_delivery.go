package ops

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/backoff"
)

const (
	// notifyFor is how long a notifier is tried.
	notifyFor = 15 * time.Minute
	// oneNotify bounds one try, so that a receiver that does not answer is a failure.
	oneNotify = 30 * time.Second
	// longestWait bounds how long a service may ask us to wait.
	longestWait = 24 * time.Hour
)

// delivered is what became of a notice.
type delivered struct {
	route string
	items int
	err   error
}

// delivery is a notice on its way to one route.
type delivery struct {
	a      *Alerts
	route  Route
	by     string
	items  []claimed
	notice *driver.Notice
	spare  bool // the claims are in memory only, because the state could not be reached
}

// send tells the route, and notes in the state what became of it.
func (d *delivery) send(ctx context.Context) error {
	after, err := d.try(ctx)
	var told, until time.Time
	if err == nil {
		told = d.notice.At
	} else if after > 0 {
		until = time.Now().Add(min(after, longestWait))
	}
	end := ctx
	if ctx.Err() != nil { // the program is stopped: another one may tell them at once
		var cancel context.CancelFunc
		end, cancel = context.WithTimeout(context.WithoutCancel(ctx), endWithin)
		defer cancel()
	}
	settle := func(l *ledger) {
		l.settle(d.route.Name, d.by, d.items, told, until)
		l.clean(d.notice.At)
	}
	if d.spare {
		return errors.Join(err, d.a.changeIn(end, &d.a.spare, settle))
	}
	return errors.Join(err, d.a.change(end, settle))
}

// try notifies with backoff for 15 minutes. After an error, after is how long the service wants nothing more.
func (d *delivery) try(ctx context.Context) (after time.Duration, err error) {
	ends := time.Now().Add(notifyFor)
	pause := backoff.Curve{First: 2 * time.Second, Max: 2 * time.Minute}
	for n := 1; ; n++ {
		err = d.once(ctx)
		if err == nil || ctx.Err() != nil {
			return 0, err
		}
		class := driver.ClassOf(err)
		if !class.Passing() {
			return 0, fmt.Errorf("%w (it is not repeated before the next look, because it is %v)", err, class)
		}
		wait := pause.Jittered(n)
		known, _ := errors.AsType[*driver.Error](err)
		if known != nil {
			wait = max(wait, known.After)
		}
		if left := time.Until(ends); wait > left {
			if known == nil || known.After == 0 {
				wait = 0 // only the service's own wish lasts beyond the next look
			}
			return wait, fmt.Errorf("it was tried %d times: %w", n, err)
		}
		if backoff.Sleep(ctx, wait) != nil {
			return 0, errors.Join(err, ctx.Err())
		}
	}
}

// once notifies once. A panic of somebody's notifier is its error, so that it does not stop the others.
func (d *delivery) once(ctx context.Context) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the notifier panics: %v", r)
		}
	}()
	one, cancel := context.WithTimeout(ctx, oneNotify)
	defer cancel()
	err = d.route.To.Notify(one, d.notice)
	if err != nil && ctx.Err() == nil && one.Err() != nil {
		return &driver.Error{Class: driver.Transient, Err: fmt.Errorf("it did not answer within %v", oneNotify)}
	}
	return err
}
