package conformance

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sns/types"
	"github.com/google/go-cmp/cmp"
)

func TestSNSTopicPermissions(t *testing.T) {
	runTopics(t, "topic permissions", func(f *topics) {
		topic := f.topic(false)
		add := func(label string, actions ...string) error {
			_, err := f.sns.AddPermission(f.ctx,
				&sns.AddPermissionInput{
					TopicArn: topic, Label: &label, AWSAccountId: []string{"111122223333"},
					ActionName: actions,
				})
			return err
		}
		before := f.topicAttributes(topic)["Policy"]
		got(f, 0, add("one", "Publish"))
		got(f, 0, add("two", "Publish", "Subscribe"))
		f.invalid(add("one", "Publish"), "Statement already exists")
		f.invalid(add("three", "Nonsense"), "Policy statement action out of service scope!")
		statements := decodedJSON(f, f.topicAttributes(topic)["Policy"]).(map[string]any)["Statement"].([]any)
		want := decodedJSON(f,
			`[{"Sid":"one","Effect":"Allow","Principal":{"AWS":"arn:aws:iam::111122223333:root"},"Action":"SNS:Publish","Resource":"`+*topic+`"},`+
				`{"Sid":"two","Effect":"Allow","Principal":{"AWS":"arn:aws:iam::111122223333:root"},"Action":["SNS:Publish","SNS:Subscribe"],"Resource":"`+*topic+`"}]`)
		if diff := cmp.Diff(want, any(statements[1:])); diff != "" {
			f.Error(diff)
		}
		remove := func(label string) error {
			_, err := f.sns.RemovePermission(f.ctx, &sns.RemovePermissionInput{TopicArn: topic, Label: &label})
			return err
		}
		got(f, 0, remove("one"))
		got(f, 0, remove("two"))
		f.invalid(remove("one"), "Statement does not exist")
		if after := f.topicAttributes(topic)["Policy"]; after != before {
			f.Errorf("the policy is %s", after)
		}
	})
}

func TestSNSTopicTags(t *testing.T) {
	runTopics(t, "topic tags", func(f *topics) {
		topic := f.topic(false)
		tag := func(pairs ...string) error {
			in := &sns.TagResourceInput{ResourceArn: topic}
			for i := 0; i < len(pairs); i += 2 {
				in.Tags = append(in.Tags, types.Tag{Key: &pairs[i], Value: &pairs[i+1]})
			}
			_, err := f.sns.TagResource(f.ctx, in)
			return err
		}
		list := func() map[string]string {
			out, err := f.sns.ListTagsForResource(f.ctx, &sns.ListTagsForResourceInput{ResourceArn: topic})
			got(f, 0, err)
			tags := map[string]string{}
			for _, tag := range out.Tags {
				tags[*tag.Key] = *tag.Value
			}
			return tags
		}
		f.invalid(tag("k1", "v1", "k2", "v2", "k2", "v2"), "Duplicated keys are not allowed.")
		got(f, 0, tag("k1", "v1", "k2", "v2"))
		if diff := cmp.Diff(map[string]string{"k1": "v1", "k2": "v2"}, list()); diff != "" {
			f.Error(diff)
		}
		_, err := f.sns.UntagResource(f.ctx,
			&sns.UntagResourceInput{ResourceArn: topic, TagKeys: []string{"k1", "absent"}})
		got(f, 0, err)
		got(f, 0, tag("k2", "v2b"))
		if diff := cmp.Diff(map[string]string{"k2": "v2b"}, list()); diff != "" {
			f.Error(diff)
		}
		var many []string
		for i := range 50 {
			many = append(many, strings.Repeat("x", i+1), "v")
		}
		f.refusedAs(tag(many...), 400, "TagLimitExceeded",
			"Could not complete request: tag quota of per resource exceeded")
		absent := aws.String(*topic + "x")
		_, err = f.sns.TagResource(f.ctx,
			&sns.TagResourceInput{
				ResourceArn: absent,
				Tags:        []types.Tag{{Key: aws.String("k"), Value: aws.String("v")}},
			})
		f.refusedAs(err, 404, "ResourceNotFound", "Resource does not exist")
		_, err = f.sns.UntagResource(f.ctx, &sns.UntagResourceInput{ResourceArn: absent, TagKeys: []string{"k"}})
		f.refusedAs(err, 404, "ResourceNotFound", "Resource does not exist")
		_, err = f.sns.ListTagsForResource(f.ctx, &sns.ListTagsForResourceInput{ResourceArn: absent})
		f.refusedAs(err, 404, "ResourceNotFound", "Resource does not exist")
	})
}
