package discard

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/godwitmq/godwit/driver"
)

func TestTallyIsToldOnceForEachReason(t *testing.T) {
	var told []driver.Discarded
	events := driver.Events{Discarded: func(d driver.Discarded) { told = append(told, d) }}
	(&Tally{}).Tell(events)
	(&Tally{Filtered: 2, Finished: 3}).Tell(driver.Events{}) // no callback is set
	if len(told) > 0 {
		t.Errorf("an empty tally reported %+v", told)
	}
	(&Tally{Filtered: 2, Finished: 3}).Tell(events)
	want := []driver.Discarded{
		{Reason: driver.DiscardFiltered, Count: 2, Expected: true},
		{Reason: driver.DiscardFinished, Count: 3, Expected: true},
	}
	if diff := cmp.Diff(want, told); diff != "" {
		t.Error(diff)
	}
}
