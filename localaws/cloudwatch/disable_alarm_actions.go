package cloudwatch

import (
	"context"

	"github.com/godwitmq/godwit/localaws/wire"
)

// DisableAlarmActionsInput is the input of DisableAlarmActions.
type DisableAlarmActionsInput struct {
	AlarmNames []string `json:"AlarmNames"`
}

// DisableAlarmActionsOutput is the empty output of DisableAlarmActions.
type DisableAlarmActionsOutput struct{}

// disableAlarmActions leaves the evaluation: the state still changes, and nothing is told (AWS's API reference). A name
// without an alarm is ignored.
func (s *Service) disableAlarmActions(_ context.Context, _ *wire.Call, in *DisableAlarmActionsInput,
) (*DisableAlarmActionsOutput, error) {
	if fault := s.switchActions(in.AlarmNames, false); fault != nil {
		return nil, fault
	}
	return &DisableAlarmActionsOutput{}, nil
}
