package s3store

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/godwitmq/godwit/driver"
)

// classify adds the class to an error of S3.
func classify(err error) error {
	var known *driver.Error
	if err == nil || errors.As(err, &known) {
		return err
	}
	return &driver.Error{Class: classOf(err), Err: err}
}

func classOf(err error) driver.Class {
	switch codeOf(err) {
	case "NoSuchKey", "NoSuchBucket", "NotFound":
		return driver.NotFound
	case "SlowDown", "Throttling", "ThrottlingException", "TooManyRequestsException", "RequestLimitExceeded",
		"KMS.ThrottlingException":
		return driver.Throttled
	case "InternalError", "ServiceUnavailable", "RequestTimeout", "OperationAborted", "ConditionalRequestConflict",
		"BadDigest", "IncompleteBody", "ExpiredToken", "RequestTimeTooSkewed",
		"KMS.KMSInternalException", "KMS.DependencyTimeoutException":
		return driver.Transient
	case "EntityTooLarge":
		return driver.TooLarge
	case "AccessDenied", "AllAccessDisabled", "InvalidAccessKeyId", "SignatureDoesNotMatch",
		"KMS.DisabledException", "KMS.AccessDeniedException", "KMS.NotFoundException":
		return driver.Denied
	}
	var answer *smithyhttp.ResponseError
	if errors.As(err, &answer) && answer.Response != nil {
		switch status := answer.HTTPStatusCode(); {
		case status == http.StatusTooManyRequests:
			return driver.Throttled
		case status >= 500, status == http.StatusRequestTimeout:
			return driver.Transient
		case status == http.StatusForbidden, status == http.StatusUnauthorized:
			return driver.Denied
		case status == http.StatusNotFound:
			return driver.NotFound
		case status >= 400:
			return driver.Permanent
		}
	}
	var api smithy.APIError
	var before *smithy.SerializationError
	var params smithy.InvalidParamsError
	if errors.As(err, &api) || errors.As(err, &before) || errors.As(err, &params) {
		return driver.Permanent
	}
	return driver.Transient // no answer, or an unreadable one
}

// codeOf is the code of an error of S3; "": it has none.
func codeOf(err error) string {
	var api smithy.APIError
	if !errors.As(err, &api) {
		return ""
	}
	return api.ErrorCode()
}

// permission adds the missing permission to the error of a denied call.
func permission(err error, action string) error {
	if driver.ClassOf(err) != driver.Denied {
		return err
	}
	return fmt.Errorf("%w (it needs permission %s, and kms:GenerateDataKey and kms:Decrypt for Options.Encryption)", err,
		action)
}
