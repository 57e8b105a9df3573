package wire

import (
	"crypto/md5"
	"encoding/hex"
	"fmt"

	"github.com/godwitmq/godwit/driver"
)

// SameMD5 reports whether the body has the MD5 that the service returned. If the service returned none, the result is
// true.
func SameMD5(body, told *string) bool {
	if body == nil || told == nil {
		return true
	}
	sum := md5.Sum([]byte(*body))
	var digits [2 * md5.Size]byte
	hex.Encode(digits[:], sum[:])
	return string(digits[:]) == *told
}

// Altered is the error of a message that the service received with another body. Godwit checks the MD5 itself, because
// the SDK's check fails the whole batch, and panics if an answer has no id.
func Altered(id string) error {
	return &driver.Error{Class: driver.Transient, Err: fmt.Errorf(
		"message %s: the MD5 of the body that the service received differs from that of the body sent; it is sent again", id,
	)}
}
