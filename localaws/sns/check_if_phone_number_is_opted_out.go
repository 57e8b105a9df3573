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
