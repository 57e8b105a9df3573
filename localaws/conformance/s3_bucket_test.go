package conformance

import (
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/s3"
)

func TestS3Bucket(t *testing.T) {
	runBucket(t, "names are of 3 to 63 lower-case letters, digits, dots and hyphens", func(b *bucket) {
		for _, name := range []string{
			"ab", "Ab1", "a_b", "-ab", "ab-", "a..b", "192.168.0.1", "xn--abc",
			strings.Repeat("a", 64),
		} {
			b.wants(name, b.call("PUT", "/"+name, nil, ""), 400, "InvalidBucketName")
		}
	})
	runBucket(t, "in us-east-1, creating a bucket again is no error", func(b *bucket) {
		again := b.call("PUT", "/"+b.name, headers{
			"x-amz-acl", "private", "x-amz-object-ownership", "BucketOwnerEnforced",
		}, "")
		b.wants("again", again, 200, "")
		if again.header.Get("Location") != "/"+b.name {
			b.Errorf("location %q", again.header.Get("Location"))
		}
	})
	runBucket(t, "a bucket of another region is found there, and redirected elsewhere", func(b *bucket) {
		name := b.world.name("west")
		create := func(region string) reply {
			return b.call("PUT", "/"+name, nil,
				"<CreateBucketConfiguration><LocationConstraint>"+region+"</LocationConstraint>"+
					"</CreateBucketConfiguration>")
		}
		b.wants("nowhere", create("mars-north-1x"), 400, "InvalidLocationConstraint")
		b.wants("us-east-1 by name", create("us-east-1"), 400, "InvalidLocationConstraint")
		b.wants("create", create("us-west-2"), 200, "")
		b.wants("again", create("us-west-2"), 409, "BucketAlreadyOwnedByYou")
		b.wants("again in the first region", b.call("PUT", "/"+name, nil, ""), 409, "BucketAlreadyOwnedByYou")
		if got := b.call("GET", "/"+name+"?location", nil, ""); !got.has(">us-west-2</LocationConstraint>") {
			b.Errorf("location: %s", got.body)
		}
		moved := b.call("GET", "/"+name, nil, "")
		b.wants("list", moved, 301, "PermanentRedirect")
		if moved.header.Get("x-amz-bucket-region") != "us-west-2" {
			b.Errorf("list: %v", moved.header)
		}
		head := b.call("HEAD", "/"+name, nil, "")
		if head.status != 301 || head.header.Get("x-amz-bucket-region") != "us-west-2" {
			b.Errorf("head: %d %v", head.status, head.header)
		}
		_, err := b.s3.DeleteBucket(b.ctx, &s3.DeleteBucketInput{Bucket: &name},
			func(o *s3.Options) { o.Region = "us-west-2" })
		if err != nil {
			b.Error(err)
		}
	})
	runBucket(t, "buckets are listed by name, in pages, by prefix and region", func(b *bucket) {
		for _, n := range []string{"-1", "-2", "-3"} {
			b.make(b.name + n)
		}
		first := b.call("GET", "/?max-buckets=2&bucket-region=us-east-1&prefix="+b.name+"-", nil, "")
		if !first.has("<Name>"+b.name+"-1<") || !first.has("<Name>"+b.name+"-2<") || first.has("-3<") {
			b.Fatalf("first page: %s", first.body)
		}
		_, token, _ := strings.Cut(first.body, "<ContinuationToken>")
		token, _, _ = strings.Cut(token, "<")
		next := b.call("GET", "/?continuation-token="+token+"&prefix="+b.name+"-", nil, "")
		if next.has("-2<") || !next.has("<Name>"+b.name+"-3<") || next.has("ContinuationToken") {
			b.Errorf("second page: %s", next.body)
		}
		b.wants("no page", b.call("GET", "/?max-buckets=0", nil, ""), 400, "InvalidArgument")
	})
	runBucket(t, "a bucket with objects is not deleted, and one with uploads is", func(b *bucket) {
		b.put("k", "x")
		b.wants("with an object", b.call("DELETE", "/"+b.name, nil, ""), 409, "BucketNotEmpty")
		b.wants("delete", b.call("DELETE", "k", nil, ""), 204, "")
		b.wants("upload", b.call("POST", "k?uploads", nil, ""), 200, "")
		b.wants("with an upload", b.call("DELETE", "/"+b.name, nil, ""), 204, "")
		b.wants("again", b.call("DELETE", "/"+b.name, nil, ""), 404, "NoSuchBucket")
	})
	runBucket(t, "the expected owner is checked", func(b *bucket) {
		b.put("k", "x", "x-amz-expected-bucket-owner", "000000000000")
		other := headers{"x-amz-expected-bucket-owner", "111122223333"}
		for _, c := range []string{"GET k", "HEAD k", "PUT k", "DELETE k", "GET /" + b.name, "PUT /" + b.name +
			"?tagging"} {
			method, target, _ := strings.Cut(c, " ")
			if got := b.call(method, target, other, ""); got.status != 403 {
				b.Errorf("%s: %d", c, got.status)
			}
		}
		b.wants("of the source", b.call("PUT", "l", headers{
			"x-amz-copy-source", b.name + "/k", "x-amz-source-expected-bucket-owner", "111122223333",
		}, ""), 403, "AccessDenied")
	})
	runBucket(t, "settings of a new bucket, and what is put, got and deleted", func(b *bucket) {
		for _, c := range []struct {
			what, first, put, shown, last string
		}{
			{
				"policy", "NoSuchBucketPolicy", `{"Statement":[{"Effect":"Allow"}]}`,
				`{"Statement":[{"Effect":"Allow"}]}`,
				"NoSuchBucketPolicy",
			},
			{
				"tagging", "NoSuchTagSet", "<Tagging><TagSet><Tag><Key>a</Key><Value>b</Value></Tag></TagSet></Tagging>",
				"<TagSet><Tag><Key>a</Key><Value>b</Value></Tag></TagSet>", "NoSuchTagSet",
			},
			{
				"publicAccessBlock", "<BlockPublicPolicy>true</BlockPublicPolicy>",
				"<PublicAccessBlockConfiguration><BlockPublicAcls>true</BlockPublicAcls></PublicAccessBlockConfiguration>",
				"<BlockPublicPolicy>false</BlockPublicPolicy>", "NoSuchPublicAccessBlockConfiguration",
			},
			{
				"encryption", "<SSEAlgorithm>AES256</SSEAlgorithm>",
				"<ServerSideEncryptionConfiguration><Rule><ApplyServerSideEncryptionByDefault><SSEAlgorithm>aws:kms</SSEAlgorithm>" +
					"<KMSMasterKeyID>k</KMSMasterKeyID></ApplyServerSideEncryptionByDefault><BucketKeyEnabled>true</BucketKeyEnabled>" +
					"</Rule></ServerSideEncryptionConfiguration>",
				"<KMSMasterKeyID>k</KMSMasterKeyID>", "<SSEAlgorithm>AES256</SSEAlgorithm>",
			},
			{
				"ownershipControls", "BucketOwnerEnforced",
				"<OwnershipControls><Rule><ObjectOwnership>BucketOwnerPreferred</ObjectOwnership></Rule></OwnershipControls>",
				"BucketOwnerPreferred", "OwnershipControlsNotFoundError",
			},
			{
				"lifecycle", "NoSuchLifecycleConfiguration",
				"<LifecycleConfiguration><Rule><ID>r</ID><Filter><Prefix>p</Prefix></Filter><Status>Enabled</Status>" +
					"<Expiration><Days>3</Days></Expiration></Rule></LifecycleConfiguration>",
				"<Filter><Prefix>p</Prefix></Filter>", "NoSuchLifecycleConfiguration",
			},
		} {
			h := headers{"Content-MD5", contentMD5(c.put)}
			if c.what == "policy" {
				h = append(h, "x-amz-confirm-remove-self-bucket-access", "true")
			}
			if c.what == "lifecycle" {
				h = append(h, "x-amz-transition-default-minimum-object-size", "all_storage_classes_128K")
			}
			get := func() reply { return b.call("GET", "?"+c.what, nil, "") }
			if got := get(); !got.has(c.first) {
				b.Errorf("%s at first: %s", c.what, got.body)
			}
			if got := b.call("PUT", "?"+c.what, h, c.put); got.status/100 != 2 {
				b.Errorf("put %s: %d %s", c.what, got.status, got.body)
			}
			if got := get(); !got.has(c.shown) {
				b.Errorf("%s: %s", c.what, got.body)
			}
			b.wants("delete "+c.what, b.call("DELETE", "?"+c.what, nil, ""), 204, "")
			if got := get(); !got.has(c.last) {
				b.Errorf("%s at last: %s", c.what, got.body)
			}
			if got := b.call("PUT", "?"+c.what, nil, "<X/>"); got.status != 400 {
				b.Errorf("put a malformed %s: %d %s", c.what, got.status, got.body)
			}
		}
	})
	runBucket(t, "the bucket's encryption is that of objects whose request says nothing", func(b *bucket) {
		b.wants("put", b.call("PUT", "?encryption", nil, "<ServerSideEncryptionConfiguration><Rule>"+
			"<ApplyServerSideEncryptionByDefault><SSEAlgorithm>aws:kms</SSEAlgorithm></ApplyServerSideEncryptionByDefault>"+
			"</Rule></ServerSideEncryptionConfiguration>"), 200, "")
		if got := b.put("k", "x").header.Get("x-amz-server-side-encryption"); got != "aws:kms" {
			b.Errorf("by default: %s", got)
		}
		got := b.put("k", "x", "x-amz-server-side-encryption", "AES256").header.Get("x-amz-server-side-encryption")
		if got != "AES256" {
			b.Errorf("by request: %s", got)
		}
	})
	runBucket(t, "parts of S3 that are not built answer as for a bucket without them", func(b *bucket) {
		for what, want := range map[string]string{
			"abac": "<Status>Disabled</Status>", "metadataConfiguration": "MetadataConfigurationNotFound",
			"metadataTable": "MetadataConfigurationNotFound",
			"accelerate":    "<AccelerateConfiguration ", "policyStatus": "NoSuchBucketPolicy",
			"replication":    "ReplicationConfigurationNotFoundError",
			"requestPayment": "<Payer>BucketOwner</Payer>", "versioning": "<VersioningConfiguration ",
			"object-lock": "ObjectLockConfigurationNotFoundError",
			"analytics":   "<IsTruncated>false<", "intelligent-tiering": "<IsTruncated>false<",
			"inventory": "<IsTruncated>false<", "metrics": "<IsTruncated>false<",
		} {
			if got := b.call("GET", "?"+what, nil, ""); !got.has(want) {
				b.Errorf("get %s: %d %s", what, got.status, got.body)
			}
			if what != "policyStatus" {
				b.wants("put "+what, b.call("PUT", "?"+what, nil, "<X/>"), 501, "NotImplemented")
			}
		}
		for _, what := range []string{"analytics", "intelligent-tiering", "inventory", "metrics"} {
			b.wants(what+" by id", b.call("GET", "?id=x&"+what, nil, ""), 404, "NoSuchConfiguration")
			b.wants(what+" by page", b.call("GET", "?continuation-token=x&"+what, nil, ""), 200, "")
		}
	})
	runBucket(t, "the host names the bucket, too", func(b *bucket) {
		if b.local == nil {
			b.Skip("other servers know other hosts")
		}
		b.put("dir/k", "x")
		for _, host := range []string{
			b.name + ".s3.us-east-1.amazonaws.com", b.name + ".s3.amazonaws.com", b.name +
				".s3-us-west-2.amazonaws.com",
			b.name + ".localhost:4566", b.name + ".localaws", b.name + ".s3.localhost", b.name + ".example.org",
		} {
			got := b.send(b.request("GET", "/dir/k", headers{"Host", host}, ""))
			if got.body != "x" {
				b.Errorf("%s: %d %s", host, got.status, got.body)
			}
		}
		for _, host := range []string{
			"localhost", "127.0.0.1:4566", "s3.us-east-1.amazonaws.com", "[::1]:1",
			"other.example.org",
		} {
			got := b.send(b.request("GET", "dir/k", headers{"Host", host}, ""))
			if got.body != "x" {
				b.Errorf("%s: %d %s", host, got.status, got.body)
			}
		}
	})
	runBucket(t, "a bucket may be named like the account", func(b *bucket) {
		b.make("000000000000")
		b.wants("put", b.call("PUT", "/000000000000/queue", nil, "x"), 200, "")
		if got := b.send(b.request("GET", "/000000000000/queue", nil, "")); got.body != "x" {
			b.Errorf("not signed: %d %s", got.status, got.body)
		}
		must(b.s3.DeleteObject(b.ctx, &s3.DeleteObjectInput{Bucket: new("000000000000"), Key: new("queue")}))(b.world)
	})
}

