package s3

import (
	"context"

	"github.com/godwitmq/godwit/localaws/rest"
	"github.com/godwitmq/godwit/localaws/s3/bucket"
)

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
	return rest.InvalidArgument("Invalid x-amz-object-ownership header: "+kind, "x-amz-object-ownership", kind)
}

// putBucketOwnershipControls takes exactly one rule, and refuses BucketOwnerEnforced while a list grants something to
// others: InvalidBucketAclWithObjectOwnership (AWS's user guide, controlling ownership of objects).
func (s *Service) putBucketOwnershipControls(
	_ context.Context, c *rest.Call, in *PutBucketOwnershipControlsInput,
) (*Done, error) {
	b, err := s.bucket(c, in.Bucket)
	if err != nil {
		return nil, err
	}
	if in.OwnershipControls == nil || len(in.OwnershipControls.Rule) != 1 ||
		checkOwnership(in.OwnershipControls.Rule[0].ObjectOwnership) != nil {
		return nil, rest.MalformedXML()
	}
	kind := in.OwnershipControls.Rule[0].ObjectOwnership
	if grants, _ := cannedGrants(b.Settings().ACL); kind == ownerEnforced && len(grants) > 0 {
		return nil, rest.Refuse(400, "InvalidBucketAclWithObjectOwnership",
			"Bucket cannot have ACLs set with ObjectOwnership's BucketOwnerEnforced setting")
	}
	return done(), s.configure(b, func(set *bucket.Settings) { set.Ownership = kind })
}
