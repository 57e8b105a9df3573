// Package memdriver is the smallest complete backend: channels in the memory of one process, gone when it ends. It is
// the reference for authors of backends, and the base of tests and benchmarks whose subject is not the service.
//
// # The tour
//
// Its nouns, a file each, best read in this order:
//
//   - A [Backend] (backend.go) finds and makes what channels need: exchanges, queues and dead letters. It is a
//     driver.Provisioner, a driver.Finder and a driver.Inspector.
//   - A queue (queue.go) is a heap of lanes, by the time at which each can be received. A delay, a retry that waits and
//     a lease are all one thing: a time that has not come yet.
//   - A sender (sender.go) checks and copies a message once, in Prepare, and puts it into every queue whose filter lets
//     it pass, unless an ordered channel has accepted the same message within the last five minutes.
//   - A receiver (receiver.go) takes messages that are due under a lease, waits where none is, and settles. It is a
//     driver.Extender and a driver.AttemptLog.
//
// # What to copy
//
//   - Prepare reports every fault of a single message; Send can then fail only as a whole.
//   - Nothing that a caller passed in is kept: Prepare clones the body and the headers, Ensure and Receiver the filter.
//   - A handle is a pointer and a number, so that a delivery costs no allocation of the backend. The number says which
//     receive it belongs to; a handle that a later receive has superseded is answered with driver.ErrLost.
//   - A Receive waits, in its caller's goroutine, for a change of the queue, a timer of its own or the end of its
//     context. There is no other goroutine, and the lock is never held while anything waits: so tests run in virtual
//     time.
//   - Errors have a class, name the channel, and say what to do.
//   - A wish that cannot be kept (Encryption, Retention) is an error of Ensure, never dropped in silence.
//   - The test is a drivertest.Harness: it says what the backend can, and the kit shows whether that is true.
//
// # What a real backend adds
//
//   - A wire format for everything that a message says of itself, versioned, and tolerant of messages of others.
//   - Calls that fail: classes for the service's errors, an answer for each entry of a batch, deadlines, and a reject
//     that stays idempotent although copying and finishing are two calls.
//   - Limits that are read from the service instead of being constants.
//   - Ownership that can be lost, as of partitions that move between consumers: driver.Events.
package memdriver
