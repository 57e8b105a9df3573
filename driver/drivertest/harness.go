package drivertest

import (
	"testing"
	"time"

	"github.com/godwitmq/godwit/driver"
)

// Harness is what the test of a backend supplies.
type Harness struct {
	// Open opens a backend on which no channel of the kit's names exists yet. It is called once for each case, inside
	// of Bubble; what it opens is closed by the kit.
	Open func(t testing.TB) driver.Backend
	// Bubble runs a case in virtual time: synctest.Test. nil: real time.
	Bubble func(t *testing.T, f func(t *testing.T))
	// Lease is the shortest lease that is practical; 0: 30 s in a bubble, 4 s in real time.
	Lease time.Duration
	// Faults makes faults in what was opened last. A nil func: that fault cannot be made, and its cases do not run.
	Faults Faults
	// DropExchange deletes an exchange behind the backend's back; nil: it cannot be done.
	DropExchange func(t testing.TB, ch driver.Channel)

	Can Abilities
	// Skip names cases that are known to fail here, each with whose mistake that is. A case named here that does not
	// exist fails the kit.
	Skip map[string]string
}

// Abilities are what a backend or its service has.
type Abilities struct {
	Ordered     bool // ordered channels
	Leases      bool // deliveries have a lease that ends, and can be renewed
	Delays      bool // Message.Delay on unordered channels
	Retries     bool // the service keeps Retry.After on unordered channels
	DeadLetters bool // Reject
	Provisions  bool // is a driver.Provisioner
	Finds       bool // is a driver.Finder
	TellsOrder  bool // and tells whether the dead letters are ordered
	Exchanges   bool // one-to-many channels
	Inspects    bool // is a driver.Inspector
	LongPolls   bool // a Receive wakes up when something is sent
}

// Faults are made by functions that say what shall happen to the next call of Send or Settle, once.
type Faults struct {
	Throttle   func(call Call)        // the whole call is refused as too often
	LoseAnswer func(call Call)        // it takes effect, and its answer never arrives
	FailEntry  func(call Call, i int) // entry i of it is refused in passing, the others take effect
	Deny       func(call Call)        // the whole call is refused for want of permission
}

// Call is one of the calls of the seam that a fault can strike.
type Call uint8

const (
	Send Call = iota
	SettleDone
	Receive
)

func (h *Harness) lease() time.Duration {
	switch {
	case h.Lease > 0:
		return h.Lease
	case h.Bubble != nil:
		return 30 * time.Second
	}
	return 4 * time.Second // longer than the polls of a case together
}

// Run runs every case that can run, as a subtest each.
func Run(t *testing.T, h Harness) {
	known := map[string]bool{}
	for _, c := range cases() {
		known[c.name] = true
		t.Run(c.name, func(t *testing.T) {
			if why := h.cannot(c); why != "" {
				t.Skipf("not run: %s (%s)", why, c.shows)
			}
			in := h.Bubble
			if in == nil {
				in = func(t *testing.T, f func(*testing.T)) { f(t) }
			}
			in(t, func(t *testing.T) {
				k := newKit(t, &h)
				defer k.close()
				c.run(k)
			})
		})
	}
	for name := range h.Skip {
		if !known[name] {
			t.Errorf("Harness.Skip names %q, which is no case", name)
		}
	}
}

// cannot says why a case does not run; "": it does.
func (h *Harness) cannot(c testCase) string {
	if why := h.Skip[c.name]; why != "" {
		return why
	}
	if c.needs != nil {
		return c.needs(h)
	}
	return ""
}
