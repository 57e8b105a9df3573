package disk

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
)

// inline is the longest value that stands in the log.
const inline = 64 << 10

// attachment is a value in a file of its own.
type attachment struct {
	number uint64
	value  []byte
}

func (a attachment) name() string { return attachmentName(a.number) }

func attachmentName(number uint64) string {
	return fmt.Sprintf("%s/%012d.value", attachmentsFolder, number)
}

// reference returns what stands in the log for an attachment.
func (a attachment) reference() []byte {
	b := binary.AppendUvarint(nil, a.number)
	b = binary.AppendUvarint(b, uint64(len(a.value)))
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(a.value, castagnoli))
}

// numberOf returns the number of the attachment of a change; 0: it has none.
func numberOf(c change) uint64 {
	if c.kind != kindAttachment {
		return 0
	}
	n, _ := binary.Uvarint(c.value)
	return n
}
