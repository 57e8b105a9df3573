package sns

import (
	"context"

	"github.com/godwitmq/godwit/localaws/wire"
)

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
