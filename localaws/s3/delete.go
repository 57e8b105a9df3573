package s3

import (
	"errors"
	"strings"

	"github.com/godwitmq/godwit/localaws/rest"
	"github.com/godwitmq/godwit/localaws/s3/bucket"
	"github.com/godwitmq/godwit/localaws/wire"
)

// DeleteObjectInput is the input of DeleteObject.
type DeleteObjectInput struct {
	Bucket    string `rest:"bucket"`
	Key       string `rest:"key"`
	IfMatch   string `rest:"header,If-Match"`
	VersionID string `rest:"query,versionId"`
}

// deleteObject succeeds also for a key without an object, with status 204 (AWS's API reference, DeleteObject); no
// notification is sent then.
func deleteObject(c call, b *bucket.Bucket, in *DeleteObjectInput) (*Done, error) {
	if err := checkVersion(in.VersionID); err != nil {
		return nil, err
	}
	if err := remove(c, b, in.Key, in.IfMatch); err != nil {
		return nil, err
	}
	return noContent(), nil
}

// remove deletes an object if its ETag is the given one; "": whatever it is. A key without an object is deleted, too.
func remove(c call, b *bucket.Bucket, key, match string) error {
	gone, err := b.Delete(key, func(o *bucket.Object) error {
		switch {
		case match == "":
			return nil
		case o == nil:
			return noSuchKey(key)
		case match != "*" && strings.Trim(match, `"`) != o.ETag:
			return preconditionFailed("If-Match")
		}
		return nil
	})
	if err != nil {
		return modelError(err, b, key, "", bucket.Condition{})
	}
	if gone.Object != nil {
		c.at.notifyRemoved(c.Call, b, "ObjectRemoved:Delete", gone)
	}
	return nil
}

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
func deleteObjects(c call, b *bucket.Bucket, in *DeleteObjectsInput) (*DeleteObjectsOutput, error) {
	switch {
	case in.Delete == nil || len(in.Delete.Object) == 0 || len(in.Delete.Object) > maxDeletes:
		return nil, rest.MalformedXML()
	case !c.Body.Verified():
		return nil, invalidRequest("Missing required header for this request: Content-MD5 OR x-amz-checksum-*")
	}
	out := &DeleteObjectsOutput{}
	for _, entry := range in.Delete.Object {
		if err := deleteEntry(c, b, entry); err != nil {
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

func deleteEntry(c call, b *bucket.Bucket, entry DeleteEntry) error {
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
	return remove(c, b, entry.Key, match)
}
