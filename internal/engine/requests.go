package engine

import (
	"errors"
	"time"

	"github.com/godwitmq/godwit/driver"
)

// Poll is an answered poll, for the observer.
type Poll struct {
	Asked    int // messages that were requested
	Received int
	Bytes    int64 // of the received items
	Began    time.Time
	Took     time.Duration
	Err      error
	Owners   []any // of the received items, with Config.TellOwners
}

// Settling is a request with a batch of verdicts that was answered, for the observer. Verdicts that a
// [driver.Finisher] takes are not among them.
type Settling struct {
	Of     [driver.Reject + 1]int // how many verdicts of each action the service has accepted
	Failed int                    // other verdicts, which may be sent again
	Began  time.Time
	Took   time.Duration
	Err    error
	Owners []any // of the settled items, with Config.TellOwners
}

// answered counts the verdicts by the service's answer.
func (s *Settling) answered(vs []verdict, err error) {
	s.Took, s.Err = time.Since(s.Began), err
	var entries *driver.BatchError
	partial := errors.As(err, &entries)
	for i := range vs {
		if err != nil && !partial || partial && entries.Errs[i] != nil {
			s.Failed++
		} else {
			s.Of[vs[i].action]++
		}
	}
}

// Renewal is a request to renew leases that was answered, for the observer.
type Renewal struct {
	Leases int
	Failed int // of them
	Began  time.Time
	Took   time.Duration
	Err    error
}

// failedOf is how many entries of a request with n entries have failed.
func failedOf(err error, n int) int {
	var entries *driver.BatchError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &entries):
		return len(entries.Errs)
	}
	return n
}

func appendOwners(to []any, its []*Item) []any {
	for _, it := range its {
		to = append(to, it.Owner)
	}
	return to
}
