package cloudwatch

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/godwitmq/godwit/localaws/cloudwatch/metric"
	"github.com/godwitmq/godwit/localaws/wire"
)

// PutMetricDataInput is the input of PutMetricData.
type PutMetricDataInput struct {
	Namespace              string       `json:"Namespace"`
	MetricData             []Datum      `json:"MetricData"`
	EntityMetricData       []EntityData `json:"EntityMetricData"`
	StrictEntityValidation *bool        `json:"StrictEntityValidation"`
}

// EntityData are metrics of an entity. The entity itself is accepted and not stored.
type EntityData struct {
	Entity     *Entity `json:"Entity"`
	MetricData []Datum `json:"MetricData"`
}

// Entity is what metrics belong to, for navigation in AWS's console.
type Entity struct {
	KeyAttributes map[string]string `json:"KeyAttributes"`
	Attributes    map[string]string `json:"Attributes"`
}

// PutMetricDataOutput is the empty output of PutMetricData.
type PutMetricDataOutput struct{}

// maxData is the most metrics of one request.
const maxData = 1000

// reserved is the begin of AWS's own namespaces.
const reserved = "AWS/"

// putMetricData stores all samples of a request or none. Namespaces that begin with AWS/ are refused, and a new metric
// is visible at once, on AWS after minutes (AWS's API reference, PutMetricData).
func (s *Service) putMetricData(_ context.Context, _ *wire.Call, in *PutMetricDataInput) (*PutMetricDataOutput, error) {
	if fault := checkName(in.Namespace, "Namespace"); fault != nil {
		return nil, fault
	}
	if strings.HasPrefix(in.Namespace, reserved) || strings.HasPrefix(in.Namespace, ":") {
		return nil, invalidValue("The value %s for parameter Namespace is invalid.", in.Namespace)
	}
	samples, fault := s.samples(in)
	if fault != nil {
		return nil, fault
	}
	if fault := s.opts.Bounds.full(); fault != nil {
		return nil, fault
	}
	s.metrics.Put(s.opts.Clock.Now(), samples...)
	s.minutes.start(time.Hour) // points expire
	return &PutMetricDataOutput{}, nil
}

// samples checks the whole request, so that nothing of an invalid one is stored.
func (s *Service) samples(in *PutMetricDataInput) ([]metric.Sample, *wire.Error) {
	now := s.opts.Clock.Now()
	var samples []metric.Sample
	add := func(data []Datum, path string) *wire.Error {
		for i := range data {
			x, fault := data[i].sample(in.Namespace, now, fmt.Sprintf("%s.member.%d", path, i+1))
			if fault != nil {
				return fault
			}
			samples = append(samples, x)
		}
		return nil
	}
	total := len(in.MetricData)
	for i := range in.EntityMetricData {
		total += len(in.EntityMetricData[i].MetricData)
	}
	switch {
	case total == 0:
		return nil, required("MetricData")
	case total > maxData:
		return nil, tooMany("MetricData", maxData)
	}
	if fault := add(in.MetricData, "MetricData"); fault != nil {
		return nil, fault
	}
	for i := range in.EntityMetricData {
		path := fmt.Sprintf("EntityMetricData.member.%d.MetricData", i+1)
		if fault := add(in.EntityMetricData[i].MetricData, path); fault != nil {
			return nil, fault
		}
	}
	return samples, nil
}
