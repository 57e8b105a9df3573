package wire

import (
	"math/rand/v2"
	"testing"
)

func TestPlainRunFindsTheFirstOddByte(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	for range 20000 {
		b := make([]byte, r.IntN(40))
		for i := range b {
			b[i] = byte('a' + r.IntN(26))
			if r.IntN(20) == 0 {
				b[i] = byte(r.IntN(256))
			}
		}
		from := r.IntN(len(b) + 1)
		want := from
		for want < len(b) && safe(b[want]) {
			want++
		}
		if got := plainRun(b, from); got != want {
			t.Fatalf("%q from %d: %d, want %d", b, from, got, want)
		}
		if got := plainRun(string(b), from); got != want {
			t.Fatalf("as a string %q from %d: %d, want %d", b, from, got, want)
		}
	}
}
