package ops

import (
	"context"
	"errors"
	"time"

	"github.com/godwitmq/godwit/driver"
)

// longestWait bounds how long a service may ask us to wait.
const longestWait = 24 * time.Hour

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
	after, err := tell(ctx, d.route.To, d.notice)
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
