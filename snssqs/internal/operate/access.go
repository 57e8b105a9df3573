package operate

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	tagging "github.com/aws/aws-sdk-go-v2/service/resourcegroupstaggingapi"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sts"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/snssqs/internal/client"
	"github.com/godwitmq/godwit/snssqs/internal/estate"
)

// Access is driver.Operations.Access: STS says who calls, and the header Date of its answer what time it is there.
func Access(ctx context.Context, e *estate.Estate) (a driver.Access, err error) {
	if err := e.Clients.Open(); err != nil {
		return a, err
	}
	credentials, err := e.Clients.STS.Options().Credentials.Retrieve(ctx)
	if err != nil {
		a.Ahead.Err, a.Err = err, &driver.Error{Class: driver.Denied, Err: err}
		return a, ctx.Err()
	}
	a.Source = credentials.Source
	if credentials.CanExpire {
		a.Expires = credentials.Expires
	}
	who, err := e.Clients.STS.GetCallerIdentity(ctx, &sts.GetCallerIdentityInput{})
	switch failed := client.Classify(err); {
	case err == nil:
		a.Identity, a.Ahead = aws.ToString(who.Arn), client.Ahead(who.ResultMetadata)
	case driver.ClassOf(failed) == driver.Denied:
		a.Ahead, a.Err = client.AheadOfError(err, time.Now()), client.Failed(err, "sts:GetCallerIdentity")
		return a, ctx.Err()
	case driver.ClassOf(failed) == driver.Permanent: // a server of queues without STS
		a.Ahead = client.AheadOfError(err, time.Now())
		a.Calls = append(a.Calls, driver.AccessCall{
			Name: "sts:GetCallerIdentity", Needs: "the account of topics and queues", Err: failed,
		})
	default:
		return a, fmt.Errorf("ask whose the credentials are: %w", failed)
	}
	tagged := false // the calls that replace tag:GetResources are not needed
	for _, call := range readingCalls(e.Clients) {
		if call.replaces && tagged {
			continue
		}
		call.AccessCall.Err = client.Classify(call.try(ctx))
		tagged = tagged || !call.replaces && call.AccessCall.Err == nil
		a.Calls = append(a.Calls, call.AccessCall)
	}
	return a, ctx.Err()
}

// triedCall is a call that changes nothing.
type triedCall struct {
	driver.AccessCall
	replaces bool // the first call, which is cheaper
	try      func(ctx context.Context) error
}

func readingCalls(c *client.Clients) []triedCall {
	one, queues, empty := int32(1), queueMetrics, alwaysCounted
	return []triedCall{{
		driver.AccessCall{Name: "tag:GetResources", Needs: "the list of channels, quickly"},
		false,
		func(ctx context.Context) error {
			_, err := c.Tagging.GetResources(ctx, &tagging.GetResourcesInput{ResourcesPerPage: &one})
			return err
		},
	}, {
		driver.AccessCall{Name: "sqs:ListQueues", Needs: "the list of channels, where tag:GetResources is not allowed"},
		true,
		func(ctx context.Context) error {
			_, err := c.SQS.ListQueues(ctx, &sqs.ListQueuesInput{MaxResults: &one})
			return err
		},
	}, {
		driver.AccessCall{Name: "sns:ListTopics", Needs: "the list of exchanges, where tag:GetResources is not allowed"},
		true,
		func(ctx context.Context) error {
			_, err := c.SNS.ListTopics(ctx, &sns.ListTopicsInput{})
			return err
		},
	}, {
		driver.AccessCall{Name: "cloudwatch:ListMetrics", Needs: "rates and ages of messages"},
		false,
		func(ctx context.Context) error {
			in := &cloudwatch.ListMetricsInput{Namespace: &queues, MetricName: &empty}
			_, err := c.CloudWatch.ListMetrics(ctx, in)
			return err
		},
	}}
}
