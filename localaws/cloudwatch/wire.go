package cloudwatch

import (
	"github.com/godwitmq/godwit/localaws/wire"
)

// Wire returns the service for package wire, whatever place a call is for.
func (s *Service) Wire() *wire.Service {
	return Wire(func(*wire.Call) (*Service, error) { return s, nil })
}

// Wire returns CloudWatch for package wire. where returns the service of the place that a call is for: the caller's.
func Wire(where func(*wire.Call) (*Service, error)) *wire.Service {
	return &wire.Service{
		Name: "cloudwatch", Scope: "monitoring", Target: "GraniteServiceVersion20100801", CBOR: true,
		Namespace: "com.amazonaws.cloudwatch", JSON: "1.0", Version: "2010-08-01",
		XMLNS: "http://monitoring.amazonaws.com/doc/2010-08-01/", Names: []string{"ResourceARN"},
		Actions: []wire.Action{
			wire.Op("DeleteAlarms", wire.In(where, (*Service).deleteAlarms)),
			wire.Op("DescribeAlarms", wire.In(where, (*Service).describeAlarms)),
			wire.Op("DescribeAlarmsForMetric", wire.In(where, (*Service).describeAlarmsForMetric)),
			wire.Op("DisableAlarmActions", wire.In(where, (*Service).disableAlarmActions)),
			wire.Op("EnableAlarmActions", wire.In(where, (*Service).enableAlarmActions)),
			wire.Op("GetMetricData", wire.In(where, (*Service).getMetricData)),
			wire.Op("GetMetricStatistics", wire.In(where, (*Service).getMetricStatistics)),
			wire.Op("ListMetrics", wire.In(where, (*Service).listMetrics)),
			wire.Op("ListTagsForResource", wire.In(where, (*Service).listTagsForResource)),
			wire.Op("PutMetricAlarm", wire.In(where, (*Service).putMetricAlarm)),
			wire.Op("PutMetricData", wire.In(where, (*Service).putMetricData)),
			wire.Op("SetAlarmState", wire.In(where, (*Service).setAlarmState)),
			wire.Op("TagResource", wire.In(where, (*Service).tagResource)).WithResult(),
			wire.Op("UntagResource", wire.In(where, (*Service).untagResource)).WithResult(),
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
