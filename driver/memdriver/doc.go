// Package memdriver is the smallest complete backend: channels in the memory of one process, lost when it ends. It is
// the reference for authors of backends, and the base of tests and benchmarks that are not about a service.
//
// # The tour
//
// Its nouns, a file each, best read in this order:
//
//   - A [Backend] (backend.go) finds and creates what channels need: exchanges, queues and dead letters. It is a
//     driver.Provisioner and a driver.Operator.
//   - A queue (queue.go) is a heap of lanes, ordered by the time at which each can be received. A delay, a waiting
//     retry and a lease are the same thing: a time in the future.
//   - A sender (sender.go) checks and copies a message once, in Prepare, and puts it into every queue whose filter lets
//     it pass, unless an ordered channel has accepted the same message within the last five minutes.
//   - A receiver (receiver.go) takes due messages under a lease, waits if none is due, and settles. It is a
//     driver.Extender and a driver.AttemptLog.
//
// # What to copy
//
//   - Prepare reports every error of a single message; Send can then fail only as a whole.
//   - No argument is retained: Prepare clones the body and the headers, Ensure and Receiver the filter.
//   - A handle is a pointer and a number, so that the backend allocates nothing per delivery. The number is the one of
//     the receive; a handle that a later receive has superseded is answered with driver.ErrLost.
//   - A Receive waits, in its caller's goroutine, for a change of the queue, a timer of its own or the end of its
//     context. There is no other goroutine, and the lock is never held during a wait, so tests can run in virtual
//     time.
//   - Errors have a class, name the channel, and say how to repair it.
//   - A specification that the backend cannot satisfy (Encryption, Retention) is an error of Ensure, not ignored.
//   - The test is a drivertest.Harness: it lists the backend's abilities, and the kit checks them.
//
// # What a real backend adds
//
//   - A wire format for all properties of a message, versioned, and tolerant of messages of other programs.
//   - Calls that fail: classes for the service's errors, an answer per entry of a batch, deadlines, and a reject
//     that stays idempotent although copying and finishing are two calls.
//   - Limits that are read from the service instead of being constants.
//   - Ownership that can be lost, as of partitions that move between consumers: driver.Events.
package memdriver
