package records

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/offsets"
	"github.com/godwitmq/godwit/kafka/internal/wire"
)

// ofKey is a record with key k.
func ofKey(offset int64) *kgo.Record {
	return &kgo.Record{Topic: "orders", Key: []byte("k"), Offset: offset, Value: []byte("body")}
}

// A discarded epoch returns its places. Later reports about its deliveries have no effect.
func TestPlacesEndWithTheirEpoch(t *testing.T) {
	l, e := newTestLedger(t)
	for range 5 {
		l.at(t, e, delivered)
	}
	l.Epochs.Discard([]*Epoch{e})
	l.Epochs.Discard([]*Epoch{e})
	l.Epochs.Assign(e.member, map[string][]int32{"orders": {0}})
	next := l.Epochs.Start(e.member, wire.Partition{Topic: "orders"}, 0, "")
	if got := Window - l.free(next); got != 0 {
		t.Errorf("%d places are taken", got)
	}
}

// leave returns when the records of the poll in flight are admitted, not earlier: they could be taken for records of
// the next epoch.
func TestLeavingWaitsForThePoll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, e := newTestLedger(t)
		waiting, cancel := l.Wakeup.Begin(t.Context(), time.Hour)
		defer cancel()
		left := make(chan int, 1)
		go func() { left <- len(l.Epochs.Leave(e.member, map[string][]int32{"orders": {0, 7}})) }()
		synctest.Wait()
		if waiting.Err() == nil {
			t.Fatal("the poll in flight was not ended")
		}
		select {
		case <-left:
			t.Fatal("the partition was left while a poll is in flight")
		default:
		}
		in := l.Bring(e.member, kgo.Fetches{{Topics: []kgo.FetchTopic{{
			Topic:      "orders",
			Partitions: []kgo.FetchPartition{{Records: []*kgo.Record{ofKey(0)}}},
		}}}}, 10)
		if len(in.Out) > 0 {
			t.Error("a record was admitted of a partition that is being left")
		}
		l.Wakeup.Done()
		if n := <-left; n != 1 {
			t.Errorf("%d epochs are left, want 1", n)
		}
	})
}

// Callbacks of a replaced member are ignored.
func TestReplacedMembersGetNothing(t *testing.T) {
	l, e := newTestLedger(t)
	l.Epochs.Retire(e.member)
	l.Epochs.Discard(l.Epochs.Of(e.member))
	l.Epochs.Assign(e.member, map[string][]int32{"orders": {0}})
	if es := l.Epochs.Of(e.member); len(es) > 0 {
		t.Errorf("the replaced member has %d epochs", len(es))
	}
	other := newTestMember()
	l.Epochs.Assign(other, map[string][]int32{"orders": {0}})
	if l.Epochs.Start(e.member, wire.Partition{Topic: "orders"}, 0, "") != nil ||
		len(l.Epochs.Leave(e.member, map[string][]int32{"orders": {0}})) > 0 {
		t.Error("the replaced member begins or leaves an epoch of its successor")
	}
}

// The mark is the first dead letter that counts: the one of the last commit, or the end of the dead letters if that
// commit was not made by Godwit, or if the topic of the dead letters was created again.
func TestTheMarkOfDeadLetters(t *testing.T) {
	l, foreign := newTestLedger(t)
	if mark, reset := l.Epochs.Mark(foreign, 40); mark != 40 || !reset || !foreign.fresh {
		t.Errorf("after a foreign commit the mark is %d, reset %v, fresh %v", mark, reset, foreign.fresh)
	}
	c, _ := foreign.tracker.Commit()
	again := func(end int64) (mark int64, reset bool) {
		l.Epochs.Discard([]*Epoch{l.Epochs.open[foreign.Partition]})
		l.Epochs.Assign(foreign.member, map[string][]int32{"orders": {0}})
		return l.Epochs.Mark(l.Epochs.Start(foreign.member, foreign.Partition, c.Offset, c.Metadata), end)
	}
	if mark, reset := again(50); mark != 40 || reset {
		t.Errorf("after a commit with the mark 40 the mark is %d, reset %v", mark, reset)
	}
	if mark, reset := again(10); mark != 0 || reset {
		t.Errorf("with new dead letters the mark is %d, reset %v", mark, reset)
	}
}

