package schemaregistry

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

const (
	magic  = 0
	idSize = 4
	// maxIndex is how deep messages of protocol buffers may be in each other. It keeps a broken body from asking for
	// much memory.
	maxIndex = 100
)

// header is what stands in front of a payload: the magic byte, the id of the schema and, for protocol buffers, the
// index of the message. The index [0], which is the usual one, has a short form.
func header(s Schema) []byte {
	b := binary.BigEndian.AppendUint32([]byte{magic}, uint32(s.ID)) //nolint:gosec // ids of registries have 32 bits
	switch {
	case s.Index == nil:
		return b
	case len(s.Index) == 1 && s.Index[0] == 0:
		return append(b, 0)
	}
	b = binary.AppendVarint(b, int64(len(s.Index)))
	for _, i := range s.Index {
		b = binary.AppendVarint(b, int64(i))
	}
	return b
}

// readID returns the id of a body's schema, and what follows it.
func readID(body []byte) (id int, rest []byte, err error) {
	const remedy = "it was not sent with a schema registry, or with the id in a header; decode it with another codec"
	switch {
	case len(body) == 0:
		return 0, nil, errors.New("the message has no body, so it has no id of a schema; on Kafka such a record deletes " +
			"its key: handle it before it is decoded")
	case body[0] != magic:
		return 0, nil, fmt.Errorf("the body begins with the byte %#02x, and the wire format of schema registries begins "+
			"with %#02x: %s", body[0], magic, remedy)
	case len(body) < 1+idSize:
		return 0, nil, fmt.Errorf("the body has %d bytes, and the wire format of schema registries begins with %d: %s",
			len(body), 1+idSize, remedy)
	}
	return int(binary.BigEndian.Uint32(body[1:])), body[1+idSize:], nil
}

// readIndex returns the index of a message of protocol buffers, and its payload.
func readIndex(b []byte) (index []int, payload []byte, err error) {
	count, b, err := readInt(b)
	switch {
	case err != nil:
		return nil, nil, err
	case count == 0:
		return []int{0}, b, nil
	case count < 0 || count > maxIndex:
		return nil, nil, fmt.Errorf("the index of the message has %d numbers, and at most %d are possible: the body is "+
			"broken, or of another format", count, maxIndex)
	}
	index = make([]int, count)
	for i := range index {
		if index[i], b, err = readInt(b); err != nil {
			return nil, nil, err
		}
		if index[i] < 0 {
			return nil, nil, fmt.Errorf("the index of the message has the number %d: the body is broken, or of another "+
				"format", index[i])
		}
	}
	return index, b, nil
}

func readInt(b []byte) (int, []byte, error) {
	v, n := binary.Varint(b)
	if n <= 0 || v > math.MaxInt32 || v < math.MinInt32 {
		return 0, nil, errors.New("the body ends inside of the index of the message, or has another format")
	}
	return int(v), b[n:], nil
}
