package discard

import "github.com/godwitmq/godwit/driver"

// Tally counts the records of one poll that are discarded, by the reason. All of it is expected: brokers do not
// select, so the filter's work is done here; and a log is read again from its last commit on. The zero value is ready.
type Tally struct {
	Filtered int // the filter does not want them
	Finished int // they were handled before, or their copy stands in the dead letters
}

// Tell calls Events.Discarded once for each reason. The caller holds no lock that a method of the receiver takes.
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