func TestS3List(t *testing.T) {
	keys := []string{"a", "b/1", "b/2", "c/x/1", "d", "e+%25"}
	fill := func(b *bucket) {
		for _, k := range []string{"a", "b/1", "b/2", "c/x/1", "d", "e%2B%2525"} {
			b.put(k, "x")
		}
	}
	// keysIn returns the keys and groups of a page.
	keysIn := func(r reply) string {
		var all []string
		for _, part := range strings.Split(r.body, "<Contents>")[1:] {
			_, key, _ := strings.Cut(part, "<Key>")
			key, _, _ = strings.Cut(key, "</Key>")
			all = append(all, key)
		}
		for _, part := range strings.Split(r.body, "<CommonPrefixes>")[1:] {
			_, group, _ := strings.Cut(part, "<Prefix>")
			group, _, _ = strings.Cut(group, "</Prefix>")
			all = append(all, group)
		}
		return strings.Join(all, " ")
	}
	for version, query := range map[string]string{"1": "?", "2": "?list-type=2&"} {
		runBucket(t, "keys and groups of version "+version, func(b *bucket) {
			fill(b)
			for ask, want := range map[string]string{
				"":                     strings.Join(keys, " "),
				"delimiter=/":          "a d e+%25 b/ c/",
				"prefix=b/":            "b/1 b/2",
				"prefix=c&delimiter=/": "c/",
				"encoding-type=url":    "a b/1 b/2 c/x/1 d e%2B%2525",
				"max-keys=0":           "",
				"prefix=none":          "",
			} {
				if got := keysIn(b.call("GET", query+ask, nil, "")); got != want {
					b.Errorf("%s: %s, want %s", ask, got, want)
				}
			}
			b.wants("a negative page", b.call("GET", query+"max-keys=-1", nil, ""), 400, "InvalidArgument")
			b.wants("no number", b.call("GET", query+"max-keys=x", nil, ""), 400, "InvalidArgument")
			b.wants("an encoding", b.call("GET", query+"encoding-type=x", nil, ""), 400, "InvalidArgument")
		})
	}
	runBucket(t, "pages of version 1 go on behind a marker", func(b *bucket) {
		fill(b)
		page := b.call("GET", "?delimiter=/&max-keys=2", nil, "")
		if keysIn(page) != "a b/" || !page.has("<NextMarker>b/</NextMarker>") {
			b.Errorf("first page: %s", page.body)
		}
		if got := keysIn(b.call("GET", "?delimiter=/&marker=b/", nil, "")); got != "d e+%25 c/" {
			b.Errorf("second page: %s", got)
		}
		if got := b.call("GET", "?marker=b/1", nil, ""); keysIn(got) != "b/2 c/x/1 d e+%25" || got.has("NextMarker") {
			b.Errorf("by a key: %s", got.body)
		}
	})
	runBucket(t, "pages of version 2 go on by a token", func(b *bucket) {
		fill(b)
		var got []string
		for token := ""; ; {
			page := b.call("GET", "?list-type=2&delimiter=/&max-keys=1"+token, nil, "")
			got = append(got, keysIn(page))
			_, next, more := strings.Cut(page.body, "<NextContinuationToken>")
			if !more {
				break
			}
			next, _, _ = strings.Cut(next, "<")
			token = "&continuation-token=" + next
		}
		if fmt.Sprint(got) != "[a b/ c/ d e+%25]" {
			b.Errorf("pages: %q", got)
		}
		after := b.call("GET", "?list-type=2&start-after=b/2&fetch-owner=true", nil, "")
		if keysIn(after) != "c/x/1 d e+%25" || !after.has("<Owner><ID>") || !after.has("<KeyCount>3</KeyCount>") {
			b.Errorf("start after: %s", after.body)
		}
		b.wants("a bad token", b.call("GET", "?list-type=2&continuation-token=x", nil, ""), 400, "InvalidArgument")
	})
	runBucket(t, "versions are the objects, each with version null", func(b *bucket) {
		fill(b)
		page := b.call("GET", "?versions&max-keys=2&delimiter=/&encoding-type=url", nil, "")
		if !page.has("<VersionId>null</VersionId><IsLatest>true</IsLatest>") ||
			!page.has("<NextKeyMarker>b/</NextKeyMarker>") {
			b.Errorf("first page: %s", page.body)
		}
		rest := b.call("GET", "?versions&key-marker=c/x/1&version-id-marker=null&prefix=e", nil, "")
		if !rest.has("<Key>e+%25</Key>") || rest.has("<Key>d<") {
			b.Errorf("second page: %s", rest.body)
		}
	})
}
