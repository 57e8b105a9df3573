package wire

import (
	"encoding/base32"
	"encoding/binary"
	"strconv"
	"strings"
)

// A temporary access key contains its account, so that the server has to remember no key: "ASIA", as AWS begins them,
// and 80 bits in base 32, of which 40 are the account, 24 random, and 16 a check, by which it differs from the keys
// that AWS has made: calls with those belong to the account of the options.
const (
	temporaryPrefix = "ASIA"
	temporaryLength = 20
)

// TemporaryKey returns an access key for temporary credentials of an account.
func TemporaryKey(account string, random uint64) string {
	number, err := strconv.ParseUint(account, 10, 40)
	if err != nil {
		number = 0 // IsAccount is true for every account of a call
	}
	var b [10]byte
	binary.BigEndian.PutUint64(b[:8], number<<24|random&0xffffff)
	binary.BigEndian.PutUint16(b[8:], checkOf(b[:8]))
	return temporaryPrefix + base32.StdEncoding.EncodeToString(b[:])
}

// temporaryAccount returns the account of a key that TemporaryKey made.
func temporaryAccount(key string) (account string, ok bool) {
	if len(key) != temporaryLength || !strings.HasPrefix(key, temporaryPrefix) {
		return "", false
	}
	b, err := base32.StdEncoding.DecodeString(key[len(temporaryPrefix):])
	if err != nil || len(b) != 10 || binary.BigEndian.Uint16(b[8:]) != checkOf(b[:8]) {
		return "", false
	}
	digits := strconv.FormatUint(binary.BigEndian.Uint64(b[:8])>>24, 10)
	account = strings.Repeat("0", max(0, accountDigits-len(digits))) + digits
	return account, IsAccount(account)
}

// checkOf is the 32-bit FNV-1a hash of bytes, folded to 16 bits.
func checkOf(bs []byte) uint16 {
	sum := uint32(2166136261)
	for _, b := range bs {
		sum = (sum ^ uint32(b)) * 16777619
	}
	return uint16(sum>>16) ^ uint16(sum) //nolint:gosec // the lower half is wanted
}
