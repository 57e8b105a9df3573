package conformance

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
)

// fiveMiB is the smallest part that need not be the last.
var fiveMiB = strings.Repeat("0123456789abcdef", 5<<20/16)

// start begins an upload and returns its id.
func (b *bucket) start(key string, h ...string) string {
	b.Helper()
	r := b.call("POST", key+"?uploads", h, "")
	b.wants("start", r, 200, "")
	_, id, _ := strings.Cut(r.body, "<UploadId>")
	id, _, _ = strings.Cut(id, "<")
	return id
}

// part uploads a part and returns its ETag.
func (b *bucket) part(key, id string, n int, body string, h ...string) string {
	b.Helper()
	r := b.call("PUT", fmt.Sprintf("%s?partNumber=%d&uploadId=%s", key, n, id), h, body)
	b.wants("part", r, 200, "")
	return r.header.Get("ETag")
}

// completeXML is the body that completes an upload of parts with these ETags; more is added to each.
func completeXML(more []string, etags ...string) string {
	var all strings.Builder
	for i, e := range etags {
		fmt.Fprintf(&all, "<Part><PartNumber>%d</PartNumber><ETag>%s</ETag>", i+1, e)
		if more != nil {
			all.WriteString(more[i])
		}
		all.WriteString("</Part>")
	}
	return "<CompleteMultipartUpload>" + all.String() + "</CompleteMultipartUpload>"
}

func (b *bucket) complete(key, id, body string, h ...string) reply {
	b.Helper()
	return b.call("POST", key+"?uploadId="+id, h, body)
}

