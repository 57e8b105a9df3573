package topology

import "strings"

// The parameters and conditions of a template.
const (
	alarmTopic, criticalTopic     = "AlarmTopic", "CriticalAlarmTopic"
	runsCodeBucket, runsCodeKey   = "RunsCodeBucket", "RunsCodeKey"
	runsState, runsStatePrefix    = "RunsStateBucket", "RunsStatePrefix"
	hasAlarmTopic, hasCritical    = "HasAlarmTopic", "HasCriticalAlarmTopic"
	hasRuns                       = "HasRuns"
	alertsFunction, sweepFunction = "GodwitAlertsFunction", "GodwitSweepFunction"
	scheduleRole                  = "GodwitScheduleRole"
)

// parameters are what a stack chooses. Without them, alarms tell nobody, and there are no scheduled runs.
func parameters() object {
	text := func(def, description string) object {
		return object{"Type": "String", "Default": def, "Description": description}
	}
	return object{
		alarmTopic: text("", "The ARN of a standard topic of SNS that is told of alarms and by scheduled runs"),
		criticalTopic: text("",
			"The ARN of a topic of SNS that is told of alarms of critical channels, instead of AlarmTopic"),
		runsCodeBucket:  text("", "The bucket with the code of godwit-lambda; without it, there are no scheduled runs"),
		runsCodeKey:     text("godwit-lambda.zip", "The key of the code of godwit-lambda, for arm64"),
		runsState:       text(noBucket, "The bucket in which scheduled runs remember what they have told and announced"),
		runsStatePrefix: text("godwit", "The beginning of the keys in RunsStateBucket"),
	}
}

// noBucket is in place of a bucket: the name in a policy must not be empty.
const noBucket = "none"

// isSet is whether a parameter is not the one that means nothing.
func isSet(parameter, nothing string) object {
	return object{"Fn::Not": []any{object{"Fn::Equals": []any{object{"Ref": parameter}, nothing}}}}
}

func conditions() object {
	return object{
		hasAlarmTopic: isSet(alarmTopic, ""), hasCritical: isSet(criticalTopic, ""), hasRuns: isSet(runsCodeBucket, ""),
	}
}

// rules refuse parameters that make no sense together.
func rules() object {
	return object{"RunsNeedAState": object{
		"RuleCondition": isSet(runsCodeBucket, ""),
		"Assertions": []any{object{
			"Assert":            isSet(runsState, noBucket),
			"AssertDescription": "Scheduled runs need RunsStateBucket: without it, each would tell everything again",
		}},
	}}
}

func either(condition string, yes, no any) object { return object{"Fn::If": []any{condition, yes, no}} }

// noValue is a property that is not set.
func noValue() object { return object{"Ref": "AWS::NoValue"} }

// told is the topic that an alarm tells, if the stack has one.
func told(critical bool) []any {
	topic := either(hasAlarmTopic, object{"Ref": alarmTopic}, noValue())
	if critical {
		topic = either(hasCritical, object{"Ref": criticalTopic}, topic)
	}
	return []any{topic}
}

