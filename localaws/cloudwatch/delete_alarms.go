package cloudwatch

import (
	"context"

	"github.com/godwitmq/godwit/localaws/wire"
)

// DeleteAlarmsInput is the input of DeleteAlarms.
type DeleteAlarmsInput struct {
	AlarmNames []string `json:"AlarmNames"`
}

// DeleteAlarmsOutput is the empty output of DeleteAlarms.
type DeleteAlarmsOutput struct{}

// deleteAlarms deletes all alarms, or none if one of them does not exist (AWS's API reference, DeleteAlarms).
func (s *Service) deleteAlarms(_ context.Context, _ *wire.Call, in *DeleteAlarmsInput) (*DeleteAlarmsOutput, error) {
	if fault := checkAlarmNames(in.AlarmNames); fault != nil {
		return nil, fault
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range in.AlarmNames {
		if s.alarms[name] == nil {
			return nil, noAlarm()
		}
	}
	for _, name := range in.AlarmNames {
		if a := s.alarms[name]; a != nil { // unless it is named twice
			a.forget(&s.opts)
		}
		delete(s.alarms, name)
	}
	return &DeleteAlarmsOutput{}, nil
}
