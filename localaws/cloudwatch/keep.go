package cloudwatch

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/godwitmq/godwit/localaws/cloudwatch/alarm"
	"github.com/godwitmq/godwit/localaws/keep"
	"github.com/godwitmq/godwit/localaws/wire"
)

// The keys of records: of the points of a metric in an hour, by account, region and what package metric says; of an
// alarm by ARN.
const (
	metricRecord = "metric/"
	alarmRecord  = "alarm/"
)

// keptAlarm is the record of an alarm.
type keptAlarm struct {
	Place                         wire.Place
	Input                         *PutMetricAlarmInput
	Enabled                       bool
	Updated                       time.Time
	Tags                          map[string]string `json:",omitempty"`
	State                         alarm.State
	Reason, Data                  string
	StateUpdated, StateTransition time.Time
}

// keepMetrics makes the metrics write their records.
func keepMetrics(s *Service) {
	if s.opts.Store == nil {
		return
	}
	prefix := metricRecord + s.opts.Account + "/" + s.opts.Region + "/"
	s.metrics.Keep(func(key string, value []byte) {
		s.opts.Store.Write(keep.Change{Key: prefix + key, Value: value})
	})
}

// keep writes the alarm's record to a store; nil: nothing is kept. The caller holds the service's lock.
func (a *metricAlarm) keep(store keep.Store) {
	if store == nil {
		return
	}
	k := keptAlarm{
		Input: a.input, Enabled: a.enabled, Updated: a.updated, Tags: a.tags, State: a.state.value,
		Reason: a.state.reason, Data: a.state.data, StateUpdated: a.state.updated, StateTransition: a.state.transition,
	}
	k.Place, _ = wire.PlaceOf(a.arn)
	b, err := json.Marshal(k)
	if err != nil { // texts and finite numbers
		panic("cloudwatch: a record cannot be written: " + err.Error())
	}
	store.Write(keep.Change{Key: alarmRecord + a.arn, Value: b})
}

// forget deletes the alarm's record, and gives its room back.
func (a *metricAlarm) forget(o *Options) {
	_ = o.Bounds.take(a.load, load{}, true)
	if o.Store != nil {
		o.Store.Write(keep.Change{Key: alarmRecord + a.arn})
	}
}

// Kept is what was kept of the metrics and alarms of all places.
type Kept struct {
	alarms  []keptAlarm
	metrics map[wire.Place][][]byte
}

// Add adds a record. ok is false if it is not one of CloudWatch.
func (k *Kept) Add(key string, value []byte) (ok bool, err error) {
	switch {
	case strings.HasPrefix(key, alarmRecord):
		k.alarms = append(k.alarms, keptAlarm{})
		return true, json.Unmarshal(value, &k.alarms[len(k.alarms)-1])
	case strings.HasPrefix(key, metricRecord):
		parts := strings.SplitN(key, "/", 4)
		if len(parts) < 4 {
			return true, fmt.Errorf("cloudwatch: the record %q cannot be read", key)
		}
		if k.metrics == nil {
			k.metrics = map[wire.Place][][]byte{}
		}
		at := wire.Place{Account: parts[1], Region: parts[2]}
		k.metrics[at] = append(k.metrics[at], slices.Clone(value))
		return true, nil
	}
	return false, nil
}

// Restore creates the metrics and the alarms in the services that in returns.
func (k *Kept) Restore(in func(wire.Place) *Service) error {
	for at, all := range k.metrics {
		s := in(at)
		for _, value := range all {
			if err := s.metrics.Restore(value); err != nil {
				return fmt.Errorf("cloudwatch: the record of a metric: %w", err)
			}
		}
		s.minutes.start(time.Hour) // points expire
	}
	for _, a := range k.alarms {
		if err := a.restore(in(a.Place)); err != nil {
			return fmt.Errorf("cloudwatch: the record of the alarm %s: %w", a.Input.AlarmName, err)
		}
	}
	*k = Kept{}
	return nil
}

func (k *keptAlarm) restore(s *Service) error {
	in := k.Input
	a := &metricAlarm{
		arn: s.alarmARN(in.AlarmName), input: in, enabled: k.Enabled, updated: k.Updated, tags: k.Tags, rule: in.rule(),
		state: alarmState{
			value: k.State, reason: k.Reason, data: k.Data, updated: k.StateUpdated, transition: k.StateTransition,
		},
	}
	if a.tags == nil {
		a.tags = map[string]string{}
	}
	if fault := in.checkData(a); fault != nil {
		return fault
	}
	a.load = loadOf(a)
	_ = s.opts.Bounds.take(load{}, a.load, true)
	s.mu.Lock()
	s.alarms[in.AlarmName] = a
	s.mu.Unlock()
	s.watch(a)
	return nil
}