// A record is recognized by its dead letter, if the letter is not older than the mark. In a tier, the original's offset
// counts, and the mark of the channel's own partition, too.
func TestRecordsWithADeadLetter(t *testing.T) {
	l, e := newTestLedger(t)
	tier := &Epoch{Stay: time.Minute, tracker: offsets.New(16)}
	tier.tracker.Mark(0)
	for _, one := range []*Epoch{e, tier} {
		l.Epochs.Recalled(one, map[int64]int64{3: 39, 7: 40}, 0)
	}
	e.tracker.Mark(40)
	for offset, want := range map[int64]bool{3: false, 7: true, 8: false} {
		if got := l.Epochs.deadLettered(e, ofKey(offset)); got != want {
			t.Errorf("record %d: %v, want %v", offset, got, want)
		}
		inTier := wire.ForTier(ofKey(offset), time.Time{}, 0, time.Time{})
		inTier.Offset = 7
		if got := l.Epochs.deadLettered(tier, inTier); got != want {
			t.Errorf("record %d in a tier: %v, want %v", offset, got, want)
		}
	}
}

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
	if times, texts := l.Stalled(begun.Add(driver.StallLasts - time.Second)); times != 1 || len(texts) > 0 {
		t.Errorf("before StallLasts: %d stalls, reported %q", times, texts)
	}
	_, texts := l.Stalled(begun.Add(driver.StallLasts + time.Second))
	if len(texts) != 1 || !strings.Contains(texts[0], "10000 records") || !strings.Contains(texts[0], "offset 0") {
		t.Errorf("after StallLasts the report is %q", texts)
	}
	e.waiting = 0
	if in = l.begin(10); !in.admit(e, ofKey(e.next+1)) {
		t.Fatal("the record is not admitted although there is room")
	}
	if _, texts = l.Stalled(begun.Add(time.Hour)); len(texts) > 0 {
		t.Errorf("after an admission the report is %q", texts)
	}
}

// While too many finished records are not committed, no record is admitted, places that become free wake no poll, and a
// partition with a large backlog is paused. It is reported after StallLasts. The next commit wakes the poll.
func TestAdmissionWaitsForCommits(t *testing.T) {
	l, e := newTestLedger(t, func(r *Rules) { r.Commit = 2 })
	var rs []*kgo.Record
	for o := range int64(20_000) {
		rs = append(rs, ofKey(o))
	}
	bring := func(rs []*kgo.Record) *Round {
		return l.Bring(e.member, kgo.Fetches{{Topics: []kgo.FetchTopic{{
			Topic: "orders", Partitions: []kgo.FetchPartition{{Records: rs}},
		}}}}, 10)
	}
	finish := func(in *Round) {
		for _, m := range in.Out {
			l.move(m, finished)
		}
	}
	begun := time.Now()
	first := bring(rs[:10])
	if len(first.Out) != 10 {
		t.Fatalf("%d of 10 records are admitted", len(first.Out))
	}
	finish(first)
	paused := 0
	for range 2 {
		<-l.Enough
		l.Wakeup.woken = false
		in := bring(rs[10:])
		if len(in.Out) > 0 {
			t.Fatalf("%d records are admitted, and none of 10 is committed", len(in.Out))
		}
		paused += len(in.Change.Pause)
	}
	if paused != 1 {
		t.Errorf("the partition was paused %d times", paused)
	}
	l.Wakeup.woken = false
	l.at(t, e, finished)
	if l.Wakeup.woken {
		t.Error("a place wakes the poll, and no record can be admitted")
	}
	if _, texts := l.Stalled(begun.Add(driver.StallLasts - time.Second)); len(texts) > 0 {
		t.Errorf("before StallLasts the report is %q", texts)
	}
	_, texts := l.Stalled(time.Now().Add(driver.StallLasts))
	if len(texts) != 1 || !strings.Contains(texts[0], "11 records are finished and not committed") {
		t.Errorf("after StallLasts the report is %q", texts)
	}
	c := NewCommitment(e.member, "", 0)
	l.Collect(c, []*Epoch{e})
	l.Answered(false, c.Parts[e.Partition])
	if !l.Wakeup.woken {
		t.Error("the commit wakes no poll")
	}
	if in := l.Again(10); len(in.Out) != 10 {
		t.Errorf("after the commit, %d records are admitted", len(in.Out))
	}
	if _, texts = l.Stalled(time.Now().Add(time.Hour)); len(texts) > 0 {
		t.Errorf("after the commit the report is %q", texts)
	}
}

// Commits that have more records, or take longer, allow more finished ones, up to a bound: at most so many are handled
// again after a crash.
func TestLargeCommitsAllowMore(t *testing.T) {
	l, e := newTestLedger(t)
	for _, c := range []struct{ sent, during, most int }{
		{0, 0, 20_000}, {100, 50, 20_400}, {50, 100, 20_400}, {0, 1 << 20, 20_000 + 2*Window},
	} {
		l.at(t, e, finished)
		l.finished = c.sent
		commit := NewCommitment(e.member, "", 0)
		l.Collect(commit, []*Epoch{e})
		l.finished = c.during
		l.Answered(false, commit.Parts[e.Partition])
		if got := l.Epochs.unsavedMost(); got != c.most {
			t.Errorf("after a commit of %d records, in which %d finished, %d may be without one, want %d", c.sent,
				c.during, got, c.most)
		}
	}
}
