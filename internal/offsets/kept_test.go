package offsets

import "testing"

// lost is a Tracker whose broker has the commit of offset 0 while much more is finished: all but 7 of the first 100.
func lost(t *testing.T) (k *Tracker, stored Commit) {
	t.Helper()
	k = New(128)
	k.Bind("log")
	k.Start(0, "")
	var seqs []uint64
	for i := range int64(100) {
		seqs = append(seqs, run(t, k, i))
	}
	stored = wantCommit(t, k, 0)
	for i, seq := range seqs {
		if i != 7 {
			k.Finish(seq)
		}
	}
	return k, stored
}

// again reads the first 100 records from a commit on, and returns which of them are to be handled.
func again(k *Tracker, from int64, epoch int32) (offsets []int64) {
	for i := from; i < 100; i++ {
		if _, _, a := k.Admit(i, epoch, nil); a == Run {
			offsets = append(offsets, i)
		}
	}
	return offsets
}

// A partition that comes back to its owner goes on where the owner was, from the last commit that the broker has, or
// may have.
func TestWhatWasFinishedIsKept(t *testing.T) {
	for name, answered := range map[string]bool{"the last commit is known": true, "its answer was lost": false} {
		t.Run(name, func(t *testing.T) {
			k, stored := lost(t)
			if !answered {
				stored, _ = k.Commit()
			}
			kept := k.Keep()
			next := New(128)
			next.Bind("log")
			if !next.Resume(stored.Offset, stored.Metadata, &kept) {
				t.Fatal("not resumed")
			}
			if _, changed := next.Commit(); changed != answered {
				t.Errorf("the broker is told before the log is read again: %v, want %v", changed, answered)
			}
			if got := again(next, stored.Offset, 3); len(got) != 1 || got[0] != 7 {
				t.Errorf("%v are handled again, want 7", got)
			}
			if c, _ := next.Commit(); c.Offset != 7 {
				t.Errorf("the commit is %+v, want offset 7", c)
			}
		})
	}
}

// What was kept applies to the very commit and log that it was kept for.
func TestWhatWasKeptMayNotApply(t *testing.T) {
	for name, c := range map[string]struct {
		log    string
		epoch  int32
		change func(*Commit)
		want   int
	}{
		"another member has committed": {log: "log", epoch: 3, want: 100, change: func(c *Commit) {
			other := New(8)
			other.Bind("log")
			other.Start(0, "")
			other.Mark(1)
			*c, _ = other.Commit()
		}},
		"somebody has reset the group": {log: "log", epoch: 3, want: 100, change: func(c *Commit) { c.Metadata = "" }},
		"another log":                  {log: "created again", epoch: 3, want: 100, change: func(*Commit) {}},
		"the log was cut":              {log: "log", epoch: 4, want: 100, change: func(*Commit) {}},
		"none of these":                {log: "log", epoch: 3, want: 1, change: func(*Commit) {}},
	} {
		t.Run(name, func(t *testing.T) {
			k, stored := lost(t)
			kept := k.Keep()
			c.change(&stored)
			next := New(128)
			next.Bind(c.log)
			next.Resume(stored.Offset, stored.Metadata, &kept)
			if got := again(next, stored.Offset, c.epoch); len(got) != c.want {
				t.Errorf("%d are handled again, want %d", len(got), c.want)
			}
		})
	}
}
