package kafka

import "github.com/godwitmq/godwit/driver"

// passedOver counts the records of one poll that are finished unseen, by the reason. All of it is expected: brokers do
// not select, so the filter's work is done here; and a log is read again from its last commit on.
type passedOver struct {
	filtered int
	finished int // they were handled before, or their copy stands in the dead letters
}

// count counts a record whose copy stands in the dead letters, or else one that the filter does not want.
func (p *passedOver) count(died bool) {
	if died {
		p.finished++
	} else {
		p.filtered++
	}
}

func (p *passedOver) tell(e driver.Events) {
	if e.Discarded == nil {
		return
	}
	if p.filtered > 0 {
		e.Discarded(driver.Discarded{Reason: driver.DiscardFiltered, Count: p.filtered, Expected: true})
	}
	if p.finished > 0 {
		e.Discarded(driver.Discarded{Reason: driver.DiscardFinished, Count: p.finished, Expected: true})
	}
}
