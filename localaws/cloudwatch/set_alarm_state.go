package cloudwatch

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/godwitmq/godwit/localaws/cloudwatch/alarm"
	"github.com/godwitmq/godwit/localaws/wire"
)

// SetAlarmStateInput is the input of SetAlarmState.
type SetAlarmStateInput struct {
	AlarmName       string  `json:"AlarmName"`
	StateValue      string  `json:"StateValue"`
	StateReason     *string `json:"StateReason"`
	StateReasonData string  `json:"StateReasonData"`
}

// SetAlarmStateOutput is the empty output of SetAlarmState.
type SetAlarmStateOutput struct{}

const (
	maxReason     = 1023 // CloudWatch
	maxReasonData = 4000 // CloudWatch
)

// setAlarmState sets a state until the next evaluation decides otherwise, and carries out its actions (AWS's API
// reference, SetAlarmState).
func (s *Service) setAlarmState(_ context.Context, _ *wire.Call, in *SetAlarmStateInput) (*SetAlarmStateOutput, error) {
	switch {
	case in.AlarmName == "":
		return nil, asValidation(required("AlarmName"))
	case !slices.Contains(stateValues(), in.StateValue):
		return nil, notInSet(in.StateValue, "stateValue", stateValues())
	case in.StateReason == nil:
		return nil, asValidation(required("StateReason"))
	case len([]rune(*in.StateReason)) > maxReason:
		return nil, wire.Constraint(*in.StateReason, "stateReason",
			"Member must have length less than or equal to 1023")
	case len([]rune(in.StateReasonData)) > maxReasonData:
		return nil, wire.Constraint(in.StateReasonData, "stateReasonData",
			"Member must have length less than or equal to 4000")
	case in.StateReasonData != "" && !json.Valid([]byte(in.StateReasonData)):
		return nil, &wire.Error{
			Code: "InvalidFormatFault", Query: "InvalidFormat", Message: "The state reason data is not valid JSON.",
		}
	}
	s.mu.Lock()
	a := s.alarms[in.AlarmName]
	if a == nil {
		s.mu.Unlock()
		return nil, noAlarm()
	}
	n := s.change(a, alarm.State(in.StateValue), *in.StateReason, in.StateReasonData)
	s.mu.Unlock()
	s.carryOut(n)
	return &SetAlarmStateOutput{}, nil
}
