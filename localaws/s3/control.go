package s3

import (
	"context"
	"slices"
	"strings"
	"unicode/utf8"

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

// ListTagsForResourceOutput is the output of ListTagsForResource.
type ListTagsForResourceOutput struct {
	Tags []Tag `xml:"Tags>Tag"`
}

// listTagsForResource is the action of S3 Control by which Terraform reads the tags of a bucket
// (hashicorp/terraform-provider-aws issue 45292). No tags are an empty list, unlike GetBucketTagging.
func (s *Service) listTagsForResource(_ context.Context, c *rest.Call, in *ResourceInput,
) (*ListTagsForResourceOutput, error) {
	b, err := s.resource(c, in)
	if err != nil {
		return nil, err
	}
	return &ListTagsForResourceOutput{shownTags(b.Settings().Tags).TagSet}, nil
}

// TagResourceInput is the input of TagResource.
type TagResourceInput struct {
	ResourceInput
	TagResourceRequest *TagResourceRequest `rest:"payload,TagResourceRequest"`
}

// TagResourceRequest is the body of TagResource.
type TagResourceRequest struct {
	Tags []ControlTag `xml:"Tags>Tag"`
}

// ControlTag is a tag in a request of S3 Control; nil: the element is missing.
type ControlTag struct {
	Key   *string
	Value *string
}

// tagResource adds tags, and replaces those with the same key, unlike PutBucketTagging, which replaces all (AWS's API
// reference, S3 Control TagResource).
func (s *Service) tagResource(_ context.Context, c *rest.Call, in *TagResourceInput) (*Done, error) {
	b, err := s.resource(c, &in.ResourceInput)
	if err != nil {
		return nil, err
	}
	if in.TagResourceRequest == nil {
		return nil, rest.MalformedXML()
	}
	given, err := checkControlTags(in.TagResourceRequest.Tags)
	if err != nil {
		return nil, err
	}
	var refused error
	err = s.configure(b, func(set *bucket.Settings) {
		all := slices.Clone(set.Tags)
		for _, t := range given {
			if i := slices.IndexFunc(all, func(old bucket.Tag) bool { return old.Key == t.Key }); i >= 0 {
				all[i] = t
			} else {
				all = append(all, t)
			}
		}
		if len(all) > maxBucketTags {
			refused = rest.Refuse(400, "TooManyTags", "The number of tags exceeds the limit of 50 tags.")
			return
		}
		set.Tags = all
	})
	if refused != nil {
		return nil, refused
	}
	return noContent(), err
}

// checkControlTags checks tags. The codes are as of PutBucketTagging, and the texts are not.
func checkControlTags(tags []ControlTag) (kept []bucket.Tag, err error) {
	invalid := func(text string) error { return rest.Refuse(400, "InvalidTag", text) }
	seen := map[string]bool{}
	for _, t := range tags {
		if t.Key == nil || t.Value == nil {
			return nil, rest.MalformedXML()
		}
		key, value := *t.Key, *t.Value
		switch {
		case strings.HasPrefix(key, "aws:"):
			return nil, invalid(systemTag)
		case seen[key]:
			return nil, invalid("There are duplicate tag keys in your request. Remove the duplicate tag keys and try again.")
		case key == "" || utf8.RuneCountInString(key) > maxTagKey || utf8.RuneCountInString(value) > maxTagValue ||
			!tagForm.MatchString(key) || !tagForm.MatchString(value):
			return nil, invalid("This request contains a tag key or value that isn't valid. Valid characters include the " +
				"following: [a-zA-Z+-=._:/]. Tag keys can contain up to 128 characters. Tag values can contain up to 256 " +
				"characters.")
		}
		seen[key] = true
		kept = append(kept, bucket.Tag{Key: key, Value: value})
	}
	return kept, nil
}

// UntagResourceInput is the input of UntagResource.
type UntagResourceInput struct {
	ResourceInput
	TagKeys []string `rest:"query,tagKeys"`
}

// untagResource removes tags. A key without a tag is no error.
func (s *Service) untagResource(_ context.Context, c *rest.Call, in *UntagResourceInput) (*Done, error) {
	b, err := s.resource(c, &in.ResourceInput)
	if err != nil {
		return nil, err
	}
	if len(in.TagKeys) == 0 {
		return nil, invalidRequest("Missing required parameter: tagKeys")
	}
	return noContent(), s.configure(b, func(set *bucket.Settings) {
		set.Tags = slices.DeleteFunc(slices.Clone(set.Tags), func(t bucket.Tag) bool {
			return slices.Contains(in.TagKeys, t.Key)
		})
	})
}
