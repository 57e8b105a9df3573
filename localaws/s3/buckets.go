package s3

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/godwitmq/godwit/localaws/rest"
	"github.com/godwitmq/godwit/localaws/s3/bucket"
	"github.com/godwitmq/godwit/localaws/wire"
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
func createBucket(c call, in *CreateBucketInput) (*CreateBucketOutput, error) {
	if err := checkSignedRegion(c.Region); err != nil {
		return nil, err
	}
	conf := in.CreateBucketConfiguration
	conf = cmp.Or(conf, &CreateBucketConfiguration{})
	region, err := regionFor(c, conf.LocationConstraint)
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
	b, err := create(c.at, c.Account, in.Bucket, region, set, strict)
	if err != nil {
		return nil, err
	}
	out := &CreateBucketOutput{Location: "/" + in.Bucket, BucketARN: arnOf(b)}
	if region != firstRegion {
		out.Location = "http://" + in.Bucket + ".s3.amazonaws.com/"
	}
	return out, nil
}

// regionFor returns the region of a new bucket. From the first region, a bucket is created in any other, elsewhere only
// in the region of the request. A request that is not signed works where the constraint says.
func regionFor(c call, constraint string) (string, error) {
	at, signed := c.Region, c.Region != ""
	if !signed {
		at = c.at.opts.Region
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
	case constraint == firstRegion || !knownRegion(c.at, named, at):
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
func create(s *Service, account, name, region string, set *bucket.Settings, strict bool) (*bucket.Bucket, error) {
	if !validBucketName(name) {
		return nil, invalidBucketName(name)
	}
	set.Ownership = cmp.Or(set.Ownership, ownerEnforced)
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

// regions are those in which S3 is (AWS General Reference, Amazon S3 endpoints and quotas). Only another region than
// that of the request has to be one of them, so that a server may have a region of any name.
var regions = []string{
	"af-south-1", "ap-east-1", "ap-east-2", "ap-northeast-1", "ap-northeast-2", "ap-northeast-3", "ap-south-1",
	"ap-south-2", "ap-southeast-1", "ap-southeast-2", "ap-southeast-3", "ap-southeast-4", "ap-southeast-5",
	"ap-southeast-6", "ap-southeast-7", "ca-central-1", "ca-west-1", "cn-north-1", "cn-northwest-1", "eu-central-1",
	"eu-central-2", "eu-north-1", "eu-south-1", "eu-south-2", "eu-west-1", "eu-west-2", "eu-west-3", "il-central-1",
	"me-central-1", "me-south-1", "mx-central-1", "sa-east-1", "us-east-1", "us-east-2", "us-gov-east-1",
	"us-gov-west-1", "us-west-1", "us-west-2",
}

// knownRegion reports whether a client of the region at may name another region.
func knownRegion(s *Service, name, at string) bool {
	return slices.Contains(regions, name) || wire.IsRegion(name) && (name == at || name == s.opts.Region)
}

// deleteBucket refuses a bucket with objects (BucketNotEmpty). The name is then free for every account, on AWS after a
// while (AWS's user guide, deleting a bucket).
func deleteBucket(c call, b *bucket.Bucket, in *BucketInput) (*Done, error) {
	if err := c.at.store.Delete(in.Bucket); errors.Is(err, bucket.ErrNotEmpty) {
		return nil, rest.Refuse(409, "BucketNotEmpty", "The bucket you tried to delete is not empty", "BucketName",
			in.Bucket)
	} else if err != nil {
		return nil, modelError(err, b, "", "", bucket.Condition{})
	}
	return noContent(), nil
}

// HeadBucketOutput is the output of HeadBucket.
type HeadBucketOutput struct {
	BucketARN        string `rest:"header,x-amz-bucket-arn"`
	BucketRegion     string `rest:"header,x-amz-bucket-region"`
	AccessPointAlias string `rest:"header,x-amz-access-point-alias"`
	ContentType      string `rest:"header,Content-Type"`
}

// headBucket has no body, so that an error is only a status: 400, 403 or 404 (AWS's API reference). Region and ARN are
// in headers (recorded on AWS, 2026-02).
func headBucket(_ call, b *bucket.Bucket, _ *BucketInput) (*HeadBucketOutput, error) {
	return &HeadBucketOutput{
		BucketARN: arnOf(b), BucketRegion: b.Region(), AccessPointAlias: "false", ContentType: "application/xml",
	}, nil
}

// ListBucketsInput is the input of ListBuckets.
type ListBucketsInput struct {
	BucketRegion      string `rest:"query,bucket-region"`
	ContinuationToken string `rest:"query,continuation-token"`
	MaxBuckets        *int   `rest:"query,max-buckets"`
	Prefix            string `rest:"query,prefix"`
}

// ListBucketsOutput is the output of ListBuckets.
type ListBucketsOutput struct {
	Owner             *Owner         // first, because the SDK for Java v1 gives it to each bucket as it is read
	Buckets           []ListedBucket `xml:"Buckets>Bucket"`
	ContinuationToken *string
	Prefix            *string
}

// ListedBucket is a bucket in the list of buckets.
type ListedBucket struct {
	Name         string
	CreationDate time.Time
	BucketRegion string
	BucketARN    string `xml:"BucketArn"`
}

const maxBuckets = 10_000 // S3: buckets of a page, and in an account

// listBuckets lists the buckets of all regions, wherever the request is signed for, unless bucket-region selects (AWS's
// API reference, ListBuckets).
func listBuckets(c call, in *ListBucketsInput) (*ListBucketsOutput, error) {
	if err := checkSignedRegion(c.Region); err != nil {
		return nil, err
	}
	limit := maxBuckets
	if in.MaxBuckets != nil {
		if limit = *in.MaxBuckets; limit < 1 || limit > maxBuckets {
			return nil, rest.InvalidArgument("Argument max-buckets must be an integer between 1 and 10000", "max-buckets",
				itoa(limit))
		}
	}
	if in.BucketRegion != "" && !knownRegion(c.at, in.BucketRegion, c.Region) {
		return nil, rest.Refuse(400, "InvalidArgument", "Argument value "+in.BucketRegion+" is not a valid AWS Region",
			"ArgumentName", "bucket-region")
	}
	after, known := wire.ReadPageToken(in.ContinuationToken)
	if !known {
		return nil, badToken()
	}
	out := &ListBucketsOutput{Buckets: []ListedBucket{}, Owner: owner(c.Account)}
	if in.Prefix != "" {
		out.Prefix = &in.Prefix
	}
	for _, b := range c.at.store.Buckets() {
		if b.Account() != c.Account || b.Name() <= after || !strings.HasPrefix(b.Name(), in.Prefix) ||
			in.BucketRegion != "" && in.BucketRegion != b.Region() {
			continue
		}
		if len(out.Buckets) == limit {
			token := wire.PageToken(out.Buckets[limit-1].Name)
			out.ContinuationToken = &token
			break
		}
		out.Buckets = append(out.Buckets, ListedBucket{b.Name(), b.Created(), b.Region(), arnOf(b)})
	}
	return out, nil
}

func badToken() error {
	return rest.Refuse(400, "InvalidArgument", "The continuation token provided is incorrect",
		"ArgumentName", "continuation-token")
}

// GetBucketLocationOutput is the output of GetBucketLocation. The first region is written as nothing.
type GetBucketLocationOutput struct {
	Location string `xml:",chardata"`
}

// getBucketLocation may be called in any region: clients call it to find the bucket's. us-east-1 is written as nothing,
// and a bucket that was created in EU has EU (recorded on AWS, 2026-02: TestRecordedS3Locations).
func getBucketLocation(c call, in *BucketInput) (*GetBucketLocationOutput, error) {
	b, err := c.anyRegion()
	if err != nil {
		return nil, err
	}
	out := &GetBucketLocationOutput{Location: b.Settings().Location}
	if out.Location == "" && b.Region() != firstRegion {
		out.Location = b.Region()
	}
	return out, nil
}
