package kafka

import (
	"testing"

	"github.com/godwitmq/godwit/driver"
)

// A handle is good for one settlement, even after the memory of its message is used again.
func TestHandlesAreUsedOnce(t *testing.T) {
	l, e := newTestLedger(t)
	m := l.at(t, e, delivered)
	h := driver.Handle{Ref: m, Seq: m.use}
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
