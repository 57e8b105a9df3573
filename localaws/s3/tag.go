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

// PutBucketTaggingInput is the input of PutBucketTagging.
type PutBucketTaggingInput struct {
	Bucket  string   `rest:"bucket"`
	Tagging *Tagging `rest:"payload,Tagging"`
}

// putBucketTagging replaces all tags; TagResource of S3 Control adds. The error of a tag that begins with aws: differs
// from that of an object (recorded on AWS, 2025-01-21: TestRecordedS3Tags).
func putBucketTagging(_ call, b *bucket.Bucket, in *PutBucketTaggingInput) (*Done, error) {
	if in.Tagging == nil {
		return nil, rest.MalformedXML()
	}
	tags, err := checkTags(in.Tagging.TagSet, bucketTags)
	if err != nil {
		return nil, err
	}
	return noContent(), configure(b, func(set *bucket.Settings) { set.Tags = tags })
}

// getBucketTagging is NoSuchTagSet for a bucket without tags, where an object without tags has an empty set (AWS's API
// reference).
func getBucketTagging(_ call, b *bucket.Bucket, in *BucketInput) (*TaggingOutput, error) {
	tags := b.Settings().Tags
	if len(tags) == 0 {
		return nil, notFound(b, "NoSuchTagSet", "The TagSet does not exist")
	}
	return shownTags(tags), nil
}

// deleteBucketTagging removes all tags; UntagResource of S3 Control removes single ones.
func deleteBucketTagging(_ call, b *bucket.Bucket, _ *BucketInput) (*Done, error) {
	return noContent(), configure(b, func(set *bucket.Settings) { set.Tags = nil })
}

// PutObjectTaggingInput is the input of PutObjectTagging.
type PutObjectTaggingInput struct {
	Bucket    string   `rest:"bucket"`
	Key       string   `rest:"key"`
	Tagging   *Tagging `rest:"payload,Tagging"`
	VersionID string   `rest:"query,versionId"`
}

// putObjectTagging replaces all tags, and takes ten (AWS's user guide, object tagging).
func putObjectTagging(c call, b *bucket.Bucket, in *PutObjectTaggingInput) (*Done, error) {
	if in.Tagging == nil {
		return nil, rest.MalformedXML()
	}
	tags, err := checkTags(in.Tagging.TagSet, objectTags)
	if err != nil {
		return nil, err
	}
	return done(), tagObject(c, b, in.Key, in.VersionID, "ObjectTagging:Put", tags)
}

// tagObject replaces the tags of an object.
func tagObject(c call, b *bucket.Bucket, key, version, event string, tags []bucket.Tag) error {
	if _, err := object(b, key, version); err != nil {
		return err
	}
	if err := b.Alter(key, func(p *bucket.Properties) { p.Tags = tags }); err != nil {
		return modelError(err, b, key, "", bucket.Condition{})
	}
	if o := b.Object(key); o != nil {
		c.at.notify(c.Call, b, event, o)
	}
	return nil
}

// ObjectTaggingInput is the input of GetObjectTagging and DeleteObjectTagging.
type ObjectTaggingInput struct {
	Bucket    string `rest:"bucket"`
	Key       string `rest:"key"`
	VersionID string `rest:"query,versionId"`
}

// getObjectTagging answers an empty set for an object without tags, where a bucket without tags is NoSuchTagSet (AWS's
// API reference).
func getObjectTagging(_ call, b *bucket.Bucket, in *ObjectTaggingInput) (*TaggingOutput, error) {
	if err := checkVersion(in.VersionID); err != nil {
		return nil, err
	}
	o := b.Object(in.Key)
	if o == nil {
		return nil, noSuchKey(in.Bucket + "/" + in.Key) // the only action that names both
	}
	return shownTags(o.Tags), nil
}

// deleteObjectTagging removes all tags; an object without tags is no error.
func deleteObjectTagging(c call, b *bucket.Bucket, in *ObjectTaggingInput) (*Done, error) {
	return noContent(), tagObject(c, b, in.Key, in.VersionID, "ObjectTagging:Delete", nil)
}
