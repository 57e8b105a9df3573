package s3

import (
	"context"

	"github.com/godwitmq/godwit/localaws/rest"
	"github.com/godwitmq/godwit/localaws/s3/bucket"
)

// PutBucketACLInput is the input of PutBucketAcl. Only canned lists are kept.
type PutBucketACLInput struct {
	Bucket              string `rest:"bucket"`
	ACL                 string `rest:"header,x-amz-acl"`
	AccessControlPolicy string `rest:"text"`
}

// putBucketACL takes canned lists only. While the ownership is BucketOwnerEnforced, as in new buckets, all but private
// and bucket-owner-full-control are AccessControlListNotSupported (AWS's user guide, controlling ownership of objects).
func (s *Service) putBucketACL(_ context.Context, c *rest.Call, in *PutBucketACLInput) (*Done, error) {
	b, err := s.bucket(c, in.Bucket)
	switch {
	case err != nil:
		return nil, err
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
		return done(), s.configure(b, func(set *bucket.Settings) { set.ACL = "" })
	}
	return done(), s.keep(b, keptACL, func(set *bucket.Settings) { set.ACL = in.ACL })
}
