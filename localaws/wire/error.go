package wire

import (
	"errors"
	"fmt"
	"strings"
)

// Error is an error answer, in every protocol. It is not modified after its creation and may be shared.
type Error struct {
	// Code is the name in the service's model, "QueueDoesNotExist"; awsJson puts the service's namespace in front. A
	// Code with a namespace of its own ("com.amazon.coral.service#…") is left unchanged.
	Code string
	// Query is the code in the query protocol and in x-amzn-query-error; "": the same as Code.
	Query   string
	Message string
	// QueryMessage is the text in the query protocol; "": the same as Message.
	QueryMessage string
	// Status is the HTTP status; 0: 400.
	Status int
	// ModelStatus is the HTTP status in awsJson and rpcv2Cbor for a client that does not ask for the errors of the
	// query protocol (x-amzn-query-mode); 0: the same as Status.
	ModelStatus int
	// Fault says that the server ("Receiver"), not the sender, caused the error.
	Fault bool
}

func (e *Error) Error() string {
	return fmt.Sprintf("%s: %s", e.QueryCode(), e.Message)
}

// QueryCode returns the code by which most SDKs identify the error.
func (e *Error) QueryCode() string {
	if e.Query != "" {
		return e.Query
	}
	return e.Code[strings.LastIndexByte(e.Code, '#')+1:]
}

// jsonType returns the value of __type.
func (e *Error) jsonType(namespace string) string {
	if namespace == "" || strings.Contains(e.Code, "#") {
		return e.Code
	}
	return namespace + "#" + e.Code
}

func (e *Error) queryMessage() string {
	if e.QueryMessage != "" {
		return e.QueryMessage
	}
	return e.Message
}

// fault says who caused the error, in AWS's words.
func (e *Error) fault() string {
	if e.Fault {
		return "Receiver"
	}
	return "Sender"
}

func (e *Error) status() int {
	if e.Status != 0 {
		return e.Status
	}
	return 400
}

// Validation returns the error of services that do not model their own errors about parameters.
func Validation(format string, args ...any) *Error {
	return &Error{Code: "ValidationError", Message: fmt.Sprintf(format, args...)}
}

// Constraint returns the error for a value that the service's model does not allow.
func Constraint(value any, member, broken string) *Error {
	return Validation("1 validation error detected: Value '%v' at '%s' failed to satisfy constraint: %s", value, member,
		broken)
}

// ErrDrop makes a Mux close the connection without an answer, if Around returns it.
var ErrDrop = errors.New("wire: the connection is dropped")

// asError turns an action's error into an answer.
func asError(err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return &Error{Code: "InternalFailure", Message: err.Error(), Status: 500, Fault: true}
}

const coral = "com.amazon.coral.service#"

func serialization(format string, args ...any) *Error {
	return &Error{
		Code:    coral + "SerializationException",
		Query:   "MalformedInput",
		Message: fmt.Sprintf(format, args...),
	}
}
