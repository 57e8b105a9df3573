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
	BucketARN string `rest:"header,x-amz-bucket-arn"`
	Location  string `rest:"header,Location"`
}

const (
	firstRegion     = "us-east-1" // in which S3 began, and whose rules are older than those of others
	oldEurope       = "EU"        // the location of a bucket of eu-west-1, as S3 first named it
	oldEuropeRegion = "eu-west-1"
)

// createBucket succeeds for a bucket that the caller has already in us-east-1, and is BucketAlreadyOwnedByYou elsewhere
// (AWS's API reference). The location EU is eu-west-1, and is shown as EU (recorded on AWS, 2026-02:
// TestRecordedS3Locations).
func (s *Service) createBucket(_ context.Context, c *rest.Call, in *CreateBucketInput) (*CreateBucketOutput, error) {
	if err := checkSignedRegion(c); err != nil {
		return nil, err
	}
	conf := in.CreateBucketConfiguration
	if conf == nil {
		conf = &CreateBucketConfiguration{}
	}
	region, err := s.regionFor(c, conf.LocationConstraint)
	if err != nil {
		return nil, err
	}
	tags, err := checkTags(conf.Tags, newBucketTags)
	if err != nil {
		return nil, err
	}
	if err := checkNewACL(in.ACL, in.ObjectOwnership); err != nil {
		return nil, err
	}
	set := &bucket.Settings{Tags: tags, Ownership: in.ObjectOwnership, ACL: in.ACL}
	if conf.LocationConstraint == oldEurope {
		set.Location = oldEurope
	}
	strict := region != firstRegion || c.Region != "" && c.Region != firstRegion || len(tags) > 0
	b, err := s.create(c.Account, in.Bucket, region, set, strict)
	if err != nil {
		return nil, err
	}
	out := &CreateBucketOutput{Location: "/" + in.Bucket, BucketARN: b.ARN()}
	if region != firstRegion {
		out.Location = "http://" + in.Bucket + ".s3.amazonaws.com/"
	}
	return out, nil
}

// regionFor returns the region of a new bucket. From the first region, a bucket is created in any other, elsewhere only
// in the region of the request. A request that is not signed works where the constraint says.
func (s *Service) regionFor(c *rest.Call, constraint string) (string, error) {
	at, signed := c.Region, c.Region != ""
	if !signed {
		at = s.opts.Region
	}
	named := constraint
	if constraint == oldEurope {
		named = oldEuropeRegion
	}
	switch {
	case constraint == "" && (at == firstRegion || !signed):
		return at, nil
	case constraint == "":
		return "", illegalLocation("unspecified")
	case at != firstRegion && signed && named != at:
		return "", illegalLocation(constraint)
	case constraint == firstRegion || !s.knownRegion(named, at):
		return "", rest.Refuse(400, "InvalidLocationConstraint", "The specified location-constraint is not valid",
			"LocationConstraint", constraint)
	}
	return named, nil
}

func illegalLocation(what string) error {
	return rest.Refuse(400, "IllegalLocationConstraintException", "The "+what+" location constraint is incompatible "+
		"for the region specific endpoint this request was sent to.")
}

// create creates a bucket with these settings, and otherwise with AWS's defaults. strict says that it is an error that
// the bucket exists.
func (s *Service) create(account, name, region string, set *bucket.Settings, strict bool) (*bucket.Bucket, error) {
	if !validBucketName(name) {
		return nil, invalidBucketName(name)
	}
	if set.Ownership == "" {
		set.Ownership = ownerEnforced
	}
	if err := checkOwnership(set.Ownership); err != nil {
		return nil, err
	}
	set.PublicAccess = &bucket.PublicAccess{
		BlockPublicAcls: true, IgnorePublicAcls: true, BlockPublicPolicy: true, RestrictPublicBuckets: true,
	}
	b, err := s.store.Create(account, name, region, s.now(), set)
	switch {
	case !errors.Is(err, bucket.ErrExists):
		return b, err
	case b.Account() != account:
		return nil, rest.Refuse(409, "BucketAlreadyExists", "The requested bucket name is not available. The bucket "+
			"namespace is shared by all users of the system. Please select a different name and try again.",
			"BucketName", name)
	case b.Region() == region && !strict:
		return b, nil // the first region answers so
	}
	return nil, rest.Refuse(409, "BucketAlreadyOwnedByYou", "Your previous request to create the named bucket succeeded "+
		"and you already own it.", "BucketName", name)
}
