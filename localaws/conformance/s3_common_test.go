package conformance

import (
	"bytes"
	"context"
	"crypto/md5"
	"encoding/base64"
	"encoding/xml"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// bucket is the environment of a case about S3: a world with a bucket.
type bucket struct {
	*world
	s3   *s3.Client
	name string
}

// runBucket runs one case about S3 as a subtest.
func runBucket(t *testing.T, name string, f func(b *bucket)) {
	t.Helper()
	run(t, name, func(w *world) {
		b := &bucket{
			world: w, name: w.name("b"),
			s3: s3.New(s3.Options{
				Region: *region, BaseEndpoint: &w.endpoint, HTTPClient: w.http, Credentials: w.keys,
				RetryMaxAttempts: 1,
				UsePathStyle:     true, RequestChecksumCalculation: aws.RequestChecksumCalculationWhenSupported,
				ResponseChecksumValidation: aws.ResponseChecksumValidationWhenSupported,
			}),
		}
		b.make(b.name)
		f(b)
	})
}

// make creates a bucket, which the case's end deletes with its objects if the server is not the case's own.
func (b *bucket) make(name string) {
	b.Helper()
	must(b.s3.CreateBucket(b.ctx, &s3.CreateBucketInput{Bucket: &name}))(b.world)
	b.Cleanup(func() {
		if b.local == nil {
			b.drop(context.WithoutCancel(b.ctx), name)
		}
	})
}

func (b *bucket) drop(ctx context.Context, name string) {
	list, err := b.s3.ListObjectsV2(ctx, &s3.ListObjectsV2Input{Bucket: &name})
	if err != nil {
		return
	}
	for _, o := range list.Contents {
		_, _ = b.s3.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &name, Key: o.Key})
	}
	_, _ = b.s3.DeleteBucket(ctx, &s3.DeleteBucketInput{Bucket: &name})
}

// reply is an answer of S3.
type reply struct {
	status int
	header http.Header
	body   string
}

// code returns the code of an error; "": the answer is no error.
func (r reply) code() string {
	var e struct{ Code string }
	if xml.Unmarshal([]byte(r.body), &e) != nil {
		return ""
	}
	return e.Code
}

// has reports whether the body has a text.
func (r reply) has(text string) bool { return strings.Contains(r.body, text) }

// element returns the first element with a name, without attributes, as a body of its own.
func (r reply) element(name string) reply {
	_, body, _ := strings.Cut(r.body, "<"+name+">")
	body, _, _ = strings.Cut(body, "</"+name+">")
	return reply{r.status, r.header, body}
}

// headers are names and values, in turn.
type headers []string

// call sends a signed request. A target that begins with / is a path; any other is in the case's bucket.
func (b *bucket) call(method, target string, h headers, body string) reply {
	b.Helper()
	return b.callIn(*region, method, target, h, body)
}

// callIn is the same as call, for a region.
func (b *bucket) callIn(region, method, target string, h headers, body string) reply {
	b.Helper()
	return b.send(b.sign(region, b.request(method, target, h, body)))
}

// sign signs a request.
func (b *bucket) sign(region string, r *http.Request) *http.Request {
	b.Helper()
	hash := r.Header.Get("X-Amz-Content-Sha256")
	if hash == "" {
		hash = "UNSIGNED-PAYLOAD"
		r.Header.Set("X-Amz-Content-Sha256", hash)
	}
	keys := must(b.keys.Retrieve(b.ctx))(b.world)
	if err := v4.NewSigner().SignHTTP(b.ctx, keys, r, hash, "s3", region, time.Now(),
		func(o *v4.SignerOptions) { o.DisableURIPathEscaping = true }); err != nil {
		b.Fatal(err)
	}
	return r
}

// request returns a request that is not signed.
func (b *bucket) request(method, target string, h headers, body string) *http.Request {
	b.Helper()
	if !strings.HasPrefix(target, "/") {
		target = "/" + b.name + "/" + target
	}
	var content io.Reader
	if body != "" {
		content = bytes.NewReader([]byte(body))
	}
	r, err := http.NewRequestWithContext(b.ctx, method, b.endpoint+target, content)
	if err != nil {
		b.Fatal(err)
	}
	for i := 0; i+1 < len(h); i += 2 {
		r.Header.Set(h[i], h[i+1])
		if h[i] == "Host" {
			r.Host = h[i+1]
		}
	}
	return r
}

func (b *bucket) send(r *http.Request) reply {
	b.Helper()
	status, header, text := b.do(r)
	return reply{status, header, text}
}

// wants checks an answer's status and the code of its error; "": it must be no error.
func (b *bucket) wants(what string, r reply, status int, code string) {
	b.Helper()
	if r.status != status || r.code() != code {
		b.Errorf("%s: %d %s, want %d %s\n%s", what, r.status, r.code(), status, code, r.body)
	}
}

// put writes an object.
func (b *bucket) put(key, body string, h ...string) reply {
	b.Helper()
	r := b.call("PUT", key, h, body)
	b.wants("put "+key, r, 200, "")
	return r
}

// missing checks that there is no object.
func (b *bucket) missing(key string) {
	b.Helper()
	b.wants("an object that was refused", b.call("HEAD", key, nil, ""), 404, "")
}

// deleteXML is the body of DeleteObjects.
func deleteXML(keys ...string) string {
	var all strings.Builder
	for _, k := range keys {
		fmt.Fprintf(&all, "<Object><Key>%s</Key></Object>", k)
	}
	return "<Delete>" + all.String() + "</Delete>"
}

func contentMD5(text string) string {
	sum := md5.Sum([]byte(text))
	return base64.StdEncoding.EncodeToString(sum[:])
}

func crc32Of(text string) string {
	n := crc32.ChecksumIEEE([]byte(text))
	return base64.StdEncoding.EncodeToString([]byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)})
}
