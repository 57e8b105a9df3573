package s3

import (
	"context"
	"errors"

	"github.com/godwitmq/godwit/localaws/rest"
	"github.com/godwitmq/godwit/localaws/s3/bucket"
	"github.com/godwitmq/godwit/localaws/wire"
)

// DeleteObjectsInput is the input of DeleteObjects.
type DeleteObjectsInput struct {
	Bucket string  `rest:"bucket"`
	Delete *Delete `rest:"payload,Delete"`
}

// Delete is what DeleteObjects deletes.
type Delete struct {
	Object []DeleteEntry
	Quiet  bool
}

// DeleteEntry is one object to delete.
type DeleteEntry struct {
	Key              string
	VersionID        *string `xml:"VersionId"`
	ETag             *string
	LastModifiedTime *string
	Size             *int64
}

// DeleteObjectsOutput is the output of DeleteObjects.
type DeleteObjectsOutput struct {
	Deleted []DeletedEntry
	Error   []DeleteFailure
}

// DeletedEntry is an object that was deleted.
type DeletedEntry struct {
	Key       string
	VersionID *string `xml:"VersionId"`
}

// DeleteFailure is an object that was not deleted.
type DeleteFailure struct {
	Key       string
	VersionID *string `xml:"VersionId"`
	Code      string
	Message   string
}

// maxDeletes is the most objects of one DeleteObjects.
const maxDeletes = 1000

// deleteObjects needs a Content-MD5 or a checksum, and answers 200 with the failures of single keys. A key without an
// object counts as deleted (AWS's API reference, DeleteObjects).
func (s *Service) deleteObjects(_ context.Context, c *rest.Call, in *DeleteObjectsInput) (*DeleteObjectsOutput, error) {
	b, err := s.bucket(c, in.Bucket)
	switch {
	case err != nil:
		return nil, err
	case in.Delete == nil || len(in.Delete.Object) == 0 || len(in.Delete.Object) > maxDeletes:
		return nil, rest.MalformedXML()
	case !c.Body.Verified():
		return nil, invalidRequest("Missing required header for this request: Content-MD5 OR x-amz-checksum-*")
	}
	out := &DeleteObjectsOutput{}
	for _, entry := range in.Delete.Object {
		if err := s.deleteEntry(c, b, entry); err != nil {
			failure := DeleteFailure{entry.Key, entry.VersionID, "InternalError", err.Error()}
			var known *wire.Error
			if errors.As(err, &known) {
				failure.Code, failure.Message = known.Code, known.Message
			}
			out.Error = append(out.Error, failure)
		} else if !in.Delete.Quiet {
			out.Deleted = append(out.Deleted, DeletedEntry{entry.Key, entry.VersionID})
		}
	}
	return out, nil
}

func (s *Service) deleteEntry(c *rest.Call, b *bucket.Bucket, entry DeleteEntry) error {
	if fault := c.EntryFault(entry.Key); fault != nil {
		return fault
	}
	if entry.LastModifiedTime != nil || entry.Size != nil {
		return notImplemented("LastModifiedTime and Size of DeleteObjects, which are for directory buckets,")
	}
	if entry.VersionID != nil {
		if err := checkVersion(*entry.VersionID); err != nil {
			return rest.Refuse(404, "NoSuchVersion", "The specified version does not exist.")
		}
	}
	match := ""
	if entry.ETag != nil {
		match = *entry.ETag
	}
	return s.remove(c, b, entry.Key, match)
}
