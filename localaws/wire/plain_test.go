package wire

import (
	"encoding/json"
	"math/rand/v2"
	"testing"
	"unicode/utf8"
)

// oddText returns a short text of mostly plain bytes, with some random ones.
func oddText(r *rand.Rand) []byte {
	b := make([]byte, r.IntN(40))
	for i := range b {
		b[i] = byte('a' + r.IntN(26))
		if r.IntN(20) == 0 {
			b[i] = byte(r.IntN(256))
		}
	}
	return b
}

func TestPlainRunFindsTheFirstOddByte(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	for range 20000 {
		b := oddText(r)
		from := r.IntN(len(b) + 1)
		want := from
		for want < len(b) && safe(b[want]) {
			want++
		}
		if got := plainRun(b, from); got != want {
			t.Fatalf("%q from %d: %d, want %d", b, from, got, want)
		}
	}
}

// TestTextsThereAndBack compares both directions with the standard library.
func TestTextsThereAndBack(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	for range 20000 {
		text := string(oddText(r))
		if !utf8.ValidString(text) {
			continue
		}
		ours := appendJSONString(make([]byte, 0, r.IntN(60)), text)
		var theirs string
		if err := json.Unmarshal(ours, &theirs); err != nil || theirs != text {
			t.Fatalf("%q is written as %s, read as %q: %v", text, ours, theirs, err)
		}
		standard, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		for _, document := range [][]byte{ours, standard} {
			d := &jsonDecoder{data: document, scratch: &buffer{}}
			if got, err := d.text(); err != nil || got != text || d.at != len(document) {
				t.Fatalf("%s is read as %q up to %d, want %q: %v", document, got, d.at, text, err)
			}
		}
	}
}
