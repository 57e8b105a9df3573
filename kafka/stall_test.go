package kafka

import (
	"strings"
	"testing"
	"time"

	"github.com/godwitmq/godwit/driver"
)

// A partition that admits no record counts once until it admits one again. It is reported after StallLasts, with the
// record that it waits for.
func TestStallsAreCountedOnce(t *testing.T) {
	l, e := newTestLedger(t)
	l.at(t, e, delivered)
	in := l.begin(10)
	begun := in.now
	for range 2 {
		e.waiting = waitingMost
		in = l.begin(10)
		if in.admit(e, ofKey(e.next+1)) {
			t.Fatal("a record is admitted beyond the room for waiting ones")
		}
	}
	if times, texts := l.stalled(begun.Add(driver.StallLasts - time.Second)); times != 1 || len(texts) > 0 {
		t.Errorf("before StallLasts: %d stalls, reported %q", times, texts)
	}
	_, texts := l.stalled(begun.Add(driver.StallLasts + time.Second))
	if len(texts) != 1 || !strings.Contains(texts[0], "10000 records") || !strings.Contains(texts[0], "offset 0") {
		t.Errorf("after StallLasts the report is %q", texts)
	}
	e.waiting = 0
	if in = l.begin(10); !in.admit(e, ofKey(e.next+1)) {
		t.Fatal("the record is not admitted although there is room")
	}
	if _, texts = l.stalled(begun.Add(time.Hour)); len(texts) > 0 {
		t.Errorf("after an admission the report is %q", texts)
	}
}
