package cloudwatch

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/godwitmq/godwit/localaws/cloudwatch/metric"
)

// MetricState is a metric as inspection shows it.
type MetricState struct {
	ID    metric.ID
	Units []string
	Seen  time.Time // when a sample arrived last
	// Key is the metric's position in the list, for the next page.
	Key string
}

// Metrics returns up to limit metrics of a namespace, in order, behind the key of the last one of the previous page;
// "": of every namespace, and from the first on. A limit of 0 means all.
func (s *Service) Metrics(namespace, after string, limit int) []MetricState {
	var states []MetricState
	for _, l := range s.metrics.List(after, limit, func(l metric.Listed) bool {
		return namespace == "" || l.ID.Namespace == namespace
	}) {
		states = append(states, MetricState{ID: l.ID, Units: l.Units, Seen: l.Seen, Key: l.Key})
	}
	return states
}

// Alarms returns every alarm, in order of their names.
func (s *Service) Alarms() []MetricAlarm {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]MetricAlarm, 0, len(s.alarms))
	for _, a := range s.sortedAlarms() {
		all = append(all, a.shown())
	}
	return all
}

// Tagged returns the tags of every alarm that has tags, by ARN.
func (s *Service) Tagged() map[string]map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	tagged := map[string]map[string]string{}
	for _, a := range s.alarms {
		if len(a.tags) > 0 {
			tagged[a.arn] = maps.Clone(a.tags)
		}
	}
	return tagged
}

// Points returns what is stored of a metric in [from, to) by periods, for each unit.
func (s *Service) Points(id metric.ID, from, to time.Time, period time.Duration) [][]metric.Point {
	return s.metrics.Read(s.opts.Clock.Now(), metric.Reading{ID: id, From: from, To: to, Period: period})
}

// Seed is an alarm to create.
type Seed struct {
	Name       string
	Topics     []string // ARNs that it publishes to when it becomes ALARM, in addition to AlarmActions
	Parameters []byte   // JSON with the parameters of PutMetricAlarm, without the name
}

// Plant creates an alarm, as PutMetricAlarm would.
func (s *Service) Plant(seed Seed) error {
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
	_, err := putMetricAlarm(s, in)
	return err
}
