package discard

import "github.com/godwitmq/godwit/driver"

// Tally counts the discarded records of one poll, by reason. Both reasons are normal: brokers do not filter, so the
// receiver does; and a log is read again from its last commit on. The zero value is ready to use.
type Tally struct {
	Filtered int // the filter does not select them
	Finished int // they were handled before, or have a dead letter
}

// Tell calls Events.Discarded once for each reason. The caller must hold no lock that a method of the receiver takes.
func (t *Tally) Tell(e driver.Events) {
	if e.Discarded == nil {
		return
	}
	if t.Filtered > 0 {
		e.Discarded(driver.Discarded{Reason: driver.DiscardFiltered, Count: t.Filtered, Expected: true})
	}
	if t.Finished > 0 {
		e.Discarded(driver.Discarded{Reason: driver.DiscardFinished, Count: t.Finished, Expected: true})
	}
}
