package conformance

import "testing"

// The cases of this file are what AWS answered in 2026-02 (repository localstack/localstack, tests/aws/services/s3,
// test_s3.snapshot.json), unless another source is named.

func TestRecordedS3Copies(t *testing.T) {
	copying := func(b *bucket, source, to string, h ...string) reply {
		return b.call("PUT", to, append(headers{"x-amz-copy-source", source}, h...), "")
	}
	runBucket(t, "a plus in the source is a space, as some clients write it", func(b *bucket) {
		b.put("a%20b", "space")
		b.put("a%2Bb", "plus")
		for source, want := range map[string]string{"a+b": "space", "a%20b": "space", "a%2Bb": "plus"} {
			b.wants(source, copying(b, b.name+"/"+source, "to"), 200, "")
			if got := b.call("GET", "to", nil, ""); got.body != want {
				b.Errorf("%s: %s, want %s", source, got.body, want)
			}
		}
	})
	runBucket(t, "the URL of an object is a source", func(b *bucket) { // test_response_structure
		b.put("from", "x")
		for _, site := range []string{b.endpoint, "https://s3.amazonaws.com"} {
			b.wants(site, copying(b, site+"/"+b.name+"/from", "to"), 200, "")
		}
	})
	// The texts are those that github.com/versity/versitygw has compared with AWS.
	runBucket(t, "what is no source is refused by what is wrong with it", func(b *bucket) {
		for source, want := range map[string]string{
			b.name: "Invalid copy source object key", b.name + "/": "Invalid copy source object key",
			"/" + b.name: "Invalid copy source object key", "No/k": "Invalid copy source bucket name",
			"//k": "Invalid copy source bucket name", b.name + "/%zz": "Invalid copy source encoding.",
		} {
			got := copying(b, source, "to")
			b.wants(source, got, 400, "InvalidArgument")
			if !got.has(want) || !got.has("<ArgumentValue>x-amz-copy-source</ArgumentValue>") {
				b.Errorf("%s: %s, want %s", source, got.body, want)
			}
		}
	})
	runBucket(t, "an object in an archive is no source", func(b *bucket) {
		b.put("from", "x", "x-amz-storage-class", "GLACIER")
		id := b.start("to")
		for _, to := range []string{"to", "to?partNumber=1&uploadId=" + id} {
			got := copying(b, b.name+"/from", to)
			b.wants(to, got, 403, "InvalidObjectState")
			if !got.has("Operation is not valid for the source object's storage class") {
				b.Errorf("%s: %s", to, got.body)
			}
		}
	})
	runBucket(t, "a copy in place changes the encryption, or is made where the bucket has one", func(b *bucket) {
		b.put("k", "x", "x-amz-server-side-encryption", "aws:kms")
		b.wants("to the default", copying(b, b.name+"/k", "k"), 200, "")
		b.wants("again", copying(b, b.name+"/k", "k"), 400, "InvalidRequest")
		b.wants("encrypt", b.call("PUT", "?encryption", nil, "<ServerSideEncryptionConfiguration><Rule>"+
			"<ApplyServerSideEncryptionByDefault><SSEAlgorithm>AES256</SSEAlgorithm></ApplyServerSideEncryptionByDefault>"+
			"</Rule></ServerSideEncryptionConfiguration>"), 200, "")
		b.wants("with the bucket's", copying(b, b.name+"/k", "k"), 200, "")
	})
	runBucket(t, "a range behind the source, and a part number that is none", func(b *bucket) {
		b.put("from", "0123456789")
		id := b.start("to")
		behind := copying(b, b.name+"/from", "to?partNumber=1&uploadId="+id, "x-amz-copy-source-range", "bytes=10-12")
		b.wants("behind", behind, 400, "InvalidRequest")
		got := copying(b, b.name+"/from", "to?partNumber=-1&uploadId="+id)
		b.wants("negative", got, 400, "InvalidArgument")
		if !got.has("<ArgumentValue>-1</ArgumentValue>") {
			b.Errorf("negative: %s", got.body)
		}
	})
}

func TestRecordedS3Owners(t *testing.T) {
	runBucket(t, "an expected owner that is no account is refused before all else", func(b *bucket) {
		b.put("k", "x")
		for _, owner := range []string{"", "x", "0000000000000", "00000000000a"} {
			for _, target := range []string{"k", "none", "/none-" + b.name, "?list-type=2"} {
				got := b.call("GET", target, headers{"x-amz-expected-bucket-owner", owner}, "")
				b.wants(target, got, 400, "InvalidBucketOwnerAWSAccountID")
				if !got.has("must be an AWS Account ID... [" + owner + "]") {
					b.Errorf("%s: %s", target, got.body)
				}
			}
		}
		got := b.call("PUT", "l", headers{
			"x-amz-copy-source", b.name + "/k", "x-amz-source-expected-bucket-owner", "x",
		}, "")
		b.wants("of the source", got, 400, "InvalidBucketOwnerAWSAccountID")
		b.missing("l")
	})
}
