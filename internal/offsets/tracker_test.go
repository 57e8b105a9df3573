package offsets

import (
	"hash/crc32"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// run admits an offset that must not be finished or refused.
func run(t *testing.T, k *Tracker, offset int64) uint64 {
	t.Helper()
	seq, _, a := k.Admit(offset, 3, nil)
	if a != Run {
		t.Fatalf("offset %d: %v, want run", offset, a)
	}
	return seq
}

func wantCommit(t *testing.T, k *Tracker, offset int64) Commit {
	t.Helper()
	c, changed := k.Commit()
	if !changed || c.Offset != offset {
		t.Fatalf("commit %+v, changed %v, want offset %d", c, changed, offset)
	}
	k.Committed(c)
	return c
}

func wantUnchanged(t *testing.T, k *Tracker) {
	t.Helper()
	if c, changed := k.Commit(); changed {
		t.Fatalf("there is %+v to commit, and nothing has happened", c)
	}
}

func TestWatermarkWaitsForTheOldest(t *testing.T) {
	k := New(8)
	k.Start(10, "")
	wantCommit(t, k, 10) // it is a Tracker's from now on
	wantUnchanged(t, k)
	a, b, c := run(t, k, 10), run(t, k, 11), run(t, k, 14)
	wantUnchanged(t, k)
	k.Finish(b)
	k.Finish(c)
	beyond := wantCommit(t, k, 10)
	if beyond.Metadata == "" || beyond.Epoch != -1 {
		t.Errorf("%+v should tell of completions and no epoch", beyond)
	}
	wantUnchanged(t, k)
	k.Finish(a)
	all := wantCommit(t, k, 15)
	if told := decode(all.Metadata, 15, ""); !told.genuine || len(told.stretches) > 0 || all.Epoch != 3 {
		t.Errorf("%+v should tell of no completions, and be of epoch 3", all)
	}
	if k.Unfinished() != 0 {
		t.Errorf("%d unfinished", k.Unfinished())
	}
}

// After a crash, records that finished beyond the watermark are not handled again, and attempts are known.
func TestCompletionsOutliveACrash(t *testing.T) {
	k := New(100)
	k.Start(0, "")
	seqs := make([]uint64, 50)
	for i := range seqs {
		seqs[i] = run(t, k, int64(i))
	}
	for i, seq := range seqs {
		if i%3 == 2 {
			k.Finish(seq)
		}
	}
	k.Started(seqs[4], 2)
	first := wantCommit(t, k, 0)
	again := New(100)
	again.Start(first.Offset, first.Metadata)
	for lives := range 3 {
		for i := range int64(50) {
			_, attempt, a := again.Admit(i, 3, nil)
			if a == Finished != (i%3 == 2) || (attempt == 2) != (i == 4) {
				t.Fatalf("life %d, offset %d: %v, attempt %d", lives, i, a, attempt)
			}
			// A commit before everything is read again keeps the completions that were not read yet.
			again.Skip(i + 1)
			if c, changed := again.Commit(); changed {
				t.Fatalf("after offset %d the commit is %+v, want the same as before", i, c)
			}
		}
		again.Start(first.Offset, first.Metadata)
	}
}

// A tracker that has no room for another record still has room for a block, which makes room for many.
func TestAFullTrackerHasRoomForABlock(t *testing.T) {
	const keys = 4
	k := New(1 << 20) // so that the metadata is full first
	k.Start(0, "")
	var slow []uint64
	at := int64(0)
	admit := func() bool {
		seq, _, a := k.Admit(at, 0, nil)
		if a == Full {
			return false
		}
		if at++; at%keys == 0 {
			slow = append(slow, seq)
		} else {
			k.Finish(seq)
		}
		return true
	}
	for admit() {
	}
	full := at
	if !k.Block(1, keys-1, 0, len(slow)) {
		t.Fatalf("full at %d, and no room for a block", full)
	}
	for _, seq := range slow {
		k.Finish(seq)
	}
	for range full {
		if !admit() {
			t.Fatalf("full again at %d, after %d", at, full)
		}
		if n := len(slow) - 1; at%keys == 0 {
			k.Finish(slow[n])
		}
	}
}

// Records are admitted only as far as the worst case can be encoded, and whatever was admitted is encoded completely.
func TestAdmissionKeepsEverythingEncodable(t *testing.T) {
	for _, c := range []struct {
		name         string
		wide         int64
		atLeast      int // records admitted
		neverRefuses bool
	}{
		{name: "dense", wide: 1, atLeast: 16384, neverRefuses: true},
		{name: "a marker after each", wide: 2, atLeast: 11900},
		{name: "compacted to a tenth", wide: 19, atLeast: 4000},
		{name: "compacted to a thousandth", wide: 1999, atLeast: 1500},
		{name: "hardly anything left", wide: 1 << 50, atLeast: 200},
	} {
		t.Run(c.name, func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(1, 2))
			k := New(16384)
			k.Start(0, "")
			var offsets []int64
			var seqs []uint64
			refused := false
			for at := int64(0); len(seqs) < 16384; at += 1 + rnd.Int64N(c.wide) {
				if c.wide == 2 {
					at = int64(2 * len(seqs))
				}
				seq, _, a := k.Admit(at, 0, nil)
				if refused = a == Full; refused {
					break
				}
				offsets, seqs = append(offsets, at), append(seqs, seq)
			}
			t.Logf("%d admitted", len(seqs))
			if len(seqs) < c.atLeast || refused == c.neverRefuses {
				t.Fatalf("%d admitted, refused then: %v", len(seqs), refused)
			}
			for i := 1; i < len(seqs); i += 2 { // the worst case
				k.Finish(seqs[i])
			}
			got := wantCommit(t, k, 0)
			told := decode(got.Metadata, 0, "")
			t.Logf("%d characters", len(got.Metadata))
			for i, o := range offsets {
				told.pass(o)
				if told.finished(o) != (i%2 == 1) {
					t.Fatalf("offset %d, number %d: finished is %v", o, i, told.finished(o))
				}
			}
		})
	}
}

