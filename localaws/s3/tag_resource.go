package s3

import (
	"context"
	"slices"

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
	Tags []Tag `xml:"Tags>Tag"`
}

// tagResource adds tags. A tag with the key of an existing one replaces it.
func (s *Service) tagResource(_ context.Context, c *rest.Call, in *TagResourceInput) (*Done, error) {
	b, err := s.resource(c, &in.ResourceInput)
	if err != nil {
		return nil, err
	}
	if in.TagResourceRequest == nil || len(in.TagResourceRequest.Tags) == 0 {
		return nil, rest.MalformedXML()
	}
	given, err := checkTags(in.TagResourceRequest.Tags, maxBucketTags)
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
		if refused = tooManyTags(len(all), maxBucketTags); refused == nil {
			set.Tags = all
		}
	})
	if refused != nil {
		return nil, refused
	}
	return noContent(), err
}
