package sim

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"time"
)

// rng gives random numbers that depend on the seed and on a subject. So a decision does not depend on the order in
// which decisions are made.
type rng uint64

// about returns the random numbers for a subject. The words of a subject are part of the seed: with other words, all
// seeds run differently.
func (d rng) about(what ...any) *stream {
	h := fnv.New64a()
	var seed [8]byte
	binary.LittleEndian.PutUint64(seed[:], uint64(d))
	_, _ = h.Write(seed[:]) // a hash accepts everything
	fmt.Fprintln(h, what...)
	return &stream{rand.New(rand.NewPCG(uint64(d), h.Sum64()))}
}

// stream is the random numbers for one subject.
type stream struct{ *rand.Rand }

// chance is true with the probability p.
func (r *stream) chance(p float64) bool { return r.Float64() < p }

// between is evenly distributed over [low, high).
func (r *stream) between(low, high time.Duration) time.Duration {
	return low + time.Duration(r.Int64N(int64(high-low)))
}

// pick returns one of several values.
func pick[T any](r *stream, from ...T) T { return from[r.IntN(len(from))] }
