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

// PutBucketACLInput is the input of PutBucketAcl. Only canned lists are kept.
type PutBucketACLInput struct {
	Bucket              string `rest:"bucket"`
	ACL                 string `rest:"header,x-amz-acl"`
	AccessControlPolicy string `rest:"text"`
}

// putBucketACL takes canned lists only. While the ownership is BucketOwnerEnforced, as in new buckets, all but private
// and bucket-owner-full-control are AccessControlListNotSupported (AWS's user guide, controlling ownership of objects).
func putBucketACL(c call, b *bucket.Bucket, in *PutBucketACLInput) (*Done, error) {
	switch {
	case in.AccessControlPolicy != "":
		return nil, notImplemented("AccessControlPolicy of an access control list, other than a canned one,")
	case in.ACL == "":
		return nil, rest.Refuse(400, "MissingSecurityHeader", "Your request was missing a required header",
			"MissingHeaderName", "x-amz-acl")
	}
	if err := checkACL(in.ACL, b.Settings()); err != nil {
		return nil, err
	}
	if in.ACL == privateACL {
		return done(), configure(b, func(set *bucket.Settings) { set.ACL = "" })
	}
	return done(), c.keep(b, keptACL, func(set *bucket.Settings) { set.ACL = in.ACL })
}

// PutBucketOwnershipControlsInput is the input of PutBucketOwnershipControls.
type PutBucketOwnershipControlsInput struct {
	Bucket            string             `rest:"bucket"`
	OwnershipControls *OwnershipControls `rest:"payload,OwnershipControls"`
}

// OwnershipControls say who owns the objects of a bucket.
type OwnershipControls struct {
	Rule []OwnershipRule
}

// OwnershipRule is the only rule of OwnershipControls.
type OwnershipRule struct {
	ObjectOwnership string
}

// ownerEnforced is the ownership of new buckets.
const ownerEnforced = "BucketOwnerEnforced"

func checkOwnership(kind string) error {
	switch kind {
	case ownerEnforced, "BucketOwnerPreferred", "ObjectWriter":
		return nil
	}
	return rest.Refuse(400, "InvalidArgument", "Invalid x-amz-object-ownership header: "+kind,
		"ArgumentName", "x-amz-object-ownership")
}

// putBucketOwnershipControls takes exactly one rule, and refuses BucketOwnerEnforced while a list grants something to
// others: InvalidBucketAclWithObjectOwnership (AWS's user guide, controlling ownership of objects).
func putBucketOwnershipControls(_ call, b *bucket.Bucket, in *PutBucketOwnershipControlsInput) (*Done, error) {
	if in.OwnershipControls == nil || len(in.OwnershipControls.Rule) != 1 ||
		checkOwnership(in.OwnershipControls.Rule[0].ObjectOwnership) != nil {
		return nil, rest.MalformedXML()
	}
	kind := in.OwnershipControls.Rule[0].ObjectOwnership
	if grants, _ := cannedGrants(b.Settings().ACL); kind == ownerEnforced && len(grants) > 0 {
		return nil, rest.Refuse(400, "InvalidBucketAclWithObjectOwnership",
			"Bucket cannot have ACLs set with ObjectOwnership's BucketOwnerEnforced setting")
	}
	return done(), configure(b, func(set *bucket.Settings) { set.Ownership = kind })
}

// GetBucketOwnershipControlsOutput is the output of GetBucketOwnershipControls.
type GetBucketOwnershipControlsOutput struct {
	Rule []OwnershipRule
}

// getBucketOwnershipControls is OwnershipControlsNotFoundError where they were deleted; a new bucket has
// BucketOwnerEnforced (AWS's user guide, since April 2023).
func getBucketOwnershipControls(_ call, b *bucket.Bucket, in *BucketInput) (*GetBucketOwnershipControlsOutput, error) {
	kind := b.Settings().Ownership
	if kind == "" {
		return nil, notFound(b, "OwnershipControlsNotFoundError", "The bucket ownership controls were not found")
	}
	return &GetBucketOwnershipControlsOutput{[]OwnershipRule{{kind}}}, nil
}

// deleteBucketOwnershipControls leaves no controls, and not BucketOwnerEnforced, which new buckets have: reading them
// is then OwnershipControlsNotFoundError.
func deleteBucketOwnershipControls(_ call, b *bucket.Bucket, _ *BucketInput) (*Done, error) {
	return noContent(), configure(b, func(set *bucket.Settings) { set.Ownership = "" })
}

// PutPublicAccessBlockInput is the input of PutPublicAccessBlock.
type PutPublicAccessBlockInput struct {
	Bucket                         string        `rest:"bucket"`
	PublicAccessBlockConfiguration *PublicAccess `rest:"payload,PublicAccessBlockConfiguration"`
}

// PublicAccess says which public access is blocked.
type PublicAccess struct {
	BlockPublicAcls       bool
	IgnorePublicAcls      bool
	BlockPublicPolicy     bool
	RestrictPublicBuckets bool
}

// putPublicAccessBlock replaces all four settings: one that is not named is off.
func putPublicAccessBlock(_ call, b *bucket.Bucket, in *PutPublicAccessBlockInput) (*Done, error) {
	if in.PublicAccessBlockConfiguration == nil {
		return nil, rest.MalformedXML()
	}
	block := bucket.PublicAccess(*in.PublicAccessBlockConfiguration)
	return done(), configure(b, func(set *bucket.Settings) { set.PublicAccess = &block })
}

// GetPublicAccessBlockOutput is the output of GetPublicAccessBlock.
type GetPublicAccessBlockOutput struct {
	PublicAccess
}

// getPublicAccessBlock is NoSuchPublicAccessBlockConfiguration where it was deleted; a new bucket has everything
// blocked.
func getPublicAccessBlock(_ call, b *bucket.Bucket, in *BucketInput) (*GetPublicAccessBlockOutput, error) {
	block := b.Settings().PublicAccess
	if block == nil {
		return nil, notFound(b, "NoSuchPublicAccessBlockConfiguration",
			"The public access block configuration was not found")
	}
	return &GetPublicAccessBlockOutput{PublicAccess(*block)}, nil
}

// deletePublicAccessBlock leaves nothing blocked, whereas a new bucket has everything blocked (AWS's user guide, since
// April 2023).
func deletePublicAccessBlock(_ call, b *bucket.Bucket, _ *BucketInput) (*Done, error) {
	return noContent(), configure(b, func(set *bucket.Settings) { set.PublicAccess = nil })
}