// One record that does not finish does not block others while there are places, because the finished records behind it
// are cheap.
func TestOneStuckRecordStopsNobody(t *testing.T) {
	const records = 1_000_000
	k := New(1 << 20)
	k.Start(0, "")
	stuck := run(t, k, 0)
	window := make([]uint64, 16000)
	for i := int64(1); i < records; i++ {
		slot := &window[i%int64(len(window))]
		k.Finish(*slot)
		*slot = run(t, k, i)
	}
	beyond := wantCommit(t, k, 0)
	for _, seq := range window {
		k.Finish(seq)
	}
	if len(beyond.Metadata) > 100 {
		t.Errorf("one long stretch takes %d characters", len(beyond.Metadata))
	}
	k.Finish(stuck)
	wantCommit(t, k, records)
	if k.window.prices != (prices{}) {
		t.Errorf("nothing is left, and it has prices %v", k.window.prices)
	}
}

func TestPlacesAreBounded(t *testing.T) {
	k := New(5)
	k.Start(0, "")
	first := run(t, k, 0)
	for i := range int64(7) {
		k.Finish(run(t, k, i+1))
	}
	if _, _, a := k.Admit(8, 0, nil); a != Full {
		t.Fatalf("the ninth record of eight places: %v", a)
	}
	k.Finish(first)
	run(t, k, 8)
	wantCommit(t, k, 8)
}

