package rest

import (
	"crypto/sha1" //nolint:gosec // a checksum that clients may choose
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"hash"
	"hash/crc32"
	"hash/crc64"
	"strings"
)

// Default is the algorithm of a checksum that the client did not choose.
const Default = "CRC64NVME"

// reversed polynomials of the cyclic checksums, as package hash writes them.
const nvmePolynomial = 0x9a6c9329ac4bc9b5

var (
	castagnoli = crc32.MakeTable(crc32.Castagnoli)
	nvme       = crc64.MakeTable(nvmePolynomial)
)

// algorithms are the names of the checksums, each with the number of its bytes.
var algorithms = map[string]int{"CRC32": 4, "CRC32C": 4, "CRC64NVME": 8, "SHA1": 20, "SHA256": 32}

// checksumHeaders are the headers with checksums, by canonical name.
var checksumHeaders = map[string]string{
	"X-Amz-Checksum-Crc32": "CRC32", "X-Amz-Checksum-Crc32c": "CRC32C", "X-Amz-Checksum-Crc64nvme": "CRC64NVME",
	"X-Amz-Checksum-Sha1": "SHA1", "X-Amz-Checksum-Sha256": "SHA256",
}

// KnownAlgorithm reports whether there is a checksum with a name.
func KnownAlgorithm(name string) bool { return algorithms[name] > 0 }

// IsCyclic reports whether the checksums of parts can be combined to that of the whole.
func IsCyclic(algorithm string) bool { return strings.HasPrefix(algorithm, "CRC") }

// NewHash returns the hash of a known algorithm.
func NewHash(algorithm string) hash.Hash {
	switch algorithm {
	case "CRC32":
		return crc32.NewIEEE()
	case "CRC32C":
		return crc32.New(castagnoli)
	case "CRC64NVME":
		return crc64.New(nvme)
	case "SHA1":
		return sha1.New() //nolint:gosec // see the import
	default:
		return sha256.New()
	}
}

// checksumHeader begins the headers with checksums.
const checksumHeader = "x-amz-checksum-"

// validChecksum reports whether a text can be a checksum of an algorithm.
func validChecksum(algorithm, text string) bool {
	raw, err := base64.StdEncoding.DecodeString(text)
	return err == nil && len(raw) == algorithms[algorithm]
}

// Sum is the checksum of a piece of data and the length of the piece.
type Sum struct {
	Value string // base64
	Size  int64
}

// Combine returns the checksum of pieces, one after the other, from their cyclic checksums. ok is false if one of them
// is not a checksum of the algorithm.
func Combine(algorithm string, pieces []Sum) (value string, ok bool) {
	width := algorithms[algorithm]
	poly := map[string]uint64{
		"CRC32": crc32.IEEE, "CRC32C": crc32.Castagnoli, "CRC64NVME": nvmePolynomial,
	}[algorithm]
	if poly == 0 {
		return "", false
	}
	var all uint64
	for _, p := range pieces {
		raw, err := base64.StdEncoding.DecodeString(p.Value)
		if err != nil || len(raw) != width {
			return "", false
		}
		var padded [8]byte
		copy(padded[8-width:], raw)
		all = behind(all, p.Size, poly, 8*width) ^ binary.BigEndian.Uint64(padded[:])
	}
	var out [8]byte
	binary.BigEndian.PutUint64(out[:], all)
	return base64.StdEncoding.EncodeToString(out[8-width:]), true
}

// Composite returns the checksum of the checksums of parts.
func Composite(algorithm string, values []string) (string, bool) {
	h := NewHash(algorithm)
	for _, v := range values {
		raw, err := base64.StdEncoding.DecodeString(v)
		if err != nil || len(raw) != algorithms[algorithm] {
			return "", false
		}
		h.Write(raw)
	}
	return base64.StdEncoding.EncodeToString(h.Sum(nil)), true
}

// matrix is a linear map of the bits of a cyclic checksum; column i is the image of bit i.
type matrix [64]uint64

func (m *matrix) times(v uint64) uint64 {
	var out uint64
	for i := 0; v != 0; i, v = i+1, v>>1 {
		if v&1 != 0 {
			out ^= m[i]
		}
	}
	return out
}

func (m *matrix) square() *matrix {
	var out matrix
	for i := range out {
		out[i] = m.times(m[i])
	}
	return &out
}

// behind returns what size zero bytes make of a cyclic checksum: the part of the combined checksum that the earlier
// piece decides.
func behind(sum uint64, size int64, poly uint64, width int) uint64 {
	var bit matrix // one zero bit
	bit[0] = poly
	for i := 1; i < width; i++ {
		bit[i] = 1 << (i - 1)
	}
	power := bit.square().square().square() // one zero byte
	for ; size > 0 && sum != 0; size >>= 1 {
		if size&1 != 0 {
			sum = power.times(sum)
		}
		power = power.square()
	}
	return sum
}
