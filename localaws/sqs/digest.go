package sqs

import (
	"crypto/md5"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/godwitmq/godwit/localaws/sqs/queue"
)

// md5Hex hashes the text in pieces, because converting it as a whole would copy every body.
func md5Hex(s string) string {
	var piece [1024]byte
	h := md5.New()
	for len(s) > 0 {
		n := copy(piece[:], s)
		h.Write(piece[:n])
		s = s[n:]
	}
	return hex.EncodeToString(h.Sum(piece[:0]))
}

// attributesMD5 returns the digest that clients verify: over name, type and value of each attribute in order of the
// names, each after its length.
func attributesMD5(attributes map[string]queue.Attribute) string {
	if len(attributes) == 0 {
		return ""
	}
	var b []byte
	part := func(s string) {
		b = binary.BigEndian.AppendUint32(b, uint32(len(s)))
		b = append(b, s...)
	}
	for _, name := range slices.Sorted(maps.Keys(attributes)) {
		a := attributes[name]
		part(name)
		part(a.Type)
		if strings.HasPrefix(a.Type, "Binary") {
			b = append(b, 2)
			part(string(a.Binary))
		} else {
			b = append(b, 1)
			part(a.Text)
		}
	}
	return fmt.Sprintf("%x", md5.Sum(b))
}

// systemMD5 returns the same digest of the system attributes of a request. Only the trace header is accepted as one; a
// trace in the request's HTTP header has no digest.
func systemMD5(given map[string]attributeValue) string {
	v, ok := given["AWSTraceHeader"]
	if !ok {
		return ""
	}
	return attributesMD5(map[string]queue.Attribute{"AWSTraceHeader": {Type: "String", Text: *v.StringValue}})
}
