package s3

import (
	"errors"

	"github.com/godwitmq/godwit/localaws/rest"
	"github.com/godwitmq/godwit/localaws/s3/bucket"
)

// The most common errors, with AWS's texts.

func noSuchBucket(name string) error {
	return rest.Refuse(404, "NoSuchBucket", "The specified bucket does not exist", "BucketName", name)
}

// notFound is the error for a setting that a bucket does not have.
func notFound(b *bucket.Bucket, code, text string) error {
	return rest.Refuse(404, code, text, "BucketName", b.Name())
}

func noSuchKey(key string) error {
	return rest.Refuse(404, "NoSuchKey", "The specified key does not exist.", "Key", key)
}

func noSuchUpload(id string) error {
	return rest.Refuse(404, "NoSuchUpload", "The specified upload does not exist. The upload ID may be invalid, or the "+
		"upload may have been aborted or completed.", "UploadId", id)
}

func invalidRequest(message string) error { return rest.Refuse(400, "InvalidRequest", message) }

func notImplemented(what string) error {
	return rest.Refuse(501, "NotImplemented", what+" is not implemented by this server.")
}

func preconditionFailed(condition string) error {
	return rest.Refuse(412, "PreconditionFailed", "At least one of the pre-conditions you specified did not hold",
		"Condition", condition)
}

// modelError turns an error of the model into an answer.
func modelError(err error, b *bucket.Bucket, key, upload string, c bucket.Condition) error {
	condition := "If-Match"
	if c.Absent {
		condition = "If-None-Match"
	}
	switch {
	case errors.Is(err, bucket.ErrNoBucket):
		return noSuchBucket(b.Name())
	case errors.Is(err, bucket.ErrNoObject):
		return noSuchKey(key)
	case errors.Is(err, bucket.ErrNoUpload):
		return noSuchUpload(upload)
	case errors.Is(err, bucket.ErrPrecondition):
		return preconditionFailed(condition)
	case errors.Is(err, bucket.ErrRace):
		return rest.Refuse(409, "ConditionalRequestConflict",
			"The conditional request cannot succeed due to a conflicting operation against this resource.",
			"Condition", condition, "Key", key)
	}
	return err
}
