package conformance

import "testing"

// The cases of this file are what AWS answered from 2025-01 to 2026-02 (repository localstack/localstack,
// tests/aws/services/s3, test_s3.snapshot.json, test_s3_api.snapshot.json).

func TestRecordedS3Answers(t *testing.T) {
	runBucket(t, "an error names the bucket or the key, and no resource", func(b *bucket) {
		for target, want := range map[string]string{
			"none":                "<Key>none</Key>",
			"/none-" + b.name:     "<BucketName>none-" + b.name + "</BucketName>",
			"?tagging":            "<BucketName>" + b.name + "</BucketName>",
			"?policy":             "<BucketName>" + b.name + "</BucketName>",
			"k?uploadId=none":     "<UploadId>none</UploadId>",
			"?encoding-type=text": "<ArgumentName>encoding-type</ArgumentName>",
		} {
			got := b.call("GET", target, nil, "")
			if got.status/100 != 4 || !got.has(want) || got.has("<Resource>") {
				b.Errorf("%s: %d %s, want %s and no resource", target, got.status, got.body, want)
			}
		}
	})
	runBucket(t, "an initiator has a display name, and an owner has none", func(b *bucket) {
		id := b.start("k")
		for _, target := range []string{"?uploads", "k?uploadId=" + id} {
			got := b.call("GET", target, nil, "")
			if initiator := got.element("Initiator"); !initiator.has("<ID>") || !initiator.has("<DisplayName>") {
				b.Errorf("%s: initiator %s", target, initiator.body)
			}
			if owner := got.element("Owner"); !owner.has("<ID>") || owner.has("DisplayName") {
				b.Errorf("%s: owner %s", target, owner.body)
			}
		}
	})
}
