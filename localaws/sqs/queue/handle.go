package queue

import (
	"encoding/base64"
	"encoding/binary"
)

// A handle has 24 bytes: the queue's stamp, the epoch and the item's key, the number of the receive and a checksum. In
// base64 these are 32 characters without padding: only letters, digits, + and /, because Amazon's own Python client for
// large messages cuts a handle at a hyphen.
const (
	handleBytes = 24
	keyBits     = 40 // of the item's key; the epoch has the other 24
)

// stamp marks the handles of a queue; another queue of the same name has another one.
type stamp uint64

func (s stamp) handle(it *item) string {
	var b [handleBytes]byte
	binary.BigEndian.PutUint64(b[0:], uint64(s))
	epoch := uint64(it.turn>>32) << keyBits
	binary.BigEndian.PutUint64(b[8:], (epoch|uint64(it.key))^uint64(s))
	binary.BigEndian.PutUint32(b[16:], it.turn.receives())
	binary.BigEndian.PutUint32(b[20:], checksum(b[:20]))
	var text [32]byte
	base64.StdEncoding.Encode(text[:], b[:])
	return string(text[:])
}

// parse parses a handle of the queue.
func (s stamp) parse(text string) (key int64, t turn, ok bool) {
	var b [handleBytes]byte
	if len(text) != 32 {
		return 0, 0, false
	}
	n, err := base64.StdEncoding.Decode(b[:], []byte(text))
	if err != nil || n != handleBytes || binary.BigEndian.Uint32(b[20:]) != checksum(b[:20]) ||
		binary.BigEndian.Uint64(b[0:]) != uint64(s) {
		return 0, 0, false
	}
	number := binary.BigEndian.Uint32(b[16:])
	place := binary.BigEndian.Uint64(b[8:]) ^ uint64(s)
	return int64(place & (1<<keyBits - 1)), turn(place>>keyBits)<<32 | turn(number), number > 0
}

// checksum is FNV-1a; a change of any byte changes it. The standard library's version would allocate for each handle.
func checksum(b []byte) uint32 {
	sum := uint32(2166136261)
	for _, c := range b {
		sum = (sum ^ uint32(c)) * 16777619
	}
	return sum
}
