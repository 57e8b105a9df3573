package sim

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
)

// The kinds of faults and checks that must occur in every run of the simulation.
const (
	seenThrottle      = "fault: throttled"
	seenError         = "fault: service error"
	seenRefused       = "fault: connection refused"
	seenSlow          = "fault: slow answer"
	seenLostSend      = "fault: lost answer to a send"
	seenLostReceive   = "fault: lost answer to a receive"
	seenLostDelete    = "fault: lost answer to a delete"
	seenLostChange    = "fault: lost answer to a visibility change"
	seenPartialSend   = "fault: entry of a send batch failed"
	seenPartialDelete = "fault: entry of a delete batch failed"
	seenPartialChange = "fault: entry of a visibility batch failed"
	seenBlocked       = "fault: renewal blocked"
	seenOutage        = "fault: process cut off for a while"
	seenDuplicate     = "fault: duplicate delivery"
	seenLapse         = "fault: lease expired under a live process"
	seenCrash         = "fault: process crashed"
	seenStoreDown     = "fault: store is down"
	seenLostPut       = "fault: lost answer to the write of a body"
	seenLostGet       = "fault: lost answer to the read of a body"
	seenLostDiscard   = "fault: lost answer to the delete of a body"
	seenSlowHandler   = "handler: slow"
	seenFailure       = "handler: failed"
	seenPanic         = "handler: panicked"
	seenPermanent     = "handler: permanent error"
	seenRetrySoon     = "handler: retry soon"
	seenRetryLate     = "handler: retry late"
	seenOverrun       = "handler: exceeded its time"
	seenIgnored       = "handler: ignored its context"
	seenFatal         = "handler: fatal error"
	seenDrop          = "handler: dropped by policy"
	seenSelf          = "handler: settled by itself"
	seenRelease       = "handler: released"
	seenStop          = "process: stopped gracefully"
	seenStopBusy      = "process: stopped with handlers running"
	seenRestart       = "process: started again"
	seenPull          = "process: uses an iterator"
	seenLeftLoop      = "process: ended its loop over an iterator"
	seenUnsettled     = "process: continued its loop without settling"
	seenSmallBytes    = "process: small MaxBytes"
	seenInterrupted   = "process: handler interrupted by shutdown"
	seenGaveUp        = "sender: gave up waiting"

	seenDown             = "handler: dependency is down"
	seenBatches          = "process: handles batches"
	seenSomeFailed       = "batch: some deliveries failed"
	seenAllFailed        = "batch: all deliveries failed"
	seenUnhandled        = "batch: not handled after a failed delivery"
	seenFleet            = "process: runs a fleet of two channels"
	calledPause          = "call: paused"
	calledPauseAgain     = "call: paused while paused"
	calledPauseGathering = "call: paused while a batch gathered"
	calledResize         = "call: set concurrency"
	countLooks           = "check: deliveries of a paused consumer"
	countGoesOn          = "check: resumed consumer requests messages"
	countShared          = "check: share of a tenant"
	countTurns           = "check: turns in a fleet"
	countReleasedLater   = "tenant: released beyond its share"
	countOpened          = "breaker: opened"
	countClosed          = "breaker: closed again"
	countReleasedOpen    = "breaker: released while it was open"
	countGrew            = "pool: grew"
	countShrank          = "pool: shrank"
	countCalm            = "worlds with more messages than small pools can handle"
	countOutage          = "worlds with an outage of half a day"
	countKept            = "worlds whose handlers keep deliveries for half a day"
	countWaiting         = "worlds with more waiting keys than places"
	countShares          = "worlds with a busy fleet on both channels"
	seenStranded         = "fault: stranded poll"
	countOperated        = "worlds with operators"
	seenSlowRequeue      = "operator: requeue that edits slowly"
	seenRequeueCrash     = "operator: crash in a requeue"
	seenRefusedRequeue   = "operator: requeued message refused"
	seenUnseen           = "operator: requeue that says what it has not seen"
	seenPurge            = "operator: purge"
	seenBlackout         = "operated: process without connections"
	seenPolicyPause      = "operator: pause by the queue's policy"
	seenSweep            = "operator: sweep"
	seenAlert            = "operator: alerts"
	countRequeued        = "operator: messages requeued"
	// receives that open polls bring after the beginning of a stop
	countReceivedStopping = "check: received once while stopping"
	seenTopicGone         = "fault: topic deleted"
	seenKept              = "handler: keeps its delivery for half a day"
	countFiltered         = "messages that a filter does not select"
	countWeights          = "check: weights in a fleet"
	countHeldAgain        = "check: attempts of a held retry"
	countEntries          = "check: errors of a batch's entries"
	countHalfDay          = "check: lease lost after 12 hours"
	countFinishedAgain    = "delivery of a finished message discarded by the backend"
	countDiscarded        = "messages that have expired, discarded"
	countExpiredDead      = "messages that have expired, dead-lettered"
	countShelf            = "check: bound of the shelf"
	countPrompt           = "check: prompt start of other keys"
	countLaterWorlds      = "worlds with delayed messages that are cancelled"
	countCancelled        = "later: cancelled"
	countTooLate          = "later: too late to cancel"
	seenCancelUnknown     = "later: cancel without an answer"
)

