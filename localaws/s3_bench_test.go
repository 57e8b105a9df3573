package localaws_test

import (
	"bytes"
	"crypto/md5"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"net/http"
	"strconv"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// BenchmarkObjects puts and gets objects over a socket, with the real client, from a server in another process: from
// localaws, and from a handler that reads the body through MD5, the asked checksum and the payload's digest and gives
// canned replies.
func BenchmarkObjects(b *testing.B) {
	for _, size := range []int{1 << 10, 1 << 20} {
		body := bytes.Repeat([]byte{'x'}, size)
		for _, what := range []string{"put", "get"} {
			for _, kind := range []string{"localaws", "canned-objects"} {
				b.Run(fmt.Sprintf("%s/%d/%s", what, size, kind), func(b *testing.B) {
					addr, stop := serveElsewhere(b, kind)
					defer stop()
					c, closeIdle := objectClient(addr)
					defer closeIdle()
					benchObjects(b, c, what, body)
				})
			}
		}
	}
}

func benchObjects(b *testing.B, c *s3.Client, what string, body []byte) {
	call := objectCall(b, c, what, body)
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		call()
	}
}

// objectClient returns a client of the server at an address.
func objectClient(addr string) (c *s3.Client, closeIdle func()) {
	carrier := &http.Transport{}
	return s3.New(s3.Options{
		Region: "us-east-1", BaseEndpoint: aws.String("http://" + addr), UsePathStyle: true,
		HTTPClient:                 &http.Client{Transport: carrier},
		Credentials:                credentials.NewStaticCredentialsProvider("key", "secret", ""),
		RequestChecksumCalculation: aws.RequestChecksumCalculationWhenSupported,
	}), carrier.CloseIdleConnections
}

// objectCall returns a function that puts or gets an object, which it has put once already.
func objectCall(b testing.TB, c *s3.Client, what string, body []byte) func() {
	b.Helper()
	ctx, name, key := b.Context(), aws.String("bench"), aws.String("k")
	if _, err := c.CreateBucket(ctx, &s3.CreateBucketInput{Bucket: name}); err != nil {
		b.Fatal(err)
	}
	put := func() {
		in := &s3.PutObjectInput{Bucket: name, Key: key, Body: bytes.NewReader(body)}
		if _, err := c.PutObject(ctx, in); err != nil {
			b.Fatal(err)
		}
	}
	put()
	if what == "put" {
		return put
	}
	return func() {
		got, err := c.GetObject(ctx, &s3.GetObjectInput{Bucket: name, Key: key})
		if err != nil {
			b.Fatal(err)
		}
		if n, err := io.Copy(io.Discard, got.Body); n != int64(len(body)) || err != nil {
			b.Fatal(n, err)
		}
		got.Body.Close()
	}
}

// cannedObjects keeps the last body, and does what no server of S3 can leave out.
func cannedObjects() http.HandlerFunc {
	var last []byte
	reply := http.Header{
		"X-Amz-Request-Id": {"0123456789ABCDEF"}, "X-Amz-Id-2": {"3gwHWbr5tMeHKTc2Y7Ym4g=="}, "Server": {"AmazonS3"},
		"X-Amz-Server-Side-Encryption": {"AES256"}, "Accept-Ranges": {"bytes"}, "Content-Type": {"binary/octet-stream"},
		"Etag": {`"5d41402abc4b2a76b9719d911017c592"`}, "Last-Modified": {"Mon, 23 Nov 2026 00:00:00 GMT"},
	}
	return func(w http.ResponseWriter, r *http.Request) {
		maps.Copy(w.Header(), reply)
		if r.Method == http.MethodGet {
			w.Header().Set("Content-Length", strconv.Itoa(len(last)))
			_, _ = w.Write(last)
			return
		}
		whole, sum, payload := md5.New(), crc32.NewIEEE(), sha256.New()
		text := make([]byte, max(r.ContentLength, 0))
		if _, err := io.ReadFull(io.TeeReader(r.Body, io.MultiWriter(whole, sum, payload)), text); err != nil {
			panic(err)
		}
		if r.ContentLength > 0 && r.Header.Get("X-Amz-Content-Sha256") != hex.EncodeToString(payload.Sum(nil)) {
			panic("the payload is not what was signed")
		}
		last = text
		w.Header().Set("ETag", fmt.Sprintf(`"%x"`, whole.Sum(nil)))
		w.Header().Set("x-amz-checksum-crc32", base64.StdEncoding.EncodeToString(sum.Sum(nil)))
	}
}
