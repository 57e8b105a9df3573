package s3

import (
	"regexp"
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

// tagForm is what S3 takes in keys and values.
var tagForm = regexp.MustCompile(`^[\p{L}\p{Z}\p{N}_.:/=+\-@]*$`)

// systemTag is the text of newer actions about keys that are AWS's own.
const systemTag = "User-defined tag keys can't start with \"aws:\". This prefix is reserved for system tags. " +
	"Remove \"aws:\" from your tag keys and try again."

func invalidTag(message, key string) error {
	return rest.Refuse(400, "InvalidTag", message, "TagKey", key)
}

// tagKind is what is tagged, on which limits and texts depend.
type tagKind int

const (
	objectTags tagKind = iota
	bucketTags
	newBucketTags // of CreateBucket, whose texts are S3 Control's
)

// checkLimit refuses too many tags.
func (k tagKind) checkLimit(n int) error {
	limit, noun := maxBucketTags, "Bucket"
	if k == objectTags {
		limit, noun = maxTags, "Object"
	}
	if n > limit {
		return rest.Refuse(400, "BadRequest", noun+" tags cannot be greater than "+itoa(limit))
	}
	return nil
}

// system refuses a key that is AWS's own.
func (k tagKind) system(key string) error {
	switch k {
	case objectTags:
		return invalidTag("Your TagKey cannot be prefixed with aws:", key)
	case newBucketTags:
		return rest.Refuse(400, "InvalidTag", systemTag)
	default:
		return invalidTag("System tags cannot be added/updated by requester", key)
	}
}

// checkTags checks tags and returns those that are kept.
func checkTags(tags []Tag, kind tagKind) ([]bucket.Tag, error) {
	if err := kind.checkLimit(len(tags)); err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	var kept []bucket.Tag
	for _, t := range tags {
		switch {
		case seen[t.Key]:
			return nil, invalidTag("Cannot provide multiple Tags with the same key", t.Key)
		case strings.HasPrefix(strings.ToLower(t.Key), "aws:"):
			return nil, kind.system(t.Key)
		case t.Key == "" || utf8.RuneCountInString(t.Key) > maxTagKey || !tagForm.MatchString(t.Key):
			return nil, invalidTag("The TagKey you have provided is invalid", t.Key)
		case utf8.RuneCountInString(t.Value) > maxTagValue || !tagForm.MatchString(t.Value):
			return nil, rest.Refuse(400, "InvalidTag", "The TagValue you have provided is invalid", "TagKey", t.Key,
				"TagValue", t.Value)
		}
		seen[t.Key] = true
		kept = append(kept, bucket.Tag(t))
	}
	return kept, nil
}
