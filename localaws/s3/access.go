package s3

import (
	"encoding/hex"
	"encoding/xml"
	"slices"
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

// Groups of AWS, and the permission to do everything.
const (
	allUsers    = "http://acs.amazonaws.com/groups/global/AllUsers"
	knownUsers  = "http://acs.amazonaws.com/groups/global/AuthenticatedUsers"
	logDelivery = "http://acs.amazonaws.com/groups/s3/LogDelivery"
	fullControl = "FULL_CONTROL"
)

// privateACL is the canned list of whatever has no other.
const privateACL = "private"

// cannedGrants returns what a canned list grants to others than the owner; false: there is no such list.
func cannedGrants(acl string) (grants []bucket.Grant, ok bool) {
	switch acl {
	case "", privateACL, "bucket-owner-full-control", "bucket-owner-read", "aws-exec-read":
		return nil, true // here, the owner of an object is the owner of the bucket
	case "public-read":
		return []bucket.Grant{{Group: allUsers, Permission: "READ"}}, true
	case "public-read-write":
		return []bucket.Grant{{Group: allUsers, Permission: "READ"}, {Group: allUsers, Permission: "WRITE"}}, true
	case "authenticated-read":
		return []bucket.Grant{{Group: knownUsers, Permission: "READ"}}, true
	case "log-delivery-write":
		return []bucket.Grant{
			{Group: logDelivery, Permission: "WRITE"}, {Group: logDelivery, Permission: "READ_ACP"},
		}, true
	}
	return nil, false
}

// shownACL shows a canned list, or grants that were put.
func shownACL(b *bucket.Bucket, acl string, grants []bucket.Grant) *ACLOutput {
	whose := owner(b.Account())
	if grants == nil {
		others, _ := cannedGrants(acl)
		grants = append([]bucket.Grant{{User: whose.ID, Permission: fullControl}}, others...)
	}
	out := &ACLOutput{Owner: whose, Grant: []Grant{}}
	for _, g := range grants {
		line := Grant{Permission: g.Permission}
		if g.User != "" {
			line.User = &Owner{ID: g.User}
		} else {
			line.Group = &Group{g.Group}
		}
		out.Grant = append(out.Grant, line)
	}
	return out
}

// checkACL checks a canned list for a bucket with these settings, or for an object in it.
func checkACL(acl string, set *bucket.Settings) error {
	grants, ok := cannedGrants(acl)
	switch {
	case !ok:
		return rest.InvalidArgument("", "x-amz-acl", acl)
	case acl == "" || acl == privateACL || acl == "bucket-owner-full-control":
		return nil
	}
	return checkGrants(grants, set)
}

// checkGrants checks grants to others than the owner.
func checkGrants(grants []bucket.Grant, set *bucket.Settings) error {
	if set.Ownership == ownerEnforced {
		return rest.Refuse(400, "AccessControlListNotSupported", "The bucket does not allow ACLs")
	}
	blocked := set.PublicAccess != nil && set.PublicAccess.BlockPublicAcls
	for _, g := range grants {
		if blocked && g.Group == allUsers {
			return accessDenied()
		}
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

// GivenACL is an access control list as a client puts it: a canned one, grants in headers, or a document.
type GivenACL struct {
	ACL                 string `rest:"header,x-amz-acl"`
	GrantFullControl    string `rest:"header,x-amz-grant-full-control"`
	GrantRead           string `rest:"header,x-amz-grant-read"`
	GrantReadACP        string `rest:"header,x-amz-grant-read-acp"`
	GrantWrite          string `rest:"header,x-amz-grant-write"`
	GrantWriteACP       string `rest:"header,x-amz-grant-write-acp"`
	AccessControlPolicy string `rest:"text"`
}

// read returns the canned list, or the grants. The refusals are as recorded on AWS, 2023-08-03 (TestRecordedS3ACLs).
func (in *GivenACL) read(b *bucket.Bucket) (grants []bucket.Grant, err error) {
	headers := [][3]string{
		{"x-amz-grant-full-control", in.GrantFullControl, fullControl},
		{"x-amz-grant-read", in.GrantRead, "READ"},
		{"x-amz-grant-read-acp", in.GrantReadACP, "READ_ACP"},
		{"x-amz-grant-write", in.GrantWrite, "WRITE"},
		{"x-amz-grant-write-acp", in.GrantWriteACP, "WRITE_ACP"},
	}
	for _, h := range headers {
		if h[1] != "" {
			if grants, err = appendGrantees(grants, h[0], h[1], h[2]); err != nil {
				return nil, err
			}
		}
	}
	switch {
	case in.ACL == "" && grants == nil && in.AccessControlPolicy == "":
		return nil, rest.Refuse(400, "MissingSecurityHeader", "Your request was missing a required header",
			"MissingHeaderName", "x-amz-acl")
	case in.ACL != "" && grants != nil:
		return nil, invalidRequest("Specifying both Canned ACLs and Header Grants is not allowed")
	case (in.ACL != "" || grants != nil) && in.AccessControlPolicy != "":
		return nil, rest.Refuse(400, "UnexpectedContent", "This request does not support content")
	case in.ACL != "":
		return nil, checkACL(in.ACL, b.Settings())
	case grants == nil:
		if grants, err = readACP(in.AccessControlPolicy, owner(b.Account()).ID); err != nil {
			return nil, err
		}
	}
	if len(grants) == 1 && grants[0] == (bucket.Grant{User: owner(b.Account()).ID, Permission: fullControl}) {
		return grants, nil
	}
	return grants, checkGrants(grants, b.Settings())
}

// appendGrantees appends the grantees of a header, `id="…", uri="…"`.
func appendGrantees(grants []bucket.Grant, header, text, permission string) ([]bucket.Grant, error) {
	for grantee := range strings.SplitSeq(text, ",") {
		grantee = strings.TrimSpace(grantee)
		kind, value, _ := strings.Cut(grantee, "=")
		value = strings.Trim(value, `"`)
		g := bucket.Grant{Permission: permission}
		switch kind {
		case "id":
			g.User = value
		case "uri":
			g.Group = value
		case "emailAddress":
			return nil, notImplemented("A grantee by its e-mail address")
		default:
			return nil, rest.InvalidArgument("Argument format not recognized", header, grantee)
		}
		if err := checkGrantee(g, "id", "uri"); err != nil {
			return nil, err
		}
		grants = append(grants, g)
	}
	return grants, nil
}

// checkGrantee checks the user's id, or the group. The arguments are their names in a refusal.
func checkGrantee(g bucket.Grant, id, uri string) error {
	switch {
	case g.Group != "" && g.Group != allUsers && g.Group != knownUsers && g.Group != logDelivery:
		return rest.InvalidArgument("Invalid group uri", uri, g.Group)
	case g.Group == "" && !isCanonicalID(g.User):
		return rest.InvalidArgument("Invalid id", id, g.User)
	}
	return nil
}

func isCanonicalID(text string) bool {
	id, err := hex.DecodeString(text)
	return err == nil && len(id) == 32
}

// readACP reads the grants of an AccessControlPolicy, which names the owner.
func readACP(text, whose string) ([]bucket.Grant, error) {
	var p struct {
		XMLName xml.Name `xml:"AccessControlPolicy"`
		Owner   *struct{ ID string }
		List    *struct {
			Grant []struct {
				Grantee struct {
					Type    string `xml:"http://www.w3.org/2001/XMLSchema-instance type,attr"`
					ID, URI string
				}
				Permission string
			}
		} `xml:"AccessControlList"`
	}
	if xml.Unmarshal([]byte(text), &p) != nil || p.Owner == nil || p.List == nil {
		return nil, malformedACL()
	}
	if err := checkGrantee(bucket.Grant{User: p.Owner.ID}, "CanonicalUser/ID", ""); err != nil {
		return nil, err
	}
	grants := []bucket.Grant{}
	for _, line := range p.List.Grant {
		g := bucket.Grant{Permission: line.Permission}
		switch line.Grantee.Type {
		case "CanonicalUser":
			g.User = line.Grantee.ID
		case "Group":
			g.Group = line.Grantee.URI
		case "AmazonCustomerByEmail":
			return nil, notImplemented("A grantee by its e-mail address")
		default:
			return nil, malformedACL()
		}
		if !slices.Contains([]string{fullControl, "READ", "READ_ACP", "WRITE", "WRITE_ACP"}, g.Permission) {
			return nil, malformedACL()
		}
		if err := checkGrantee(g, "CanonicalUser/ID", "Group/URI"); err != nil {
			return nil, err
		}
		grants = append(grants, g)
	}
	if p.Owner.ID != whose {
		return nil, accessDenied()
	}
	return grants, nil
}

func malformedACL() error {
	return rest.Refuse(400, "MalformedACLError",
		"The XML you provided was not well-formed or did not validate against our published schema")
}

// PutBucketACLInput is the input of PutBucketAcl.
type PutBucketACLInput struct {
	Bucket string `rest:"bucket"`
	GivenACL
}

// putBucketACL keeps the list, which decides nothing. While the ownership is BucketOwnerEnforced, as in new buckets,
// grants to others than the owner are AccessControlListNotSupported (AWS's user guide, controlling ownership of
// objects).
func putBucketACL(c call, b *bucket.Bucket, in *PutBucketACLInput) (*Done, error) {
	grants, err := in.read(b)
	if err != nil {
		return nil, err
	}
	if in.ACL == privateACL {
		return done(), configure(b, func(set *bucket.Settings) { set.ACL, set.Grants = "", nil })
	}
	return done(), c.keep(b, keptACL, func(set *bucket.Settings) { set.ACL, set.Grants = in.ACL, grants })
}

// PutObjectACLInput is the input of PutObjectAcl.
type PutObjectACLInput struct {
	Bucket    string `rest:"bucket"`
	Key       string `rest:"key"`
	VersionID string `rest:"query,versionId"`
	GivenACL
}

// putObjectACL keeps the list of an object, under the same conditions as that of a bucket.
func putObjectACL(c call, b *bucket.Bucket, in *PutObjectACLInput) (*Done, error) {
	if _, err := object(b, in.Key, in.VersionID); err != nil {
		return nil, err
	}
	grants, err := in.read(b)
	if err != nil {
		return nil, err
	}
	if err := b.Alter(in.Key, func(p *bucket.Properties) { p.ACL, p.Grants = in.ACL, grants }); err != nil {
		return nil, modelError(err, b, in.Key, "", bucket.Condition{})
	}
	c.inert(b, keptACL)
	return done(), nil
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
	grants, _ := cannedGrants(b.Settings().ACL)
	if kind == ownerEnforced && (len(grants) > 0 || b.Settings().Grants != nil) {
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
