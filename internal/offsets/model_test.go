package offsets

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// world is a partition and one consumer of it, in the simplest form: maps, and loops over everything. It makes the same
// steps as a Tracker, and compares after each.
type world struct {
	t       *testing.T
	tracker *Tracker
	rnd     *rand.Rand
	wide    int64 // the widest gap of the log

	log  []int64         // the existing records, ascending
	cuts int32           // number of truncations of the log; each begins another leader epoch
	of   map[int64]int32 // the epochs of records
	end  int64           // the next record gets at least this offset
	read int             // how many records of log this period has read or passed
	next int64           // this period has read up to here

	open     map[int64]uint64 // unfinished in this period: offset → seq
	aside    map[int64]bool   // of those, the ones of blocked keys
	done     map[int64]bool   // finished, in this period or by the metadata
	attempts map[int64]int32

	stored      Commit // at the broker
	storedDone  map[int64]bool
	storedTries map[int64]int32
	toldDone    map[int64]bool // stored when this period began
	toldTries   map[int64]int32
	toldLost    bool
	shortened   bool // completions may be missing
	lost        bool // stored was committed while shortened
}

func newWorld(t *testing.T, places int, wide int64, seed uint64) *world {
	w := &world{
		t: t, tracker: New(places), rnd: rand.New(rand.NewPCG(seed, 1)), wide: max(1, wide),
		of: map[int64]int32{}, stored: Commit{Offset: -1, Epoch: -1},
	}
	w.tracker.Bind("a log")
	w.crash()
	return w
}

// step does one thing.
func (w *world) step(op byte) {
	w.t.Helper()
	switch {
	case op < 96:
		w.admit()
	case op < 190:
		w.finish()
	case op < 200:
		w.start()
	case op < 240:
		w.commit(op%2 == 0)
	case op < 242:
		w.skip()
	case op < 244:
		w.block()
	case op < 248:
		w.truncate()
	case op < 250:
		w.tracker.Shorten()
		w.shortened = true
	case op < 253:
		w.crash()
	default:
		w.lose(op == 254)
	}
	w.compare()
}

func (w *world) admit() {
	if w.read == len(w.log) {
		w.end += w.rnd.Int64N(w.wide)
		w.log = append(w.log, w.end)
		w.of[w.end] = w.cuts
		w.end++
	}
	offset := w.log[w.read]
	seq, attempt, a := w.tracker.Admit(offset, w.of[offset], keyOf(offset))
	known := w.toldDone[offset]
	switch {
	case a == Full:
		if len(w.open) == 0 {
			w.t.Fatalf("offset %d refused although nothing is unfinished", offset)
		}
		return
	case a == Finished && !known:
		w.t.Fatalf("offset %d counts as finished and never was", offset)
	case a == Run && known && !w.toldLost:
		w.t.Fatalf("offset %d runs again although its completion was stored", offset)
	case a == Run:
		w.open[offset] = seq
		if want := w.toldTries[offset]; attempt != want &&
			(attempt != 0 || !w.toldLost && len(w.stored.Metadata) < maxMetadata/2) {
			w.t.Fatalf("offset %d: %d attempts known, want %d", offset, attempt, want)
		}
		w.attempts[offset] = attempt
		delete(w.done, offset) // a completion that did not fit into a shortened metadata
	default:
		w.done[offset] = true
	}
	w.read++
	w.next = offset + 1
}

func (w *world) pick() (offset int64, ok bool) {
	if len(w.open) == 0 {
		return 0, false
	}
	all := make([]int64, 0, len(w.open))
	for o := range w.open {
		all = append(all, o)
	}
	slices.Sort(all)
	if w.rnd.IntN(8) == 0 {
		return all[0], true
	}
	offset = all[w.rnd.IntN(len(all))]
	return w.ofKey(offset)[0], true // one after another
}

// keyOf is a record's key: one of five.
func keyOf(offset int64) []byte { return []byte{byte(offset % 5)} }

// ofKey returns the unfinished records that have the same key as one, ascending.
func (w *world) ofKey(offset int64) (all []int64) {
	for o := range w.open {
		if o%5 == offset%5 {
			all = append(all, o)
		}
	}
	slices.Sort(all)
	return all
}

// block blocks a key.
func (w *world) block() {
	offset, ok := w.pick()
	if !ok {
		return
	}
	waiting := w.ofKey(offset)
	if !w.tracker.Block(Hash(keyOf(offset)), waiting[0], w.attempts[waiting[0]], len(waiting)) {
		return
	}
	for _, o := range waiting {
		w.tracker.Finish(w.open[o])
		w.open[o], w.aside[o] = 0, true
	}
}

