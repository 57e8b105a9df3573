package localaws_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/godwitmq/godwit/localaws"
)

// TestTrailersOverTLS: over TLS, the client sends a stream without signing it, with its checksum in the trailer.
func TestTrailersOverTLS(t *testing.T) {
	server, err := localaws.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	form := ""
	tls := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPut && strings.Contains(r.URL.Path, "/k") {
			form = r.Header.Get("X-Amz-Content-Sha256")
		}
		server.Handler().ServeHTTP(w, r)
	}))
	defer tls.Close()
	ctx := t.Context()
	c := bucketClient(server, true)
	over := func(o *s3.Options) { o.BaseEndpoint, o.HTTPClient = aws.String(tls.URL), tls.Client() }
	name, body := aws.String("photos"), strings.Repeat("0123456789", 100_000)
	if _, err := c.CreateBucket(ctx, &s3.CreateBucketInput{Bucket: name}, over); err != nil {
		t.Fatal(err)
	}
	put, err := c.PutObject(ctx, &s3.PutObjectInput{
		Bucket: name, Key: aws.String("k"), Body: io.MultiReader(strings.NewReader(body)),
		ContentLength: aws.Int64(int64(len(body))),
	}, over)
	if err != nil {
		t.Fatal(err)
	}
	if form != "STREAMING-UNSIGNED-PAYLOAD-TRAILER" || put.ChecksumCRC32 == nil {
		t.Errorf("sent as %s, answered %+v", form, put)
	}
	got, err := c.GetObject(ctx, &s3.GetObjectInput{Bucket: name, Key: aws.String("k")}, over)
	if err != nil {
		t.Fatal(err)
	}
	defer got.Body.Close()
	if text, err := io.ReadAll(got.Body); string(text) != body || err != nil {
		t.Errorf("%d bytes, %v", len(text), err)
	}
}

// TestContinue: a client that waits for 100 Continue sends its body only if the request is not refused before.
func TestContinue(t *testing.T) {
	server, err := localaws.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	address, err := server.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := bucketClient(server, true).CreateBucket(t.Context(), &s3.CreateBucketInput{
		Bucket: aws.String("photos"),
	}); err != nil {
		t.Fatal(err)
	}
	for bucket, want := range map[string]string{"photos": "HTTP/1.1 100 Continue", "none": "HTTP/1.1 404 Not Found"} {
		conn, err := net.Dial("tcp", address.String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		if err := conn.SetDeadline(time.Now().Add(5 * time.Second)); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(conn, "PUT /%s/k HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n", bucket)
		line, err := bufio.NewReader(conn).ReadString('\n')
		if strings.TrimSpace(line) != want || err != nil {
			t.Errorf("%s: %q, %v, want %s", bucket, line, err, want)
		}
	}
}

// TestUploadCutInTheMiddle: an upload whose connection is closed stores nothing, in memory and in a file.
func TestUploadCutInTheMiddle(t *testing.T) {
	server, err := localaws.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	if _, err := bucketClient(server, true).CreateBucket(t.Context(), &s3.CreateBucketInput{
		Bucket: aws.String("photos"),
	}); err != nil {
		t.Fatal(err)
	}
	begun := make(chan struct{}, 1)
	server.Control("s3.PutObject", func(context.Context, *localaws.Request) localaws.Outcome {
		begun <- struct{}{}
		return localaws.Outcome{}
	})
	for _, size := range []int{1000, 3 << 20} {
		web := httptest.NewServer(server.Handler())
		conn, err := net.Dial("tcp", web.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(conn, "PUT /photos/k HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n", size)
		if _, err := conn.Write(bytes.Repeat([]byte("x"), size/2)); err != nil {
			t.Fatal(err)
		}
		<-begun
		conn.Close()
		web.Close() // it waits for the request
		if n, bytes := server.S3().Bucket("photos").Count(); n != 0 || bytes != 0 {
			t.Errorf("%d objects of %d bytes after half an upload of %d", n, bytes, size)
		}
	}
}
