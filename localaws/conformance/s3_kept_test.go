package conformance

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/godwitmq/godwit/localaws"
)

// The cases of this file are what modules of Terraform set by habit: localaws keeps and shows it. What AWS refuses is
// recorded (repository localstack/localstack, tests/aws/services/s3, test_s3_cors.snapshot.json, test_s3.snapshot.json,
// test_s3_api.snapshot.json) or listed in the Amazon S3 API Reference, Error responses.

func TestS3Kept(t *testing.T) {
	const owners = "<OwnershipControls><Rule><ObjectOwnership>BucketOwnerPreferred</ObjectOwnership></Rule>" +
		"</OwnershipControls>"
	runBucket(t, "configurations are kept as they were put, and are deleted", func(b *bucket) {
		b.make("log-" + b.name)
		for _, c := range []struct{ what, first, put, none string }{
			{
				"cors", "NoSuchCORSConfiguration",
				"<CORSRule><ID>r</ID><AllowedHeader>*</AllowedHeader><AllowedMethod>GET</AllowedMethod>" +
					"<AllowedMethod>PUT</AllowedMethod><AllowedOrigin>https://a.example</AllowedOrigin>" +
					"<ExposeHeader>ETag</ExposeHeader><MaxAgeSeconds>3000</MaxAgeSeconds></CORSRule>",
				"NoSuchCORSConfiguration",
			},
			{
				"website", "NoSuchWebsiteConfiguration",
				"<IndexDocument><Suffix>index.html</Suffix></IndexDocument><ErrorDocument><Key>e</Key></ErrorDocument>" +
					"<RoutingRules><RoutingRule><Condition><KeyPrefixEquals>a/</KeyPrefixEquals></Condition><Redirect>" +
					"<ReplaceKeyPrefixWith>b/</ReplaceKeyPrefixWith></Redirect></RoutingRule></RoutingRules>",
				"NoSuchWebsiteConfiguration",
			},
			{
				"logging", "<BucketLoggingStatus ", "<LoggingEnabled><TargetBucket>log-" + b.name +
					"</TargetBucket><TargetPrefix>log/</TargetPrefix></LoggingEnabled>", "<BucketLoggingStatus ",
			},
		} {
			root := map[string]string{
				"cors": "CORSConfiguration", "website": "WebsiteConfiguration", "logging": "BucketLoggingStatus",
			}[c.what]
			document := "<" + root + ">" + c.put + "</" + root + ">"
			get := func() reply { return b.call("GET", "?"+c.what, nil, "") }
			if got := get(); !got.has(c.first) {
				b.Errorf("%s at first: %s", c.what, got.body)
			}
			h := headers{"Content-MD5", contentMD5(document)}
			b.wants("put "+c.what, b.call("PUT", "?"+c.what, h, document), 200, "")
			if got := get(); !got.has(c.put) {
				b.Errorf("%s: %s", c.what, got.body)
			}
			if c.what == "logging" {
				b.wants("no "+c.what, b.call("PUT", "?logging", nil, "<BucketLoggingStatus/>"), 200, "")
			} else {
				b.wants("delete "+c.what, b.call("DELETE", "?"+c.what, nil, ""), 204, "")
			}
			if got := get(); !got.has(c.none) || got.has(c.put) {
				b.Errorf("%s at last: %s", c.what, got.body)
			}
		}
	})
	runBucket(t, "a canned list needs another ownership, and is shown", func(b *bucket) {
		acl := func(acl string) reply { return b.call("PUT", "?acl", headers{"x-amz-acl", acl}, "") }
		b.wants("private", acl("private"), 200, "")
		b.wants("enforced", acl("log-delivery-write"), 400, "AccessControlListNotSupported")
		b.wants("owner", b.call("PUT", "?ownershipControls", nil, owners), 200, "")
		b.wants("preferred", acl("log-delivery-write"), 200, "")
		got := b.call("GET", "?acl", nil, "")
		if !got.has("<URI>http://acs.amazonaws.com/groups/s3/LogDelivery</URI>") || !got.has("READ_ACP") ||
			!got.has("FULL_CONTROL") || !got.has(`xsi:type="Group"`) {
			b.Errorf("acl: %s", got.body)
		}
		b.wants("enforced again", b.call("PUT", "?ownershipControls", nil,
			strings.Replace(owners, "Preferred", "Enforced", 1)), 400, "InvalidBucketAclWithObjectOwnership")
		b.wants("public, but blocked", acl("public-read"), 403, "AccessDenied")
		b.wants("unblock", b.call("DELETE", "?publicAccessBlock", nil, ""), 204, "")
		b.wants("public", acl("public-read"), 200, "")
		b.put("k", "x", "x-amz-acl", "public-read")
		if got := b.call("GET", "k?acl", nil, ""); !got.has("global/AllUsers") {
			b.Errorf("the object's: %s", got.body)
		}
		b.wants("private", acl("private"), 200, "")
		if got := b.call("GET", "?acl", nil, ""); got.has("AllUsers") {
			b.Errorf("private again: %s", got.body)
		}
		b.wants("unknown", acl("fake-acl"), 400, "InvalidArgument")
		b.wants("none", b.call("PUT", "?acl", nil, ""), 400, "MissingSecurityHeader")
		b.wants("a list", b.call("PUT", "?acl", nil, "<AccessControlPolicy/>"), 400, "MalformedACLError")
	})
	runBucket(t, "a new bucket has a canned list only beside an ownership", func(b *bucket) {
		create := func(name string, h ...string) reply { return b.call("PUT", "/"+name+b.name, h, "") }
		const acl, ownership = "x-amz-acl", "x-amz-object-ownership"
		b.wants("default", create("a-", acl, "public-read"), 400, "InvalidBucketAclWithObjectOwnership")
		b.wants("blocked", create("b-", acl, "public-read", ownership, "ObjectWriter"), 400,
			"InvalidBucketAclWithBlockPublicAccessError")
		b.wants("logs", create("c-", acl, "log-delivery-write", ownership, "ObjectWriter"), 200, "")
		if got := b.call("GET", "/c-"+b.name+"?acl", nil, ""); !got.has("LogDelivery") {
			b.Errorf("acl: %s", got.body)
		}
	})
	runBucket(t, "transitions are kept beside what acts", func(b *bucket) {
		const moves = "<Transition><Days>30</Days><StorageClass>STANDARD_IA</StorageClass></Transition><Transition>" +
			"<Date>2030-01-01T00:00:00.000Z</Date><StorageClass>GLACIER</StorageClass></Transition>" +
			"<NoncurrentVersionTransition><NoncurrentDays>30</NoncurrentDays><StorageClass>GLACIER_IR</StorageClass>" +
			"</NoncurrentVersionTransition>"
		h := headers{"x-amz-transition-default-minimum-object-size", "varies_by_storage_class"}
		put := b.call("PUT", "?lifecycle", h, lifecycleXML("<Filter/>", moves))
		b.wants("put", put, 200, "")
		got := b.call("GET", "?lifecycle", nil, "")
		if !got.has(moves) || got.header.Get(h[0]) != h[1] || put.header.Get(h[0]) != h[1] {
			b.Errorf("get: %s %v", got.body, got.header)
		}
		h[1] = "value"
		bad := b.call("PUT", "?lifecycle", h, lifecycleXML("<Filter/>", moves))
		b.wants("a size", bad, 400, "InvalidRequest")
		if !bad.has("Invalid TransitionDefaultMinimumObjectSize found: value") {
			b.Errorf("a size: %s", bad.body)
		}
	})
	runBucket(t, "what AWS refuses is refused", func(b *bucket) {
		for _, c := range []struct{ what, body, code string }{
			{"cors", "<CORSConfiguration/>", "MalformedXML"},
			{
				"cors", "<CORSConfiguration><CORSRule><AllowedMethod>GET</AllowedMethod></CORSRule></CORSConfiguration>",
				"MalformedXML",
			},
			{
				"cors", "<CORSConfiguration><CORSRule><AllowedMethod>get</AllowedMethod><AllowedOrigin>*</AllowedOrigin>" +
					"</CORSRule></CORSConfiguration>", "InvalidRequest",
			},
			{"website", "<WebsiteConfiguration/>", "InvalidArgument"},
			{
				"website", "<WebsiteConfiguration><IndexDocument><Suffix>a/b</Suffix></IndexDocument></WebsiteConfiguration>",
				"InvalidArgument",
			},
			{
				"website", "<WebsiteConfiguration><RedirectAllRequestsTo><HostName>a</HostName><Protocol>ftp</Protocol>" +
					"</RedirectAllRequestsTo></WebsiteConfiguration>", "InvalidRequest",
			},
			{
				"logging", "<BucketLoggingStatus><LoggingEnabled><TargetBucket>none-" + b.name +
					"</TargetBucket><TargetPrefix/></LoggingEnabled></BucketLoggingStatus>", "InvalidTargetBucketForLogging",
			},
		} {
			b.wants(c.body, b.call("PUT", "?"+c.what, nil, c.body), 400, c.code)
		}
	})
	var log bytes.Buffer
	o := &localaws.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}
	runWith(t, "the log says once that a part does not act", o, func(w *world) {
		b := &bucket{world: w, name: w.name("b")}
		b.wants("create", b.call("PUT", "/"+b.name, nil, ""), 200, "")
		for range 3 {
			b.wants("put", b.call("PUT", "?cors", nil, "<CORSConfiguration><CORSRule><AllowedMethod>GET</AllowedMethod>"+
				"<AllowedOrigin>*</AllowedOrigin></CORSRule></CORSConfiguration>"), 200, "")
		}
		if n := strings.Count(log.String(), "cross-origin resource sharing"); n != 1 {
			b.Errorf("told %d times:\n%s", n, log.String())
		}
	})
}
