package cloudwatch

import (
	"context"
	"regexp"
	"sync"

	"github.com/godwitmq/godwit/localaws/wire"
)

// Regions are the services of all regions. Metrics and alarms of one region are not visible in another. It is safe for
// concurrent use.
type Regions struct {
	home *Service
	form *regexp.Regexp // of the names of regions

	mu     sync.Mutex
	others map[string]*Service
	closed bool
}

// NewRegions returns the services of all regions, without metrics and alarms. The sources report in the region of the
// options.
func NewRegions(o Options) *Regions {
	return &Regions{
		home: New(o), others: map[string]*Service{}, form: regexp.MustCompile(`^[a-z]{2}(-[a-z]+)+-\d$`),
	}
}

// Home returns the service of the region of the options.
func (r *Regions) Home() *Service { return r.home }

// In returns the service of a region. What is no name of a region stands for that of the options.
func (r *Regions) In(region string) *Service {
	if region == r.home.opts.Region || !r.form.MatchString(region) {
		return r.home
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.others[region]
	if s == nil {
		o := r.home.opts
		o.Region, o.Sources = region, nil
		s = New(o)
		if r.closed {
			s.Close()
		}
		r.others[region] = s
	}
	return s
}

// at returns a handler that calls an action of the region that a call is signed for.
func at[In, Out any](r *Regions, action func(*Service, context.Context, *wire.Call, *In) (*Out, error),
) func(context.Context, *wire.Call, *In) (*Out, error) {
	return func(ctx context.Context, c *wire.Call, in *In) (*Out, error) {
		return action(r.In(c.SignedRegion), ctx, c, in)
	}
}

// Wire returns the service for package wire. A call is for the region that it is signed for.
func (r *Regions) Wire() *wire.Service {
	return &wire.Service{
		Name: "cloudwatch", Scope: "monitoring", Target: "GraniteServiceVersion20100801", CBOR: true,
		Namespace: "com.amazonaws.cloudwatch", JSON: "1.0", Version: "2010-08-01",
		XMLNS: "http://monitoring.amazonaws.com/doc/2010-08-01/",
		Actions: []wire.Action{
			wire.Op("DeleteAlarms", at(r, (*Service).deleteAlarms)),
			wire.Op("DescribeAlarms", at(r, (*Service).describeAlarms)),
			wire.Op("DescribeAlarmsForMetric", at(r, (*Service).describeAlarmsForMetric)),
			wire.Op("DisableAlarmActions", at(r, (*Service).disableAlarmActions)),
			wire.Op("EnableAlarmActions", at(r, (*Service).enableAlarmActions)),
			wire.Op("GetMetricData", at(r, (*Service).getMetricData)),
			wire.Op("GetMetricStatistics", at(r, (*Service).getMetricStatistics)),
			wire.Op("ListMetrics", at(r, (*Service).listMetrics)),
			wire.Op("ListTagsForResource", at(r, (*Service).listTagsForResource)),
			wire.Op("PutMetricAlarm", at(r, (*Service).putMetricAlarm)),
			wire.Op("PutMetricData", at(r, (*Service).putMetricData)),
			wire.Op("SetAlarmState", at(r, (*Service).setAlarmState)),
			wire.Op("TagResource", at(r, (*Service).tagResource)).WithResult(),
			wire.Op("UntagResource", at(r, (*Service).untagResource)).WithResult(),
		},
		Absent: absent(),
	}
}

// absent returns CloudWatch's actions that this service does not have: composite alarms and those of logs, mute rules,
// history, anomaly detection, dashboards, insight rules, streams of metrics, and what is named for a data set.
func absent() []string {
	return []string{
		"AssociateDatasetKmsKey", "CreateResourceMetricsConfiguration", "DeleteAlarmMuteRule",
		"DeleteAnomalyDetector", "DeleteDashboards", "DeleteInsightRules", "DeleteMetricStream",
		"DeleteResourceMetricsConfiguration", "DescribeAlarmContributors", "DescribeAlarmHistory",
		"DescribeAnomalyDetectors", "DescribeInsightRules", "DisableInsightRules", "DisassociateDatasetKmsKey",
		"EnableInsightRules", "GetAlarmMuteRule", "GetDashboard", "GetDataset", "GetInsightRuleReport",
		"GetMetricStream", "GetMetricWidgetImage", "GetOTelEnrichment", "GetResourceMetricsConfiguration",
		"ListAlarmMuteRules", "ListDashboards", "ListManagedInsightRules", "ListMetricStreams", "PutAlarmMuteRule",
		"PutAnomalyDetector", "PutCompositeAlarm", "PutDashboard", "PutInsightRule", "PutLogAlarm",
		"PutManagedInsightRules", "PutMetricStream", "StartMetricStreams", "StartOTelEnrichment",
		"StopMetricStreams", "StopOTelEnrichment", "UpdateOTelEnrichment", "UpdateResourceMetricsConfiguration",
	}
}

// Reset removes every metric and every alarm.
func (r *Regions) Reset() {
	for _, s := range r.all() {
		s.Reset()
	}
}

// Close stops every tick. Everything else continues to work.
func (r *Regions) Close() {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	for _, s := range r.all() {
		s.Close()
	}
}

func (r *Regions) all() []*Service {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := []*Service{r.home}
	for _, s := range r.others {
		all = append(all, s)
	}
	return all
}
