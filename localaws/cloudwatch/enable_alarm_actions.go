package cloudwatch

import (
	"context"

	"github.com/godwitmq/godwit/localaws/wire"
)

// EnableAlarmActionsInput is the input of EnableAlarmActions.
type EnableAlarmActionsInput struct {
	AlarmNames []string `json:"AlarmNames"`
}

// EnableAlarmActionsOutput is the empty output of EnableAlarmActions.
type EnableAlarmActionsOutput struct{}

// enableAlarmActions takes no action for the state that an alarm is in. A name without an alarm is ignored.
func (s *Service) enableAlarmActions(_ context.Context, _ *wire.Call, in *EnableAlarmActionsInput,
) (*EnableAlarmActionsOutput, error) {
	if fault := s.switchActions(in.AlarmNames, true); fault != nil {
		return nil, fault
	}
	return &EnableAlarmActionsOutput{}, nil
}

// switchActions switches the actions of alarms on or off. Names without an alarm are ignored.
func (s *Service) switchActions(names []string, on bool) *wire.Error {
	if fault := checkAlarmNames(names); fault != nil {
		return fault
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range names {
		if a := s.alarms[name]; a != nil {
			a.enabled = on
			a.keep(s.opts.Store)
		}
	}
	return nil
}

func checkAlarmNames(names []string) *wire.Error {
	switch {
	case len(names) == 0:
		return asValidation(required("AlarmNames"))
	case len(names) > maxAlarmNames:
		return asValidation(tooMany("AlarmNames", maxAlarmNames))
	}
	return nil
}
