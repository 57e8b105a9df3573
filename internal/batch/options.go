package batch

import (
	"context"
	"time"
)

// Options configure a Batcher. Send and Done are required.
//
// Add calls Size, Key, Keyed and Urgent while it holds the batcher's lock, so they must do nothing but look at their
// argument. All other functions are called from goroutines of the batcher, without a lock. They may take a lock that a
// caller of Add holds, and they may call Add.
type Options[T any] struct {
	Limit int              // entries in a batch; 0: no limit
	Bytes int              // sum of Size in a batch; 0: no limit
	Size  func(v T) int    // required with Bytes
	Key   func(v T) string // entries with the same key are sent one after another; nil: in any order
	// Keyed reports whether an entry has a key. Without one it is sent in any order. nil: with Key, all entries have
	// one.
	Keyed func(v T) bool
	// Together allows several entries of one key in one batch, in the order in which they were added, but never in two
	// batches at the same time. An entry that is repeated is then sent after the entries of its batch that succeeded.
	Together bool

	AtOnce  int           // calls of Send at the same time; 0: one
	Linger  time.Duration // how long to wait, after an answer, until the callers that were answered add again
	Longest time.Duration // how long an entry waits for others at most
	// Adapt makes Linger and Longest upper bounds. An entry then waits only if others are likely to follow within half
	// of the wait. It waits for half the duration of a call, or for a sixteenth of it if the callers add again as soon
	// as they are answered. An entry that comes alone is never delayed, whatever is in flight.
	Adapt bool
	// Patience returns how long a batch that is not full waits, whatever is in flight. It is for entries that come
	// slowly and are not urgent. 0, or a nil function: no longer than the options above say. An entry does not wait
	// for Patience if another one of its key waits for it to end.
	Patience func() time.Duration
	// Urgent reports whether an entry must not wait for Patience. Entries that are queued with it do not wait, either.
	// nil: no entry is urgent.
	Urgent func(v T) bool

	// Take is called just before an entry is sent. If it returns false, the entry is withdrawn, and Done is not called
	// for it. nil: all entries are sent.
	Take func(v T) bool
	// Send sends a batch and does not keep the slice. It returns a *driver.BatchError to name the entries that failed.
	Send func(ctx context.Context, batch []T) error
	// Again returns how long an entry that has failed try times waits before it is repeated. If the result is negative,
	// the entry is not repeated, and Done gets the error. nil: nothing is repeated.
	Again func(v T, err error, try int) time.Duration
	// Done is called once for each entry, with its result.
	Done func(v T, err error)
	// Landed, if it is set, is called instead of Done for the entries that succeeded, once for each call of Send. It
	// does not keep the slice.
	Landed func(vs []T)
}
