package s3

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/godwitmq/godwit/localaws/rest"
	"github.com/godwitmq/godwit/localaws/s3/bucket"
	"github.com/godwitmq/godwit/localaws/wire"
)

const beyondTags = "S3 Control, apart from the tags of buckets,"

// ControlPrefix begins the paths of S3 Control.
const ControlPrefix = "/v20180820/"

// ResourceInput is the input of S3 Control's actions about one resource.
type ResourceInput struct {
	AccountID   string `rest:"header,x-amz-account-id"`
	ResourceARN string `rest:"key"` // after tags/
}

func (in *ResourceInput) resource() *ResourceInput { return in }

// resource is a pointer to an input with a ResourceInput.
type resource[I any] interface {
	*I
	resource() *ResourceInput
}

// onTagged returns an action of S3 Control on the bucket that the call names.
func onTagged[I, O any, P resource[I]](s *Service, name string, route rest.Route,
	action func(call, *bucket.Bucket, P) (*O, error),
) rest.Action {
	return onAccount(s, name, route, func(c call, in *I) (*O, error) {
		b, err := c.tagged(P(in).resource())
		if err != nil {
			return nil, err
		}
		return action(c, b, in)
	})
}

// tagged returns the bucket of a call of S3 Control, whose path is tags/ARN.
func (c call) tagged(in *ResourceInput) (*bucket.Bucket, error) {
	arn, ok := strings.CutPrefix(in.ResourceARN, "tags/")
	if !ok {
		return nil, notImplemented(beyondTags)
	}
	_, name, ok := strings.Cut(arn, ":::")
	if !ok || !wire.IsOf("s3", arn) || strings.Contains(name, "/") {
		return nil, notImplemented("The tagging of " + arn)
	}
	b := c.at.store.Bucket(name)
	if b == nil || arnOf(b) != arn {
		return nil, rest.Refuse(404, "NoSuchResource", "The specified resource doesn't exist.")
	}
	if in.AccountID != "" && in.AccountID != b.Account() || !c.mayUse(b) {
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
func listTagsForResource(_ call, b *bucket.Bucket, _ *ResourceInput) (*ListTagsForResourceOutput, error) {
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
func tagResource(_ call, b *bucket.Bucket, in *TagResourceInput) (*Done, error) {
	if in.TagResourceRequest == nil {
		return nil, rest.MalformedXML()
	}
	given, err := checkControlTags(in.TagResourceRequest.Tags)
	if err != nil {
		return nil, err
	}
	var refused error
	err = configure(b, func(set *bucket.Settings) {
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
func untagResource(_ call, b *bucket.Bucket, in *UntagResourceInput) (*Done, error) {
	if len(in.TagKeys) == 0 {
		return nil, invalidRequest("Missing required parameter: tagKeys")
	}
	return noContent(), configure(b, func(set *bucket.Settings) {
		set.Tags = slices.DeleteFunc(slices.Clone(set.Tags), func(t bucket.Tag) bool {
			return slices.Contains(in.TagKeys, t.Key)
		})
	})
}
