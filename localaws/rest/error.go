package rest

import (
	"errors"
	"fmt"

	"github.com/godwitmq/godwit/localaws/wire"
)

// Error is an error answer with what AWS adds to some errors.
type Error struct {
	Base    wire.Error
	Details []Detail          // elements behind the message
	Header  map[string]string // headers of the answer
}

// Detail is an additional element of an error.
type Detail struct{ Name, Value string }

func (e *Error) Error() string { return e.Base.Error() }

// Unwrap returns the error without its details.
func (e *Error) Unwrap() error { return &e.Base }

// Refuse returns an error with details, which are names and values in turn.
func Refuse(status int, code, message string, details ...string) *Error {
	e := &Error{Base: wire.Error{Code: code, Message: message, Status: status}}
	for i := 0; i+1 < len(details); i += 2 {
		e.Details = append(e.Details, Detail{details[i], details[i+1]})
	}
	return e
}

// asError turns an action's error into an answer.
func asError(err error) *Error {
	var detailed *Error
	var plain *wire.Error
	switch {
	case errors.As(err, &detailed):
		return detailed
	case errors.As(err, &plain):
		return &Error{Base: *plain}
	}
	return &Error{Base: wire.Error{Code: "InternalError", Message: err.Error(), Status: 500, Fault: true}}
}

// InvalidArgument refuses the value of a parameter or header.
func InvalidArgument(message, name, value string) *Error {
	return Refuse(400, "InvalidArgument", message, "ArgumentName", name, "ArgumentValue", value)
}

// CheckOwner refuses an expected owner of a bucket that is no account.
func CheckOwner(account string) *Error {
	if wire.IsAccount(account) {
		return nil
	}
	return Refuse(400, "InvalidBucketOwnerAWSAccountID",
		"The value of the expected bucket owner parameter must be an AWS Account ID... ["+account+"]")
}

// MalformedXML refuses a body.
func MalformedXML() *Error {
	return Refuse(400, "MalformedXML",
		"The XML you provided was not well-formed or did not validate against our published schema")
}

func notImplemented(what string) *Error {
	return Refuse(501, "NotImplemented", fmt.Sprintf(
		"A header or parameter you provided implies functionality that is not implemented: %s", what), "Header", what)
}