// After the broker has refused a commit, the next one has half of its completions, and fewer records are admitted. If
// the broker refuses even little, commits have no completions, and no record is refused.
func TestShortenDropsTheFarEnd(t *testing.T) {
	k := New(1 << 15)
	k.Start(0, "")
	for i := range int64(20000) {
		if seq := run(t, k, i); i%2 == 1 {
			k.Finish(seq)
		}
	}
	whole, _ := k.Commit()
	for length := len(whole.Metadata); length > 0; {
		k.Shorten()
		c, changed := k.Commit()
		if len(c.Metadata) > length/2 || changed != (c.Metadata != "") {
			t.Fatalf("%d characters after %d, changed %v", len(c.Metadata), length, changed)
		}
		told := decode(c.Metadata, 0, "")
		for i, s := range told.stretches {
			if want := int64(2*i + 1); s.from != want || s.to != want {
				t.Fatalf("stretch %d of the short metadata is %v", i, s)
			}
		}
		_, _, a := k.Admit(20000, 0, nil)
		if (a == Full) != (c.Metadata != "") {
			t.Fatalf("with %d characters a record is told %v", len(c.Metadata), a)
		}
		length = len(c.Metadata)
	}
}

// Completions take precedence over attempts.
func TestAttemptsAreDroppedFirst(t *testing.T) {
	k := New(1 << 15)
	k.Start(0, "")
	seqs := make([]uint64, 20000)
	for i := range seqs {
		seqs[i] = run(t, k, int64(i))
		k.Started(seqs[i], 100000)
	}
	before, _ := k.Commit()
	if told := decode(before.Metadata, 0, ""); len(told.tries) < 600 || len(before.Metadata) > maxMetadata {
		t.Errorf("%d attempts in %d characters", len(told.tries), len(before.Metadata))
	}
	for i := 1; i < len(seqs); i += 2 {
		k.Finish(seqs[i])
	}
	after, _ := k.Commit()
	if told := decode(after.Metadata, 0, ""); len(told.stretches) != 10000 || len(told.tries) == 0 ||
		len(told.tries) > 200 {
		t.Errorf("%d stretches and %d attempts", len(told.stretches), len(told.tries))
	}
}

// Metadata that is invalid in any way counts as none.
func TestOddMetadataIsIgnored(t *testing.T) {
	k := New(8)
	k.Bind("topic 1")
	k.Start(100, "")
	run(t, k, 100)
	k.Finish(run(t, k, 101))
	good := wantCommit(t, k, 100).Metadata
	for name, c := range map[string]struct {
		identity, text string
		at             int64
		finished       bool
	}{
		"as written":          {identity: "topic 1", text: good, at: 100, finished: true},
		"of another log":      {identity: "topic 2", text: good, at: 100},
		"at another offset":   {identity: "topic 1", text: good, at: 99},
		"of another version":  {identity: "topic 1", text: "g3" + good[2:], at: 100},
		"one bit off":         {identity: "topic 1", text: good[:4] + string(good[4]^1) + good[5:], at: 100},
		"cut":                 {identity: "topic 1", text: good[:len(good)-1], at: 100},
		"with a tail":         {identity: "topic 1", text: good + "A", at: 100},
		"with a line's end":   {identity: "topic 1", text: good + "\n", at: 100},
		"padded":              {identity: "topic 1", text: good + "=", at: 100},
		"of somebody else":    {identity: "topic 1", text: `{"host":"a","consumed":[101]}`, at: 100},
		"of nobody":           {identity: "topic 1", at: 100},
		"longer than allowed": {identity: "topic 1", text: good + strings.Repeat("A", maxMetadata), at: 100},
	} {
		k := New(8)
		k.Bind(c.identity)
		k.Start(c.at, c.text)
		run(t, k, 100)
		if _, _, a := k.Admit(101, 0, nil); (a == Finished) != c.finished {
			t.Errorf("%s: %v", name, a)
		}
	}
}