// next goes on to the next record of a key that may be blocked.
func (w *world) goOn(finished int64) {
	if !w.aside[finished] {
		return
	}
	delete(w.aside, finished)
	for _, o := range w.ofKey(finished) {
		if w.aside[o] {
			w.tracker.Block(Hash(keyOf(o)), o, w.attempts[o], 1)
			return
		}
	}
	w.tracker.Unblock(Hash(keyOf(finished)))
}

func (w *world) finish() {
	if offset, ok := w.pick(); ok {
		seq := w.open[offset]
		w.tracker.Finish(seq)
		w.tracker.Finish(seq) // repeating it changes nothing
		delete(w.open, offset)
		delete(w.attempts, offset)
		w.done[offset] = true
		w.goOn(offset)
	}
}

func (w *world) start() {
	if offset, ok := w.pick(); ok && !w.aside[offset] {
		w.attempts[offset]++
		w.tracker.Started(w.open[offset], w.attempts[offset])
	}
}

func (w *world) commit(stores bool) {
	c, changed := w.tracker.Commit()
	if !changed || !stores {
		return
	}
	w.tracker.Committed(c)
	w.store(c)
	if again, changed := w.tracker.Commit(); changed {
		w.t.Fatalf("committed %+v, and again there is %+v", c, again)
	}
}

// store is the broker's part of a commit.
func (w *world) store(c Commit) {
	w.stored, w.lost = c, w.shortened
	w.storedDone, w.storedTries = map[int64]bool{}, map[int64]int32{}
	for _, o := range w.log {
		if o >= c.Offset {
			// Records that this period has not read yet are as in the commit before.
			w.storedDone[o] = w.done[o]
			w.storedTries[o] = w.attempts[o]
		}
	}
}

func (w *world) skip() {
	if w.read == len(w.log) {
		w.end += w.rnd.Int64N(w.wide)
		w.tracker.Skip(w.end)
		w.next = max(w.next, w.end)
	}
	w.tracker.Skip(w.next / 2)
}

func (w *world) truncate() {
	if w.next <= 0 {
		return
	}
	cut := max(0, w.next-w.rnd.Int64N(w.wide*8))
	keep, _ := slices.BinarySearch(w.log, cut)
	for _, o := range w.log[keep:] {
		delete(w.open, o)
		delete(w.aside, o)
		delete(w.done, o)
		delete(w.attempts, o)
		delete(w.storedDone, o)
		delete(w.storedTries, o)
		delete(w.toldDone, o)
		delete(w.toldTries, o)
	}
	w.log, w.end = w.log[:keep], cut
	w.read, w.next = min(w.read, keep), min(w.next, cut)
	w.cuts++
	w.tracker.Truncate(cut)
	if w.stored.Offset <= cut {
		return // the epochs show what the metadata says about records beyond the cut
	}
	w.commit(true)
	if w.stored.Offset > cut {
		w.t.Fatalf("cut at %d and committed at %d", cut, w.stored.Offset)
	}
}

// crash begins another period at the stored commit.
func (w *world) crash() {
	w.open, w.done, w.attempts = map[int64]uint64{}, map[int64]bool{}, map[int64]int32{}
	w.aside = map[int64]bool{}
	w.toldDone, w.toldTries, w.toldLost = maps.Clone(w.storedDone), maps.Clone(w.storedTries), w.lost
	w.shortened = w.lost
	for o, done := range w.storedDone {
		if done {
			w.done[o] = true
		}
	}
	for o, n := range w.storedTries {
		if n > 0 {
			w.attempts[o] = n
		}
	}
	w.tracker.Start(w.stored.Offset, w.stored.Metadata)
	w.next = w.stored.Offset
	w.read, _ = slices.BinarySearch(w.log, w.next)
}

// lose ends the period without a last commit, and begins the next one of the same owner. answered: the owner knows what
// the broker has.
func (w *world) lose(answered bool) {
	if !answered {
		if c, changed := w.tracker.Commit(); changed {
			w.store(c)
		}
	}
	k := w.tracker.Keep()
	if !w.tracker.Resume(w.stored.Offset, w.stored.Metadata, &k) {
		if w.stored.Metadata != "" {
			w.t.Fatalf("%+v is not resumed from the commit %+v", k, w.stored)
		}
		w.crash()
		return
	}
	w.open, w.aside = map[int64]uint64{}, map[int64]bool{}
	w.toldDone, w.toldTries, w.toldLost = maps.Clone(w.done), maps.Clone(w.attempts), w.shortened
	w.next = w.stored.Offset
	w.read, _ = slices.BinarySearch(w.log, w.next)
}

