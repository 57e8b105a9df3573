package cloudwatch

import (
	"context"

	"github.com/godwitmq/godwit/localaws/wire"
)

// Wire returns CloudWatch for package wire. where returns the service of the place that a call is for: the caller's.
func Wire(where func(*wire.Call) (*Service, error)) *wire.Service {
	return &wire.Service{
		Name: "cloudwatch", Scope: "monitoring", Target: "GraniteServiceVersion20100801", CBOR: true,
		Namespace: "com.amazonaws.cloudwatch", JSON: "1.0", Version: "2010-08-01",
		XMLNS: "http://monitoring.amazonaws.com/doc/2010-08-01/", Names: []string{"ResourceARN"},
		Actions: []wire.Action{
			inPlace(where, "DeleteAlarms", deleteAlarms),
			inPlace(where, "DescribeAlarms", describeAlarms),
			inPlace(where, "DescribeAlarmsForMetric", describeAlarmsForMetric),
			inPlace(where, "DisableAlarmActions", disableAlarmActions),
			inPlace(where, "EnableAlarmActions", enableAlarmActions),
			inPlace(where, "GetMetricData", getMetricData),
			inPlace(where, "GetMetricStatistics", getMetricStatistics),
			inPlace(where, "ListMetrics", listMetrics),
			inPlace(where, "ListTagsForResource", listTagsForResource),
			inPlace(where, "PutMetricAlarm", putMetricAlarm),
			inPlace(where, "PutMetricData", putMetricData),
			inPlace(where, "SetAlarmState", setAlarmState),
			inPlace(where, "TagResource", tagResource).WithResult(),
			inPlace(where, "UntagResource", untagResource).WithResult(),
		},
		Absent: absent(),
	}
}

// Empty is the output of actions without output.
type Empty struct{}

// inPlace returns an action in the place of a call. No action needs to know more about the call.
func inPlace[I, O any](where func(*wire.Call) (*Service, error), name string, action func(*Service, *I) (*O, error),
) wire.Action {
	return wire.Op(name, wire.In(where, func(s *Service, _ context.Context, _ *wire.Call, in *I) (*O, error) {
		return action(s, in)
	}))
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
