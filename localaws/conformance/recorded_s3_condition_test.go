package conformance

import "testing"

// TestRecordedS3Conditions: what AWS answered on 2025-03-17 when an upload was completed with a condition, and its key
// was written or deleted after the upload was created (repository localstack/localstack, tests/aws/services/s3,
// test_s3_api.snapshot.json, TestS3ObjectWritePrecondition).
func TestRecordedS3Conditions(t *testing.T) {
	begin := func(b *bucket) (id, xml string) {
		id = b.start("k")
		return id, completeXML(nil, b.part("k", id, 1, "part"))
	}
	runBucket(t, "If-None-Match: an object is 412, a deleted one 409, and a new upload succeeds", func(b *bucket) {
		b.put("k", "x")
		id, xml := begin(b)
		b.wants("there", b.complete("k", id, xml, "If-None-Match", "*"), 412, "PreconditionFailed")
		b.call("DELETE", "k", nil, "")
		b.wants("deleted", b.complete("k", id, xml, "If-None-Match", "*"), 409, "ConditionalRequestConflict")
		id, xml = begin(b)
		b.wants("restarted", b.complete("k", id, xml, "If-None-Match", "*"), 200, "")
	})
	runBucket(t, "If-None-Match: an object that was put during the upload is 412", func(b *bucket) {
		id, xml := begin(b)
		b.put("k", "x")
		b.wants("put", b.complete("k", id, xml, "If-None-Match", "*"), 412, "PreconditionFailed")
	})
	runBucket(t, "If-Match: what was put during the upload is 412 by its old ETag, and 409 by its new one", func(b *bucket) {
		old := b.put("k", "test").header.Get("ETag")
		id, xml := begin(b)
		now := b.put("k", "other").header.Get("ETag")
		b.wants("old", b.complete("k", id, xml, "If-Match", old), 412, "PreconditionFailed")
		b.wants("new", b.complete("k", id, xml, "If-Match", now), 409, "ConditionalRequestConflict")
		id, xml = begin(b)
		b.wants("restarted", b.complete("k", id, xml, "If-Match", now), 200, "")
	})
	runBucket(t, "If-Match: the same content, put again during the upload, is 409", func(b *bucket) {
		etag := b.put("k", "test").header.Get("ETag")
		id, xml := begin(b)
		b.put("k", "test")
		b.wants("put", b.complete("k", id, xml, "If-Match", etag), 409, "ConditionalRequestConflict")
	})
	runBucket(t, "If-Match: a deleted object is 404, and 409 when it was put again", func(b *bucket) {
		etag := b.put("k", "test").header.Get("ETag")
		id, xml := begin(b)
		b.call("DELETE", "k", nil, "")
		b.wants("deleted", b.complete("k", id, xml, "If-Match", etag), 404, "NoSuchKey")
		b.put("k", "test")
		b.wants("put again", b.complete("k", id, xml, "If-Match", etag), 409, "ConditionalRequestConflict")
	})
	runBucket(t, "If-Match: any text is an ETag, but * is not implemented for writes", func(b *bucket) {
		b.wants("star", b.call("PUT", "k", headers{"If-Match", "*"}, ""), 501, "NotImplemented")
		b.wants("text", b.call("PUT", "k", headers{"If-Match", "abcdef"}, ""), 404, "NoSuchKey")
	})
}