// addRuns adds the functions of godwit-lambda, with their schedules and roles. Without an owner, there is no sweep.
func addRuns(s *Spec, resources object) {
	at := arns{"${AWS::Partition}", "${AWS::Region}", "${AWS::AccountId}", s}
	add := func(id, kind string, properties object) {
		resources[id] = object{"Type": kind, "Condition": hasRuns, "Properties": properties}
	}
	var functions []any
	function := func(id string, variables object, g grants) {
		functions = append(functions, object{"Fn::GetAtt": []any{id, "Arn"}})
		variables["GODWIT_STATE"] = substituted("s3://${" + runsState + "}/${" + runsStatePrefix + "}")
		variables["GODWIT_SNS_TOPIC"] = either(hasAlarmTopic, object{"Ref": alarmTopic}, noValue())
		if s.Namespace != "" {
			variables["GODWIT_NAMESPACE"] = s.Namespace
		}
		add(id, "AWS::Lambda::Function", object{
			"Runtime": "provided.al2023", "Handler": "bootstrap", "Architectures": []any{"arm64"}, "Timeout": 300,
			"MemorySize":  256,
			"Code":        object{"S3Bucket": object{"Ref": runsCodeBucket}, "S3Key": object{"Ref": runsCodeKey}},
			"Environment": object{"Variables": variables}, "Role": object{"Fn::GetAtt": []any{id + "Role", "Arn"}},
		})
		bucket := "arn:" + at.partition + ":s3:::${" + runsState + "}"
		g.allow(bucket, "s3:ListBucket")
		g.allow(bucket+"/${"+runsStatePrefix+"}/*", "s3:GetObject", "s3:PutObject")
		publish := object{"Version": "2012-10-17", "Statement": []any{object{
			"Effect": "Allow", "Resource": object{"Ref": alarmTopic}, "Action": []any{"sns:Publish"},
		}}}
		add(id+"Role", "AWS::IAM::Role", object{
			"AssumeRolePolicyDocument": assumedBy("lambda.amazonaws.com"),
			"ManagedPolicyArns": []any{
				substituted("arn:${AWS::Partition}:iam::aws:policy/service-role/AWSLambdaBasicExecutionRole"),
			},
			"Policies": []any{
				object{"PolicyName": "run", "PolicyDocument": substituting(g.document())},
				either(hasAlarmTopic, object{"PolicyName": "tell", "PolicyDocument": publish}, noValue()),
			},
		})
	}
	schedule := func(id, function, rate, run string) {
		add(id, "AWS::Scheduler::Schedule", object{
			"ScheduleExpression": "rate(" + rate + ")", "FlexibleTimeWindow": object{"Mode": "OFF"},
			"Target": object{
				"Arn":     object{"Fn::GetAtt": []any{function, "Arn"}},
				"RoleArn": object{"Fn::GetAtt": []any{scheduleRole, "Arn"}}, "Input": `{"run":"` + run + `"}`,
			},
		})
	}
	function(alertsFunction, object{}, alerter(at))
	schedule("GodwitSourcesSchedule", alertsFunction, "15 minutes", "sources")
	schedule("GodwitDeadLettersSchedule", alertsFunction, "12 hours", "dead-letters")
	if s.Owner != "" {
		function(sweepFunction, object{"GODWIT_OWNER": s.Owner}, scheduledSweeper(at))
		schedule("GodwitSweepSchedule", sweepFunction, "1 day", "sweep")
	}
	add(scheduleRole, "AWS::IAM::Role", object{
		"AssumeRolePolicyDocument": assumedBy("scheduler.amazonaws.com"),
		"Policies": []any{object{"PolicyName": "invoke", "PolicyDocument": object{
			"Version": "2012-10-17",
			"Statement": []any{object{
				"Effect": "Allow", "Resource": functions, "Action": []any{"lambda:InvokeFunction"},
			}},
		}}},
	})
}

// alerter is the policy of a function with alerts.
func alerter(at arns) grants {
	g := grants{}
	g.allow("*", "cloudwatch:GetMetricData", "cloudwatch:ListMetrics", "tag:GetResources")
	g.allow(at.all("sqs"), "sqs:GetQueueAttributes", "sqs:GetQueueUrl")
	return g
}

// scheduledSweeper is the policy of a function that sweeps. Its undo is a person's.
func scheduledSweeper(at arns) grants {
	g := alerter(at)
	g.allow("*", "sns:GetSubscriptionAttributes", "sns:Unsubscribe")
	g.allow(at.all("sqs"), "sqs:DeleteQueue", "sqs:ListDeadLetterSourceQueues", "sqs:ListQueueTags")
	g.allow(at.all("sns"), "sns:DeleteTopic", "sns:GetTopicAttributes", "sns:ListSubscriptionsByTopic",
		"sns:ListTagsForResource")
	return g
}

func assumedBy(service string) object {
	return object{"Version": "2012-10-17", "Statement": []any{object{
		"Effect": "Allow", "Principal": object{"Service": service}, "Action": "sts:AssumeRole",
	}}}
}

// substituted is a text in which CloudFormation replaces ${…}.
func substituted(text string) object { return object{"Fn::Sub": text} }

// substituting replaces the texts with ${…} in a value.
func substituting(value any) any {
	return replacing(value, func(text string) any {
		if strings.Contains(text, "${") {
			return substituted(text)
		}
		return text
	})
}
