package conformance

import (
	"crypto/md5"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// The cases of this file are what AWS answered on 2026-02-21 (repository localstack/localstack, tests/aws/services/s3,
// test_s3.snapshot.json, TestS3SSECEncryption and test_s3_invalid_content_md5).

// keyOf are the headers of a key of the customer.
func keyOf(key string) headers {
	digest := md5.Sum([]byte(key))
	const prefix = "x-amz-server-side-encryption-customer-"
	return headers{
		prefix + "algorithm", "AES256", prefix + "key", base64.StdEncoding.EncodeToString([]byte(key)),
		prefix + "key-MD5", base64.StdEncoding.EncodeToString(digest[:]),
	}
}

func TestRecordedS3CustomerKeys(t *testing.T) {
	good := keyOf(strings.Repeat("k", 32))
	// changed returns the headers with one value replaced.
	changed := func(i int, value string) headers {
		h := slices.Clone(good)
		h[2*i+1] = value
		return h
	}
	const provide = "Requests specifying Server Side Encryption with Customer provided keys must provide "
	runBucket(t, "what is wrong with a key", func(b *bucket) {
		b.put("there", "x", good...)
		for _, c := range []struct {
			h    headers
			want string
		}{
			{changed(0, "KMS"), "InvalidEncryptionAlgorithmError The Encryption request you specified is not valid."},
			{changed(0, ""), "InvalidArgument " + provide + "a valid encryption algorithm."},
			{changed(1, ""), "InvalidArgument " + provide + "an appropriate secret key."},
			{keyOf("short"), "InvalidArgument The secret key was invalid for the specified algorithm."},
			{changed(2, contentMD5("x")), "InvalidArgument The calculated MD5 hash of the key did not match the hash"},
		} {
			code, text, _ := strings.Cut(c.want, " ")
			for _, target := range []string{"PUT new", "GET there"} {
				method, target, _ := strings.Cut(target, " ")
				got := b.call(method, target, c.h, "")
				b.wants(c.want, got, 400, code)
				if !got.has(text) || !got.has("<ArgumentName>x-amz-server-side-encryption</ArgumentName>") {
					b.Errorf("%s %s: %s, want %s", method, target, got.body, c.want)
				}
			}
		}
		b.missing("new")
		other := b.call("GET", "there", keyOf(strings.Repeat("o", 32)), "")
		b.wants("another key", other, 403, "AccessDenied")
		if !other.has(provide + "the correct secret key.") {
			b.Errorf("another key: %s", other.body)
		}
	})
	runBucket(t, "parts have the key of the upload", func(b *bucket) {
		with, without := b.start("k", good...), b.start("k")
		const initiate = "The multipart upload initiate requested encryption."
		for _, c := range []struct {
			id   string
			h    headers
			want string
		}{
			{with, nil, initiate},
			{without, good, initiate},
			{
				with, keyOf(strings.Repeat("o", 32)),
				"The provided encryption parameters did not match the ones used originally.",
			},
		} {
			got := b.call("PUT", "k?partNumber=1&uploadId="+c.id, c.h, "x")
			b.wants(c.want, got, 400, "InvalidRequest")
			if !got.has(c.want) {
				b.Errorf("%s, want %s", got.body, c.want)
			}
		}
	})
	runBucket(t, "an object of parts with a key of the customer has no checksum by default", func(b *bucket) {
		id := b.start("k", good...)
		done := b.complete("k", id, completeXML(nil, b.part("k", id, 1, "x", good...)), good...)
		if done.status != 200 || done.has("Checksum") {
			b.Errorf("complete: %d %s", done.status, done.body)
		}
		got := b.call("GET", "k", append(slices.Clone(good), "x-amz-checksum-mode", "ENABLED"), "")
		if got.body != "x" || strings.Contains(fmt.Sprint(got.header), "Checksum") {
			b.Errorf("get: %s %v", got.body, got.header)
		}
		for _, list := range []string{"?list-type=2", "?versions"} {
			if got := b.call("GET", list, nil, ""); got.has("Checksum") || !got.has("<Key>k<") {
				b.Errorf("%s: %s", list, got.body)
			}
		}
		ask := append(slices.Clone(good), "x-amz-object-attributes", "Checksum")
		attributes := b.call("GET", "k?attributes", ask, "")
		if attributes.status != 200 || attributes.has("ChecksumType") {
			b.Errorf("attributes: %d %s", attributes.status, attributes.body)
		}
		source := headers{"x-amz-copy-source", b.name + "/k"}
		for i := 0; i < len(good); i += 2 {
			source = append(source, strings.Replace(good[i], "x-amz-", "x-amz-copy-source-", 1), good[i+1])
		}
		copied := b.call("PUT", "copy", source, "")
		if copied.status != 200 || !copied.has("<ChecksumCRC64NVME>") {
			b.Errorf("copy: %d %s", copied.status, copied.body)
		}
	})
}

func TestRecordedS3ContentMD5(t *testing.T) {
	const another = "CYketZBSTjX8czcs3cXVlg==" // of another body
	runBucket(t, "Content-MD5 is base64 and not empty, and a wrong one of an object is shown in hexadecimal", func(b *bucket) {
		for _, sent := range []string{
			"", "__invalid__", "000", "MTIz", "dGVzdC1zdHJpbmc=", "09891eb590524e35fc73372cddc5d596",
		} {
			got := b.call("PUT", "k", headers{"Content-MD5", sent}, "something")
			b.wants(sent, got, 400, "InvalidDigest")
			if !got.has("<Content-MD5>" + sent + "</Content-MD5>") {
				b.Errorf("%q: %s", sent, got.body)
			}
		}
		part := "k?partNumber=1&uploadId=" + b.start("k")
		for target, shown := range map[string]string{"k": "09891eb590524e35fc73372cddc5d596", part: another} {
			wrong := b.call("PUT", target, headers{"Content-MD5", another}, "something")
			b.wants(target, wrong, 400, "BadDigest")
			if !wrong.has("<ExpectedDigest>" + shown + "</ExpectedDigest>" +
				"<CalculatedDigest>Q3uTDbhLgHnC3YBKcZNrXw==</CalculatedDigest>") {
				b.Errorf("%s: %s", target, wrong.body)
			}
		}
		b.missing("k")
		b.put("k", "something", "Content-MD5", "Q3uTDbhLgHnC3YBKcZNrXw==")
	})
}
