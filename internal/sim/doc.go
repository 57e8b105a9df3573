// Package sim is a seeded simulation of the consumer's promises; it holds tests alone.
//
// Its nouns: a world is one seed's run in a bubble of virtual time, with one embedded server, a channel, producers,
// and slots in which processes consume, stop, crash and start again, are paused and resized. Some worlds have a second
// channel, which is flooded once, and processes that consume both in one fleet; in some, what handlers depend on is down for
// minutes, or for half a day. An incarnation is one life
// of a process, a stint one call of its handler, with one delivery or a batch. A plan is what the seed decides. The weather is the
// faults that strike calls, in storms; half of the worlds have none, and show one thing each: see worldKind. Books are
// what the world knows of every message, from the wire of each process and from its handlers, and they complain as soon
// as a promise is broken. A tally counts how often each kind of fault
// struck. The ledger is a file of the seeds that passed at each commit.
//
// What a seed decides does not depend on the order in which goroutines happen to run: every decision is drawn from
// the seed and from what it is about (a message's label and the number of its start, a call's action, caller and
// instant), never from a stream that all share. What still varies between two runs of one seed is the order of what
// happens within one instant and the product's own jitter. `make sim SEED=n` takes both away: one processor, and
// a runtime in which all that chance decides begins with a fixed seed, and neither the clock nor threads matter. Then the
// run is the same down to its trace, also on a machine that has much else to do.
package sim
