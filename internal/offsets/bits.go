package offsets

// bitWriter appends bits to bytes, the most significant first.
type bitWriter struct {
	out  []byte
	open uint64 // the bits that do not fill a byte yet, the latest lowest
	n    uint   // their number: less than eight
}

// rice writes v: its high part in unary, then its low bits.
func (w *bitWriter) rice(v uint64, low uint) {
	for q := v >> low; q > 0; {
		ones := min(q, 32)
		w.put(1<<ones-1, uint(ones))
		q -= ones
	}
	w.put(0, 1)
	w.put(v&(1<<low-1), low)
}

// put writes the n lowest bits of v; n is at most 56.
func (w *bitWriter) put(v uint64, n uint) {
	w.open, w.n = w.open<<n|v, w.n+n
	for w.n >= 8 {
		w.n -= 8
		w.out = append(w.out, byte(w.open>>w.n))
	}
}

// flush fills the last byte with zero bits.
func (w *bitWriter) flush() []byte {
	if w.n > 0 {
		w.put(0, 8-w.n)
	}
	return w.out
}

// bitReader reads the output of a bitWriter.
type bitReader struct {
	in []byte
	at uint64 // number of bits read
}

func (r *bitReader) bit() (b uint64, ok bool) {
	i := r.at / 8
	if i >= uint64(len(r.in)) {
		return 0, false
	}
	b = uint64(r.in[i]>>(7-r.at%8)) & 1
	r.at++
	return b, true
}

// rice reads a number below 2⁶³.
func (r *bitReader) rice(low uint) (v uint64, ok bool) {
	high := uint64(0)
	for {
		b, ok := r.bit()
		if !ok {
			return 0, false
		}
		if b == 0 {
			break
		}
		high++
	}
	if high >= 1<<(63-low) {
		return 0, false
	}
	for range low {
		b, ok := r.bit()
		if !ok {
			return 0, false
		}
		v = v<<1 | b
	}
	return high<<low | v, true
}

// rest returns the bytes after the current one, whose remaining bits must be zero.
func (r *bitReader) rest() ([]byte, bool) {
	for r.at%8 != 0 {
		if b, _ := r.bit(); b != 0 {
			return nil, false
		}
	}
	return r.in[r.at/8:], true
}
