package s3

import (
	"context"
	"errors"

	"github.com/godwitmq/godwit/localaws/rest"
	"github.com/godwitmq/godwit/localaws/s3/bucket"
)

// CreateBucketInput is the input of CreateBucket.
type CreateBucketInput struct {
	Bucket                    string                     `rest:"bucket"`
	ACL                       string                     `rest:"header,x-amz-acl"`
	ObjectOwnership           string                     `rest:"header,x-amz-object-ownership"`
	CreateBucketConfiguration *CreateBucketConfiguration `rest:"payload,CreateBucketConfiguration"`
}

// CreateBucketConfiguration says where a bucket is, and how it is tagged.
type CreateBucketConfiguration struct {
	LocationConstraint string
	Tags               []Tag `xml:"Tags>Tag"`
}

// CreateBucketOutput is the output of CreateBucket.
type CreateBucketOutput struct {
	Location string `rest:"header,Location"`
}

// firstRegion is the region that S3 began with, and whose rules are older than those of others.
const firstRegion = "us-east-1"

func (s *Service) createBucket(_ context.Context, c *rest.Call, in *CreateBucketInput) (*CreateBucketOutput, error) {
	conf := in.CreateBucketConfiguration
	if conf == nil {
		conf = &CreateBucketConfiguration{}
	}
	region, err := s.regionFor(c, conf.LocationConstraint)
	if err != nil {
		return nil, err
	}
	tags, err := checkTags(conf.Tags, maxBucketTags)
	if err != nil {
		return nil, err
	}
	if err := checkACL(in.ACL); err != nil {
		return nil, err
	}
	strict := region != firstRegion || c.Region != "" && c.Region != firstRegion
	if err := s.create(c.Account, in.Bucket, region, in.ObjectOwnership, tags, strict); err != nil {
		return nil, err
	}
	if region == firstRegion {
		return &CreateBucketOutput{Location: "/" + in.Bucket}, nil
	}
	return &CreateBucketOutput{Location: "http://" + in.Bucket + ".s3.amazonaws.com/"}, nil
}

// regionFor returns the region of a new bucket.
func (s *Service) regionFor(c *rest.Call, constraint string) (string, error) {
	at := c.Region
	if at == "" || at == "aws-global" {
		at = s.opts.Region
	}
	switch {
	case constraint == "EU":
		constraint = "eu-west-1"
	case constraint == firstRegion:
		return "", rest.Refuse(400, "InvalidLocationConstraint", "The specified location-constraint is not valid",
			"LocationConstraint", constraint)
	case constraint == "" && (at == firstRegion || c.Region == ""):
		return at, nil
	case constraint == "":
		return "", illegalLocation("unspecified")
	}
	if at != firstRegion && constraint != at && c.Region != "" {
		return "", illegalLocation(constraint)
	}
	if !s.knownRegion(constraint, at) {
		return "", rest.Refuse(400, "InvalidLocationConstraint", "The specified location-constraint is not valid",
			"LocationConstraint", constraint)
	}
	return constraint, nil
}

func illegalLocation(what string) error {
	return rest.Refuse(400, "IllegalLocationConstraintException", "The "+what+" location constraint is incompatible "+
		"for the region specific endpoint this request was sent to.")
}

// create creates a bucket with AWS's defaults. Outside the first region, it is an error that it exists.
func (s *Service) create(account, name, region, ownership string, tags []bucket.Tag, strict bool) error {
	if !validBucketName(name) {
		return invalidBucketName(name)
	}
	if ownership == "" {
		ownership = ownerEnforced
	}
	if err := checkOwnership(ownership); err != nil {
		return err
	}
	b, err := s.store.Create(account, name, region, s.now(), &bucket.Settings{
		Tags: tags, Ownership: ownership,
		PublicAccess: &bucket.PublicAccess{
			BlockPublicAcls: true, IgnorePublicAcls: true, BlockPublicPolicy: true, RestrictPublicBuckets: true,
		},
	})
	if errors.Is(err, bucket.ErrExists) && b.Account() != account {
		return rest.Refuse(409, "BucketAlreadyExists", "The requested bucket name is not available. The bucket "+
			"namespace is shared by all users of the system. Please select a different name and try again.", "BucketName", name)
	}
	if errors.Is(err, bucket.ErrExists) {
		if b.Region() == region && !strict {
			return nil // the first region answers so
		}
		return rest.Refuse(409, "BucketAlreadyOwnedByYou", "Your previous request to create the named bucket succeeded "+
			"and you already own it.", "BucketName", name)
	}
	return err
}
