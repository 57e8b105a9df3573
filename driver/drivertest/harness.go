package drivertest

import (
	"testing"
	"time"

	"github.com/godwitmq/godwit/driver"
)

// Harness is what the test of a backend supplies.
type Harness struct {
	// Open opens a backend on which none of the kit's channels exists. The kit calls it once per case, inside Bubble,
	// and closes what it has opened.
	Open func(t testing.TB) driver.Backend
	// Bubble runs a case in virtual time, usually synctest.Test. nil: real time.
	Bubble func(t *testing.T, f func(t *testing.T))
	// Lease is the shortest lease that the service supports in practice; 0: 30 s in a bubble, 4 s in real time.
	Lease time.Duration
	// Faults injects faults into the backend that was opened last. A nil func: the cases of this fault do not run.
	Faults Faults
	// DropExchange deletes an exchange without the backend's knowledge; nil: not possible.
	DropExchange func(t testing.TB, ch driver.Channel)

	Can Abilities
	// Skip names cases that are known to fail, each with the reason and who has to fix it. A name that is no case fails
	// the kit.
	Skip map[string]string
}

// Abilities says what a backend and its service support.
type Abilities struct {
	Ordered     bool // ordered channels
	Leases      bool // deliveries have a lease that ends, and can be renewed
	Delays      bool // Message.Delay on unordered channels
	Later       bool // Message.Delay and Message.At on every channel, of any length
	Cancels     bool // has Operations.Cancel
	Expedites   bool // has Operations.SendNow
	Ticks       bool // has Operations.Clock
	Retries     bool // the service keeps Retry.After on unordered channels
	DeadLetters bool // Reject
	Provisions  bool // is a driver.Provisioner
	TellsOrder  bool // and reports whether the dead letters are ordered
	Exchanges   bool // one-to-many channels
	Inspects    bool // has Operations.Inspect
	Lists       bool // has Operations.Catalog
	Rewinds     bool // has Operations.Rewind
	Forwards    bool // its Senders are driver.Forwarders, its Receivers know *driver.Raw; has Operations.Return
	ToOneQueue  bool // a message can be sent to one queue of an exchange alone
	Peeks       bool // has Operations.Peek
	Follows     bool // has Operations.Follow
	Pauses      bool // has Operations.Pause
	Purges      bool // has Operations.Purge
	Removes     bool // has Operations.Remove
	Plans       bool // has Operations.Plan
	Tags        bool // has Operations.Tag
	Snapshots   bool // has Operations.Snapshot
	Meters      bool // has Operations.Activity
	Access      bool // has Operations.Access
	Members     bool // has Operations.Members
	Replicates  bool // has Operations.RequireReplicas
	Remembers   bool // has Operations.Past
	Transforms  bool // is a driver.Transformer
	LongPolls   bool // a Receive returns as soon as a message is sent
	Large       bool // a large body travels in a driver.Store
	KeepsBodies bool // and is not deleted with its message, since others may read it
	Orphans     bool // has Operations.Orphans
}

// Faults are functions that decide the outcome of the next call of Send, Settle or Receive, once.
type Faults struct {
	Throttle   func(call Call)        // the service refuses the whole call as too frequent
	LoseAnswer func(call Call)        // the call takes effect, and its answer never arrives
	FailEntry  func(call Call, i int) // entry i fails with a passing error, the other entries take effect
	Deny       func(call Call)        // the service refuses the whole call for lack of permission
}

// Call is a call of the seam that a fault can affect.
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
			t.Errorf("Harness.Skip names %q, which is not a case", name)
		}
	}
}

// cannot returns why a case cannot run; "": it can.
func (h *Harness) cannot(c testCase) string {
	if why := h.Skip[c.name]; why != "" {
		return why
	}
	if c.needs != nil {
		return c.needs(h)
	}
	return ""
}
