package s3

import (
	"strings"
	"unicode/utf8"

	"github.com/godwitmq/godwit/localaws/rest"
	"github.com/godwitmq/godwit/localaws/s3/bucket"
)

// Tag is one tag, in XML.
type Tag struct {
	Key   string
	Value string
}

// Tagging is a set of tags, in XML.
type Tagging struct {
	TagSet []Tag `xml:"TagSet>Tag"`
}

// TaggingOutput is the output of actions that show tags.
type TaggingOutput struct {
	TagSet []Tag `xml:"TagSet>Tag"`
}

func shownTags(tags []bucket.Tag) *TaggingOutput {
	out := &TaggingOutput{TagSet: []Tag{}}
	for _, t := range tags {
		out.TagSet = append(out.TagSet, Tag(t))
	}
	return out
}

const (
	maxTagKey   = 128 // S3: characters
	maxTagValue = 256 // S3: characters
)

func invalidTag(message, key string) error {
	return rest.Refuse(400, "InvalidTag", message, "TagKey", key)
}

// checkTags checks tags and returns those that are kept.
func checkTags(tags []Tag, limit int) ([]bucket.Tag, error) {
	if len(tags) > limit {
		noun := "Object"
		if limit == maxBucketTags {
			noun = "Bucket"
		}
		return nil, rest.Refuse(400, "BadRequest", noun+" tags cannot be greater than "+itoa(limit))
	}
	seen := map[string]bool{}
	var kept []bucket.Tag
	for _, t := range tags {
		switch {
		case t.Key == "" || utf8.RuneCountInString(t.Key) > maxTagKey:
			return nil, invalidTag("The TagKey you have provided is invalid", t.Key)
		case utf8.RuneCountInString(t.Value) > maxTagValue:
			return nil, rest.Refuse(400, "InvalidTag", "The TagValue you have provided is invalid", "TagKey", t.Key,
				"TagValue", t.Value)
		case strings.HasPrefix(strings.ToLower(t.Key), "aws:"):
			return nil, invalidTag("System tags cannot be added/updated by requester", t.Key)
		case seen[t.Key]:
			return nil, invalidTag("Cannot provide multiple Tags with the same key", t.Key)
		}
		seen[t.Key] = true
		kept = append(kept, bucket.Tag(t))
	}
	return kept, nil
}