// compare checks the Tracker against the state of the world.
func (w *world) compare() {
	w.t.Helper()
	if got, want := w.tracker.Unfinished(), len(w.open)-len(w.aside); got != want {
		w.t.Fatalf("%d unfinished, want %d", got, want)
	}
	c, _ := w.tracker.Commit()
	if c.Offset < 0 {
		return
	}
	for o := range w.open {
		if o < c.Offset {
			w.t.Fatalf("watermark %d passes the unfinished offset %d", c.Offset, o)
		}
	}
	for i, o := range w.log {
		if o >= c.Offset && i < w.read && len(w.open) == 0 && w.tracker.now != w.tracker.stored {
			w.t.Fatalf("all is finished up to %d, and the watermark stands at %d", w.next, c.Offset)
		}
		if i >= w.read && o < c.Offset && !w.done[o] {
			w.t.Fatalf("watermark %d passes offset %d, which nobody has read", c.Offset, o)
		}
	}
	w.compareMetadata(c)
	before := w.tracker.window
	w.tracker.window.recount()
	if before.prices != w.tracker.window.prices {
		w.t.Fatalf("prices are %v, recounted %v", before.prices, w.tracker.window.prices)
	}
}

func (w *world) compareMetadata(c Commit) {
	w.t.Helper()
	if w.tracker.now == w.tracker.stored {
		return // nothing was encoded: it is what the broker has
	}
	for i := range len(c.Metadata) {
		if c.Metadata[i] < 0x20 || c.Metadata[i] > 0x7e {
			w.t.Fatalf("metadata %q is not ASCII", c.Metadata)
		}
	}
	if len(c.Metadata) > maxMetadata {
		w.t.Fatalf("metadata of %d characters", len(c.Metadata))
	}
	k := decode(c.Metadata, c.Offset, "a log")
	if c.Metadata != "" && !k.genuine {
		w.t.Fatalf("metadata %q is not recognized", c.Metadata)
	}
	for _, o := range w.log {
		if o < c.Offset {
			continue
		}
		k.see(o, w.of[o])
		b, isBlocked := k.blocked(o, keyOf(o))
		told := k.finished(o) && !isBlocked
		if told && !w.done[o] {
			w.t.Fatalf("metadata says that %d is finished, and it is not", o)
		}
		if !told && w.done[o] && !w.shortened {
			w.t.Fatalf("metadata forgets that %d is finished", o)
		}
		n := k.attempt(o)
		if isBlocked && b.first == o {
			n = b.attempt
		}
		if n != 0 && n != w.attempts[o] {
			w.t.Fatalf("metadata says %d attempts of %d, want %d", n, o, w.attempts[o])
		}
	}
	if !slices.IsSortedFunc(k.stretches, func(a, b stretch) int { return int(a.to - b.from) }) {
		w.t.Fatalf("stretches are not ascending: %v", k.stretches)
	}
}

// Two thousand steps each, on logs with small and large gaps, with few and many places.
func TestAsANaiveModel(t *testing.T) {
	for _, places := range []int{1, 4, 64, 1000} {
		for _, wide := range []int64{1, 2, 40, 1 << 40} {
			t.Run(fmt.Sprintf("places=%d/wide=%d", places, wide), func(t *testing.T) {
				seed := rand.Uint64()
				t.Logf("seed %d", seed)
				w := newWorld(t, places, wide, seed)
				for range 2000 {
					w.step(byte(w.rnd.IntN(256)))
				}
			})
		}
	}
}

func FuzzModel(f *testing.F) {
	f.Add(uint64(1), uint16(4), int64(1), []byte{1, 1, 1, 100, 200, 255, 1, 1, 1})
	f.Add(uint64(2), uint16(64), int64(9), []byte{1, 1, 1, 100, 100, 246, 1, 1, 201, 255, 1, 1, 190})
	f.Fuzz(func(t *testing.T, seed uint64, places uint16, wide int64, ops []byte) {
		w := newWorld(t, int(places%2000), wide&(1<<40-1), seed)
		for _, op := range ops[:min(len(ops), 2000)] {
			w.step(op)
		}
	})
}

