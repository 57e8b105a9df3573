package offsets

import "testing"

// A beginning is recognized for its own log and offset only, and a tracker continues it without a mark.
func TestBeginning(t *testing.T) {
	c := Beginning(7, "log-0")
	for _, x := range []struct {
		at       int64
		metadata string
		log      string
		want     bool
	}{
		{7, c.Metadata, "log-0", true},
		{8, c.Metadata, "log-0", false},
		{7, c.Metadata, "log-1", false},
		{7, "", "log-0", false},
		{7, "someone else's", "log-0", false},
		{-1, "", "log-0", false},
	} {
		if got := Genuine(x.at, x.metadata, x.log); got != x.want {
			t.Errorf("the commit of %d with %q of %s is genuine: %v", x.at, x.metadata, x.log, got)
		}
	}
	tr := New(8)
	tr.Bind("log-0")
	tr.Start(c.Offset, c.Metadata)
	if !tr.Own() || tr.Marked() != -1 || tr.First() != 7 {
		t.Errorf("own %v, mark %d, first %d", tr.Own(), tr.Marked(), tr.First())
	}
}
