package conformance

import (
	"fmt"
	"strings"
	"testing"
)

// The cases of this file are what AWS answered on 2026-02-21 (repository localstack/localstack, tests/aws/services/s3,
// test_s3.snapshot.json, TestS3MultipartUploadChecksum and TestS3).

func TestRecordedS3Completion(t *testing.T) {
	runBucket(t, "no parts are an invalid request, and an unknown upload comes first", func(b *bucket) {
		id := b.start("k")
		got := b.complete("k", id, completeXML(nil))
		b.wants("no parts", got, 400, "InvalidRequest")
		if !got.has("You must specify at least one part") {
			b.Errorf("no parts: %s", got.body)
		}
		b.wants("no upload", b.complete("k", "fakeid", completeXML(nil)), 404, "NoSuchUpload")
	})
	runBucket(t, "an upload without an algorithm has no type, no checksums of parts, and ignores a header", func(b *bucket) {
		id := b.start("k")
		etag := b.part("k", id, 1, "aaa", "x-amz-checksum-crc32", crc32Of("aaa"))
		own := []string{"<ChecksumCRC32>" + crc32Of("aaa") + "</ChecksumCRC32>"}
		b.wants("with that of the part", b.complete("k", id, completeXML(own, etag)), 400, "InvalidPart")
		for _, kind := range []string{"FULL_OBJECT", "COMPOSITE"} {
			got := b.complete("k", id, completeXML(nil, etag), "x-amz-checksum-type", kind)
			b.wants(kind, got, 400, "InvalidRequest")
			if !got.has("using the null checksum mode") {
				b.Errorf("%s: %s", kind, got.body)
			}
		}
		b.wants("a header", b.complete("k", id, completeXML(nil, etag), "x-amz-checksum-crc32", "AAAAAA==-2"), 200, "")
		head := b.call("HEAD", "k", headers{"x-amz-checksum-mode", "ENABLED"}, "").header
		if got := head.Get("x-amz-checksum-crc64nvme"); got != "Rnr2/5P7Gsk=" {
			b.Errorf("the checksum of aaa is %q", got)
		}
	})
	runBucket(t, "a part's checksum by another algorithm is BadDigest, and none an invalid request", func(b *bucket) {
		id := b.start("k", "x-amz-checksum-algorithm", "CRC32")
		etag := b.part("k", id, 1, "abc", "x-amz-checksum-crc32", crc32Of("abc"))
		other := []string{"<ChecksumSHA256>ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=</ChecksumSHA256>"}
		got := b.complete("k", id, completeXML(other, etag))
		b.wants("another", got, 400, "BadDigest")
		if !got.has("The sha256 you specified for part 1 did not match what we received.") {
			b.Errorf("another: %s", got.body)
		}
		b.wants("none", b.complete("k", id, completeXML(nil, etag)), 400, "InvalidRequest")
		wrong := []string{"<ChecksumCRC32>AAAAAA==</ChecksumCRC32>"}
		b.wants("a wrong one", b.complete("k", id, completeXML(wrong, etag)), 400, "InvalidPart")
		b.missing("k")
	})
	runBucket(t, "a checksum of the full object needs its type, and every other header is BadDigest", func(b *bucket) {
		id := b.start("k", "x-amz-checksum-algorithm", "CRC32C", "x-amz-checksum-type", "FULL_OBJECT")
		etag := b.part("k", id, 1, "abc", "x-amz-checksum-crc32c", "Nks/tw==")
		parts := completeXML([]string{"<ChecksumCRC32C>Nks/tw==</ChecksumCRC32C>"}, etag)
		const kind, full, crc32c = "x-amz-checksum-type", "FULL_OBJECT", "x-amz-checksum-crc32c"
		b.wants("another mode", b.complete("k", id, parts, kind, "COMPOSITE"), 400, "InvalidRequest")
		for what, h := range map[string]headers{
			"a composite one":            {crc32c, "AAAAAA==-1"},
			"without the type":           {crc32c, "Nks/tw=="},
			"of another algorithm":       {"x-amz-checksum-crc64nvme", "BeXKuz/B+us="},
			"a wrong one":                {crc32c, "AAAAAA==", kind, full},
			"a wrong one of another one": {"x-amz-checksum-crc32", "AAAAAA==", kind, full},
		} {
			got := b.complete("k", id, parts, h...)
			b.wants(what, got, 400, "BadDigest")
			if !got.has("The crc32c you specified did not match the calculated checksum.") {
				b.Errorf("%s: %s", what, got.body)
			}
		}
		b.missing("k")
		b.wants("complete", b.complete("k", id, parts, crc32c, "Nks/tw==", kind, full), 200, "")
	})
	runBucket(t, "one of several parts shows its checksum only if that of the object is composite", func(b *bucket) {
		for kind, want := range map[string]string{"FULL_OBJECT": "", "COMPOSITE": crc32Of("abc")} {
			id := b.start("k", "x-amz-checksum-algorithm", "CRC32", "x-amz-checksum-type", kind)
			one := b.part("k", id, 1, fiveMiB, "x-amz-checksum-crc32", crc32Of(fiveMiB))
			two := b.part("k", id, 2, "abc", "x-amz-checksum-crc32", crc32Of("abc"))
			own := []string{
				"<ChecksumCRC32>" + crc32Of(fiveMiB) + "</ChecksumCRC32>",
				"<ChecksumCRC32>" + crc32Of("abc") + "</ChecksumCRC32>",
			}
			b.wants(kind, b.complete("k", id, completeXML(own, one, two)), 200, "")
			part := b.call("GET", "k?partNumber=2", headers{"x-amz-checksum-mode", "ENABLED"}, "").header
			got, has := part.Get("x-amz-checksum-crc32"), part.Get("x-amz-checksum-type")
			if got != want || (has == "") != (want == "") {
				b.Errorf("%s: the part has %q %q", kind, got, has)
			}
			attributes := b.call("GET", "k?attributes", headers{"x-amz-object-attributes", "Checksum"}, "")
			if attributes.has("-2</Checksum") || !attributes.has("<ChecksumType>"+kind) {
				b.Errorf("%s: attributes %s", kind, attributes.body)
			}
		}
		id := b.start("k", "x-amz-checksum-algorithm", "CRC32", "x-amz-checksum-type", "FULL_OBJECT")
		b.wants("one", b.complete("k", id, completeXML(nil, b.part("k", id, 1, "abc"))), 200, "")
		part := b.call("GET", "k?partNumber=1", headers{"x-amz-checksum-mode", "ENABLED"}, "").header
		if got := part.Get("x-amz-checksum-crc32"); got != crc32Of("abc") {
			b.Errorf("the only part: %q", got)
		}
	})
	runBucket(t, "a completion with a key of KMS does not tell the checksum", func(b *bucket) {
		id := b.start("k", "x-amz-server-side-encryption", "aws:kms")
		got := b.complete("k", id, completeXML(nil, b.part("k", id, 1, "x")))
		if got.status != 200 || got.has("Checksum") {
			b.Errorf("complete: %d %s", got.status, got.body)
		}
	})
	runBucket(t, "x-amz-checksum-algorithm of a PUT is ignored", func(b *bucket) {
		for _, name := range []string{"SHA256", "TEST"} {
			put := b.put("k", "test data..", "x-amz-checksum-algorithm", name)
			if got := put.header.Get("x-amz-checksum-crc64nvme"); got != "qUVrWYOrIAM=" {
				b.Errorf("%s: %v", name, put.header)
			}
		}
	})
}

