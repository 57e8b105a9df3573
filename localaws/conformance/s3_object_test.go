package conformance

import (
	"crypto/md5"
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// given are headers that an object keeps.
var given = headers{
	"Cache-Control", "no-cache", "Content-Disposition", "inline", "Content-Encoding", "br", "Content-Language", "de",
	"Content-Type", "text/x", "Expires", "Thu, 01 Jan 2032 00:00:00 GMT", "x-amz-meta-who", "ada",
	"x-amz-website-redirect-location", "/other", "x-amz-storage-class", "STANDARD_IA",
	"x-amz-server-side-encryption", "aws:kms", "x-amz-server-side-encryption-bucket-key-enabled", "true",
}

// sent are headers that are not shown as they were sent.
var sent = headers{
	"x-amz-tagging", "a=1&b=%20", "x-amz-acl", "private",
	"x-amz-server-side-encryption-aws-kms-key-id", "arn:aws:kms:us-east-1:000000000000:key/k",
	"x-amz-server-side-encryption-context", base64.StdEncoding.EncodeToString([]byte(`{"a":"b"}`)),
}

// ownKey are the headers of a key of the customer, with a prefix in their names.
func ownKey(prefix string) headers {
	key := strings.Repeat("k", 32)
	digest := md5.Sum([]byte(key))
	prefix += "server-side-encryption-customer-"
	return headers{
		prefix + "algorithm", "AES256", prefix + "key", base64.StdEncoding.EncodeToString([]byte(key)),
		prefix + "key-MD5", base64.StdEncoding.EncodeToString(digest[:]),
	}
}

func TestS3Object(t *testing.T) {
	runBucket(t, "what a client says about an object is kept and shown", func(b *bucket) {
		b.put("k", "hello", append(given, sent...)...)
		for _, method := range []string{"GET", "HEAD"} {
			got := b.call(method, "k", nil, "")
			for i := 0; i < len(given); i += 2 {
				if got.header.Get(given[i]) != given[i+1] {
					b.Errorf("%s: %s is %q, want %q", method, given[i], got.header.Get(given[i]), given[i+1])
				}
			}
			if got.header.Get("x-amz-tagging-count") != "2" || got.header.Get("Content-Length") != "5" ||
				got.header.Get("Accept-Ranges") != "bytes" ||
				got.header.Get("ETag") != `"5d41402abc4b2a76b9719d911017c592"` {
				b.Errorf("%s: %v", method, got.header)
			}
		}
	})
	runBucket(t, "an object has a type, a storage class and an encryption by default", func(b *bucket) {
		if put := b.put("k", ""); put.header.Get("x-amz-server-side-encryption") != "AES256" {
			b.Errorf("put: %v", put.header)
		}
		got := b.call("HEAD", "k", nil, "")
		if got.header.Get("Content-Type") != "binary/octet-stream" || got.header.Get("x-amz-storage-class") != "" ||
			got.header.Get("x-amz-server-side-encryption") != "AES256" || got.header.Get("Content-Length") != "0" {
			b.Errorf("head: %v", got.header)
		}
	})
	runBucket(t, "keys are any text of up to 1,024 bytes", func(b *bucket) {
		for _, key := range []string{"a b+c%25", "%C3%A4/%F0%9F%98%80", "a//b/", "..%2F.%2F"} {
			b.put(key, key)
			if got := b.call("GET", key, nil, ""); got.body != key {
				b.Errorf("%s: %q", key, got.body)
			}
		}
		b.put(strings.Repeat("x", 1024), "")
		b.wants("1,025", b.call("PUT", strings.Repeat("x", 1025), nil, ""), 400, "KeyTooLongError")
	})
	runBucket(t, "ranges", func(b *bucket) {
		b.put("k", "0123456789")
		for ask, want := range map[string]string{
			"bytes=0-0": "0 bytes 0-0/10", "bytes=3-5": "345 bytes 3-5/10", "bytes=8-": "89 bytes 8-9/10",
			"bytes=-2": "89 bytes 8-9/10", "bytes=-100": "0123456789 bytes 0-9/10", "bytes=5-100": "56789 bytes 5-9/10",
		} {
			got := b.call("GET", "k", headers{"Range", ask}, "")
			if got.status != 206 || got.body+" "+got.header.Get("Content-Range") != want {
				b.Errorf("%s: %d %s %s, want %s", ask, got.status, got.body, got.header.Get("Content-Range"), want)
			}
		}
		for _, ask := range []string{"bytes=5-3", "bytes=x", "lines=1-2", "bytes=0-1,3-4"} {
			if got := b.call("GET", "k", headers{"Range", ask}, ""); got.status != 200 || got.body != "0123456789" {
				b.Errorf("%s: %d %s", ask, got.status, got.body)
			}
		}
		b.wants("beyond the end", b.call("GET", "k", headers{"Range", "bytes=10-"}, ""), 416, "InvalidRange")
		b.wants("no bytes at the end", b.call("GET", "k", headers{"Range", "bytes=-0"}, ""), 416, "InvalidRange")
		if got := b.call("HEAD", "k", headers{"Range", "bytes=1-2"}, ""); got.status != 206 ||
			got.header.Get("Content-Length") != "2" {
			b.Errorf("head: %d %v", got.status, got.header)
		}
	})
	runBucket(t, "conditions of reads", func(b *bucket) {
		put := b.put("k", "x")
		etag := put.header.Get("ETag")
		at := must(http.ParseTime(b.call("HEAD", "k", nil, "").header.Get("Last-Modified")))(b.world)
		b.pass(10 * time.Second)
		form := func(d time.Duration) string { return at.Add(d).Format(http.TimeFormat) }
		for _, method := range []string{"GET", "HEAD"} {
			for _, c := range []struct {
				h      headers
				status int
			}{
				{headers{"If-Match", etag}, 200},
				{headers{"If-Match", strings.Trim(etag, `"`)}, 200},
				{headers{"If-Match", "*"}, 200},
				{headers{"If-Match", `"x"`}, 412},
				{headers{"If-None-Match", etag}, 304},
				{headers{"If-None-Match", `"x"`}, 200},
				{headers{"If-Modified-Since", form(0)}, 304},
				{headers{"If-Modified-Since", form(-time.Second)}, 200},
				{headers{"If-Modified-Since", form(time.Hour)}, 200}, // a time in the future is ignored
				{headers{"If-Unmodified-Since", form(0)}, 200},
				{headers{"If-Unmodified-Since", form(-time.Second)}, 412},
				{headers{"If-Match", etag, "If-Unmodified-Since", form(-time.Second)}, 200},
				{headers{"If-None-Match", `"x"`, "If-Modified-Since", form(0)}, 200},
				{headers{"If-Match", "nonsense", "If-None-Match", etag}, 412},
			} {
				got := b.call(method, "k", c.h, "")
				if got.status != c.status {
					b.Errorf("%s %q: %d, want %d", method, c.h, got.status, c.status)
				}
				if got.status == 304 && (got.body != "" || got.header.Get("ETag") != etag) {
					b.Errorf("%s %q: %q %v", method, c.h, got.body, got.header)
				}
			}
		}
	})
	runBucket(t, "response-* overrides headers, of signed requests", func(b *bucket) {
		b.put("k", "x")
		query, want := "k?x=y", map[string]string{}
		for name, value := range map[string]string{
			"Cache-Control": "a", "Content-Disposition": "b", "Content-Encoding": "c", "Content-Language": "d",
			"Content-Type": "e/f", "Expires": "g",
		} {
			query += "&response-" + strings.ToLower(name) + "=" + value
			want[name] = value
		}
		for _, method := range []string{"GET", "HEAD"} {
			got := b.call(method, query, nil, "")
			for name, value := range want {
				if got.header.Get(name) != value {
					b.Errorf("%s: %s is %q, want %q", method, name, got.header.Get(name), value)
				}
			}
		}
		b.wants("not signed", b.send(b.request("GET", query, nil, "")), 400, "InvalidRequest")
	})
	runBucket(t, "a key of the customer is needed for reading", func(b *bucket) {
		put := b.put("k", "secret", ownKey("x-amz-")...)
		if put.header.Get("x-amz-server-side-encryption-customer-algorithm") != "AES256" {
			b.Errorf("put: %v", put.header)
		}
		b.wants("without", b.call("GET", "k", nil, ""), 400, "InvalidRequest")
		if got := b.call("GET", "k", ownKey("x-amz-"), ""); got.body != "secret" {
			b.Errorf("with: %d %s", got.status, got.body)
		}
		if got := b.call("HEAD", "k", ownKey("x-amz-"), ""); got.status != 200 {
			b.Errorf("head: %d", got.status)
		}
		other := ownKey("x-amz-")
		other[3] = base64.StdEncoding.EncodeToString([]byte(strings.Repeat("o", 32)))
		b.wants("another digest", b.call("GET", "k", other, ""), 400, "InvalidArgument")
	})
	runBucket(t, "versions, storage classes, metadata, headers and methods that are refused", func(b *bucket) {
		b.put("k", "x")
		for _, c := range []struct {
			method, target string
			h              headers
			status         int
			code           string
		}{
			{"GET", "k?versionId=1", nil, 400, "InvalidArgument"},
			{"PUT", "l", headers{"x-amz-storage-class", "ICE"}, 400, "InvalidStorageClass"},
			{"PUT", "l", headers{"x-amz-meta-a", strings.Repeat("x", 2048)}, 400, "MetadataTooLarge"},
			{"PUT", "l", headers{"x-amz-object-lock-mode", "COMPLIANCE"}, 501, "NotImplemented"},
			{"PUT", "l", headers{"x-amz-acl", "public-read"}, 400, "AccessControlListNotSupported"},
			{"PUT", "l", headers{"x-amz-server-side-encryption", "rot13"}, 400, "InvalidArgument"},
			{"PUT", "l", headers{"x-amz-tagging", "a=1&a=2"}, 400, "InvalidArgument"},
			{"PUT", "k?retention", nil, 501, "NotImplemented"},
			{"POST", "k?restore", nil, 501, "NotImplemented"},
			{"POST", "k", nil, 405, "MethodNotAllowed"},
			{"POST", "", headers{"Content-Type", "multipart/form-data; boundary=b"}, 501, "NotImplemented"},
			{"GET", "none", nil, 404, "NoSuchKey"},
			{"GET", "/none-" + b.name + "/k", nil, 404, "NoSuchBucket"},
		} {
			b.wants(c.method+" "+c.target, b.call(c.method, c.target, c.h, ""), c.status, c.code)
		}
		b.missing("l")
		for _, method := range []string{"GET", "HEAD"} {
			if got := b.call(method, "k?versionId=null", nil, ""); got.status != 200 {
				b.Errorf("%s of version null: %d", method, got.status)
			}
		}
	})
	runBucket(t, "an archived object is not read", func(b *bucket) {
		b.put("k", "x", "x-amz-storage-class", "GLACIER")
		b.wants("get", b.call("GET", "k", nil, ""), 403, "InvalidObjectState")
		if got := b.call("HEAD", "k", nil, ""); got.header.Get("x-amz-storage-class") != "GLACIER" {
			b.Errorf("head: %v", got.header)
		}
	})
	runBucket(t, "deletes, one by one and together", func(b *bucket) {
		for _, k := range []string{"a", "b", "c", "d"} {
			b.put(k, k)
		}
		b.wants("another etag", b.call("DELETE", "a", headers{"If-Match", `"x"`}, ""), 412, "PreconditionFailed")
		b.wants("delete", b.call("DELETE", "a?versionId=null", nil, ""), 204, "")
		b.wants("again", b.call("DELETE", "a", nil, ""), 204, "")
		b.wants("again, if it is the same", b.call("DELETE", "a", headers{"If-Match", `"x"`}, ""), 404, "NoSuchKey")
		together := func(text string) reply {
			return b.call("POST", "?delete", headers{"Content-MD5", contentMD5(text)}, text)
		}
		out := together(deleteXML("b", "none"))
		if !out.has("<Deleted><Key>b</Key></Deleted>") || !out.has("<Deleted><Key>none</Key></Deleted>") {
			b.Errorf("together: %s", out.body)
		}
		out = together("<Delete><Quiet>true</Quiet><Object><Key>c</Key></Object><Object><Key>d</Key><ETag>x</ETag></Object></Delete>")
		if out.has("<Deleted>") || !out.has("<Error><Key>d</Key><Code>PreconditionFailed</Code>") {
			b.Errorf("quiet: %s", out.body)
		}
		keys := make([]string, 1001)
		for i := range keys {
			keys[i] = fmt.Sprint(i)
		}
		b.wants("a thousand", together(deleteXML(keys[:1000]...)), 200, "")
		b.wants("more", together(deleteXML(keys...)), 400, "MalformedXML")
		b.wants("none", together("<Delete></Delete>"), 400, "MalformedXML")
		b.wants("no digest", b.call("POST", "?delete", nil, deleteXML("b")), 400, "InvalidRequest")
		b.wants("a wrong digest", b.call("POST", "?delete", headers{"Content-MD5", contentMD5("x")}, deleteXML("d")),
			400,
			"BadDigest")
		b.wants("d is still there", b.call("GET", "d", nil, ""), 200, "")
	})
	runBucket(t, "tags of objects", func(b *bucket) {
		b.put("k", "x")
		tags := func(pairs ...string) string {
			var text strings.Builder
			for i := 0; i < len(pairs); i += 2 {
				fmt.Fprintf(&text, "<Tag><Key>%s</Key><Value>%s</Value></Tag>", pairs[i], pairs[i+1])
			}
			return "<Tagging><TagSet>" + text.String() + "</TagSet></Tagging>"
		}
		b.wants("put", b.call("PUT", "k?tagging&versionId=null", nil, tags("a", "1", "b", "")), 200, "")
		if got := b.call("GET", "k?tagging&versionId=null", nil, ""); !got.has("<Key>a</Key><Value>1</Value>") {
			b.Errorf("get: %s", got.body)
		}
		b.wants("delete", b.call("DELETE", "k?tagging&versionId=null", nil, ""), 204, "")
		if got := b.call("GET", "k?tagging", nil, ""); !got.has("<TagSet></TagSet>") && !got.has("<TagSet/>") {
			b.Errorf("get: %s", got.body)
		}
		var eleven []string
		for i := range 11 {
			eleven = append(eleven, fmt.Sprint(i), "x")
		}
		b.wants("eleven", b.call("PUT", "k?tagging", nil, tags(eleven...)), 400, "BadRequest")
		b.wants("twice", b.call("PUT", "k?tagging", nil, tags("a", "1", "a", "2")), 400, "InvalidTag")
		b.wants("of AWS", b.call("PUT", "k?tagging", nil, tags("aws:a", "1")), 400, "InvalidTag")
		b.wants("long", b.call("PUT", "k?tagging", nil, tags(strings.Repeat("k", 129), "1")), 400, "InvalidTag")
		b.wants("malformed", b.call("PUT", "k?tagging", nil, "<Tagging><X/></Tagging>"), 400, "MalformedXML")
		b.wants("no object", b.call("PUT", "none?tagging", nil, tags("a", "1")), 404, "NoSuchKey")
	})
	runBucket(t, "parts of S3 that are not built answer as for an object without them", func(b *bucket) {
		b.put("k", "x")
		if got := b.call("GET", "k?acl&versionId=null", nil, ""); !got.has("FULL_CONTROL") ||
			!got.has(`xsi:type="CanonicalUser"`) {
			b.Errorf("acl: %s", got.body)
		}
		b.wants("retention", b.call("GET", "k?retention&versionId=null", nil, ""), 400, "InvalidRequest")
		b.wants("legal hold", b.call("GET", "k?legal-hold&versionId=null", nil, ""), 400, "InvalidRequest")
	})
	runBucket(t, "presigned URLs are good until they expire, on the server's clock", func(b *bucket) {
		b.put("k", "x")
		signed := must(s3.NewPresignClient(b.s3).PresignGetObject(b.ctx, &s3.GetObjectInput{
			Bucket: &b.name,
			Key:    new("k"),
		},
			s3.WithPresignExpires(5*time.Second)))(b.world)
		get := func() reply {
			r := must(http.NewRequestWithContext(b.ctx, signed.Method, signed.URL, nil))(b.world)
			return b.send(r)
		}
		b.wants("at once", get(), 200, "")
		b.pass(6 * time.Second)
		b.wants("later", get(), 403, "AccessDenied")
		bad := strings.Replace(signed.URL, "X-Amz-Expires=5", "X-Amz-Expires=604801", 1)
		r := must(http.NewRequestWithContext(b.ctx, "GET", bad, nil))(b.world)
		b.wants("too long", b.send(r), 400, "AuthorizationQueryParametersError")
	})
}