// Decoding returns what was encoded, for any pieces.
func FuzzRoundTrip(f *testing.F) {
	f.Add(uint64(1), int64(0), uint16(5), int64(3), uint8(2))
	f.Add(uint64(2), int64(1)<<60, uint16(3000), int64(1)<<30, uint8(0))
	f.Add(uint64(2), int64(1)<<60, uint16(3080), int64(1)<<30, uint8(74))
	f.Fuzz(func(t *testing.T, seed uint64, base int64, n uint16, wide int64, attempts uint8) {
		rnd := rand.New(rand.NewPCG(seed, 2))
		base, wide = max(0, base&(1<<61-1)), max(1, wide&(1<<44-1))
		var want told
		var pieces []int64
		at := base - 1
		for i := range int(n) {
			length := 1 + rnd.Int64N(wide)
			if i%2 == 1 {
				want.stretches = append(want.stretches, stretch{from: at, to: at + length - 1})
			}
			pieces, at = append(pieces, length), at+length
		}
		for range int(attempts) % 8 {
			b := block{rnd.Uint64(), base + rnd.Int64N(wide), rnd.Int32(), rnd.Int64N(1 << 30)}
			want.blocks = append(want.blocks, b)
		}
		for o := base; len(want.tries) < int(attempts); o += 1 + rnd.Int64N(wide) {
			want.tries = append(want.tries, try{offset: o, attempt: 1 + rnd.Int32N(1<<30)})
		}
		var e encoder
		said := said{pieces: pieces, blocks: want.blocks, tries: want.tries, epoch: int32(n), mark: wide - 2}
		text := e.encode(said, base, "log", maxMetadata)
		if len(text) > maxMetadata {
			t.Fatalf("%d characters", len(text))
		}
		got := decode(text, base, "log")
		if !got.genuine || got.mark != wide-2 || got.epoch != int32(n) {
			t.Errorf("the mark is %d and the epoch %d, want %d and %d", got.mark, got.epoch, wide-2, n)
		}
		if len(got.stretches) > len(want.stretches) || len(got.tries) > len(want.tries) {
			t.Fatalf("decoded more than was encoded")
		}
		if len(got.stretches) > 0 && !slices.Equal(got.blocks, want.blocks) {
			t.Errorf("the blocks are %v, want %v", got.blocks, want.blocks)
		}
		if len(got.tries) > 0 && len(got.stretches) < len(want.stretches) {
			t.Errorf("attempts were kept before completions")
		}
		options := cmp.AllowUnexported(stretch{}, try{})
		if diff := cmp.Diff(want.stretches[:len(got.stretches)], got.stretches[:len(got.stretches):len(got.stretches)],
			options); len(got.stretches) > 0 && diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff(want.tries[:len(got.tries)], got.tries, options); len(got.tries) > 0 && diff != "" {
			t.Error(diff)
		}
		if wide == 1 && int(n) < 24000 && len(got.stretches) != len(want.stretches) {
			t.Errorf("%d of %d stretches had room", len(got.stretches), len(want.stretches))
		}
	})
}

// Arbitrary text gives an empty or a valid result, and never a panic.
func FuzzDecode(f *testing.F) {
	f.Add("", int64(0))
	var e encoder
	f.Add(e.encode(said{pieces: []int64{1, 1000}, tries: []try{{offset: 5, attempt: 2}}}, 5, "", maxMetadata), int64(5))
	f.Add("g1.AAAA", int64(7))
	f.Add("g2.AAAA", int64(7))
	f.Fuzz(func(t *testing.T, text string, base int64) {
		base = max(0, base)
		sound(t, decode(text, base, ""), base)
		// The checksum refuses nearly all of these texts, so the reader below it is tested as well.
		for _, one := range []bool{false, true} {
			k := told{base: base}
			if k.readAll([]byte(text), one) {
				k.price()
				sound(t, k, base)
			}
		}
	})
}

func sound(t *testing.T, k told, base int64) {
	t.Helper()
	at := base - 1
	for i, s := range k.stretches {
		if s.from <= at || s.to < s.from || i > 0 && s.from == at+1 {
			t.Fatalf("stretch %d, %v, after %d", i, s, at)
		}
		at = s.to
	}
	at = base - 1
	for _, y := range k.tries {
		if y.offset <= at || y.attempt <= 0 {
			t.Fatalf("try %v after %d", y, at)
		}
		at = y.offset
	}
}
