package cloudwatch

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/godwitmq/godwit/localaws/wire"
)

// Seed is an alarm to create.
type Seed struct {
	Name       string
	Topics     []string // ARNs that it publishes to when it becomes ALARM, in addition to AlarmActions
	Parameters []byte   // JSON with the parameters of PutMetricAlarm, without the name
}

// Plant creates an alarm, as PutMetricAlarm would.
func (s *Service) Plant(ctx context.Context, seed Seed) error {
	in := &PutMetricAlarmInput{}
	if len(seed.Parameters) > 0 {
		d := json.NewDecoder(bytes.NewReader(seed.Parameters))
		d.DisallowUnknownFields()
		if err := d.Decode(in); err != nil {
			return fmt.Errorf("attributes: %s", strings.TrimPrefix(err.Error(), "json: "))
		}
	}
	in.AlarmName = seed.Name
	in.AlarmActions = append(in.AlarmActions, seed.Topics...)
	_, err := s.putMetricAlarm(ctx, &wire.Call{Service: "cloudwatch", Action: "PutMetricAlarm"}, in)
	return err
}