// kindCounts are the counters for the kinds of worlds.
func kindCounts() map[worldKind]string {
	return map[worldKind]string{
		worldFaults: countFaults, worldCalm: countCalm, worldOutage: countOutage,
		worldKept:    countKept,
		worldWaiting: countWaiting, worldShares: countShares, worldOperated: countOperated,
	}
}

// kinds are all that must occur, for the check that none is zero.
func kinds() []string {
	return []string{
		seenThrottle, seenError, seenRefused, seenSlow, seenLostSend, seenLostReceive, seenLostDelete,
		seenLostChange, seenPartialSend, seenPartialDelete, seenPartialChange, seenBlocked, seenOutage,
		seenDuplicate, seenLapse, seenCrash, seenSlowHandler, seenFailure, seenPanic, seenPermanent,
		seenRetrySoon, seenRetryLate, seenOverrun, seenIgnored, seenFatal, seenDrop, seenSelf, seenRelease,
		seenStop, seenStopBusy, seenRestart, seenPull, seenLeftLoop, seenUnsettled, seenSmallBytes,
		seenInterrupted, seenGaveUp, seenDown, seenBatches, seenSomeFailed, seenAllFailed, seenUnhandled,
		seenFleet, calledPause, calledPauseAgain, calledPauseGathering, calledResize, countLooks, countGoesOn,
		countShared, countTurns, countReleasedLater, countOpened, countClosed, countReleasedOpen, countGrew,
		countShrank, countCalm, countOutage, countKept, countWaiting, countShares, countOperated, seenSlowRequeue,
		seenRequeueCrash, seenRefusedRequeue, seenPurge, seenPolicyPause, seenSweep,
		seenAlert, countRequeued, countReceivedStopping, seenStranded, seenTopicGone,
		seenKept, countFiltered, countWeights, countHeldAgain, countEntries, countHalfDay, countPrompt,
		countDiscarded, countExpiredDead, countLaterWorlds, countCancelled, countTooLate, seenCancelUnknown,
		countShelf, seenStoreDown, seenLostPut, seenLostGet, seenLostDiscard, countStored,
	}
}

// Other counters.
const (
	countWorlds     = "worlds"
	countFaults     = "worlds with faults"
	countOrdered    = "worlds with order"
	countExchange   = "worlds with an exchange"
	countMessages   = "messages"
	countAccepted   = "messages accepted"
	countDoubtful   = "messages with an unknown result of the send"
	countStarts     = "handlers started"
	countFinished   = "handlers succeeded"
	countAgain      = "handlers started for a finished message"
	countDead       = "dead letters"
	countSecond     = "dead letters, second copy"
	countRedriven   = "dead letters moved by the service"
	countDisturbed  = "releases repeated, or with an older handle"
	countReceives   = "deliveries"
	countStored     = "bodies written to a store"
	countLeftover   = "bodies left in a store"
	countBodiless   = "dead letters of second copies, whose body was deleted with the first"
	countReleased   = "released"
	countHeldAtStop = "left invisible because of a fault"
	countLate       = "check: a message behind those that shared its request" // too rare for a few seeds
)

// tally counts by kind. It is safe for concurrent use.
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

// counts returns a copy.
func (t *tally) counts() map[string]int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return maps.Clone(t.n)
}

// missing returns the kinds that did not occur.
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
		n[kind] += 0 // zeros are printed, too
	}
	for _, kind := range slices.Sorted(maps.Keys(n)) {
		fmt.Fprintf(to, "  %-60s %9d\n", kind, n[kind])
	}
}
