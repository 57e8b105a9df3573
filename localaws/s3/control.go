package s3

import (
	"strings"

	"github.com/godwitmq/godwit/localaws/rest"
	"github.com/godwitmq/godwit/localaws/s3/bucket"
)

// Control returns the actions of S3 Control that are about tags of buckets. Terraform's provider reads and writes tags
// with them. Their path is /v20180820/tags/ARN, so in terms of package rest the version is a bucket, and the rest is a
// key.
func (s *Service) Control() *rest.Service {
	at := func(method string) rest.Route { return on(method, rest.Object) }
	return &rest.Service{
		Name: "s3control", XMLNS: "http://awss3control.amazonaws.com/doc/2018-08-20/", Wrapped: true, PathOnly: true,
		Rest: beyondTags,
		Actions: []rest.Action{
			rest.Op("ListTagsForResource", at("GET"), s.listTagsForResource).Document("ListTagsForResourceResult"),
			rest.Op("TagResource", at("POST"), s.tagResource),
			rest.Op("UntagResource", at("DELETE"), s.untagResource),
		},
	}
}

const beyondTags = "S3 Control, apart from the tags of buckets,"

// ControlPrefix begins the paths of S3 Control.
const ControlPrefix = "/v20180820/"

// ResourceInput is the input of S3 Control's actions about one resource.
type ResourceInput struct {
	AccountID   string `rest:"header,x-amz-account-id"`
	ResourceARN string `rest:"key"` // after tags/
}

// resource returns the bucket of a call of S3 Control.
func (s *Service) resource(c *rest.Call, in *ResourceInput) (*bucket.Bucket, error) {
	arn, ok := strings.CutPrefix(in.ResourceARN, "tags/")
	if !ok {
		return nil, notImplemented(beyondTags)
	}
	name, ok := strings.CutPrefix(arn, "arn:aws:s3:::")
	if !ok || strings.Contains(name, "/") {
		return nil, notImplemented("The tagging of " + arn)
	}
	b := s.store.Bucket(name)
	if b == nil {
		return nil, rest.Refuse(404, "NoSuchResource", "The specified resource doesn't exist.")
	}
	if in.AccountID != "" && in.AccountID != b.Account() || !mayUse(c, b) {
		return nil, accessDenied()
	}
	return b, nil
}
