package topology

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/driver"
)

// wanted are the resources of a declaration as the backend would make them. It makes no request.
func (s *Spec) wanted(b godwit.Backend, address func(resource, name string) string) ([]driver.WantedResource, error) {
	do := driver.OperationsOf(b)
	if do.Wanted == nil {
		return nil, errors.New("topology: only the resources of SNS and SQS can be exported: open snssqs")
	}
	if err := s.Check(); err != nil {
		return nil, err
	}
	specs, err := s.resources()
	if err != nil {
		return nil, err
	}
	return do.Wanted(specs, address)
}

// indented is a value as JSON in lines. Policies have '<' and '&', which are not escaped.
func indented(v any) ([]byte, error) {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err := enc.Encode(v)
	return text.Bytes(), err
}

// attribute is how Terraform calls an attribute of SQS or SNS, and the type that its value has. CloudFormation has the
// name of the service.
type attribute struct {
	terraform string // "": the provider has no argument for it
	kind      attributeKind
}

type attributeKind uint8

const (
	asText attributeKind = iota
	asNumber
	asBool
	asDocument // a text with JSON, which CloudFormation wants as an object
)

// value converts a value of the service.
func (a attribute) value(text string) (any, error) {
	switch a.kind {
	case asNumber:
		return json.Number(text), nil
	case asBool:
		return text == "true", nil
	case asDocument:
		var doc any
		err := json.Unmarshal([]byte(text), &doc)
		return doc, err
	}
	return text, nil
}

// attributeOf returns an attribute of a resource. One that the exports do not know is an error, because it would be
// lost.
func attributeOf(r *driver.WantedResource, name string) (attribute, error) {
	a, known := attributesOf(r.Resource)[name]
	if !known {
		return a, fmt.Errorf("topology: the export does not know the attribute %s of %s %s", name, r.Resource, r.Name)
	}
	return a, nil
}

// attributesOf returns the attributes of a kind of resources, by the service's names.
func attributesOf(resource string) map[string]attribute {
	switch resource {
	case "topic":
		return map[string]attribute{
			"FifoTopic": {"fifo_topic", asBool}, "KmsMasterKeyId": {"kms_master_key_id", asText},
			"ContentBasedDeduplication": {"content_based_deduplication", asBool},
			"FifoThroughputScope":       {"fifo_throughput_scope", asText}, "Policy": {"policy", asDocument},
			"ArchivePolicy": {"archive_policy", asDocument}, "DisplayName": {"display_name", asText},
			"MaximumMessageSize": {"", asNumber}, "SignatureVersion": {"signature_version", asText},
			"TracingConfig":                {"tracing_config", asText},
			"SQSFailureFeedbackRoleArn":    {"sqs_failure_feedback_role_arn", asText},
			"SQSSuccessFeedbackRoleArn":    {"sqs_success_feedback_role_arn", asText},
			"SQSSuccessFeedbackSampleRate": {"sqs_success_feedback_sample_rate", asText},
		}
	case "subscription":
		return map[string]attribute{
			"TopicArn": {"topic_arn", asText}, "Endpoint": {"endpoint", asText},
			"RawMessageDelivery": {"raw_message_delivery", asBool}, "FilterPolicy": {"filter_policy", asDocument},
			"RedrivePolicy": {"redrive_policy", asDocument},
		}
	default:
		return map[string]attribute{
			"FifoQueue": {"fifo_queue", asBool}, "DelaySeconds": {"delay_seconds", asNumber},
			"MessageRetentionPeriod": {"message_retention_seconds", asNumber},
			"VisibilityTimeout":      {"visibility_timeout_seconds", asNumber},
			"KmsMasterKeyId":         {"kms_master_key_id", asText},
			"SqsManagedSseEnabled":   {"sqs_managed_sse_enabled", asBool},
			"DeduplicationScope":     {"deduplication_scope", asText},
			"FifoThroughputLimit":    {"fifo_throughput_limit", asText},
			"RedrivePolicy":          {"redrive_policy", asDocument}, "Policy": {"policy", asDocument},
			"KmsDataKeyReusePeriodSeconds":  {"kms_data_key_reuse_period_seconds", asNumber},
			"MaximumMessageSize":            {"max_message_size", asNumber},
			"ReceiveMessageWaitTimeSeconds": {"receive_wait_time_seconds", asNumber},
			"RedriveAllowPolicy":            {"redrive_allow_policy", asDocument},
		}
	}
}

// queueURL is the URL of a queue of AWS by its ARN; "": the ARN is of something else.
func queueURL(arn string) string {
	parts := strings.Split(arn, ":")
	if len(parts) != 6 || parts[2] != "sqs" {
		return ""
	}
	domain := "amazonaws.com"
	if parts[1] == "aws-cn" {
		domain += ".cn"
	}
	return fmt.Sprintf("https://sqs.%s.%s/%s/%s", parts[3], domain, parts[4], parts[5])
}

// ownerOf is the owner of a channel in texts.
func ownerOf(own, shared string) string { return cmp.Or(own, shared, "nobody") }
