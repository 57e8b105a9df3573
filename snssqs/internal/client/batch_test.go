package client

import (
	"errors"
	"testing"

	"github.com/godwitmq/godwit/driver"
)

func TestAnswersMentionEveryEntry(t *testing.T) {
	id := func(s string) *string { return &s }
	a := NewBatch("send", 4)
	for _, s := range []string{"0", "7", "-1", "01", "x", ""} { // of these, one is ours
		a.Accepted(id(s))
	}
	a.Accepted(nil)
	a.Refused(id("1"), id("InvalidMessageContents"), nil, true)
	a.Refused(id("2"), id("InternalError"), nil, false)
	a.Refused(id("9"), id("x"), nil, false)
	var batch *driver.BatchError
	if !errors.As(a.Err(), &batch) || len(batch.Errs) != 3 {
		t.Fatalf("the answer is %v, want three failures", a.Err())
	}
	for i, want := range map[int]driver.Class{1: driver.Permanent, 2: driver.Transient, 3: driver.Transient} {
		if got := driver.ClassOf(batch.Errs[i]); batch.Errs[i] == nil || got != want {
			t.Errorf("entry %d: %v, of class %s, want %s", i, batch.Errs[i], got, want)
		}
	}
}

func TestAnswersThatAreGood(t *testing.T) {
	a := NewBatch("send", 2)
	a.Accepted(EntryID(1))
	a.Accepted(EntryID(0))
	if err := a.Err(); err != nil {
		t.Error(err)
	}
	both := NewBatch("send", 1)
	both.Accepted(EntryID(0))
	both.Fail(0, errors.New("no"))
	if both.Err() == nil {
		t.Error("an entry that is in both lists counts as sent")
	}
}
