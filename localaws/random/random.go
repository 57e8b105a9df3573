package random

import (
	"encoding/binary"
	"encoding/hex"
	"sync/atomic"
)

// Source is a stream of numbers that depends only on its seed. It takes no lock and is safe for concurrent use. With
// concurrent callers the scheduler decides which of them gets which number; the set of numbers stays the same.
type Source struct {
	seed  uint64
	drawn atomic.Uint64
}

// New returns the source of a seed.
func New(seed uint64) *Source {
	return &Source{seed: mix(seed ^ 0x6c6f63616c617773)}
}

// Uint64 returns the next number.
func (s *Source) Uint64() uint64 {
	return mix(s.seed + s.drawn.Add(1)*0x9e3779b97f4a7c15)
}

// Float64 returns a number in [0, 1).
func (s *Source) Float64() float64 {
	return float64(s.Uint64()>>11) / (1 << 53)
}

// IntN returns a number in [0, n). It panics if n is not positive.
func (s *Source) IntN(n int) int {
	if n <= 0 {
		panic("random: IntN of a number that is not positive")
	}
	return int(s.Uint64() % uint64(n))
}

// UUID returns an identifier in the form of a version 4 UUID.
func (s *Source) UUID() string {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:8], s.Uint64()&^0xf000|0x4000)
	binary.BigEndian.PutUint64(b[8:], s.Uint64()&^(3<<62)|2<<62)
	var u [36]byte
	hex.Encode(u[:8], b[:4])
	hex.Encode(u[9:13], b[4:6])
	hex.Encode(u[14:18], b[6:8])
	hex.Encode(u[19:23], b[8:10])
	hex.Encode(u[24:], b[10:])
	u[8], u[13], u[18], u[23] = '-', '-', '-', '-'
	return string(u[:])
}

// mix is the last step of the splitmix64 generator: it spreads a counter over all 64 bits, one to one.
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
