package rest

import (
	"encoding/base64"
	"encoding/hex"
	"math/rand/v2"
	"testing"
)

// TestChecksums: the check values of the catalogues of cyclic checksums, and of the digests.
func TestChecksums(t *testing.T) {
	for algorithm, want := range map[string]string{
		"CRC32": "cbf43926", "CRC32C": "e3069283", "CRC64NVME": "ae8b14860a799888",
		"SHA1":   "f7c3bc1d808e04732adf679965ccc34ca7ae3441",
		"SHA256": "15e2b0d3c33891ebb0f1ef609ec419420c20e320ce94c65fbc8c3312448eb225",
	} {
		h := NewHash(algorithm)
		h.Write([]byte("123456789"))
		if got := hex.EncodeToString(h.Sum(nil)); got != want {
			t.Errorf("%s of the check text is %s, want %s", algorithm, got, want)
		}
	}
}

// TestCombine: the checksum of pieces is that of the whole, wherever it is cut.
func TestCombine(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		text := make([]byte, random.IntN(10_000))
		for i := range text {
			text[i] = byte(random.Uint32())
		}
		for _, algorithm := range []string{"CRC32", "CRC32C", "CRC64NVME"} {
			sum := func(p []byte) string {
				h := NewHash(algorithm)
				h.Write(p)
				return base64.StdEncoding.EncodeToString(h.Sum(nil))
			}
			var pieces []Sum
			for rest := text; len(rest) > 0 || len(pieces) < 2; {
				n := random.IntN(len(rest) + 1)
				pieces = append(pieces, Sum{sum(rest[:n]), int64(n)})
				rest = rest[n:]
			}
			if got, ok := Combine(algorithm, pieces); !ok || got != sum(text) {
				t.Errorf("%s of %d pieces of %d bytes is %s, want %s", algorithm, len(pieces), len(text), got,
					sum(text))
			}
		}
	}
	if _, ok := Combine("SHA256", []Sum{{"", 1}}); ok {
		t.Error("digests are combined")
	}
}
