package sns

import (
	"context"
	"regexp"

	"github.com/godwitmq/godwit/localaws/wire"
)

// PhoneNumberInput is the input of CheckIfPhoneNumberIsOptedOut and of OptInPhoneNumber.
type PhoneNumberInput struct {
	PhoneNumber *string `json:"phoneNumber"`
}

// CheckIfPhoneNumberIsOptedOutOutput is the output of CheckIfPhoneNumberIsOptedOut.
type CheckIfPhoneNumberIsOptedOutOutput struct {
	IsOptedOut bool `json:"isOptedOut"`
}

// checkIfPhoneNumberIsOptedOut answers no: a number opts out by its answer to a message, and this server sends none
// (AWS's API reference; recorded on AWS, 2025-10-06).
func (s *Service) checkIfPhoneNumberIsOptedOut(_ context.Context, _ *wire.Call,
	in *PhoneNumberInput,
) (*CheckIfPhoneNumberIsOptedOutOutput, error) {
	if fault := in.check(); fault != nil {
		return nil, fault
	}
	return &CheckIfPhoneNumberIsOptedOutOutput{}, nil
}

// numberForm is the form E.164, which these actions require.
var numberForm = regexp.MustCompile(`^\+?[1-9][0-9]{6,14}$`)

func (in *PhoneNumberInput) check() *wire.Error {
	switch {
	case in.PhoneNumber == nil:
		return invalid("PhoneNumber Reason: no value for required parameter")
	case !numberForm.MatchString(*in.PhoneNumber):
		return invalid("PhoneNumber Reason: input incorrectly formatted")
	}
	return nil
}

// OptInPhoneNumberOutput is the empty output of OptInPhoneNumber.
type OptInPhoneNumberOutput struct{}

// optInPhoneNumber succeeds: every number is opted in, because this server sends no message that a number could answer.
func (s *Service) optInPhoneNumber(_ context.Context, _ *wire.Call,
	in *PhoneNumberInput,
) (*OptInPhoneNumberOutput, error) {
	if fault := in.check(); fault != nil {
		return nil, fault
	}
	return &OptInPhoneNumberOutput{}, nil
}

// ListPhoneNumbersOptedOutInput is the input of ListPhoneNumbersOptedOut.
type ListPhoneNumbersOptedOutInput struct {
	NextToken *string `json:"nextToken"`
}

// ListPhoneNumbersOptedOutOutput is the output of ListPhoneNumbersOptedOut.
type ListPhoneNumbersOptedOutOutput struct {
	PhoneNumbers []string `json:"phoneNumbers"`
	NextToken    string   `json:"nextToken"`
}

// listPhoneNumbersOptedOut lists none: a number opts out by its answer to a message, and this server sends none.
func (s *Service) listPhoneNumbersOptedOut(_ context.Context, _ *wire.Call,
	in *ListPhoneNumbersOptedOutInput,
) (*ListPhoneNumbersOptedOutOutput, error) {
	if _, fault := readToken(in.NextToken); fault != nil {
		return nil, fault
	}
	return &ListPhoneNumbersOptedOutOutput{PhoneNumbers: []string{}}, nil
}
