package conformance

import (
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	tagging "github.com/aws/aws-sdk-go-v2/service/resourcegroupstaggingapi"
	"github.com/aws/aws-sdk-go-v2/service/resourcegroupstaggingapi/types"
	snstypes "github.com/aws/aws-sdk-go-v2/service/sns/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/google/go-cmp/cmp"
)

func TestSNSCallerIdentity(t *testing.T) {
	runTopics(t, "STS says who asks", func(f *topics) {
		client := sts.New(sts.Options{
			Region: f.region, BaseEndpoint: &f.endpoint, HTTPClient: f.http,
			Credentials: f.keys, RetryMaxAttempts: 1,
		})
		out := must(client.GetCallerIdentity(f.ctx, &sts.GetCallerIdentityInput{}))(f.world)
		if len(*out.Account) != 12 || !strings.HasPrefix(*out.Arn, "arn:aws:") ||
			!strings.Contains(*out.Arn, ":"+*out.Account+":") || *out.UserId == "" {
			f.Errorf("got %s %s %s", *out.Account, *out.Arn, *out.UserId)
		}
	})
}

func TestSNSResourcesByTag(t *testing.T) {
	runTopics(t, "queues and topics are found by their tags", func(f *topics) {
		client := tagging.New(tagging.Options{
			Region: f.region, BaseEndpoint: &f.endpoint, HTTPClient: f.http,
			Credentials: f.keys, RetryMaxAttempts: 1,
		})
		mark := f.fresh() // a tag that only this case uses, so that other resources are not found
		tags := func(pairs ...string) []snstypes.Tag {
			t := []snstypes.Tag{{Key: aws.String("mark"), Value: &mark}}
			for i := 0; i < len(pairs); i += 2 {
				t = append(t, snstypes.Tag{Key: &pairs[i], Value: &pairs[i+1]})
			}
			return t
		}
		var topics []string
		for _, stage := range []string{"prod", "test", "prod"} {
			arn, err := f.create(f.fresh(), nil, tags("stage", stage)...)
			topics = append(topics, *got(f, arn, err))
		}
		q := f.closedInbox(false)
		must(f.world.sqs.TagQueue(f.ctx,
			&sqs.TagQueueInput{
				QueueUrl: &q.url,
				Tags:     map[string]string{"mark": mark, "stage": "prod", "more": "x"},
			}))(f.world)
		find := func(in tagging.GetResourcesInput) []string {
			f.Helper()
			in.TagFilters = append(in.TagFilters, types.TagFilter{Key: aws.String("mark"), Values: []string{mark}})
			var arns []string
			for {
				out, err := client.GetResources(f.ctx, &in)
				got(f, 0, err)
				for _, r := range out.ResourceTagMappingList {
					arns = append(arns, *r.ResourceARN)
				}
				if aws.ToString(out.PaginationToken) == "" {
					slices.Sort(arns)
					return arns
				}
				in.PaginationToken = out.PaginationToken
			}
		}
		all := append(slices.Clone(topics), q.arn)
		slices.Sort(all)
		sorted := slices.Sorted(slices.Values(topics))
		prod := types.TagFilter{Key: aws.String("stage"), Values: []string{"prod"}}
		for name, c := range map[string]struct {
			in   tagging.GetResourcesInput
			want []string
		}{
			"all":                     {tagging.GetResourcesInput{}, all},
			"pages of one":            {tagging.GetResourcesInput{ResourcesPerPage: aws.Int32(1)}, all},
			"pages of a hundred tags": {tagging.GetResourcesInput{TagsPerPage: aws.Int32(100)}, all},
			"topics":                  {tagging.GetResourcesInput{ResourceTypeFilters: []string{"sns"}}, sorted},
			"queues": {
				tagging.GetResourcesInput{ResourceTypeFilters: []string{"sqs"}},
				[]string{q.arn},
			},
			"either": {tagging.GetResourcesInput{ResourceTypeFilters: []string{"sqs", "sns"}}, all},
			"a value": {tagging.GetResourcesInput{TagFilters: []types.TagFilter{{
				Key:    aws.String("stage"),
				Values: []string{"test", "absent"},
			}}}, topics[1:2]},
			"any value": {
				tagging.GetResourcesInput{TagFilters: []types.TagFilter{{Key: aws.String("more")}}},
				[]string{q.arn},
			},
			"two tags": {tagging.GetResourcesInput{TagFilters: []types.TagFilter{
				prod,
				{Key: aws.String("more"), Values: []string{"x"}},
			}}, []string{q.arn}},
			"none": {tagging.GetResourcesInput{TagFilters: []types.TagFilter{{Key: aws.String("absent")}}}, nil},
		} {
			if diff := cmp.Diff(c.want, find(c.in)); diff != "" {
				f.Errorf("%s: %s", name, diff)
			}
		}
		page, err := client.GetResources(f.ctx,
			&tagging.GetResourcesInput{
				ResourcesPerPage: aws.Int32(3),
				TagFilters:       []types.TagFilter{{Key: aws.String("mark"), Values: []string{mark}}},
			})
		if got(f, page, err); len(page.ResourceTagMappingList) != 3 || aws.ToString(page.PaginationToken) == "" {
			f.Errorf("a page of three: %v", page.ResourceTagMappingList)
		}
		out, err := client.GetResources(f.ctx,
			&tagging.GetResourcesInput{ResourceARNList: []string{q.arn, topics[0] + "x"}})
		got(f, 0, err)
		if len(out.ResourceTagMappingList) != 1 || *out.ResourceTagMappingList[0].ResourceARN != q.arn ||
			len(out.ResourceTagMappingList[0].Tags) != 3 {
			f.Errorf("by ARN: %v", out.ResourceTagMappingList)
		}
		for _, in := range []tagging.GetResourcesInput{
			{ResourcesPerPage: aws.Int32(0)},
			{ResourcesPerPage: aws.Int32(101)},
			{TagsPerPage: aws.Int32(150)},
			{TagsPerPage: aws.Int32(600)},
			{PaginationToken: aws.String("nonsense")},
			{ResourceARNList: []string{q.arn}, ResourceTypeFilters: []string{"sqs"}},
			{IncludeComplianceDetails: aws.Bool(true)},
			{ExcludeCompliantResources: aws.Bool(true), IncludeComplianceDetails: aws.Bool(true)},
		} {
			_, err := client.GetResources(f.ctx, &in)
			f.refused(err, "InvalidParameterException", "")
			if status(err) != 400 {
				f.Errorf("status %d", status(err))
			}
		}
	})
}
