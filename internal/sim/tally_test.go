package sim

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
)

// The kinds of fault and of check that every run of the simulation must have seen at work. Of others the tally only
// tells.
const (
	struckThrottle      = "fault: throttled"
	struckError         = "fault: service error"
	struckRefused       = "fault: connection refused"
	struckSlow          = "fault: slow answer"
	struckLostSend      = "fault: lost answer to a send"
	struckLostReceive   = "fault: lost answer to a receive"
	struckLostDelete    = "fault: lost answer to a delete"
	struckLostChange    = "fault: lost answer to a visibility change"
	struckPartialSend   = "fault: entry of a send batch failed"
	struckPartialDelete = "fault: entry of a delete batch failed"
	struckPartialChange = "fault: entry of a visibility batch failed"
	struckBlocked       = "fault: renewal blocked"
	struckOutage        = "fault: process cut off for a while"
	struckDuplicate     = "fault: duplicate delivery"
	struckLapse         = "fault: lease expired under a live process"
	struckCrash         = "fault: process crashed"
	struckSlowHandler   = "handler: slow"
	struckFailure       = "handler: failed"
	struckPanic         = "handler: panicked"
	struckPermanent     = "handler: permanent error"
	struckRetrySoon     = "handler: retry soon"
	struckRetryLate     = "handler: retry late"
	struckOverrun       = "handler: exceeded its time"
	struckIgnored       = "handler: ignored its context"
	struckFatal         = "handler: fatal error"
	struckDrop          = "handler: dropped by policy"
	struckSelf          = "handler: settled by itself"
	struckRelease       = "handler: released"
	struckStop          = "process: stopped gracefully"
	struckStopBusy      = "process: stopped with handlers running"
	struckRestart       = "process: started again"
	struckPull          = "process: by iterator"
	struckLeftLoop      = "process: left its iterator's loop"
	struckUnsettled     = "process: iterated on without settling"
	struckSmallBytes    = "process: small MaxBytes"
	struckInterrupted   = "process: handler interrupted by shutdown"
	struckGaveUp        = "sender: gave up waiting"

	struckDown           = "handler: what it depends on is down"
	struckBatches        = "process: by batches"
	struckSomeFailed     = "batch: some of it failed"
	struckAllFailed      = "batch: all of it failed"
	struckUnhandled      = "batch: unhandled behind one that failed"
	struckFleet          = "process: a fleet of two channels"
	calledPause          = "call: paused"
	calledPauseAgain     = "call: paused, and paused already"
	calledPauseGathering = "call: paused while a batch gathered"
	calledResize         = "call: other concurrency"
	countLooks           = "check: what a paused consumer holds"
	countGoesOn          = "check: a resumed consumer asks again"
	countShared          = "check: the share of a tenant"
	countTurns           = "check: whose turn it is in a fleet"
	countSentAway        = "tenant: sent away beyond its share"
	countBroke           = "breaker: opened"
	countMended          = "breaker: closed again"
	countAwayBroken      = "breaker: sent away while it was open"
	countGrew            = "pool: grew"
	countShrank          = "pool: shrank"
	countCalm            = "worlds, calm, with more to do than the pools can at first"
	countOutage          = "worlds with an outage of half a day"
	countKept            = "worlds whose callers keep deliveries for half a day"
	countWaiting         = "worlds with more waiting keys than places"
	countShares          = "worlds with a fleet that has much to do on both channels"
	struckStranded       = "fault: stranded poll"
	struckTopicGone      = "fault: topic deleted"
	struckKept           = "handler: keeps its delivery for half a day"
	countFiltered        = "messages that a filter refuses"
	countWeights         = "check: weights in a fleet"
	countHeldAgain       = "check: attempts of a held retry"
	countEntries         = "check: errors of a batch's entries"
	countHalfDay         = "check: lease lost after the service's total"
	countFinishedAgain   = "delivery of a finished message kept from the consumer"
	countShelf           = "check: what waits for held retries"
	countPrompt          = "check: start of a key that does not wait"
)

// kindCounts is what counts a world of each kind.
func kindCounts() map[worldKind]string {
	return map[worldKind]string{worldStormy: countStormy, worldCalm: countCalm, worldOutage: countOutage, worldKept: countKept,
		worldWaiting: countWaiting, worldShares: countShares}
}

// kinds are all of them, for the check that none is zero.
func kinds() []string {
	return []string{
		struckThrottle, struckError, struckRefused, struckSlow, struckLostSend, struckLostReceive, struckLostDelete,
		struckLostChange, struckPartialSend, struckPartialDelete, struckPartialChange, struckBlocked, struckOutage,
		struckDuplicate, struckLapse, struckCrash, struckSlowHandler, struckFailure, struckPanic, struckPermanent,
		struckRetrySoon, struckRetryLate, struckOverrun, struckIgnored, struckFatal, struckDrop, struckSelf, struckRelease,
		struckStop, struckStopBusy, struckRestart, struckPull, struckLeftLoop, struckUnsettled, struckSmallBytes,
		struckInterrupted, struckGaveUp, struckDown, struckBatches, struckSomeFailed, struckAllFailed, struckUnhandled,
		struckFleet, calledPause, calledPauseAgain, calledPauseGathering, calledResize, countLooks, countGoesOn,
		countShared, countTurns, countSentAway, countBroke, countMended, countAwayBroken, countGrew, countShrank, countCalm,
		countOutage, countKept, countWaiting, countShares, struckStranded, struckTopicGone, struckKept, countFiltered,
		countWeights, countHeldAgain, countEntries, countHalfDay, countPrompt, countShelf,
	}
}

// Other things worth counting.
const (
	countWorlds     = "worlds"
	countStormy     = "worlds with storms of faults"
	countOrdered    = "worlds, ordered"
	countExchange   = "worlds, exchange"
	countMessages   = "messages"
	countAccepted   = "messages accepted"
	countDoubtful   = "messages in doubt"
	countStarts     = "handlers started"
	countFinished   = "handlers succeeded"
	countAgain      = "handled again"
	countDead       = "dead letters"
	countSecond     = "dead letters, second copy"
	countRedriven   = "dead letters by the service's own count"
	countMeddled    = "give-backs repeated, or by an older handle"
	countReceives   = "deliveries"
	countGivenBack  = "given back"
	countHeldAtStop = "left invisible because of a fault"
)

// tally counts. Safe for concurrent use.
type tally struct {
	mu sync.Mutex
	n  map[string]int
}

func newTally() *tally { return &tally{n: map[string]int{}} }

func (t *tally) add(kind string, n int) {
	t.mu.Lock()
	t.n[kind] += n
	t.mu.Unlock()
}

func (t *tally) merge(from map[string]int) {
	for kind, n := range from {
		t.add(kind, n)
	}
}

// counts is a copy.
func (t *tally) counts() map[string]int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return maps.Clone(t.n)
}

// missing are the kinds of fault that never struck.
func (t *tally) missing() (none []string) {
	n := t.counts()
	for _, kind := range kinds() {
		if n[kind] == 0 {
			none = append(none, kind)
		}
	}
	return none
}

func (t *tally) print(to io.Writer) {
	n := t.counts()
	for _, kind := range kinds() {
		n[kind] += 0 // zeros are shown too
	}
	for _, kind := range slices.Sorted(maps.Keys(n)) {
		fmt.Fprintf(to, "  %-60s %9d\n", kind, n[kind])
	}
}
