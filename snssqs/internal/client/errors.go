package client

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
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
	return &driver.Error{Class: classOf(err), Err: err}
}

func classOf(err error) driver.Class {
	var api smithy.APIError
	if errors.As(err, &api) {
		if class, ok := classOfCode(api.ErrorCode()); ok {
			return class
		}
	}
	var answer *smithyhttp.ResponseError
	if errors.As(err, &answer) && answer.Response != nil {
		switch status := answer.HTTPStatusCode(); {
		case status == http.StatusTooManyRequests:
			return driver.Throttled
		case status >= 500, status == http.StatusRequestTimeout:
			return driver.Transient
		case status == http.StatusForbidden:
			return driver.Denied
		case status == http.StatusRequestEntityTooLarge:
			return driver.TooLarge
		case status >= 400:
			return driver.Permanent
		}
	}
	if errors.As(err, &api) {
		return driver.Permanent
	}
	var before *smithy.SerializationError
	var params smithy.InvalidParamsError
	if errors.As(err, &before) || errors.As(err, &params) {
		return driver.Permanent
	}
	// No answer, or an unreadable one: the connection failed, the client gave up, or a proxy answered.
	return driver.Transient
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

// Failed adds the class to the error of a call and, if the call was denied, the permission that it needs.
func Failed(err error, action string) error {
	err = Classify(err)
	if driver.ClassOf(err) != driver.Denied {
		return err
	}
	return fmt.Errorf("%w (it needs permission %s)", err, action)
}

// EntryError returns the error of a batch entry from its code and text.
func EntryError(code, message string, senderFault bool) error {
	err := &smithy.GenericAPIError{Code: code, Message: message, Fault: smithy.FaultServer}
	if senderFault {
		err.Fault = smithy.FaultClient
	}
	class, ok := classOfCode(code)
	switch {
	case ok:
	case senderFault:
		class = driver.Permanent
	default:
		class = driver.Transient
	}
	return &driver.Error{Class: class, Err: err}
}

// Lost turns an error which means that a delivery is no longer ours into driver.ErrLost.
func Lost(err error) error {
	var api smithy.APIError
	if !errors.As(err, &api) {
		return err
	}
	var inflight *types.MessageNotInflight
	var handle *types.ReceiptHandleIsInvalid
	code := api.ErrorCode()
	text := api.ErrorMessage()
	gone := strings.HasSuffix(code, "InvalidParameterValue") &&
		(strings.Contains(text, "receipt handle has expired") ||
			strings.Contains(text, "Message does not exist or is not available"))
	if gone || errors.As(err, &inflight) || errors.As(err, &handle) ||
		strings.HasSuffix(code, "MessageNotInflight") || strings.HasSuffix(code, "ReceiptHandleIsInvalid") {
		return &driver.Error{Class: driver.Permanent, Err: fmt.Errorf("%w: %w", driver.ErrLost, err)}
	}
	return err
}

// unanswered returns the error of an entry that the answer does not mention: it may have been accepted or not.
func unanswered(op string) error {
	return &driver.Error{
		Class: driver.Transient,
		Err:   fmt.Errorf("%s: the answer mentions the entry neither as successful nor as failed", op),
	}
}

// Ignore returns no error if the error is of a class.
func Ignore(err error, class driver.Class) error {
	if err != nil && driver.ClassOf(err) == class {
		return nil
	}
	return err
}
