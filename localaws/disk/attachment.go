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

// attached reads the attachment that a change refers to. ok is false if it cannot be read, which is noted.
func (s *Store) attached(c change) (value []byte, ok bool, err error) {
	number, w := binary.Uvarint(c.value)
	length, w2 := binary.Uvarint(c.value[max(w, 0):])
	name := attachmentName(number)
	value, err = readFile(s.files, name)
	why := "the length or the checksum is wrong"
	switch {
	case err != nil:
		value, why = nil, err.Error()
	case w > 0 && w2 > 0 && len(c.value) == w+w2+4 && uint64(len(value)) == length &&
		crc32.Checksum(value, castagnoli) == binary.LittleEndian.Uint32(c.value[w+w2:]):
		return value, true, nil
	}
	return nil, false, s.setAside(Damage{File: name, Length: int64(len(value)), Cause: why}, value)
}

// sweep removes attachments to which no record refers. If something cannot be read, a record of an attachment may be
// part of it: then none is removed.
func (s *Store) sweep() error {
	names, err := s.files.list(attachmentsFolder)
	if err != nil {
		return err
	}
	used := map[uint64]bool{}
	for _, p := range s.index {
		used[p.attachment] = true
		s.attachments = max(s.attachments, p.attachment)
	}
	for _, name := range names {
		var number uint64
		if _, err := fmt.Sscanf(name, "%d.value", &number); err != nil {
			continue
		}
		s.attachments = max(s.attachments, number)
		if !used[number] && len(s.damage) == 0 {
			if err := s.files.remove(attachmentsFolder + "/" + name); err != nil {
				return err
			}
		}
	}
	return nil
}
