package sim

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"time"
)

// dice give random numbers that depend on the seed and on what they are about, so that a decision stays the same
// whoever asks first.
type dice uint64

// about returns a stream of its own for a decision.
func (d dice) about(what ...any) *roll {
	h := fnv.New64a()
	var seed [8]byte
	binary.LittleEndian.PutUint64(seed[:], uint64(d))
	_, _ = h.Write(seed[:]) // a hash takes everything
	fmt.Fprintln(h, what...)
	return &roll{rand.New(rand.NewPCG(uint64(d), h.Sum64()))}
}

type roll struct{ *rand.Rand }

// chance is true in a share p of all cases.
func (r *roll) chance(p float64) bool { return r.Float64() < p }

// between draws evenly from [low, high).
func (r *roll) between(low, high time.Duration) time.Duration {
	return low + time.Duration(r.Int64N(int64(high-low)))
}

// pick draws one of several.
func pick[T any](r *roll, from ...T) T { return from[r.IntN(len(from))] }
