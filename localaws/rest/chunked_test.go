package rest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// chunks writes a body in aws-chunked, as clients do.
func chunks(text string, size int, signed bool, trailers ...string) string {
	signature := ""
	if signed {
		signature = ";chunk-signature=" + strings.Repeat("a", 64)
	}
	var b strings.Builder
	for text != "" {
		n := min(size, len(text))
		fmt.Fprintf(&b, "%x%s\r\n%s\r\n", n, signature, text[:n])
		text = text[n:]
	}
	fmt.Fprintf(&b, "0%s\r\n", signature)
	for _, t := range trailers {
		b.WriteString(t + "\r\n")
	}
	b.WriteString("\r\n")
	return b.String()
}

// TestChunkedReader: the text comes out whatever the sizes of chunks and reads are, and so do the trailers.
func TestChunkedReader(t *testing.T) {
	text := strings.Repeat("0123456789", 1000)
	for _, size := range []int{1, 7, 4096, 8192, 100_000} {
		for _, signed := range []bool{true, false} {
			for _, slow := range []bool{true, false} {
				var r io.Reader = strings.NewReader(
					chunks(text, size, signed, "x-amz-checksum-crc32:AAAAAA==", "X-B: c"))
				if slow {
					r = iotest.OneByteReader(r)
				}
				c := newChunkedReader(r)
				got, err := io.ReadAll(c)
				if string(got) != text || err != nil {
					t.Fatalf("chunks of %d: %d bytes, %v", size, len(got), err)
				}
				if c.trailers["x-amz-checksum-crc32"] != "AAAAAA==" || c.trailers["x-b"] != "c" {
					t.Errorf("chunks of %d: trailers %v", size, c.trailers)
				}
			}
		}
	}
}

// TestChunkedReaderRefuses: what is cut off or malformed is an error, never a shorter text.
func TestChunkedReaderRefuses(t *testing.T) {
	whole := chunks("0123456789", 4, true)
	for n := range len(whole) - len("\r\n") {
		if _, err := io.ReadAll(newChunkedReader(strings.NewReader(whole[:n]))); !errors.Is(err, io.ErrUnexpectedEOF) &&
			!errors.Is(err, errChunk) {
			t.Errorf("the first %d bytes: %v", n, err)
		}
	}
	for name, text := range map[string]string{
		"no size": "x\r\n", "negative": "-1\r\n\r\n", "huge": "ffffffffffffffffff\r\n",
		"no end of chunk":         "1\r\nab\r\n0\r\n\r\n",
		"trailer without a colon": "0\r\nx\r\n\r\n", "endless line": strings.Repeat("0", 1<<20),
	} {
		if _, err := io.ReadAll(newChunkedReader(strings.NewReader(text))); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}

// FuzzChunkedReader: no input makes it panic, and what it accepts, it accepts again after it was written once more.
func FuzzChunkedReader(f *testing.F) {
	f.Add([]byte(chunks("hello", 3, true)))
	f.Add([]byte(chunks("hello", 3, false, "x-amz-checksum-crc32:AAAAAA==")))
	f.Fuzz(func(t *testing.T, body []byte) {
		text, err := io.ReadAll(newChunkedReader(bytes.NewReader(body)))
		if err != nil {
			return
		}
		again, err := io.ReadAll(newChunkedReader(strings.NewReader(chunks(string(text), 100, false))))
		if err != nil || !bytes.Equal(again, text) {
			t.Errorf("%q became %q, %v", text, again, err)
		}
	})
}
