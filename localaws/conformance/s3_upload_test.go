package conformance

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"
	"time"
)

// chunked writes a body in aws-chunked.
func chunked(body string, signed bool, trailers ...string) string {
	signature := ""
	if signed {
		signature = ";chunk-signature=" + strings.Repeat("0", 64)
	}
	var b strings.Builder
	for rest := body; rest != ""; {
		n := min(8192, len(rest))
		fmt.Fprintf(&b, "%x%s\r\n%s\r\n", n, signature, rest[:n])
		rest = rest[n:]
	}
	fmt.Fprintf(&b, "0%s\r\n", signature)
	for _, t := range trailers {
		b.WriteString(t + "\r\n")
	}
	return b.String() + "\r\n"
}

func TestS3Upload(t *testing.T) {
	body := strings.Repeat("0123456789", 2000)
	forms := map[string]func(sum string) (headers, string){
		"STREAMING-AWS4-HMAC-SHA256-PAYLOAD": func(sum string) (headers, string) {
			return headers{"x-amz-checksum-crc32", sum}, chunked(body, true)
		},
		"STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER": func(sum string) (headers, string) {
			return headers{"x-amz-trailer", "x-amz-checksum-crc32"},
				chunked(body, true, "x-amz-checksum-crc32:"+sum, "x-amz-trailer-signature:"+strings.Repeat("0", 64))
		},
		"STREAMING-UNSIGNED-PAYLOAD-TRAILER": func(sum string) (headers, string) {
			return headers{"x-amz-trailer", "x-amz-checksum-crc32"}, chunked(body, false, "x-amz-checksum-crc32:"+sum)
		},
	}
	for form, write := range forms {
		upload := func(b *bucket, sum string) reply {
			h, text := write(sum)
			return b.call("PUT", "k", append(h, "x-amz-content-sha256", form, "Content-Encoding", "aws-chunked,br",
				"x-amz-decoded-content-length", strconv.Itoa(len(body)), "Expect", "100-continue"), text)
		}
		runBucket(t, form+" is decoded, and aws-chunked is not kept", func(b *bucket) {
			put := upload(b, crc32Of(body))
			b.wants("put", put, 200, "")
			if got := put.header.Get("x-amz-checksum-crc32"); got != crc32Of(body) {
				b.Errorf("the checksum is %q", got)
			}
			got := b.call("GET", "k", nil, "")
			if got.body != body || got.header.Get("Content-Encoding") != "br" {
				b.Errorf("%d bytes, encoding %q", len(got.body), got.header.Get("Content-Encoding"))
			}
		})
		runBucket(t, form+" with a wrong checksum is BadDigest, and stores nothing", func(b *bucket) {
			b.wants("put", upload(b, "AAAAAA=="), 400, "BadDigest")
			b.missing("k")
		})
	}
	runBucket(t, "a trailer that does not come is MalformedTrailerError", func(b *bucket) {
		b.wants("put", b.call("PUT", "k", headers{
			"x-amz-content-sha256", "STREAMING-UNSIGNED-PAYLOAD-TRAILER", "x-amz-trailer", "x-amz-checksum-crc32",
			"x-amz-decoded-content-length", strconv.Itoa(len(body)),
		}, chunked(body, false)), 400, "MalformedTrailerError")
		b.missing("k")
	})
	runBucket(t, "a chunk that is cut off, or more than was announced, is IncompleteBody", func(b *bucket) {
		h := headers{
			"x-amz-content-sha256", "STREAMING-AWS4-HMAC-SHA256-PAYLOAD",
			"x-amz-decoded-content-length", strconv.Itoa(len(body)),
		}
		whole := chunked(body, true)
		for _, text := range []string{whole[:1000], whole[:len(whole)-90], chunked(body+"x", true), chunked(body[1:],
			true)} {
			b.wants(fmt.Sprint(len(text)), b.call("PUT", "k", h, text), 400, "IncompleteBody")
		}
		b.missing("k")
	})
	runBucket(t, "chunks without their decoded length are MissingContentLength", func(b *bucket) {
		b.wants("put", b.call("PUT", "k", headers{"x-amz-content-sha256", "STREAMING-AWS4-HMAC-SHA256-PAYLOAD"},
			chunked(body, true)), 411, "MissingContentLength")
	})
	runBucket(t, "every checksum is verified", func(b *bucket) {
		for name, sums := range map[string][2]string{
			"crc32": {"y/Q5Jg==", "AAAAAA=="}, "crc32c": {"4waSgw==", "AAAAAA=="},
			"crc64nvme": {"rosUhgp5mIg=", "AAAAAAAAAAA="},
			"sha1":      {"98O8HYCOBHMq32eZZczDTKeuNEE=", "AAAAAAAAAAAAAAAAAAAAAAAAAAA="},
			"sha256": {
				"FeKw08M4keuw8e9gnsQZQgwg4yDOlMZfvIwzEkSOsiU=",
				"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",
			},
		} {
			header := "x-amz-checksum-" + name
			good := b.call("PUT", name, headers{header, sums[0]}, "123456789")
			b.wants(name, good, 200, "")
			if good.header.Get(header) != sums[0] || good.header.Get("x-amz-checksum-type") != "FULL_OBJECT" {
				b.Errorf("%s: headers %v", name, good.header)
			}
			b.wants("a wrong "+name, b.call("PUT", "wrong", headers{header, sums[1]}, "123456789"), 400, "BadDigest")
			b.wants("a broken "+name, b.call("PUT", "wrong", headers{header, "x"}, "123456789"), 400, "InvalidRequest")
			got := b.call("GET", name, headers{"x-amz-checksum-mode", "ENABLED"}, "")
			if got.header.Get(header) != sums[0] {
				b.Errorf("get: %s is %q", header, got.header.Get(header))
			}
			if b.call("HEAD", name, nil, "").header.Get(header) != "" {
				b.Errorf("%s is shown although it was not asked for", header)
			}
		}
		b.missing("wrong")
		none := b.put("none", "123456789")
		if none.header.Get("x-amz-checksum-crc64nvme") != "rosUhgp5mIg=" {
			b.Errorf("without a checksum: %v", none.header)
		}
		b.wants("two", b.call("PUT", "k", headers{
			"x-amz-checksum-crc32", "y/Q5Jg==", "x-amz-checksum-crc32c",
			"4waSgw==",
		},
			"123456789"), 400, "InvalidRequest")
		b.wants("an algorithm without a checksum",
			b.call("PUT", "k", headers{"x-amz-sdk-checksum-algorithm", "CRC32"}, "x"), 400, "InvalidRequest")
	})
	runBucket(t, "Content-MD5 and the payload's digest are verified", func(b *bucket) {
		b.put("k", "hello", "Content-MD5", contentMD5("hello"))
		b.wants("wrong", b.call("PUT", "w", headers{"Content-MD5", contentMD5("x")}, "hello"), 400, "BadDigest")
		b.wants("invalid", b.call("PUT", "w", headers{"Content-MD5", "x"}, "hello"), 400, "InvalidDigest")
		b.wants("payload", b.call("PUT", "w", headers{"x-amz-content-sha256", strings.Repeat("0", 64)}, "hello"), 400,
			"XAmzContentSHA256Mismatch")
		b.missing("w")
	})
	runBucket(t, "a body of unknown length, in HTTP's chunks, is NotImplemented", func(b *bucket) {
		r := b.request("PUT", "k", nil, "x")
		r.Body, r.ContentLength = io.NopCloser(strings.NewReader("x")), -1
		got := b.send(r)
		b.wants("put", got, 501, "NotImplemented")
		if !got.has("<Header>Transfer-Encoding</Header>") {
			b.Errorf("put: %s", got.body)
		}
		b.missing("k")
	})
	runBucket(t, "more than 5 GiB is EntityTooLarge, before the body is sent", func(b *bucket) {
		if b.local == nil {
			b.Skip("a client that is given a short body breaks the connection")
		}
		r := b.request("PUT", "k", nil, "x")
		r.ContentLength = 5<<30 + 1
		b.wants("put", b.send(r), 400, "EntityTooLarge")
	})
	runBucket(t, "a body without a byte for ten seconds is cut, and a slow one is not", func(b *bucket) {
		if b.local == nil {
			b.Skip("needs virtual time")
		}
		slow := func(pause time.Duration) reply {
			out, in := io.Pipe()
			b.beside(func() {
				for range 5 {
					if _, err := in.Write([]byte("ab")); err != nil {
						return
					}
					time.Sleep(pause)
				}
				_ = in.Close()
			})
			r := b.request("PUT", "k", nil, "")
			r.Body, r.ContentLength = out, 10
			return b.send(r)
		}
		b.wants("11 s", slow(11*time.Second), 400, "RequestTimeout")
		b.missing("k")
		b.wants("9 s", slow(9*time.Second), 200, "")
	})
	runBucket(t, "an upload that breaks in the middle stores nothing", func(b *bucket) {
		if b.local == nil {
			b.Skip("the connection is gone with the upload")
		}
		r := b.request("PUT", "k", nil, "")
		r.Body, r.ContentLength = io.NopCloser(strings.NewReader("half")), 8
		b.wants("put", b.send(r), 400, "IncompleteBody")
		b.missing("k")
	})
}