// TestS3CompletionAgain: CompleteMultipartUpload may be sent again, as SDKs do that have lost the answer (Amazon S3 API
// Reference, CompleteMultipartUpload: prepare applications to retry).
func TestS3CompletionAgain(t *testing.T) {
	runBucket(t, "the same parts have the same answer, and nothing is changed", func(b *bucket) {
		id := b.start("k")
		etag := b.part("k", id, 1, "one")
		first := b.complete("k", id, completeXML(nil, etag))
		b.wants("complete", first, 200, "")
		again := b.complete("k", id, completeXML(nil, strings.Trim(etag, `"`)), "If-None-Match", "*")
		b.wants("again", again, 200, "")
		if again.body != first.body {
			b.Errorf("the answers differ:\n%s\n%s", first.body, again.body)
		}
		b.put("k", "later")
		b.wants("behind a write", b.complete("k", id, completeXML(nil, etag)), 200, "")
		if got := b.call("GET", "k", nil, ""); got.body != "later" {
			b.Errorf("the object is %q", got.body)
		}
	})
	runBucket(t, "other parts, another key and an aborted upload are NoSuchUpload", func(b *bucket) {
		id := b.start("k")
		etag := b.part("k", id, 1, "one")
		b.wants("complete", b.complete("k", id, completeXML(nil, etag)), 200, "")
		b.wants("other parts", b.complete("k", id, completeXML(nil, etag, etag)), 404, "NoSuchUpload")
		b.wants("another key", b.complete("l", id, completeXML(nil, etag)), 404, "NoSuchUpload")
		b.wants("a part", b.call("PUT", "k?partNumber=2&uploadId="+id, nil, "x"), 404, "NoSuchUpload")
		id = b.start("k")
		etag = b.part("k", id, 1, "one")
		b.wants("abort", b.call("DELETE", "k?uploadId="+id, nil, ""), 204, "")
		b.wants("aborted", b.complete("k", id, completeXML(nil, etag)), 404, "NoSuchUpload")
	})
	runBucket(t, "requests at the same time all have the same answer", func(b *bucket) {
		id := b.start("k")
		xml := completeXML(nil, b.part("k", id, 1, "one"))
		answers := make(chan string, 8)
		for range cap(answers) {
			b.beside(func() {
				got := b.complete("k", id, xml)
				answers <- fmt.Sprint(got.status, got.body)
			})
		}
		first := <-answers
		for range cap(answers) - 1 {
			if got := <-answers; got != first || !strings.HasPrefix(got, "200") {
				b.Errorf("the answers differ:\n%s\n%s", first, got)
			}
		}
	})
}
