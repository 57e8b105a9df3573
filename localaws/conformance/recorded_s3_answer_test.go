package conformance

import (
	"strings"
	"testing"
)

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

func TestRecordedS3Structure(t *testing.T) {
	runBucket(t, "the owner precedes the buckets, and a document without content is one tag", func(b *bucket) {
		// test_response_structure, test_response_structure_get_bucket_location
		all := b.call("GET", "/?prefix="+b.name, nil, "")
		if owner := strings.Index(all.body, "<Owner>"); owner < 0 || owner > strings.Index(all.body, "<Buckets>") {
			b.Errorf("buckets: %s", all.body)
		}
		const location = "\n" + `<LocationConstraint xmlns="http://s3.amazonaws.com/doc/2006-03-01/"/>`
		if got := b.call("GET", "?location", nil, ""); !strings.HasSuffix(got.body, location) {
			b.Errorf("location: %s", got.body)
		}
	})
	runBucket(t, "the key that AWS keeps for S3 is shown by its id", func(b *bucket) { // test_s3_sse_default_kms_key
		const header = "x-amz-server-side-encryption"
		one := b.put("one", "x", header, "aws:kms").header.Get(header + "-aws-kms-key-id")
		two := b.put("two", "x", header, "aws:kms").header.Get(header + "-aws-kms-key-id")
		if one != two || !strings.HasPrefix(one, "arn:aws:kms:") || !strings.Contains(one, ":key/") {
			b.Errorf("keys %s and %s", one, two)
		}
	})
}

func TestRecordedS3Settings(t *testing.T) {
	runBucket(t, "logs stay in the region of the bucket", func(b *bucket) { // test_put_bucket_logging_cross_locations
		const body = "<CreateBucketConfiguration><LocationConstraint>us-west-2</LocationConstraint>" +
			"</CreateBucketConfiguration>"
		far := "far-" + b.name
		b.wants("create", b.callIn("us-west-2", "PUT", "/"+far, nil, body), 200, "")
		defer b.callIn("us-west-2", "DELETE", "/"+far, nil, "")
		logTo := func(region, from, to string) reply {
			document := "<BucketLoggingStatus><LoggingEnabled><TargetBucket>" + to + "</TargetBucket>" +
				"<TargetPrefix>log</TargetPrefix></LoggingEnabled></BucketLoggingStatus>"
			return b.callIn(region, "PUT", "/"+from+"?logging", nil, document)
		}
		const text = "<Message>Cross S3 location logging not allowed. </Message>"
		got := logTo("us-east-1", b.name, far)
		b.wants("from the first region", got, 403, "CrossLocationLoggingProhibitted")
		if !got.has(text) || !got.has("<TargetBucketLocation>us-west-2<") || got.has("SourceBucketLocation") {
			b.Errorf("from the first region: %s", got.body)
		}
		got = logTo("us-west-2", far, b.name)
		b.wants("from another region", got, 403, "CrossLocationLoggingProhibitted")
		const places = "<SourceBucketLocation>us-west-2</SourceBucketLocation><TargetBucketLocation>us-east-1<"
		if !got.has(text) || !got.has(places) {
			b.Errorf("from another region: %s", got.body)
		}
	})
	runBucket(t, "two refusals name the argument without its value, and routing rules are not empty", func(b *bucket) {
		const encryption = "ApplyServerSideEncryptionByDefault"
		ownership := b.call("PUT", "/none-"+b.name, headers{"x-amz-object-ownership", "Rand"}, "")
		key := b.call("PUT", "?encryption", nil, "<ServerSideEncryptionConfiguration><Rule><"+encryption+
			"><SSEAlgorithm>AES256</SSEAlgorithm><KMSMasterKeyID>k</KMSMasterKeyID></"+encryption+"></Rule>"+
			"</ServerSideEncryptionConfiguration>")
		for name, got := range map[string]reply{"x-amz-object-ownership": ownership, encryption: key} {
			b.wants(name, got, 400, "InvalidArgument")
			if !got.has("<ArgumentName>"+name+"<") || got.has("ArgumentValue") {
				b.Errorf("%s: %s", name, got.body)
			}
		}
		b.wants("no rules", b.call("PUT", "?website", nil, "<WebsiteConfiguration><IndexDocument><Suffix>i</Suffix>"+
			"</IndexDocument><RoutingRules/></WebsiteConfiguration>"), 400, "MalformedXML")
	})
}

func TestRecordedS3Words(t *testing.T) {
	runBucket(t, "metadata is shown as one encoded word if it is not ASCII", func(b *bucket) {
		// test_user_metadata_rfc2047_encoded; the last one is of AWS's user guide, "User-defined object metadata".
		const header = "x-amz-meta-v"
		for sent, want := range map[string]string{
			"=?UTF-8?B?dGVzdF/igJRfw6lfMj8ucGRm?=":      "=?UTF-8?Q?test=5F=E2=80=94=5F=C3=A9=5F2=3F.pdf?=",
			"=?utf-8?q?=C3=84M=C3=84Z=C3=95=C3=91_S3?=": "=?UTF-8?Q?=C3=84M=C3=84Z=C3=95=C3=91_S3?=",
			"=?UTF-8?B?AAECAw==?=":                      "=?UTF-8?B?AAECAw==?=",
			"=?UTF-8?B?77+977+9?=":                      "=?UTF-8?B?77+977+9?=",
			"=?UTF-8?Q?actually-ascii?=":                "actually-ascii",
			"=?UTF-8?B?YWJj?=":                          "abc",
			"a b_c?=":                                   "a b_c?=",
			"\u00c4M\u00c4Z\u00d5\u00d1 S3":             "=?UTF-8?B?w4PChE3Dg8KEWsODwpXDg8KRIFMz?=",
		} {
			b.put("k", "x", header, sent)
			if got := b.call("HEAD", "k", nil, "").header.Get(header); got != want {
				b.Errorf("%s: %s, want %s", sent, got, want)
			}
		}
	})
}
