package conformance

import (
	"strings"
	"testing"
)

// The cases of this file are what AWS answered on 2023-08-03 (repository localstack/localstack, tests/aws/services/s3,
// test_s3.snapshot.json, test_s3_bucket_acl, test_s3_object_acl and their exceptions).

const (
	aclGroup = "http://acs.amazonaws.com/groups/"
	aclXSI   = ` xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:type=`
)

// acp is an AccessControlPolicy.
func acp(owner string, grants ...string) string {
	return "<AccessControlPolicy><Owner><ID>" + owner + "</ID></Owner><AccessControlList>" + strings.Join(grants, "") +
		"</AccessControlList></AccessControlPolicy>"
}

func grant(kind, grantee, permission string) string {
	return "<Grant><Grantee" + aclXSI + `"` + kind + `">` + grantee + "</Grantee><Permission>" + permission +
		"</Permission></Grant>"
}

func TestRecordedS3ACLs(t *testing.T) {
	group := func(name, permission string) string {
		return grant("Group", "<URI>"+aclGroup+name+"</URI>", permission)
	}
	user := func(id, permission string) string { return grant("CanonicalUser", "<ID>"+id+"</ID>", permission) }
	runBucket(t, "a list is canned, in headers or in a document, and replaces the one before", func(b *bucket) {
		b.wants("ownership", b.call("DELETE", "?ownershipControls", nil, ""), 204, "")
		b.wants("public access", b.call("DELETE", "?publicAccessBlock", nil, ""), 204, "")
		b.put("k", "x")
		owner := b.call("GET", "?acl", nil, "").element("Owner").element("ID").body
		for _, target := range []string{"?acl", "k?acl", "k?acl&versionId=null"} {
			for what, c := range map[string]struct {
				h    headers
				body string
				want []string
			}{
				"canned": {
					headers{"x-amz-acl", "public-read"},
					"",
					[]string{user(owner, "FULL_CONTROL"), group("global/AllUsers", "READ")},
				},
				"headers": {
					headers{
						"x-amz-grant-full-control", "id=" + owner, "x-amz-grant-read-acp", "id=" + owner,
						"x-amz-grant-write-acp", "id=" + owner,
						"x-amz-grant-read", `uri="` + aclGroup + `s3/LogDelivery"`,
					},
					"",
					[]string{
						user(owner, "FULL_CONTROL"), group("s3/LogDelivery", "READ"), user(owner, "READ_ACP"),
						user(owner, "WRITE_ACP"),
					},
				},
				"document": {
					nil, acp(owner, user(owner, "FULL_CONTROL"), group("s3/LogDelivery", "WRITE")),
					[]string{user(owner, "FULL_CONTROL"), group("s3/LogDelivery", "WRITE")},
				},
			} {
				b.wants(target+" "+what, b.call("PUT", target, c.h, c.body), 200, "")
				got := b.call("GET", target, nil, "")
				if got.element("AccessControlList").body != strings.Join(c.want, "") {
					b.Errorf("%s %s: %s, want %s", target, what, got.body, c.want)
				}
			}
			b.wants("private", b.call("PUT", target, headers{"x-amz-acl", "private"}, ""), 200, "")
		}
	})
	runBucket(t, "a list that is none is refused by what is wrong with it", func(b *bucket) {
		b.put("k", "x")
		owner := b.call("GET", "?acl", nil, "").element("Owner").element("ID").body
		fake, canned := group("s3/FakeGroup", "WRITE"), headers{"x-amz-acl", "private"}
		for what, c := range map[string]struct {
			h          headers
			body       string
			code, text string
		}{
			"canned":     {headers{"x-amz-acl", "fake-acl"}, "", "InvalidArgument", "<ArgumentName>x-amz-acl<"},
			"group":      {headers{"x-amz-grant-write", `uri="fake"`}, "", "InvalidArgument", "Invalid group uri"},
			"kind":       {headers{"x-amz-grant-write", `fakekey="1"`}, "", "InvalidArgument", "not recognized"},
			"id":         {headers{"x-amz-grant-write", `id="wrong-id"`}, "", "InvalidArgument", "<ArgumentName>id<"},
			"no owner":   {nil, "<AccessControlPolicy/>", "MalformedACLError", ""},
			"permission": {nil, acp(owner, group("s3/LogDelivery", "WRONG")), "MalformedACLError", ""},
			"owner":      {nil, acp("wrong-id"), "InvalidArgument", "<ArgumentName>CanonicalUser/ID<"},
			"a group":    {nil, acp(owner, fake), "InvalidArgument", "<ArgumentName>Group/URI<"},
			"a user":     {nil, acp(owner, user("wrong-id", "READ")), "InvalidArgument", "CanonicalUser/ID<"},
			"a type":     {nil, acp(owner, grant("BadType", "", "READ")), "MalformedACLError", ""},
			"nothing":    {nil, "", "MissingSecurityHeader", "<MissingHeaderName>x-amz-acl<"},
			"two":        {append(canned, "x-amz-grant-read", `id="`+owner+`"`), "", "InvalidRequest", "not allowed"},
			"and a body": {canned, acp(owner), "UnexpectedContent", "This request does not support content"},
			"enforced":   {nil, acp(owner, group("s3/LogDelivery", "READ")), "AccessControlListNotSupported", ""},
		} {
			for _, target := range []string{"?acl", "k?acl"} {
				got := b.call("PUT", target, c.h, c.body)
				b.wants(target+" "+what, got, 400, c.code)
				if !got.has(c.text) {
					b.Errorf("%s %s: %s, want %s", target, what, got.body, c.text)
				}
			}
		}
		b.wants("no object", b.call("PUT", "none?acl", canned, ""), 404, "NoSuchKey")
	})
}