// Metadata with a correct checksum and invalid content counts as none.
func TestInventedMetadataIsIgnored(t *testing.T) {
	for name, payload := range map[string]string{
		"more stretches than bits":       "\x7f\x00\x00\x00",
		"a parameter beyond 63 bits":     "\x01\x3f\x00\x00",
		"no parameter":                   "\x01",
		"an exception of no stretch":     "\x01\x00\x01\x05\x09\x00",
		"an exception of no length":      "\x01\x00\x01\x00\x00\x00",
		"an exception beyond 63 bits":    "\x01\x00\x01\x00\xff\xff\xff\xff\xff\xff\xff\xff\x7f\x00",
		"an exception written twice":     "\x01\x00\x01\x00\x09\x80",
		"two exceptions beyond 63 bits":  "\x01\x00\x02\x00\xff\xff\xff\xff\xff\xff\xff\xff\x7e\x00\xff\xff\xff\xff\xff\xff\xff\xff\x7e\x00",
		"ones to the end":                "\x01\x00\x00\xff",
		"a last byte not filled up":      "\x01\x00\x00\x01",
		"attempts without a count":       "\x00\x00\x00\x05",
		"attempts of none":               "\x00\x00\x00\x05\x00",
		"the same record twice":          "\x00\x00\x00\x05\x01\x00\x01",
		"attempts beyond the last there": "\x00\x00\x00\xff\xff\xff\xff\xff\xff\xff\xff\x7f\x01",
	} {
		k := told{base: 10}
		if k.readAll([]byte("\x01"+payload), true) || k.readAll([]byte("\x01\x00"+payload), false) {
			t.Errorf("%s: read as %+v", name, k)
		}
	}
}

func TestTheChecksumIsCastagnolis(t *testing.T) {
	want := crc32.Checksum([]byte("payloadlog\x00\x00\x00\x00\x00\x00\x01\x02"), crc32.MakeTable(crc32.Castagnoli))
	if got := checksum("log", 0x102, []byte("payload")); got != want {
		t.Errorf("%x, want %x", got, want)
	}
}

// textOne was written at offset 1000 of the log "orders/0".
const textOne = "g1.BAMJAQW43TwAQAAAB_7KAAAAAgIHRxGBJg"

// textTwo likewise.
const textTwo = "g2.BNMJAwkBBbjdPABAAAAH_soAAAGvY-ZMhgH9igIHrAIAAgIH9tg1DA"

// Metadata of version one will always be readable.
func TestVersionOneIsReadForEver(t *testing.T) {
	got := decode(textOne, 1000, "orders/0")
	want := []stretch{{1001, 1001}, {1003, 1010}, {5000, 1_000_000}}
	if diff := cmp.Diff(want, got.stretches, cmp.AllowUnexported(stretch{})); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]try{{1000, 2}, {1002, 7}}, got.tries, cmp.AllowUnexported(try{})); diff != "" {
		t.Error(diff)
	}
}

// Metadata of version two will always be readable, too.
func TestVersionTwoIsReadForEver(t *testing.T) {
	got := decode(textTwo, 1000, "orders/0")
	want := []stretch{{1001, 1001}, {1003, 1010}, {5000, 1_000_000}}
	if diff := cmp.Diff(want, got.stretches, cmp.AllowUnexported(stretch{})); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]try{{1000, 2}, {1002, 7}}, got.tries, cmp.AllowUnexported(try{})); diff != "" {
		t.Error(diff)
	}
	if n := Completed(1000, textTwo, "orders/0"); n != 1+8+995_001-300 {
		t.Errorf("%d offsets are finished", n)
	}
	if got.mark != 1234 || got.epoch != 3 || !slices.Equal(got.blocks, []block{{Hash([]byte("k")), 1002, 7, 300}}) {
		t.Errorf("mark %d, epoch %d, blocks %v", got.mark, got.epoch, got.blocks)
	}
}

