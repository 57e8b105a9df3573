package schemaregistry

import (
	"bytes"
	"slices"
	"testing"
)

// What stands in front of a payload is read as it was written, and no body makes the reader panic.
func FuzzHeader(f *testing.F) {
	f.Add([]byte("\x00\x00\x00\x00\x07{}"))
	f.Add([]byte("\x00\xff\xff\xff\xff\x00payload"))
	f.Add([]byte("\x00\x00\x00\x01\x02\x04\x04\x02payload"))
	f.Fuzz(func(t *testing.T, body []byte) {
		id, rest, err := readID(body)
		if err != nil {
			return
		}
		if again := append(header(Schema{ID: id}), rest...); !bytes.Equal(again, body) {
			t.Errorf("%x became %x", body, again)
		}
		index, payload, err := readIndex(rest)
		if err != nil {
			return
		}
		_, rest, err = readID(append(header(Schema{ID: id, Index: index}), payload...))
		if err != nil {
			t.Fatal(err)
		}
		again, left, err := readIndex(rest)
		if err != nil || !slices.Equal(again, index) || !bytes.Equal(left, payload) {
			t.Errorf("%v %x became %v %x, %v", index, payload, again, left, err)
		}
	})
}
