package s3

import (
	"strings"

	"github.com/godwitmq/godwit/localaws/rest"
	"github.com/godwitmq/godwit/localaws/s3/bucket"
)

// ACLOutput is the output of GetBucketAcl and GetObjectAcl.
type ACLOutput struct {
	Owner *Owner
	Grant []Grant `xml:"AccessControlList>Grant"`
}

// Grant is one line of an access control list: for a user, or for a group.
type Grant struct {
	User       *Owner `xml:"Grantee@CanonicalUser"`
	Group      *Group `xml:"Grantee@Group"`
	Permission string
}

// Group is a group of users that AWS has named.
type Group struct{ URI string }

// privateACL is the canned list of whatever has no other.
const privateACL = "private"

// cannedGrants returns what a canned list grants to others than the owner; false: there is no such list.
func cannedGrants(acl string) (grants []Grant, ok bool) {
	group := func(name string, permissions ...string) (all []Grant) {
		for _, p := range permissions {
			all = append(all, Grant{Group: &Group{"http://acs.amazonaws.com/groups/" + name}, Permission: p})
		}
		return all
	}
	switch acl {
	case "", privateACL, "bucket-owner-full-control", "bucket-owner-read", "aws-exec-read":
		return nil, true // here, the owner of an object is the owner of the bucket
	case "public-read":
		return group("global/AllUsers", "READ"), true
	case "public-read-write":
		return group("global/AllUsers", "READ", "WRITE"), true
	case "authenticated-read":
		return group("global/AuthenticatedUsers", "READ"), true
	case "log-delivery-write":
		return group("s3/LogDelivery", "WRITE", "READ_ACP"), true
	}
	return nil, false
}

// shownACL shows a canned list.
func shownACL(b *bucket.Bucket, acl string) *ACLOutput {
	whose := owner(b.Account())
	others, _ := cannedGrants(acl)
	return &ACLOutput{Owner: whose, Grant: append([]Grant{{User: whose, Permission: "FULL_CONTROL"}}, others...)}
}

// checkACL checks a canned list for a bucket with these settings, or for an object in it.
func checkACL(acl string, set *bucket.Settings) error {
	grants, ok := cannedGrants(acl)
	switch {
	case !ok:
		return rest.InvalidArgument("", "x-amz-acl", acl)
	case acl == "" || acl == privateACL || acl == "bucket-owner-full-control":
		return nil
	case set.Ownership == ownerEnforced:
		return rest.Refuse(400, "AccessControlListNotSupported", "The bucket does not allow ACLs")
	case len(grants) > 0 && strings.HasPrefix(acl, "public-") && set.PublicAccess != nil &&
		set.PublicAccess.BlockPublicAcls:
		return accessDenied()
	}
	return nil
}

// checkNewACL checks the canned list of a new bucket, with the codes that only CreateBucket has.
func checkNewACL(acl, ownership string) error {
	grants, ok := cannedGrants(acl)
	switch {
	case !ok:
		return rest.InvalidArgument("", "x-amz-acl", acl)
	case len(grants) == 0:
		return nil
	case ownership == "" || ownership == ownerEnforced:
		return rest.Refuse(400, "InvalidBucketAclWithObjectOwnership",
			"Bucket cannot have ACLs set with ObjectOwnership's BucketOwnerEnforced setting")
	case strings.HasPrefix(acl, "public-"): // a new bucket blocks them
		return rest.Refuse(400, "InvalidBucketAclWithBlockPublicAccessError",
			"Bucket cannot have public ACLs set with BlockPublicAccess enabled")
	}
	return nil
}
