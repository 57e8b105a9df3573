package conformance

import (
	"strings"
	"testing"
)

// The cases of this file are what AWS answered in 2026-02 (repository localstack/localstack, tests/aws/services/s3,
// test_s3.snapshot.json), those about tags on 2025-01-21 (test_s3_api.snapshot.json, TestS3BucketObjectTagging).

func TestRecordedS3Locations(t *testing.T) {
	// create creates a bucket in a region.
	create := func(b *bucket, region, constraint, name string) reply {
		body := ""
		if constraint != "" {
			body = "<CreateBucketConfiguration><LocationConstraint>" + constraint + "</LocationConstraint>" +
				"</CreateBucketConfiguration>"
		}
		return b.callIn(region, "PUT", "/"+b.world.name(name), nil, body)
	}
	runBucket(t, "where a bucket may be created", func(b *bucket) {
		for i, c := range []struct{ region, constraint, code, what string }{
			{"us-east-1", "us-east-1", "InvalidLocationConstraint", ""},
			{"us-east-1", "foo", "InvalidLocationConstraint", ""},
			{"us-east-1", "eu-east-1", "InvalidLocationConstraint", ""},
			{"us-east-1", "aws-global", "InvalidLocationConstraint", ""},
			{"us-east-1", "EU", "", ""},
			{"us-east-1", "us-west-1", "", ""},
			{"us-east-2", "", "IllegalLocationConstraintException", "unspecified"},
			{"us-east-2", "us-west-1", "IllegalLocationConstraintException", "us-west-1"},
			{"us-west-1", "us-east-1", "IllegalLocationConstraintException", "us-east-1"},
			{"us-west-1", "EU", "IllegalLocationConstraintException", "EU"},
			{"us-west-1", "aws-global", "IllegalLocationConstraintException", "aws-global"},
			{"us-west-1", "us-west-1", "", ""},
			{"eu-west-1", "bar", "IllegalLocationConstraintException", "bar"},
			{"eu-west-1", "EU", "", ""},
			{"eu-west-1", "eu-west-1", "", ""},
		} {
			got := create(b, c.region, c.constraint, strings.Repeat("x", i+1))
			if got.code() != c.code || c.code != "" && got.status != 400 {
				b.Errorf("%s in %s: %d %s, want %s", c.constraint, c.region, got.status, got.body, c.code)
			}
			if c.what != "" && !got.has("The "+c.what+" location constraint is incompatible for the region specific ") {
				b.Errorf("%s in %s: %s", c.constraint, c.region, got.body)
			}
		}
	})
	runBucket(t, "a bucket of the EU is in eu-west-1, and keeps its location's name", func(b *bucket) {
		b.wants("create", create(b, "us-east-1", "EU", "eu"), 200, "")
		name := "/" + b.world.name("eu")
		if got := b.call("GET", name+"?location", nil, ""); !got.has(">EU</LocationConstraint>") {
			b.Errorf("location: %s", got.body)
		}
		if got := b.callIn("eu-west-1", "HEAD", name, nil, ""); got.header.Get("x-amz-bucket-region") != "eu-west-1" {
			b.Errorf("head: %d %v", got.status, got.header)
		}
	})
	runBucket(t, "no request is signed for aws-global", func(b *bucket) {
		for _, target := range []string{"PUT /global-" + b.name, "GET /", "GET k", "GET ?location"} {
			method, target, _ := strings.Cut(target, " ")
			got := b.callIn("aws-global", method, target, nil, "")
			b.wants(target, got, 400, "AuthorizationHeaderMalformed")
			if !got.has("the region 'aws-global' is wrong; expecting 'us-east-1'") || !got.has("<Region>us-east-1<") {
				b.Errorf("%s: %s", target, got.body)
			}
		}
	})
	runBucket(t, "a bucket's ARN is told when it is created, looked at and listed", func(b *bucket) {
		const arn = "arn:aws:s3:::"
		for _, method := range []string{"PUT", "HEAD"} {
			if got := b.call(method, "/"+b.name, nil, "").header.Get("x-amz-bucket-arn"); got != arn+b.name {
				b.Errorf("%s: %q", method, got)
			}
		}
		if got := b.call("GET", "/", nil, ""); !got.has("<BucketArn>" + arn + b.name + "</BucketArn>") {
			b.Errorf("list: %s", got.body)
		}
	})
}

