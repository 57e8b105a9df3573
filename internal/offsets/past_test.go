package offsets

import "testing"

// A reader knows of each record what the next owner would know.
func TestPast(t *testing.T) {
	const identity = "log-0"
	owner := New(100)
	owner.Bind(identity)
	owner.Start(10, "")
	for offset := int64(10); offset < 30; offset++ {
		seq, _, _ := owner.Admit(offset, 1, nil)
		switch {
		case offset == 12:
			owner.Started(seq, 3)
		case offset%4 != 0:
			owner.Finish(seq)
		}
	}
	c, _ := owner.Commit()
	p := NewPast(c.Offset, c.Metadata, identity)
	for offset := range int64(35) {
		finished, attempt := p.Of(offset, 1, nil)
		want := offset < 30 && offset != 12 && offset%4 != 0 || offset < c.Offset
		if finished != want || (attempt == 3) != (offset == 12) {
			t.Errorf("record %d: finished %v, %d attempts", offset, finished, attempt)
		}
	}
	for name, p := range map[string]*Past{
		"another log": NewPast(c.Offset, c.Metadata, "log-1"), "no metadata": NewPast(c.Offset, "", identity),
	} {
		if finished, _ := p.Of(13, 1, nil); finished {
			t.Errorf("%s: a record behind the commit is finished", name)
		}
		if finished, _ := p.Of(c.Offset-1, 1, nil); !finished {
			t.Errorf("%s: a record before the commit is not finished", name)
		}
	}
	truncated := NewPast(c.Offset, c.Metadata, identity)
	if finished, _ := truncated.Of(13, 2, nil); finished {
		t.Error("a record of a later epoch is finished")
	}
}

// A key that waits is unfinished from its first waiting record on.
func TestPastOfAKeyThatWaits(t *testing.T) {
	const identity = "log-0"
	owner := New(100)
	owner.Bind(identity)
	owner.Start(0, "")
	key := []byte("k")
	for offset := range int64(10) {
		seq, _, _ := owner.Admit(offset, 1, key)
		owner.Finish(seq)
	}
	owner.Block(Hash(key), 5, 2, 5)
	c, _ := owner.Commit()
	p := NewPast(c.Offset, c.Metadata, identity)
	for offset := range int64(10) {
		finished, attempt := p.Of(offset, 1, key)
		if finished != (offset < 5) || (attempt == 2) != (offset == 5) {
			t.Errorf("record %d: finished %v, %d attempts (commit %+v)", offset, finished, attempt, c)
		}
	}
}
