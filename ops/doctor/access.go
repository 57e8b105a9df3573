package doctor

import (
	"context"
	"fmt"
	"time"

	"github.com/godwitmq/godwit/driver"
)

const (
	// signedWithin is how far apart the clocks of AWS and of a client may be: what is signed at another time is
	// refused.
	signedWithin = 5 * time.Minute
	// apart is how far apart they should be.
	apart = time.Minute
	// endsSoon is when credentials that expire are worth a note.
	endsSoon = 15 * time.Minute
)

// examineAccess looks at the credentials, the clock, and the calls that are allowed. It reports whether calls can
// succeed at all.
func (r *Report) examineAccess(ctx context.Context, do driver.Operations) (works bool, err error) {
	if do.Access == nil {
		return true, nil
	}
	a, err := do.Access(ctx)
	if err != nil {
		return false, fmt.Errorf("doctor: %w", err)
	}
	r.Identity, r.Source = a.Identity, a.Source
	found := func(l Level, what, means, mend string) {
		r.Findings = append(r.Findings, Finding{Level: l, What: what, Means: means, Mend: mend})
	}
	if a.Ahead.Known() {
		direction := "ahead of"
		if a.Ahead.Value < 0 {
			direction = "behind"
		}
		what := fmt.Sprintf("the clock of this machine is %v %s the service's", a.Ahead.Value.Abs(), direction)
		switch off := a.Ahead.Value.Abs(); {
		case off >= signedWithin:
			found(Problem, what, "AWS refuses what is signed more than 5 minutes earlier or later; the SDK may hide it",
				"set the clock: start chrony, systemd-timesyncd or ntpd")
		case off >= apart:
			found(Warning, what, "beyond 5 minutes, AWS refuses every call; ages of messages are wrong already",
				"set the clock: start chrony, systemd-timesyncd or ntpd")
		}
	}
	if a.Err != nil {
		found(Problem, "the service does not accept the credentials: "+a.Err.Error(),
			"no call succeeds, and nothing else could be looked at", "see the cause above; godwit context show tells what is used")
		return false, ctx.Err()
	}
	if !a.Expires.IsZero() && time.Until(a.Expires) < endsSoon {
		found(Note, fmt.Sprintf("the credentials of %s end at %s", a.Source, a.Expires.UTC().Format(time.DateTime)),
			"calls fail from then on, unless the SDK renews them", "sign in again before long work")
	}
	for _, call := range a.Calls {
		switch {
		case call.Err == nil:
			r.Allowed = append(r.Allowed, call.Name)
		case driver.ClassOf(call.Err) == driver.Denied:
			found(Note, "the credentials do not allow "+call.Name, "missing without it: "+call.Needs,
				"allow it; docs/iam.md has the statements of operators")
		default:
			r.Unknown = append(r.Unknown, fmt.Errorf("%s: %w", call.Name, call.Err))
		}
	}
	return true, nil
}

// examineStore compares the bucket of large messages with what the store needs.
func (r *Report) examineStore(ctx context.Context, s driver.Store) {
	if s == nil {
		return
	}
	err := s.Ensure(ctx, driver.Verify)
	means := "objects of messages that were lost are kept without end, or deleted too soon"
	switch driver.ClassOf(err) {
	case driver.NotFound, driver.Permanent:
		if err == nil {
			return
		}
		r.Findings = append(r.Findings, Finding{
			Level: Problem, What: err.Error(), Means: means, Fixable: true,
			Mend: "create the bucket and its rule: godwit doctor --fix with the same --bucket, or start a program with the store",
		})
		r.store = s
	default:
		if err != nil {
			r.Unknown = append(r.Unknown, err)
		}
	}
}