func TestRecordedS3Tags(t *testing.T) {
	tagging := func(tags ...string) string {
		var all strings.Builder
		for i := 0; i+1 < len(tags); i += 2 {
			all.WriteString("<Tag><Key>" + tags[i] + "</Key><Value>" + tags[i+1] + "</Value></Tag>")
		}
		return "<Tagging><TagSet>" + all.String() + "</TagSet></Tagging>"
	}
	runBucket(t, "the header of tags takes names alone, and nothing between two ampersands", func(b *bucket) {
		for header, want := range map[string]string{
			"tag1=tag1&tag=":        "tag1=tag1 tag=",
			"wrongquery&wrongagain": "wrongquery= wrongagain=",
			"key1&&&key2":           "key1= key2=",
		} {
			b.put("k", "x", "x-amz-tagging", header)
			var all []string
			for _, part := range strings.Split(b.call("GET", "k?tagging", nil, "").body, "<Tag>")[1:] {
				r := reply{body: part}
				all = append(all, r.element("Key").body+"="+r.element("Value").body)
			}
			if got := strings.Join(all, " "); got != want {
				b.Errorf("%s: %s, want %s", header, got, want)
			}
		}
		for _, header := range []string{"key1=val1&key1=val2", "key1=val1,key2=val2"} {
			got := b.call("PUT", "l", headers{"x-amz-tagging", header}, "x")
			b.wants(header, got, 400, "InvalidArgument")
		}
		b.missing("l")
	})
	runBucket(t, "the texts about tags that are refused", func(b *bucket) {
		b.put("k", "x")
		const key, value = "<TagKey>Key1,Key2</TagKey>", "<TagValue>Val1,Val2</TagValue>"
		for _, c := range []struct{ target, body, text, detail string }{
			{"?tagging", tagging("aws:a", "b"), "System tags cannot be added/updated by requester", "<TagKey>aws:a<"},
			{"k?tagging", tagging("aws:a", "b"), "Your TagKey cannot be prefixed with aws:", "<TagKey>aws:a<"},
			{"?tagging", tagging("Key1,Key2", "b"), "The TagKey you have provided is invalid", key},
			{"k?tagging", tagging("Key1,Key2", "b"), "The TagKey you have provided is invalid", key},
			{"?tagging", tagging("Key1", "Val1,Val2"), "The TagValue you have provided is invalid", value},
			{"?tagging", tagging("a", "1", "a", "2"), "Cannot provide multiple Tags with the same key", "<TagKey>a<"},
		} {
			got := b.call("PUT", c.target, headers{"Content-MD5", contentMD5(c.body)}, c.body)
			b.wants(c.text, got, 400, "InvalidTag")
			if !got.has(c.text) || !got.has(c.detail) {
				b.Errorf("%s: %s", c.text, got.body)
			}
		}
		got := b.call("PUT", "/tagged-"+b.name, nil, "<CreateBucketConfiguration><Tags><Tag><Key>aws:a</Key>"+
			"<Value>b</Value></Tag></Tags></CreateBucketConfiguration>")
		b.wants("create", got, 400, "InvalidTag")
		if !got.has("User-defined tag keys can't start with") {
			b.Errorf("create: %s", got.body)
		}
		if none := b.call("GET", "k?tagging", nil, ""); none.has("<Key>") {
			b.Errorf("tags that were refused: %s", none.body)
		}
		missing := b.call("GET", "none?tagging", nil, "")
		b.wants("no object", missing, 404, "NoSuchKey")
		if !missing.has("<Key>" + b.name + "/none</Key>") {
			b.Errorf("no object: %s", missing.body)
		}
	})
	runBucket(t, "an empty set removes the tags", func(b *bucket) {
		for _, target := range []string{"?tagging", "k?tagging"} {
			b.put("k", "x")
			for _, body := range []string{tagging("a", "b"), "<Tagging/>"} {
				got := b.call("PUT", target, headers{"Content-MD5", contentMD5(body)}, body)
				if got.status/100 != 2 {
					b.Errorf("%s %s: %d %s", target, body, got.status, got.body)
				}
			}
			if got := b.call("GET", target, nil, ""); got.has("<Key>a<") {
				b.Errorf("%s: %s", target, got.body)
			}
		}
	})
	runBucket(t, "in us-east-1, a bucket with tags is not created again", func(b *bucket) {
		body := "<CreateBucketConfiguration><Tags><Tag><Key>a</Key><Value>b</Value></Tag></Tags>" +
			"</CreateBucketConfiguration>"
		b.wants("with tags", b.call("PUT", "/"+b.name, nil, body), 409, "BucketAlreadyOwnedByYou")
		b.wants("without", b.call("PUT", "/"+b.name, nil, ""), 200, "")
	})
}
