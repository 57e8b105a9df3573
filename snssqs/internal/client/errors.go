package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/godwitmq/godwit/driver"
)

// Classify adds the class to an error of AWS.
func Classify(err error) error {
	if err == nil {
		return nil
	}
	var known *driver.Error
	if errors.As(err, &known) {
		return err
	}
	class := driver.Transient // no answer, or an unreadable one: the connection failed, or a proxy answered
	var api smithy.APIError
	var answer *smithyhttp.ResponseError
	var before *smithy.SerializationError
	var params smithy.InvalidParamsError
	if errors.As(err, &api) {
		if class, ok := classOfCode(api.ErrorCode()); ok {
			return &driver.Error{Class: class, Err: err}
		}
		class = driver.Permanent
	}
	switch {
	case errors.As(err, &answer) && answer.Response != nil && answer.HTTPStatusCode() >= 400:
		switch status := answer.HTTPStatusCode(); {
		case status == http.StatusTooManyRequests:
			class = driver.Throttled
		case status >= 500, status == http.StatusRequestTimeout:
			class = driver.Transient
		case status == http.StatusForbidden:
			class = driver.Denied
		case status == http.StatusRequestEntityTooLarge:
			class = driver.TooLarge
		default:
			class = driver.Permanent
		}
	case errors.As(err, &before), errors.As(err, &params):
		class = driver.Permanent
	}
	return &driver.Error{Class: class, Err: err}
}

// classOfCode returns the class of an error code of either service, in either protocol.
func classOfCode(code string) (driver.Class, bool) {
	if i := strings.LastIndexByte(code, '#'); i >= 0 {
		code = code[i+1:]
	}
	switch code {
	case "QueueDoesNotExist", "AWS.SimpleQueueService.NonExistentQueue", "NotFound", "NotFoundException",
		"ResourceNotFound", "ResourceNotFoundException":
		return driver.NotFound, true
	case "RequestThrottled", "Throttling", "ThrottlingException", "Throttled", "ThrottledException",
		"RequestThrottledException",
		"TooManyRequestsException", "RequestLimitExceeded", "BandwidthLimitExceeded", "PriorRequestNotComplete",
		"SlowDown", "OverLimit", "KmsThrottled", "KMSThrottling", "KMS.ThrottlingException":
		return driver.Throttled, true
	case "InternalError", "InternalFailure", "InternalServerError", "InternalErrorException", "ServiceUnavailable",
		"ServiceUnavailableException", "RequestTimeout", "RequestTimeoutException", "KmsInternalException",
		"RequestExpired",
		"ConcurrentAccess", "ConcurrentAccessException":
		return driver.Transient, true
	case "AccessDenied", "AccessDeniedException", "AuthorizationError", "AuthorizationErrorException",
		"InvalidSecurity",
		"InvalidClientTokenId", "SignatureDoesNotMatch", "UnrecognizedClientException", "ExpiredToken",
		"ExpiredTokenException",
		"MissingAuthenticationToken", "IncompleteSignature", "NotAuthorized", "OptInRequired", "KmsAccessDenied",
		"KMSAccessDenied":
		return driver.Denied, true
	case "BatchRequestTooLong", "AWS.SimpleQueueService.BatchRequestTooLong":
		return driver.TooLarge, true
	}
	return 0, false
}

// Permanent returns an error that repeating the call cannot help.
func Permanent(format string, args ...any) error {
	return &driver.Error{Class: driver.Permanent, Err: fmt.Errorf(format, args...)}
}

// Transient returns an error that repeating the call may help.
func Transient(format string, args ...any) error {
	return &driver.Error{Class: driver.Transient, Err: fmt.Errorf(format, args...)}
}

// NotFound returns an error for what does not exist.
func NotFound(format string, args ...any) error {
	return &driver.Error{Class: driver.NotFound, Err: fmt.Errorf(format, args...)}
}

// Failed adds the class to the error of a call and, if the call was denied, the permission that it needs, or what is
// wrong with the credentials.
func Failed(err error, action string) error {
	err = Classify(err)
	if driver.ClassOf(err) != driver.Denied {
		return err
	}
	code := ""
	if api, ok := errors.AsType[smithy.APIError](err); ok {
		code = api.ErrorCode()
	}
	switch code {
	case "ExpiredToken", "ExpiredTokenException", "RequestExpired":
		return fmt.Errorf(
			"the credentials have expired: sign in again (aws sso login), or renew what sets AWS_SESSION_TOKEN: %w", err)
	case "InvalidClientTokenId", "UnrecognizedClientException":
		return fmt.Errorf("the access key does not exist: check AWS_PROFILE and AWS_ACCESS_KEY_ID, "+
			"and that the session token is set: %w", err)
	case "SignatureDoesNotMatch":
		return fmt.Errorf(
			"the secret key is not that of the access key, or the clock of this machine is wrong: %w", err)
	}
	return fmt.Errorf("%w (it needs permission %s)", err, action)
}

// Ignore returns no error if the error is of a class.
func Ignore(err error, class driver.Class) error {
	if err != nil && driver.ClassOf(err) == class {
		return nil
	}
	return err
}

// Over reports whether the caller, and not the service, ended a call.
func Over(ctx context.Context) bool { return ctx.Err() != nil }
