package s3

import (
	"context"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/godwitmq/godwit/localaws/rest"
	"github.com/godwitmq/godwit/localaws/s3/bucket"
)

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
