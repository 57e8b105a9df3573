package topology

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/godwitmq/godwit"
)

// cloudFormationOf is the type of a resource.
func cloudFormationOf(resource string) string {
	switch resource {
	case "topic":
		return "AWS::SNS::Topic"
	case "subscription":
		return "AWS::SNS::Subscription"
	}
	return "AWS::SQS::Queue"
}

// CloudFormation returns the declared channels as a template in JSON, with an alarm for each threshold and for dead
// letters, and with the functions of godwit-lambda and their schedules: alerts, and for the Owner of the declaration
// the sweep. The parameters of the template say whom alarms tell, and where the code of the functions is; without them
// there are no functions. Queues and topics are kept when the stack is deleted, because they have messages. The backend
// is snssqs; it makes no request.
func CloudFormation(b godwit.Backend, s *Spec) ([]byte, error) {
	id := func(resource, name string) string { return logicalID(s, resource, name) }
	wanted, err := s.wanted(b, func(resource, name string) string {
		if resource == "topic" {
			return "${" + id(resource, name) + "}"
		}
		return "${" + id(resource, name) + ".Arn}"
	})
	if err != nil {
		return nil, err
	}
	resources := object{}
	for _, r := range wanted {
		kind, name, properties := cloudFormationOf(r.Resource), id(r.Resource, r.Name), object{}
		logging := object{}
		for _, key := range slices.Sorted(maps.Keys(r.Attributes)) {
			a, err := attributeOf(&r, key)
			if err != nil {
				return nil, err
			}
			value, err := a.value(r.Attributes[key])
			if err != nil {
				return nil, err
			}
			value = referring(value)
			setting, logged := strings.CutPrefix(key, "SQS") // SQSFailureFeedbackRoleArn and others
			switch {
			case key == "Policy":
				resources[name+"Policy"] = policyResource(r.Resource, name, value)
			case logged:
				logging[setting] = value
			default:
				properties[key] = value
			}
		}
		if len(logging) > 0 {
			logging["Protocol"] = "sqs"
			properties["DeliveryStatusLogging"] = []any{logging}
		}
		one := object{"Type": kind, "Properties": properties}
		switch r.Resource {
		case "subscription":
			name += "Subscription"
			properties["Protocol"] = "sqs"
		case "topic":
			properties["TopicName"], properties["Tags"] = r.Name, tagList(r.Tags)
			one["DeletionPolicy"], one["UpdateReplacePolicy"] = "Retain", "Retain"
		default:
			properties["QueueName"], properties["Tags"] = r.Name, tagList(r.Tags)
			one["DeletionPolicy"], one["UpdateReplacePolicy"] = "Retain", "Retain"
			addAlarms(s, resources, r.Channel.String(), name, r.Resource == "dead letters")
		}
		if resources[name] != nil {
			return nil, fmt.Errorf("topology: two resources have the name %s in the template: rename a channel", name)
		}
		resources[name] = one
	}
	addRuns(s, resources)
	return indented(object{
		"AWSTemplateFormatVersion": "2010-09-09",
		"Description":              "Channels of Godwit, topology " + s.name(),
		"Parameters":               parameters(), "Conditions": conditions(), "Rules": rules(),
		"Resources": resources,
	})
}

// logicalID is the name of a resource in a template, of letters and digits: Orders, OrdersDlq, WishesMobile. A name
// from which other characters are left out gets a part of its hash. It never changes, because CloudFormation would
// replace the resource.
func logicalID(s *Spec, resource, name string) string {
	name = strings.TrimSuffix(strings.TrimPrefix(name, s.Namespace+"---"), orderedSuffix)
	var id strings.Builder
	whole := true
	for word := range strings.SplitSeq(name, "--") {
		for _, half := range strings.FieldsFunc(word, func(r rune) bool { return r == '_' || r == '-' }) {
			id.WriteString(strings.ToUpper(half[:1]) + half[1:])
			whole = whole && half == word
		}
		whole = whole && word == strings.ToLower(word)
	}
	if !whole {
		fmt.Fprintf(&id, "X%.4x", sha256.Sum256([]byte(name)))
	}
	if resource == "topic" {
		id.WriteString("ExchangeTopic")
	}
	return id.String()
}

func policyResource(resource, name string, policy any) object {
	if resource == "topic" {
		return object{"Type": "AWS::SNS::TopicPolicy", "Properties": object{
			"Topics": []any{object{"Ref": name}}, "PolicyDocument": policy,
		}}
	}
	return object{"Type": "AWS::SQS::QueuePolicy", "Properties": object{
		"Queues": []any{object{"Ref": name}}, "PolicyDocument": policy,
	}}
}

func tagList(tags map[string]string) []any {
	var all []any
	for _, key := range slices.Sorted(maps.Keys(tags)) {
		all = append(all, object{"Key": key, "Value": tags[key]})
	}
	return all
}

// reference is what the addresses of wanted resources are in a template.
var reference = regexp.MustCompile(`^\$\{(\w+)(\.Arn)?\}$`)

// referring replaces the addresses in a value with references to resources of the template.
func referring(value any) any {
	return replacing(value, func(text string) any {
		switch m := reference.FindStringSubmatch(text); {
		case m == nil:
			return text
		case m[2] == "":
			return object{"Ref": m[1]}
		default:
			return object{"Fn::GetAtt": []any{m[1], "Arn"}}
		}
	})
}

// replacing replaces the texts in a value.
func replacing(value any, f func(text string) any) any {
	switch v := value.(type) {
	case map[string]any:
		out := object{}
		for key, one := range v {
			out[key] = replacing(one, f)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = replacing(v[i], f)
		}
		return out
	case string:
		return f(v)
	}
	return value
}

// addAlarms adds the alarms of a queue, and the one of dead letters, which needs no threshold.
func addAlarms(s *Spec, resources object, channel, queue string, dead bool) {
	add := func(suffix, metric, statistic string, above float64) {
		resources[queue+suffix] = object{"Type": "AWS::CloudWatch::Alarm", "Properties": object{
			"Namespace": "AWS/SQS", "MetricName": metric, "Statistic": statistic,
			"Period": 300, "EvaluationPeriods": 1,
			"ComparisonOperator": "GreaterThanThreshold", "Threshold": above, "TreatMissingData": "notBreaching",
			"AlarmActions":     told(s.Channels[channel].Critical),
			"AlarmDescription": channel + ": " + metric + " of " + ownerOf(s.Channels[channel].Owner, s.Owner),
			"Dimensions": []any{
				object{"Name": "QueueName", "Value": object{"Fn::GetAtt": []any{queue, "QueueName"}}},
			},
		}}
	}
	a := s.Channels[channel].Alarms
	switch {
	case dead:
		add("Alarm", "ApproximateNumberOfMessagesVisible", "Maximum", float64(max(a.DeadLetters-1, 0)))
	default:
		if a.Age > 0 {
			add("AgeAlarm", "ApproximateAgeOfOldestMessage", "Maximum", a.Age.Seconds())
		}
		if a.Depth > 0 {
			add("DepthAlarm", "ApproximateNumberOfMessagesVisible", "Maximum", float64(a.Depth))
		}
	}
}
