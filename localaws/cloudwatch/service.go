package cloudwatch

import (
	"log/slog"
	"sync"
	"time"

	"github.com/godwitmq/godwit/localaws/clock"
	"github.com/godwitmq/godwit/localaws/cloudwatch/metric"
	"github.com/godwitmq/godwit/localaws/wire"
)

// Options are what a Service needs. Account, Region and Clock are required.
type Options struct {
	Account string
	Region  string
	Clock   *clock.Clock
	Topics  Topics       // nil: alarms publish nothing
	Sources []Source     // report metrics of other services
	Logger  *slog.Logger // nil: nothing is logged
}

// Topics is the part of SNS that alarms need.
type Topics interface {
	// Publish publishes an alarm's message, if the topic's policy allows it.
	Publish(topicARN, alarmARN, subject, message string) error
}

// Source reports metrics of another service.
type Source interface {
	// Collect returns what happened in the minute that ends at a time, and reports whether it has to be called again
	// in the next minute. A source that sleeps is called again after [Service.Wake].
	Collect(end time.Time) (samples []metric.Sample, awake bool)
}

// Service is the model of CloudWatch. It is safe for concurrent use.
type Service struct {
	opts    Options
	log     *slog.Logger
	metrics *metric.Store
	minutes ticker
	short   ticker // for alarms with a period below a minute

	mu     sync.Mutex
	alarms map[string]*metricAlarm // by name
}

// New returns a service without metrics and alarms.
func New(o Options) *Service {
	s := &Service{opts: o, log: o.Logger, metrics: metric.NewStore(), alarms: map[string]*metricAlarm{}}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	s.minutes.init(o.Clock, s.tick)
	s.short.init(o.Clock, s.shortTick)
	return s
}

// Wire returns the service for package wire.
func (s *Service) Wire() *wire.Service {
	return &wire.Service{
		Name: "cloudwatch", Scope: "monitoring", Target: "GraniteServiceVersion20100801", CBOR: true,
		Namespace: "com.amazonaws.cloudwatch", JSON: "1.0", Version: "2010-08-01",
		XMLNS: "http://monitoring.amazonaws.com/doc/2010-08-01/",
		Actions: []wire.Action{
			wire.Op("DeleteAlarms", s.deleteAlarms),
			wire.Op("DescribeAlarms", s.describeAlarms),
			wire.Op("DescribeAlarmsForMetric", s.describeAlarmsForMetric),
			wire.Op("DisableAlarmActions", s.disableAlarmActions),
			wire.Op("EnableAlarmActions", s.enableAlarmActions),
			wire.Op("GetMetricData", s.getMetricData),
			wire.Op("GetMetricStatistics", s.getMetricStatistics),
			wire.Op("ListMetrics", s.listMetrics),
			wire.Op("ListTagsForResource", s.listTagsForResource),
			wire.Op("PutMetricAlarm", s.putMetricAlarm),
			wire.Op("PutMetricData", s.putMetricData),
			wire.Op("SetAlarmState", s.setAlarmState),
			wire.Op("TagResource", s.tagResource).WithResult(),
			wire.Op("UntagResource", s.untagResource).WithResult(),
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
func (s *Service) Reset() {
	s.mu.Lock()
	s.alarms = map[string]*metricAlarm{}
	s.mu.Unlock()
	s.metrics.Reset()
}

// Close stops the tick. Everything else continues to work.
func (s *Service) Close() {
	s.minutes.close()
	s.short.close()
}

// Wake makes sources be called at the next whole minute. It is cheap, and may be called with any lock held that
// Collect does not take.
func (s *Service) Wake() { s.minutes.start(time.Minute) }
