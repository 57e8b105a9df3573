package wire

import (
	"errors"
	"fmt"
	"strings"
)

// Error is how AWS says no. The same value serves every protocol. Values are
// read only once made and may be shared.
type Error struct {
	// Code is the shape's name in the service's model, "QueueDoesNotExist"; in
	// awsJson it stands behind the service's namespace. A Code that has a
	// namespace of its own ("com.amazon.coral.service#…") is left as it is.
	Code string
	// Query is the code in the query protocol and in x-amzn-query-error; ""
	// means Code.
	Query   string
	Message string
	// QueryMessage is the query protocol's text where it differs; "" means
	// Message.
	QueryMessage string
	// Status is the HTTP status; 0 means 400.
	Status int
	// Fault says that it is the server's fault ("Receiver"), not the sender's.
	Fault bool
}

func (e *Error) Error() string {
	return fmt.Sprintf("%s: %s", e.QueryCode(), e.Message)
}

// QueryCode is the code by which most SDKs know the error.
func (e *Error) QueryCode() string {
	if e.Query != "" {
		return e.Query
	}
	return e.Code[strings.LastIndexByte(e.Code, '#')+1:]
}

// jsonType is the value of __type.
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

func (e *Error) status() int {
	if e.Status != 0 {
		return e.Status
	}
	return 400
}

// ErrDrop breaks the connection where a Mux's Around returns it instead of an
// answer.
var ErrDrop = errors.New("wire: the connection is dropped")

// asError makes an answer of whatever an action returned.
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
