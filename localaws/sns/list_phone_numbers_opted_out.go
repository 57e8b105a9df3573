package sns

import (
	"context"

	"github.com/godwitmq/godwit/localaws/wire"
)

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
