package cloudwatch

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/godwitmq/godwit/localaws/wire"
)

func invalidValue(format string, args ...any) *wire.Error {
	return &wire.Error{
		Code: "InvalidParameterValueException", Query: "InvalidParameterValue", Message: fmt.Sprintf(format, args...),
	}
}

func invalidCombination(format string, args ...any) *wire.Error {
	return &wire.Error{
		Code: "InvalidParameterCombinationException", Query: "InvalidParameterCombination",
		Message: fmt.Sprintf(format, args...),
	}
}

func missingParameter(format string, args ...any) *wire.Error {
	return &wire.Error{
		Code: "MissingRequiredParameterException", Query: "MissingParameter", Message: fmt.Sprintf(format, args...),
	}
}

// required is the error for a parameter that is not set.
func required(parameter string) *wire.Error {
	return missingParameter("The parameter %s is required.", parameter)
}

func exclusive(a, b string) *wire.Error {
	return invalidCombination("The parameters %s and %s are mutually exclusive and you have specified both.", a, b)
}

// notInSet is the error for a value that is not in the model's list.
func notInSet(value, member string, set []string) *wire.Error {
	return wire.Constraint(value, member, "Member must satisfy enum value set: ["+strings.Join(set, ", ")+"]")
}

func tooMany(collection string, most int) *wire.Error {
	return invalidValue("The collection %s must not have a size greater than %d.", collection, most)
}

func invalidToken() *wire.Error {
	return &wire.Error{Code: "InvalidNextToken", Message: "The next token specified is invalid."}
}

// noAnomalyDetection refuses what needs it.
func noAnomalyDetection(what string) *wire.Error {
	return wire.Validation("%s needs anomaly detection, which this server does not have.", what)
}

// noAlarm is AWS's error for an alarm that does not exist; it has no message.
func noAlarm() *wire.Error {
	return &wire.Error{Code: "ResourceNotFound", Status: http.StatusNotFound, ModelStatus: http.StatusBadRequest}
}

func noResource(arn string) *wire.Error {
	return &wire.Error{
		Code: "ResourceNotFoundException", Status: http.StatusNotFound, ModelStatus: http.StatusBadRequest,
		Message: fmt.Sprintf("The alarm %s does not exist.", arn),
	}
}
