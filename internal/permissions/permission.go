package permissions

import (
	"cmp"
	"fmt"
	"reflect"
	"strings"
)

// Permission is an action of IAM on a resource. The resource has REGION and ACCOUNT in place of both.
type Permission struct{ Action, Resource string }

// Of returns what a call needs: the service and the action as localaws names them, and its input.
func Of(service, action string, input any) (all []Permission) {
	for _, one := range actions(service, action, input) {
		all = append(all, Permission{one, resourceOf(one, input)})
	}
	return all
}

// actions are the actions of IAM that a call needs. Most calls of a batch have none of their own, and a resource that
// is made with tags needs a second.
func actions(service, call string, input any) []string {
	action := strings.TrimSuffix(call, "Batch")
	tags := reflect.ValueOf(input).Elem().FieldByName("Tags")
	switch {
	case service == "sts":
		return nil // IAM allows it to everybody
	case action == "CreateQueue" && tags.Len() > 0:
		return []string{"sqs:CreateQueue", "sqs:TagQueue"}
	case action == "CreateTopic" && tags.Len() > 0:
		return []string{"sns:CreateTopic", "sns:TagResource"}
	case service == "tagging":
		return []string{"tag:" + action}
	case service == "s3":
		return []string{"s3:" + cmp.Or(s3Actions[action], action)}
	}
	return []string{service + ":" + action}
}

// s3Actions are the actions of IAM for calls of S3 with another name.
var s3Actions = map[string]string{
	"HeadObject": "GetObject", "HeadBucket": "ListBucket", "DeleteObjects": "DeleteObject",
	"CreateMultipartUpload": "PutObject", "UploadPart": "PutObject", "CompleteMultipartUpload": "PutObject",
	"PutPublicAccessBlock": "PutBucketPublicAccessBlock", "PutBucketEncryption": "PutEncryptionConfiguration",
	"PutBucketLifecycleConfiguration": "PutLifecycleConfiguration",
	"GetBucketLifecycleConfiguration": "GetLifecycleConfiguration",
}

// resourceOf is the resource of a call, as a policy names it. Some actions know none.
func resourceOf(action string, input any) string {
	switch action {
	case "cloudwatch:GetMetricData", "cloudwatch:ListMetrics", "tag:GetResources", "sqs:ListQueues", "sns:ListTopics",
		"sns:GetSubscriptionAttributes", "sns:SetSubscriptionAttributes", "sns:Unsubscribe":
		return "*"
	}
	in := reflect.ValueOf(input).Elem()
	text := func(field string) string {
		if v := in.FieldByName(field); v.IsValid() {
			return fmt.Sprint(reflect.Indirect(v))
		}
		return ""
	}
	last := func(s string) string { return s[max(strings.LastIndexByte(s, '/'), strings.LastIndexByte(s, ':'))+1:] }
	service, _, _ := strings.Cut(action, ":")
	switch service {
	case "sqs":
		return "arn:aws:sqs:REGION:ACCOUNT:" + last(cmp.Or(text("QueueURL"), text("QueueUrl"), text("QueueName")))
	case "sns":
		return "arn:aws:sns:REGION:ACCOUNT:" +
			last(cmp.Or(text("TopicARN"), text("TopicArn"), text("Name"), text("ResourceArn")))
	}
	if text("Key") == "" && action != "s3:DeleteObject" {
		return "arn:aws:s3:::" + text("Bucket")
	}
	return "arn:aws:s3:::" + text("Bucket") + "/*"
}