func TestS3Multipart(t *testing.T) {
	runBucket(t, "parts become one object, with what the upload was created with", func(b *bucket) {
		id := b.start("k", append(append(headers{}, given...), sent...)...)
		one, two := b.part("k", id, 1, fiveMiB), b.part("k", id, 2, "end")
		done := b.complete("k", id, completeXML(nil, one, two), "x-amz-mp-object-size", fmt.Sprint(len(fiveMiB)+3))
		b.wants("complete", done, 200, "")
		if !done.has("-2&quot;</ETag>") {
			b.Errorf("complete: %s", done.body)
		}
		got := b.call("GET", "k", headers{"x-amz-checksum-mode", "ENABLED"}, "")
		if got.header.Get("x-amz-checksum-crc64nvme") == "" || got.header.Get("x-amz-checksum-type") != "FULL_OBJECT" {
			b.Errorf("checksum: %v", got.header)
		}
		if got.body != fiveMiB+"end" || got.header.Get("x-amz-meta-who") != "ada" ||
			got.header.Get("x-amz-tagging-count") != "2" {
			b.Errorf("get: %d bytes %v", len(got.body), got.header)
		}
		part := b.call("GET", "k?partNumber=2", nil, "")
		if part.status != 206 || part.body != "end" || part.header.Get("x-amz-mp-parts-count") != "2" {
			b.Errorf("part 2: %d %v", part.status, part.header)
		}
		b.wants("part 3", b.call("GET", "k?partNumber=3", nil, ""), 416, "InvalidPartNumber")
		b.wants("part 0", b.call("GET", "k?partNumber=0", nil, ""), 400, "InvalidArgument")
		b.wants("a part and a range", b.call("GET", "k?partNumber=1", headers{"Range", "bytes=0-1"}, ""), 400,
			"InvalidRequest")
		if head := b.call("HEAD", "k?partNumber=2", nil, ""); head.header.Get("Content-Length") != "3" {
			b.Errorf("head of part 2: %v", head.header)
		}
		b.wants("the upload is over", b.complete("k", id, completeXML(nil, one)), 404, "NoSuchUpload")
	})
	runBucket(t, "a part may be uploaded again, and left out", func(b *bucket) {
		id := b.start("k")
		b.part("k", id, 1, "first")
		second := b.part("k", id, 1, "second")
		b.part("k", id, 2, "left out")
		b.wants("complete", b.complete("k", id, completeXML(nil, second)), 200, "")
		if got := b.call("GET", "k", nil, ""); got.body != "second" {
			b.Errorf("get: %s", got.body)
		}
	})
	runBucket(t, "what cannot be completed is refused, and can be completed later", func(b *bucket) {
		id := b.start("k")
		small, last := b.part("k", id, 1, "small"), b.part("k", id, 2, "last")
		b.wants("too small", b.complete("k", id, completeXML(nil, small, last)), 400, "EntityTooSmall")
		b.wants("another etag", b.complete("k", id, completeXML(nil, last)), 400, "InvalidPart")
		b.wants("no such part", b.complete("k", id, completeXML(nil, small, last, "x")), 400, "InvalidPart")
		b.wants("order", b.complete("k", id, "<CompleteMultipartUpload><Part><PartNumber>2</PartNumber><ETag>"+last+
			"</ETag></Part><Part><PartNumber>1</PartNumber><ETag>"+small+"</ETag></Part></CompleteMultipartUpload>"),
			400,
			"InvalidPartOrder")
		b.wants("no parts", b.complete("k", id, "<CompleteMultipartUpload/>"), 400, "InvalidRequest")
		b.wants("malformed", b.complete("k", id, "<Complete"), 400, "MalformedXML")
		b.wants("another size", b.complete("k", id, completeXML(nil, small), "x-amz-mp-object-size", "4"), 400,
			"InvalidRequest")
		b.missing("k")
		b.wants("complete", b.complete("k", id, completeXML(nil, small)), 200, "")
	})
	runBucket(t, "part numbers, uploads and parts that are refused", func(b *bucket) {
		id := b.start("k")
		for _, n := range []int{0, 10_001} {
			b.wants(fmt.Sprint(n), b.call("PUT", fmt.Sprintf("k?partNumber=%d&uploadId=%s", n, id), nil, "x"), 400,
				"InvalidArgument")
		}
		b.wants("no upload", b.call("PUT", "k?partNumber=1&uploadId=x", nil, "x"), 404, "NoSuchUpload")
		b.wants("another key", b.call("PUT", "l?partNumber=1&uploadId="+id, nil, "x"), 404, "NoSuchUpload")
		b.wants("a wrong checksum", b.call("PUT", "k?partNumber=1&uploadId="+id,
			headers{"x-amz-checksum-crc32", "AAAAAA=="}, "x"), 400, "BadDigest")
		if got := b.call("GET", "k?uploadId="+id, nil, ""); got.has("<Part>") {
			b.Errorf("a refused part is listed: %s", got.body)
		}
		b.wants("abort", b.call("DELETE", "k?uploadId="+id, nil, ""), 204, "")
		b.wants("again", b.call("DELETE", "k?uploadId="+id, nil, ""), 404, "NoSuchUpload")
		b.wants("a part", b.call("PUT", "k?partNumber=1&uploadId="+id, nil, "x"), 404, "NoSuchUpload")
	})
	runBucket(t, "parts are listed in pages", func(b *bucket) {
		id := b.start("k")
		for n := 1; n <= 3; n++ {
			b.part("k", id, n, fmt.Sprint(n))
		}
		first := b.call("GET", "k?max-parts=2&uploadId="+id, nil, "")
		if !first.has("<NextPartNumberMarker>2<") || !first.has("<IsTruncated>true<") || first.has("<PartNumber>3<") {
			b.Errorf("first page: %s", first.body)
		}
		rest := b.call("GET", "k?part-number-marker=2&uploadId="+id, nil, "")
		if !rest.has("<PartNumber>3<") || rest.has("<PartNumber>2<") || !rest.has("<IsTruncated>false<") {
			b.Errorf("second page: %s", rest.body)
		}
	})
	runBucket(t, "uploads are listed by key, in groups and pages", func(b *bucket) {
		for _, k := range []string{"a/1", "a/2", "b", "c"} {
			b.start(k)
		}
		first := b.call("GET", "?uploads&delimiter=/&max-uploads=2&encoding-type=url", nil, "")
		if !first.has("<Prefix>a/</Prefix>") || !first.has("<Key>b</Key>") ||
			!first.has("<NextKeyMarker>b</NextKeyMarker>") ||
			first.has("<Key>c<") {
			b.Errorf("first page: %s", first.body)
		}
		_, id, _ := strings.Cut(first.body, "<NextUploadIdMarker>")
		id, _, _ = strings.Cut(id, "<")
		rest := b.call("GET", "?uploads&key-marker=b&upload-id-marker="+id, nil, "")
		if !rest.has("<Key>c</Key>") || rest.has("<Key>b<") {
			b.Errorf("second page: %s", rest.body)
		}
		if got := b.call("GET", "?uploads&prefix=a/", nil, ""); strings.Count(got.body, "<Upload>") != 2 {
			b.Errorf("by prefix: %s", got.body)
		}
	})
	runBucket(t, "a composite checksum is that of the parts' checksums", func(b *bucket) {
		id := b.start("k", "x-amz-checksum-algorithm", "SHA256")
		b.wants("a part without", b.call("PUT", "k?partNumber=1&uploadId="+id, nil, "x"), 400, "InvalidRequest")
		b.wants("a part with another", b.call("PUT", "k?partNumber=1&uploadId="+id,
			headers{"x-amz-checksum-crc32", crc32Of("x")}, "x"), 400, "InvalidRequest")
		sum := sha256.Sum256([]byte("x"))
		text := base64.StdEncoding.EncodeToString(sum[:])
		etag := b.part("k", id, 1, "x", "x-amz-checksum-sha256", text)
		b.wants("without checksums", b.complete("k", id, completeXML(nil, etag)), 400, "InvalidRequest")
		more := []string{"<ChecksumSHA256>" + text + "</ChecksumSHA256>"}
		whole := sha256.Sum256(sum[:])
		want := base64.StdEncoding.EncodeToString(whole[:]) + "-1"
		b.wants("another mode", b.complete("k", id, completeXML(more, etag), "x-amz-checksum-type", "FULL_OBJECT"), 400,
			"InvalidRequest")
		b.wants("a wrong one", b.complete("k", id, completeXML(more, etag), "x-amz-checksum-sha256", text), 400,
			"BadDigest")
		done := b.complete("k", id, completeXML(more, etag), "x-amz-checksum-sha256", want, "x-amz-checksum-type",
			"COMPOSITE")
		if !done.has("<ChecksumSHA256>"+want+"</ChecksumSHA256>") || !done.has("<ChecksumType>COMPOSITE<") {
			b.Errorf("complete: %s", done.body)
		}
		got := b.call("HEAD", "k", headers{"x-amz-checksum-mode", "ENABLED"}, "")
		if got.header.Get("x-amz-checksum-sha256") != want {
			b.Errorf("head: %v", got.header)
		}
	})
	runBucket(t, "a checksum of the full object is combined of the parts'", func(b *bucket) {
		for _, name := range []string{"crc32", "crc32c", "crc64nvme"} {
			id := b.start(name, "x-amz-checksum-algorithm", strings.ToUpper(name), "x-amz-checksum-type", "FULL_OBJECT")
			one, two := b.part(name, id, 1, fiveMiB), b.part(name, id, 2, "end")
			header := "x-amz-checksum-" + name
			wrong := "AAAAAA=="
			if name == "crc64nvme" {
				wrong = "AAAAAAAAAAA="
			}
			b.wants("a wrong one", b.complete(name, id, completeXML(nil, one, two), header, wrong), 400, "BadDigest")
			b.wants("complete", b.complete(name, id, completeXML(nil, one, two)), 200, "")
			want := b.call("HEAD", name, headers{"x-amz-checksum-mode", "ENABLED"}, "").header.Get(header)
			whole := b.call("PUT", "whole", headers{header, want}, fiveMiB+"end")
			b.wants(name+" of the whole", whole, 200, "")
		}
		b.wants("digests are not combined", b.call("POST", "k?uploads",
			headers{"x-amz-checksum-algorithm", "SHA1", "x-amz-checksum-type", "FULL_OBJECT"}, ""), 400,
			"InvalidRequest")
		id := b.start("sha1", "x-amz-checksum-algorithm", "SHA1")
		b.wants("no parts", b.complete("sha1", id, completeXML(nil, "x"), "x-amz-checksum-sha1", "x"), 400,
			"InvalidPart")
	})
	runBucket(t, "an upload with a key of the customer needs it for every part", func(b *bucket) {
		id := b.start("k", ownKey("x-amz-")...)
		b.wants("without", b.call("PUT", "k?partNumber=1&uploadId="+id, nil, "x"), 400, "InvalidRequest")
		etag := b.part("k", id, 1, "x", ownKey("x-amz-")...)
		b.wants("complete", b.complete("k", id, completeXML(nil, etag), ownKey("x-amz-")...), 200, "")
		copied := b.start("l", ownKey("x-amz-")...)
		h := append(append(ownKey("x-amz-"), ownKey("x-amz-copy-source-")...), "x-amz-copy-source", b.name+"/k")
		b.wants("copy", b.call("PUT", "l?partNumber=1&uploadId="+copied, h, ""), 200, "")
	})
	runBucket(t, "a part is copied from an object, or a range of it", func(b *bucket) {
		source := b.put("from", "0123456789")
		id := b.start("k")
		at := "k?partNumber=1&uploadId=" + id
		from := headers{
			"x-amz-copy-source", "/" + b.name + "/from", "x-amz-copy-source-range", "bytes=2-5",
			"x-amz-copy-source-if-match", source.header.Get("ETag"), "x-amz-copy-source-if-none-match", `"x"`,
			"x-amz-copy-source-if-modified-since", "Thu, 01 Jan 1998 00:00:00 GMT",
			"x-amz-copy-source-if-unmodified-since", "Thu, 01 Jan 2099 00:00:00 GMT",
			"x-amz-source-expected-bucket-owner", "000000000000",
		}
		copied := b.call("PUT", at, from, "")
		b.wants("copy", copied, 200, "")
		_, etag, _ := strings.Cut(copied.body, "<ETag>")
		etag, _, _ = strings.Cut(etag, "<")
		b.wants("complete", b.complete("k", id, completeXML(nil, etag)), 200, "")
		if got := b.call("GET", "k", nil, ""); got.body != "2345" {
			b.Errorf("get: %s", got.body)
		}
		id = b.start("k")
		at = "k?partNumber=1&uploadId=" + id
		for _, bad := range []string{"bytes=5-10", "bytes=5-", "bytes=-5", "5-6"} {
			b.wants(bad, b.call("PUT", at, headers{
				"x-amz-copy-source", b.name + "/from", "x-amz-copy-source-range", bad,
			}, ""), 400, "InvalidArgument")
		}
		b.wants("no source", b.call("PUT", at, headers{"x-amz-copy-source", b.name + "/none"}, ""), 404, "NoSuchKey")
	})
}

