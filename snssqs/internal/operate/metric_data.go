package operate

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/snssqs/internal/client"
	"github.com/godwitmq/godwit/snssqs/internal/estate"
)

const (
	// maxQueries is CloudWatch's limit of a request.
	maxQueries = 500
	// maxPages bounds the pages of an answer, so that a server that repeats its token ends.
	maxPages = 100
)

// metricQuery asks for one metric of one queue or topic.
type metricQuery struct {
	resource meteredResource
	metric   string
	stat     string
	period   time.Duration
}

// meteredResource is a queue, a topic or a bucket as CloudWatch names it. Metrics of a bucket have a second dimension.
type meteredResource struct{ namespace, dimension, name, region, kind, value string }

const (
	queueMetrics = "AWS/SQS"
	topicMetrics = "AWS/SNS"
)

// metricAnswer is the series of a query, newest first, or why it is not known. No points and no error is an answer:
// CloudWatch has none.
type metricAnswer struct {
	times  []time.Time
	values []float64
	status types.StatusCode // of the last page that has the query; "": none has it
	err    error
}

func (a *metricAnswer) sum() (n float64) {
	for _, v := range a.values {
		n += v
	}
	return n
}

// metricData answers queries about resources of one region, with a request for each 500 of them. The times are from
// the first points that are wanted and not wanted any more.
func metricData(ctx context.Context, e *estate.Estate, region string, qs []metricQuery, from,
	to time.Time,
) []metricAnswer {
	answers := make([]metricAnswer, len(qs))
	for first := 0; first < len(qs); first += maxQueries {
		last := min(first+maxQueries, len(qs))
		err := metricPages(ctx, e, region, qs[first:last], answers[first:last], from, to)
		for i := range answers[first:last] {
			a := &answers[first+i]
			if a.err = err; err == nil {
				a.err = statusError(a.status)
			}
		}
	}
	return answers
}

// metricPages reads all pages of one request. An error is about all of its queries.
func metricPages(ctx context.Context, e *estate.Estate, region string, qs []metricQuery, answers []metricAnswer, from,
	to time.Time,
) error {
	in := &cloudwatch.GetMetricDataInput{StartTime: &from, EndTime: &to}
	for i, q := range qs {
		in.MetricDataQueries = append(in.MetricDataQueries, types.MetricDataQuery{
			Id: aws.String("m" + strconv.Itoa(i)),
			MetricStat: &types.MetricStat{
				Metric: q.resource.id(q.metric), Stat: &q.stat, Period: aws.Int32(int32(q.period / time.Second)),
			},
		})
	}
	for range maxPages {
		out, err := e.Clients.CloudWatch.GetMetricData(ctx, in, inRegion(region))
		if err != nil {
			return fmt.Errorf("read metrics: %w", client.Failed(err, "cloudwatch:GetMetricData"))
		}
		if err := addPage(answers, out); err != nil {
			return err
		}
		if aws.ToString(out.NextToken) == "" {
			return nil
		}
		in.NextToken = out.NextToken
	}
	return &driver.Error{Class: driver.Transient, Err: errors.New("read metrics: the answer has no end")}
}

// addPage adds a page to the answers.
func addPage(answers []metricAnswer, page *cloudwatch.GetMetricDataOutput) error {
	for _, r := range page.MetricDataResults {
		i, err := strconv.Atoi(strings.TrimPrefix(aws.ToString(r.Id), "m"))
		if err != nil || i < 0 || i >= len(answers) {
			continue // not a query of ours
		}
		a := &answers[i]
		a.times, a.values = append(a.times, r.Timestamps...), append(a.values, r.Values...)
		a.status = r.StatusCode
	}
	if len(page.Messages) > 0 {
		return client.Transient("read metrics: the answer may not be complete: "+
			"%s: %s", aws.ToString(page.Messages[0].Code), aws.ToString(page.Messages[0].Value))
	}
	return nil
}

// statusError returns why an answer is not complete. Only in a complete one, having no points means anything.
func statusError(s types.StatusCode) error {
	class, why := driver.Transient, ""
	switch s {
	case types.StatusCodeComplete:
		return nil
	case types.StatusCodeForbidden:
		class, why = driver.Denied, "the account is not permitted to read it"
	case types.StatusCodePartialData:
		why = "CloudWatch has returned a part of the data"
	case types.StatusCodeInternalError:
		why = "CloudWatch has failed"
	case "":
		why = "CloudWatch has not answered for it"
	default:
		why = "CloudWatch answers with status " + string(s)
	}
	return &driver.Error{Class: class, Err: fmt.Errorf("read a metric: %s", why)}
}

func (r meteredResource) id(metric string) *types.Metric {
	dimensions := []types.Dimension{{Name: &r.dimension, Value: &r.name}}
	if r.kind != "" {
		dimensions = append(dimensions, types.Dimension{Name: &r.kind, Value: &r.value})
	}
	return &types.Metric{Namespace: &r.namespace, MetricName: &metric, Dimensions: dimensions}
}

// inRegion directs a call to a region; "": our own.
func inRegion(region string) func(*cloudwatch.Options) {
	return func(o *cloudwatch.Options) {
		if region != "" {
			o.Region = region
		}
	}
}
