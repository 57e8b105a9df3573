package disk

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// What was written last is read, whether it is on disk already, is being written, has moved in a compaction, or is a
// file of its own; and what was deleted is not.
func TestReadsWhatWasWrittenLast(t *testing.T) {
	const seed = 1
	r := rand.New(rand.NewPCG(seed, 0))
	s, err := Open(t.TempDir(), &Options{Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	contents(t, s) // there is no compaction before
	filler, large := strings.Repeat("f", 20<<10), strings.Repeat("l", inline)
	want := map[string]string{}
	for i := range 6000 {
		key := fmt.Sprint("k", r.IntN(300))
		switch r.IntN(20) {
		case 0:
			s.Write(unset(key))
			delete(want, key)
		case 1:
			want[key] = fmt.Sprint(large, i)
			s.Write(set(key, want[key]))
		default:
			other := fmt.Sprint("k", r.IntN(300))
			want[key] = fmt.Sprint(filler[:r.IntN(len(filler))], i)
			want[other] = fmt.Sprint("other", i)
			s.Write(set(key, want[key]), set(other, want[other]))
		}
		if r.IntN(50) == 0 {
			if err := s.Sync(); err != nil {
				t.Fatal(err)
			}
		}
		keys := []string{key, fmt.Sprint("k", r.IntN(300)), fmt.Sprint("k", r.IntN(300)), "never"}
		values, err := s.Read(keys...)
		if err != nil {
			t.Fatalf("seed %d, step %d: %v", seed, i, err)
		}
		for j, key := range keys {
			text, there := want[key]
			if string(values[j]) != text || there != (values[j] != nil) {
				t.Fatalf("seed %d, step %d: %s has %d bytes, want %d", seed, i, key, len(values[j]), len(text))
			}
		}
	}
	if s.segments[0].number < 3 {
		t.Errorf("nothing was compacted: the first segment is number %d", s.segments[0].number)
	}
}

// A record that became unreadable while the store was open is an error, never an empty or a wrong value.
func TestReadOfDamage(t *testing.T) {
	fs := newFaulty(1)
	s := mustOpen(t, fs)
	defer s.Close()
	write(t, s, set("a", "1"))
	write(t, s, set("b", "2"))
	at := s.index["a"]
	fs.mu.Lock()
	fs.names[at.segment.name()].bytes[at.offset+batchHeader+3] ^= 1
	fs.mu.Unlock()
	if values, err := s.Read("b"); err != nil || string(values[0]) != "2" {
		t.Errorf("beside it: %q, %v", values, err)
	}
	if values, err := s.Read("a"); err == nil || !strings.Contains(err.Error(), "the checksum is wrong") {
		t.Errorf("%q, %v", values, err)
	}
}
