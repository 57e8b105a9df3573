package sns

import (
	"fmt"
	"net/http"

	"github.com/godwitmq/godwit/localaws/wire"
)

// invalid returns SNS's most common error, InvalidParameter.
func invalid(format string, args ...any) *wire.Error {
	return &wire.Error{Code: "InvalidParameter", Message: "Invalid parameter: " + fmt.Sprintf(format, args...)}
}

func valueInvalid(format string, args ...any) *wire.Error {
	return &wire.Error{Code: "ParameterValueInvalid", Message: fmt.Sprintf(format, args...)}
}

func limitExceeded(code, message string) *wire.Error {
	return &wire.Error{Code: code, Message: message, Status: http.StatusForbidden}
}

func noTopic() *wire.Error {
	return &wire.Error{Code: "NotFound", Message: "Topic does not exist", Status: http.StatusNotFound}
}

func noSubscription() *wire.Error {
	return &wire.Error{Code: "NotFound", Message: "Subscription does not exist", Status: http.StatusNotFound}
}

func noResource() *wire.Error {
	return &wire.Error{Code: "ResourceNotFound", Message: "Resource does not exist", Status: http.StatusNotFound}
}

// unauthorized returns the error of a caller that may not call an action.
func unauthorized(account, action, arn string) *wire.Error {
	return &wire.Error{
		Code: "AuthorizationError", Status: http.StatusForbidden,
		Message: fmt.Sprintf("User: %s is not authorized to perform: SNS:%s on resource: %s because no "+
			"resource-based policy allows the SNS:%s action",
			wire.UserARN(wire.PartitionOf(arn), account), action, arn, action),
	}
}

const arnElements = 6
