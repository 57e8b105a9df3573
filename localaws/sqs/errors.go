package sqs

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/godwitmq/godwit/localaws/sqs/queue"
	"github.com/godwitmq/godwit/localaws/wire"
)

// simple is the prefix of most of SQS's own error codes in the query protocol.
const simple = "AWS.SimpleQueueService."

// refusal returns an error of SQS whose code in the query protocol has this prefix.
func refusal(code, format string, args ...any) *wire.Error {
	return &wire.Error{Code: code, Query: simple + code, Message: fmt.Sprintf(format, args...)}
}

func noQueue() *wire.Error {
	return &wire.Error{
		Code: "QueueDoesNotExist", Query: simple + "NonExistentQueue",
		Message:      "The specified queue does not exist.",
		QueryMessage: "The specified queue does not exist for this wsdl version.",
	}
}

// wrongRegion is AWS's error for the URL of a queue of another region. It names the host only.
func wrongRegion(baseURL, url string) *wire.Error {
	address := baseURL + "/"
	if scheme, rest, ok := strings.Cut(url, "://"); ok {
		host, _, _ := strings.Cut(rest, "/")
		address = scheme + "://" + host + "/"
	}
	return &wire.Error{
		Code: "InvalidAddress", Status: http.StatusNotFound, ModelStatus: http.StatusBadRequest,
		Message: fmt.Sprintf("The address %s is not valid for this endpoint.", address),
	}
}

func queueExists(attribute string) *wire.Error {
	return &wire.Error{
		Code: "QueueNameExists", Query: "QueueAlreadyExists",
		Message: "A queue already exists with the same name and a different value for attribute " + attribute,
	}
}

// The next three errors do not belong to SQS but to the framework that AWS services share, which has a namespace of its
// own.

func invalidParameter(format string, args ...any) *wire.Error {
	return &wire.Error{
		Code: "com.amazon.coral.service#InvalidParameterValueException", Query: "InvalidParameterValue",
		Message: fmt.Sprintf(format, args...),
	}
}

// invalidValue returns the usual error about the value of one parameter.
func invalidValue(value any, parameter, reason string) *wire.Error {
	return invalidParameter("Value %v for parameter %s is invalid. Reason: %s", value, parameter, reason)
}

func missing(parameter string) *wire.Error {
	return &wire.Error{
		Code: "com.amazon.coral.service#MissingRequiredParameterException", Query: "MissingParameter",
		Message: fmt.Sprintf("The request must contain the parameter %s.", parameter),
	}
}

func unknownAttribute(name string) *wire.Error {
	return &wire.Error{Code: "InvalidAttributeName", Message: fmt.Sprintf("Unknown Attribute %s.", name)}
}

func invalidAttributeName(format string, args ...any) *wire.Error {
	return &wire.Error{Code: "InvalidAttributeName", Message: fmt.Sprintf(format, args...)}
}

func invalidAttribute(name, reason string) *wire.Error {
	text := fmt.Sprintf("Invalid value for the parameter %s.", name)
	if reason != "" {
		text += " Reason: " + reason
	}
	return &wire.Error{Code: "InvalidAttributeValue", Message: text}
}

func notFound(format string, args ...any) *wire.Error {
	return &wire.Error{Code: "ResourceNotFoundException", Status: 404, Message: fmt.Sprintf(format, args...)}
}

// handleError turns the model's error about a receipt handle into AWS's.
func handleError(err error, handle string, visibility int32) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, queue.ErrHandle):
		return &wire.Error{
			Code: "ReceiptHandleIsInvalid", Status: 404,
			Message: fmt.Sprintf(`The input receipt handle "%s" is not a valid receipt handle.`, handle),
		}
	case errors.Is(err, queue.ErrExpired):
		return invalidValue(handle, "ReceiptHandle", "The receipt handle has expired.")
	case errors.Is(err, queue.ErrGone):
		return invalidValue(handle, "ReceiptHandle",
			"Message does not exist or is not available for visibility timeout change.")
	case errors.Is(err, queue.ErrBeyond):
		return invalidValue(visibility, "VisibilityTimeout",
			"Total VisibilityTimeout for the message is beyond the limit [43200 seconds]")
	default:
		return modelError(err)
	}
}

// modelError turns other errors of the model into AWS's.
func modelError(err error) error {
	switch {
	case errors.Is(err, queue.ErrDeleted):
		return noQueue()
	case errors.Is(err, queue.ErrOverLimit):
		return &wire.Error{
			Code: "OverLimit", Status: 403,
			Message: "The maximum number of in flight messages is reached.",
		}
	default:
		return err
	}
}