func TestS3Copy(t *testing.T) {
	runBucket(t, "a copy has its source's properties, or others", func(b *bucket) {
		b.put("from%20x", "hello", append(append(headers{}, given...), sent...)...)
		source := headers{"x-amz-copy-source", "/" + b.name + "/from%20x?versionId=null"}
		copied := b.call("PUT", "to", append(append(headers{}, source...),
			"x-amz-source-expected-bucket-owner", "000000000000"), "")
		b.wants("copy", copied, 200, "")
		got := b.call("GET", "to", nil, "")
		if got.body != "hello" || got.header.Get("x-amz-meta-who") != "ada" ||
			got.header.Get("Content-Type") != "text/x" ||
			got.header.Get("x-amz-tagging-count") != "2" || got.header.Get("x-amz-storage-class") != "" {
			b.Errorf("copy: %s %v", got.body, got.header)
		}
		replaced := append(append(append(headers{}, source...), given...), sent...)
		replaced = append(replaced, "x-amz-metadata-directive", "REPLACE", "x-amz-tagging-directive", "REPLACE",
			"x-amz-checksum-algorithm", "SHA256", "x-amz-meta-who", "bob")
		copied = b.call("PUT", "to", replaced, "")
		if copied.status != 200 || !copied.has("<ChecksumSHA256>LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ=<") {
			b.Errorf("replace: %s", copied.body)
		}
		if got := b.call("GET", "to", nil, ""); got.header.Get("x-amz-meta-who") != "bob" ||
			got.header.Get("x-amz-storage-class") != "STANDARD_IA" {
			b.Errorf("replaced: %v", got.header)
		}
	})
	runBucket(t, "a copy of parts is put as a whole", func(b *bucket) {
		id := b.start("from")
		etag := b.part("from", id, 1, "hello")
		b.wants("complete", b.complete("from", id, completeXML(nil, etag)), 200, "")
		b.wants("copy", b.call("PUT", "to", headers{"x-amz-copy-source", b.name + "/from"}, ""), 200, "")
		if got := b.call("HEAD", "to", nil, ""); got.header.Get("ETag") != `"5d41402abc4b2a76b9719d911017c592"` {
			b.Errorf("etag %s", got.header.Get("ETag"))
		}
	})
	runBucket(t, "conditions of the source, and of the target", func(b *bucket) {
		etag := b.put("from", "hello").header.Get("ETag")
		b.put("there", "x")
		try := func(key string, h ...string) reply {
			return b.call("PUT", key, append(headers{"x-amz-copy-source", b.name + "/from"}, h...), "")
		}
		past, future := "Thu, 01 Jan 1998 00:00:00 GMT", "Thu, 01 Jan 2099 00:00:00 GMT"
		for _, c := range []struct {
			h      []string
			status int
		}{
			{[]string{"x-amz-copy-source-if-match", etag}, 200},
			{[]string{"x-amz-copy-source-if-match", `"x"`}, 412},
			{[]string{"x-amz-copy-source-if-none-match", etag}, 412},
			{[]string{"x-amz-copy-source-if-none-match", `"x"`}, 200},
			{[]string{"x-amz-copy-source-if-modified-since", past}, 200},
			{[]string{"x-amz-copy-source-if-modified-since", future}, 200},
			{[]string{"x-amz-copy-source-if-unmodified-since", past}, 412},
			{[]string{"x-amz-copy-source-if-unmodified-since", future}, 200},
		} {
			if got := try("to", c.h...); got.status != c.status {
				b.Errorf("%q: %d, want %d", c.h, got.status, c.status)
			}
		}
		b.wants("if absent", try("there", "If-None-Match", "*"), 412, "PreconditionFailed")
		b.wants("if the same", try("there", "If-Match", `"x"`), 412, "PreconditionFailed")
	})
	runBucket(t, "copies that are refused", func(b *bucket) {
		b.put("from", "hello")
		for what, want := range map[string]string{
			b.name + "/none": "404 NoSuchKey", "x": "400 InvalidArgument",
			"none-" + b.name + "/k": "404 NoSuchBucket", b.name + "/from?versionId=1": "400 InvalidArgument",
		} {
			got := b.call("PUT", "to", headers{"x-amz-copy-source", what}, "")
			if fmt.Sprint(got.status, " ", got.code()) != want {
				b.Errorf("%s: %d %s, want %s", what, got.status, got.code(), want)
			}
		}
		self := headers{"x-amz-copy-source", b.name + "/from"}
		b.wants("to itself", b.call("PUT", "from", self, ""), 400, "InvalidRequest")
		b.wants("to itself, changed", b.call("PUT", "from", append(self, "x-amz-storage-class", "STANDARD_IA"), ""),
			200, "")
		b.wants("a directive", b.call("PUT", "to", append(self, "x-amz-metadata-directive", "X"), ""), 400,
			"InvalidArgument")
	})
	runBucket(t, "a source with a key of the customer needs it", func(b *bucket) {
		b.put("from", "secret", ownKey("x-amz-")...)
		source := headers{"x-amz-copy-source", b.name + "/from"}
		b.wants("without", b.call("PUT", "to", source, ""), 400, "InvalidRequest")
		with := append(append(source, ownKey("x-amz-copy-source-")...), ownKey("x-amz-")...)
		b.wants("with", b.call("PUT", "to", with, ""), 200, "")
	})
}
