// Package sim is a simulation of consumers with random faults. It checks the promises of docs/delivery-semantics.md.
// The package has tests only.
//
// A world is the run of one seed in virtual time. It has one embedded server, a channel, producers, and slots. In each
// slot, one process after another consumes, is paused and resized, stops or crashes. Some worlds have a second channel,
// the flood, which gets many messages at once, and processes that consume both channels in one fleet. In some worlds a
// dependency of the handlers is down for minutes, or for half a day.
//
// A plan is what the seed decides about a world, and a processPlan what it decides about one process. A behavior is
// what it decides about one start of a message. A fault strikes some calls to the server for some time; half of the
// worlds have none, and check one subject each, see worldKind. A checker records what happens to every message, from
// the network of each process, from its hooks and from its handlers, and reports a violation as soon as a promise is
// broken. A tally counts how often each fault and each check happened. The ledger is a file of the seeds that have
// passed at each commit.
//
// Some worlds are operated: people requeue and purge dead letters, pause the channel, sweep, and look for alerts, while
// consumers work, stop and crash. Half of these worlds are on Kafka, with retry topics, transactions, and share groups.
// Their ledger knows every message, and checks what holds on both services.
//
// In some worlds messages are delayed, and cancelled around their time, while consumers that wake them are killed and
// the store of the decisions fails. They check the answers to the programs that cancel.
//
// A seed's decisions do not depend on the order in which goroutines run. Each decision is drawn from the seed and its
// subject, such as a message's label and the number of its start, or a call's action, caller and time. Two runs of a
// seed may still differ in the order of what happens at the same time, and in Godwit's own jitter. `make sim SEED=n`
// removes these differences, too. It uses one processor and a patched runtime, whose random numbers start from the
// seed, and which does not depend on clock and threads. Such a run is always the same, down to its trace, even on a
// busy machine.
package sim
