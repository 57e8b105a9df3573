package records

import (
	"testing"

	"github.com/godwitmq/godwit/driver"
)

// A handle is good for one settlement, even after the memory of its message is used again.
func TestHandlesAreUsedOnce(t *testing.T) {
	l, e := newTestLedger(t)
	m := l.at(t, e, delivered)
	h := driver.Handle{Ref: m, Seq: m.Use}
	if l.claim(h, finished) == nil {
		t.Fatal("the message was not settled")
	}
	again := l.at(t, e, delivered)
	if again != m {
		t.Fatal("the memory is not used again")
	}
	l.note(note{handle: h})
	l.read()
	if l.claim(h, finished) != nil || again.stage != delivered {
		t.Errorf("an old handle settled another message, which is %s", again.stage)
	}
}

// Half of the records without a key are worth one warning, after enough of them.
func TestCensus(t *testing.T) {
	for name, c := range map[string]struct {
		every, want int // one record in so many has a key
	}{"half": {2, 1}, "a third without": {1, 0}, "nearly none with a key": {100, 1}} {
		var k census
		told := 0
		for i := range 10 * censusSize {
			if k.counts(i%c.every == 0) {
				told++
			}
		}
		if told != c.want {
			t.Errorf("%s: told %d times, want %d", name, told, c.want)
		}
	}
}
