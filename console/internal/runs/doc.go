// Package runs keeps what the console does with channels, apart from the pages that show it.
//
// Its nouns: a [Run] is a requeue, a discard, a purge, an export or another action. It is planned first, by a [Plan]
// that counts and changes nothing, and then started once, by anybody who may. A [Registry] owns all runs and their
// goroutines, so a page that is closed stops nothing. A [Progress] says how far a run is. The [Log] has an [Entry] for
// every change.
//
// Two runs that change one channel are never under way at the same time: the second start is a [BusyError].
package runs
