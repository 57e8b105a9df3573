package wire

import (
	"crypto/md5"
	"encoding/hex"
	"fmt"

	"github.com/godwitmq/godwit/driver"
)

// CheckMD5 returns an error for a message that the service received with another body than the one that was sent. If it
// returned no MD5, there is none. Godwit checks the MD5 itself, because the SDK's check fails the whole batch, and
// panics
// if an answer has no id.
func CheckMD5(id string, body, told *string) error {
	if body == nil || told == nil {
		return nil
	}
	sum := md5.Sum([]byte(*body))
	var digits [2 * md5.Size]byte
	hex.Encode(digits[:], sum[:])
	if string(digits[:]) == *told {
		return nil
	}
	return &driver.Error{Class: driver.Transient, Err: fmt.Errorf(
		"message %s: the MD5 of the body that the service received differs from that of the body sent; it is sent again", id,
	)}
}
