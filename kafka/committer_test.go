package kafka

import "testing"

// Metadata that the broker refuses as too large becomes shorter.
func TestMetadataBecomesShorter(t *testing.T) {
	l, e := newTestLedger(t)
	for i := range 20_000 {
		m := l.at(t, e, delivered)
		if i%7*i%5 == 3 {
			l.move(m, finished)
		}
	}
	before, _ := e.tracker.Commit()
	l.answered(true, partitionCommit{e: e, c: before})
	after, _ := e.tracker.Commit()
	if len(after.Metadata) >= len(before.Metadata) || len(before.Metadata) < 1000 {
		t.Errorf("metadata of %d characters after %d", len(after.Metadata), len(before.Metadata))
	}
}