// The mark is in every commit, also of the next periods, and a commit without text is nobody's of us.
func TestAMarkIsCarriedOn(t *testing.T) {
	k := New(8)
	k.Start(5, "")
	if k.Own() || k.Marked() != -1 {
		t.Errorf("a bare commit is own: %v, and has the mark %d", k.Own(), k.Marked())
	}
	k.Mark(70)
	first := wantCommit(t, k, 5)
	for range 3 {
		k.Start(first.Offset, first.Metadata)
		if !k.Own() || k.Marked() != 70 {
			t.Errorf("a commit of our own is own: %v, and has the mark %d", k.Own(), k.Marked())
		}
		k.Finish(run(t, k, first.Offset))
		first = wantCommit(t, k, first.Offset+1)
	}
	k.Start(5, first.Metadata)
	if k.Own() {
		t.Error("text of another offset is taken for our own")
	}
}

func TestTheStartMayLieElsewhere(t *testing.T) {
	t.Run("nothing committed", func(t *testing.T) {
		k := New(8)
		k.Start(-1, "g1.nonsense")
		wantUnchanged(t, k)
		k.Finish(run(t, k, 70))
		wantCommit(t, k, 71)
	})
	t.Run("nothing committed, at the start of the log", func(t *testing.T) {
		k := New(8)
		k.Start(-1, "")
		k.Skip(60)
		if c := wantCommit(t, k, 60); !Genuine(c.Offset, c.Metadata, "") {
			t.Errorf("%+v is not taken for our own", c)
		}
		k.Finish(run(t, k, 70))
		wantCommit(t, k, 71)
	})
	t.Run("beyond the commit", func(t *testing.T) {
		k := New(8)
		k.Start(10, "")
		seq := run(t, k, 70)
		wantCommit(t, k, 70)
		k.Finish(seq)
		wantCommit(t, k, 71)
	})
	t.Run("before the commit", func(t *testing.T) {
		k := New(8)
		k.Start(100, "")
		seq := run(t, k, 70)
		wantCommit(t, k, 70)
		k.Finish(seq)
		wantCommit(t, k, 71)
	})
	t.Run("only markers", func(t *testing.T) {
		k := New(8)
		k.Start(100, "")
		wantCommit(t, k, 100)
		k.Skip(90)
		wantUnchanged(t, k)
		k.Skip(130)
		wantCommit(t, k, 130)
	})
}

// After a truncation of the log, the records beyond it are forgotten, and their Finish is ignored.
func TestTruncate(t *testing.T) {
	k := New(64)
	k.Start(0, "")
	old := make([]uint64, 10)
	for i := range old {
		old[i] = run(t, k, int64(i))
	}
	k.Finish(old[3])
	k.Finish(old[8])
	renewed := run(t, k, 5) // the log continues at 5: the records 5 to 9 are not the same as before
	if k.Unfinished() != 5 {
		t.Fatalf("%d unfinished, want 0, 1, 2, 4 and the new 5", k.Unfinished())
	}
	for _, seq := range old {
		k.Finish(seq)
	}
	if c := wantCommit(t, k, 5); c.Epoch != 3 {
		t.Errorf("leader epoch %d, want 3", c.Epoch)
	}
	again := run(t, k, 5) // and is truncated once more, just behind it
	if k.Unfinished() != 1 {
		t.Errorf("%d unfinished, want the last 5 alone", k.Unfinished())
	}
	k.Finish(renewed)
	wantUnchanged(t, k)
	k.Finish(again)
	wantCommit(t, k, 6)
	k.Truncate(2)
	wantCommit(t, k, 2)
	k.Finish(run(t, k, 2))
	wantCommit(t, k, 3)
}

