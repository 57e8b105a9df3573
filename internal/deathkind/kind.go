package deathkind

import "github.com/godwitmq/godwit/driver"

// The kinds of death. All has also the faults of bodies in a store, which package driver names.
const (
	Exhausted   = "exhausted"
	Permanent   = "permanent"
	Rejected    = "rejected"
	Timeout     = "timeout"
	Undecodable = "undecodable"
	Panic       = "panic"
	Blocked     = "blocked"
	Expired     = "expired"
	Oversized   = "payload-large"
	// Undeliverable: the delay of the message is over, and its channel does not take it.
	Undeliverable = "undeliverable"
)

// All returns all kinds.
func All() []string {
	all := []string{
		Exhausted, Permanent, Rejected, Timeout, Undecodable, Panic, Blocked, Expired, Oversized, Undeliverable,
	}
	for f := driver.PayloadPointer; f <= driver.PayloadRatio; f++ {
		all = append(all, f.String())
	}
	return all
}
