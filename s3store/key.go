package s3store

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"github.com/godwitmq/godwit/driver"
)

// newKey is the key of a new object: prefix, folder, and a UUID of version 7, which begins with the time. So the
// objects of a folder are listed in the order of their age.
func (s *Store) newKey(folder string) (string, error) {
	if folder != "" {
		folder += "/"
	}
	if !plainKey(folder) {
		return "", &driver.Error{Class: driver.Permanent, Err: fmt.Errorf(
			"%q cannot be a folder: use letters, digits, '.', '_', '-' and '/'", folder)}
	}
	return s.o.Prefix + folder + uuid(time.Now()), nil
}

// uuid is a UUID of version 7 (RFC 9562): 48 bits of time in milliseconds, and 74 random bits.
func uuid(now time.Time) string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // it cannot fail
	var ms [8]byte
	binary.BigEndian.PutUint64(ms[:], uint64(now.UnixMilli()))
	copy(b[:6], ms[2:])
	b[6] = b[6]&0x0f | 0x70
	b[8] = b[8]&0x3f | 0x80
	x := hex.EncodeToString(b[:])
	return x[:8] + "-" + x[8:12] + "-" + x[12:16] + "-" + x[16:20] + "-" + x[20:]
}

// keyTime is when a key of newKey was made; false: the key has another form.
func keyTime(key string) (time.Time, bool) {
	id := key[strings.LastIndexByte(key, '/')+1:]
	if len(id) != 36 || id[8] != '-' || id[13] != '-' || id[18] != '-' || id[23] != '-' {
		return time.Time{}, false
	}
	b, err := hex.DecodeString(strings.ReplaceAll(id, "-", ""))
	if err != nil || len(b) != 16 || id != strings.ToLower(id) || b[6]>>4 != 7 || b[8]>>6 != 2 {
		return time.Time{}, false
	}
	return time.UnixMilli(int64(binary.BigEndian.Uint64(b[:8]) >> 16)), true //nolint:gosec // 48 bits
}
