package conformance

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// The cases of this file are what AWS answered on 2026-02-21 (repository localstack/localstack, tests/aws/services/s3,
// test_s3.snapshot.json, TestS3PresignedUrl), and for conditions what github.com/boto/boto3 issue 4367 shows.

func TestRecordedS3PresignedURLs(t *testing.T) {
	// version2 returns a target with the parameters of a URL that is signed by version 2.
	version2 := func(key, more string) string {
		until := time.Now().Add(time.Minute).Unix()
		return fmt.Sprintf("%s?AWSAccessKeyId=key&Signature=s&Expires=%d%s", key, until, more)
	}
	version4 := func(key, more string) string {
		return key + "?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=key%2F20260221%2F" + *region +
			"%2Fs3%2Faws4_request&X-Amz-Signature=s&X-Amz-SignedHeaders=host&X-Amz-Expires=60&X-Amz-Date=" +
			time.Now().UTC().Format("20060102T150405Z") + more
	}
	forms := map[string]func(key, more string) string{"version 2": version2, "version 4": version4}
	for name, sign := range forms {
		put := func(b *bucket, key, more string, h ...string) reply {
			if b.local == nil {
				b.Skip("the signature is not one")
			}
			return b.send(b.request("PUT", sign(key, more), h, "body"))
		}
		runBucket(t, name+": headers in the URL are the object's", func(b *bucket) {
			b.wants("put", put(b, "k", "&x-amz-meta-foo=bar&x-amz-storage-class=STANDARD_IA"), 200, "")
			got := b.call("HEAD", "k", nil, "").header
			if got.Get("x-amz-meta-foo") != "bar" || got.Get("x-amz-storage-class") != "STANDARD_IA" {
				b.Errorf("headers %v", got)
			}
			b.wants("both", put(b, "k", "&x-amz-meta-foo=url", "x-amz-meta-foo", "header"), 200, "")
			if got := b.call("HEAD", "k", nil, "").header.Get("x-amz-meta-foo"); got != "header" {
				b.Errorf("the header gives way to the URL: %q", got)
			}
		})
		runBucket(t, name+": conditions in the URL count", func(b *bucket) {
			b.wants("absent", put(b, "k", "&If-None-Match=%2A"), 200, "")
			b.wants("there", put(b, "k", "&If-None-Match=%2A"), 412, "PreconditionFailed")
			b.wants("another", put(b, "k", "&if-match=x"), 412, "PreconditionFailed")
		})
	}
	runBucket(t, "a URL may have characters that a header has not", func(b *bucket) {
		if b.local == nil {
			b.Skip("the signature is not one")
		}
		// test_put_unicode_metadata_with_sig_s3
		b.wants("put", b.send(b.request("PUT", version2("k", "&x-amz-meta-foo=%E2%80%94_%C3%A9"), nil, "x")), 200, "")
		want := "=?UTF-8?Q?=E2=80=94=5F=C3=A9?="
		if got := b.call("HEAD", "k", nil, "").header.Get("x-amz-meta-foo"); got != want {
			b.Errorf("metadata %s, want %s", got, want)
		}
		// test_get_response_overrides_unicode_metadata_with_sig_s3
		got := b.send(b.request("GET", version2("k", "&response-cache-control=%E2%80%94"), nil, ""))
		b.wants("another header", got, 400, "InvalidArgument")
		if !got.has("Header value cannot be represented using ISO-8859-1.") ||
			!got.has("<ArgumentName>response-cache-control</ArgumentName>") {
			b.Errorf("another header: %s", got.body)
		}
		// test_presigned_double_encoded_credentials
		twice := strings.ReplaceAll(version4("k", ""), "%2F", "%252F")
		b.wants("twice", b.send(b.request("GET", twice, nil, "")), 400, "AuthorizationQueryParametersError")
	})
	runBucket(t, "a URL without all of its parameters is refused", func(b *bucket) {
		for target, want := range map[string]string{
			"k?AWSAccessKeyId=key&Expires=1": "403 AccessDenied", "k?Signature=s&Expires=1": "403 AccessDenied",
			"k?AWSAccessKeyId=key&Signature=s":                                      "403 AccessDenied",
			"k?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Date=20260221T000000Z":        "400 AuthorizationQueryParametersError",
			"k?X-Amz-Signature=s&X-Amz-Expires=60&X-Amz-Credential=k&X-Amz-Date=20": "400 AuthorizationQueryParametersError",
		} {
			got := b.send(b.request("PUT", target, nil, "x"))
			if fmt.Sprint(got.status, " ", got.code()) != want {
				b.Errorf("%s: %d %s, want %s", target, got.status, got.body, want)
			}
		}
		b.missing("k")
	})
}