// Completions of a part of the log that was truncated do not apply to the records written there later, whether Truncate
// was called or only the epochs show it.
func TestCompletionsOfACutLogAreForgotten(t *testing.T) {
	k := New(8)
	k.Start(0, "")
	k.Started(run(t, k, 0), 1)
	k.Finish(run(t, k, 1))
	k.Finish(run(t, k, 2))
	told := wantCommit(t, k, 0)
	k.Start(0, told.Metadata)
	k.Skip(1)
	k.Truncate(1)
	run(t, k, 1)
	k.Start(0, told.Metadata)
	if _, attempt, _ := k.Admit(0, 3, nil); attempt != 1 {
		t.Errorf("%d attempts of the first record", attempt)
	}
	if _, _, a := k.Admit(1, 3, nil); a != Finished {
		t.Errorf("offset 1 of the epoch that was told of: %v", a)
	}
	if _, _, a := k.Admit(2, 4, nil); a != Run {
		t.Errorf("offset 2 of a later epoch: %v", a)
	}
}

// Attempts are kept, also if no record of their epoch was finished.
func TestAttemptsOfALaterEpoch(t *testing.T) {
	k := New(8)
	k.Start(0, "")
	seq, _, _ := k.Admit(0, 7, nil)
	k.Started(seq, 5)
	c := wantCommit(t, k, 0)
	k.Start(0, c.Metadata)
	if _, attempt, _ := k.Admit(0, 7, nil); attempt != 5 {
		t.Errorf("%d attempts, want 5", attempt)
	}
}

// A seq of an earlier period is not mistaken for one of the current period.
func TestASeqOfAnEarlierPeriodIsIgnored(t *testing.T) {
	k := New(8)
	k.Start(0, "")
	old := run(t, k, 0)
	k.Start(0, "")
	run(t, k, 0)
	k.Finish(old)
	k.Started(old, 9)
	k.Finish(0)
	if k.Unfinished() != 1 {
		t.Error("the seq of an earlier period finished a record of this one")
	}
}

func TestNoAllocationPerRecord(t *testing.T) {
	k := New(1 << 14)
	k.Start(0, "")
	flow := newFlow(k, 10000)
	if n := testing.AllocsPerRun(20000, flow.next); n != 0 {
		t.Errorf("%v allocations a record", n)
	}
	if n := testing.AllocsPerRun(100, func() {
		flow.next()
		c, _ := k.Commit()
		k.Committed(c)
	}); n > 1 {
		t.Errorf("%v allocations a commit", n)
	}
}

// flow keeps a number of records unfinished, and finishes them in random order.
type flow struct {
	k      *Tracker
	open   []uint64
	rnd    *rand.Rand
	offset int64
}

func newFlow(k *Tracker, open int) *flow {
	f := &flow{k: k, open: make([]uint64, 0, open+1), rnd: rand.New(rand.NewPCG(1, 2))}
	for range open {
		f.admit()
	}
	return f
}

func (f *flow) next() {
	for !f.admit() {
		f.finish()
	}
	f.finish()
}

func (f *flow) admit() bool {
	seq, _, a := f.k.Admit(f.offset, 0, nil)
	if a != Run {
		return false
	}
	f.open = append(f.open, seq)
	f.offset++
	return true
}

// finish finishes one of the older half, because most handlers are fast.
func (f *flow) finish() {
	i := f.rnd.IntN(len(f.open))
	f.k.Finish(f.open[i])
	f.open[i] = f.open[len(f.open)-1]
	f.open = f.open[:len(f.open)-1]
}

func BenchmarkRecord(b *testing.B) {
	for name, open := range map[string]int{"open=1": 1, "open=100": 100, "open=10000": 10000} {
		b.Run(name, func(b *testing.B) {
			k := New(1 << 16)
			k.Start(0, "")
			f := newFlow(k, open)
			b.ReportAllocs()
			for b.Loop() {
				f.next()
			}
		})
	}
}

// BenchmarkCommit measures a commit in the worst case.
func BenchmarkCommit(b *testing.B) {
	k := New(1 << 15)
	k.Start(0, "")
	f := newFlow(k, 20000)
	for range 10000 {
		f.finish()
	}
	b.ReportAllocs()
	for b.Loop() {
		f.next()
		c, _ := k.Commit()
		k.Committed(c)
	}
}
