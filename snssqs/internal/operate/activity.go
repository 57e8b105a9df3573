package operate

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/snssqs/internal/client"
	"github.com/godwitmq/godwit/snssqs/internal/estate"
)

const (
	// keepsMetrics is how long CloudWatch keeps points.
	keepsMetrics = 455 * 24 * time.Hour
	// wakes is how late the first points of a queue come that was not used for six hours.
	wakes = 15 * time.Minute
	// lists is how far back a list of recently active metrics may reach: three hours, and 50 minutes of tolerance.
	lists = 4 * time.Hour
	// sizedFrom is the shortest time whose sizes of messages are asked for. Rates ask for less, each minute.
	sizedFrom = time.Hour
	// alwaysCounted is a metric that a queue has whenever CloudWatch counts it.
	alwaysCounted = "NumberOfEmptyReceives"
	// alwaysPublished is the same for topics.
	alwaysPublished = "NumberOfMessagesPublished"
)

// Activity reads the metrics of queues and topics from CloudWatch: four of a queue and three of a topic, two more for
// the age of a queue's oldest message, and of an hour and more one for the sizes of messages. CloudWatch counts by the
// minute, five minutes, the hour or the day; the longer the time, the longer the period, and Since is the begin of one.
//
// CloudWatch has no points of a queue that nobody has called for six hours. So a complete answer without points is a
// zero, if CloudWatch has counted anything of SQS (or of SNS) in the region in this time; otherwise the numbers are
// unknown, of class NotFound. They are unknown as well if the call failed, is denied, or was answered in part, and for
// queues and topics of other accounts.
//
// AWS charges for each metric that is asked for: six of a queue, three of a topic; seven and four of an hour and more.
func Activity(ctx context.Context, e *estate.Estate, cs []driver.Channel, since time.Time) ([]driver.Activity, error) {
	if err := e.Clients.Open(); err != nil {
		return nil, err
	}
	now := time.Now()
	switch age := now.Sub(since); {
	case age <= 0:
		return nil, client.Permanent("activity since %v: that is not in the past", since)
	case age > keepsMetrics:
		return nil, client.Permanent("activity since %v: CloudWatch keeps metrics for %v: ask for a shorter time", since,
			keepsMetrics)
	}
	period := periodFor(now.Sub(since))
	r := &reader{
		e: e, period: period, sized: now.Sub(since) >= sizedFrom,
		from: since.Truncate(period), to: now.Truncate(time.Minute).Add(time.Minute),
		resources: make([]meteredResource, len(cs)), all: make([]driver.Activity, len(cs)),
	}
	for i, ch := range cs {
		a := &r.all[i]
		*a = driver.Activity{Channel: ch, Since: r.from, Until: now.Truncate(time.Minute)}
		var err error
		if r.resources[i], err = metered(ctx, e, ch); err != nil {
			unknown(a, err)
		}
	}
	for _, region := range r.regions() {
		r.read(ctx, region)
	}
	return r.all, ctx.Err()
}

// periodFor is the period of the counts for a time: at most 240 points of a metric, or one a day.
func periodFor(d time.Duration) time.Duration {
	for _, p := range []time.Duration{time.Minute, 5 * time.Minute, time.Hour} {
		if d <= 240*p {
			return p
		}
	}
	return 24 * time.Hour
}

// metered is the queue or topic of a channel. It makes a request only for a mapped queue.
func metered(ctx context.Context, e *estate.Estate, ch driver.Channel) (r meteredResource, err error) {
	r = meteredResource{namespace: queueMetrics, dimension: "QueueName"}
	if ch.Queue == "" {
		r = meteredResource{namespace: topicMetrics, dimension: "TopicName"}
	}
	address := ""
	as, foreign := e.Mapping(ch)
	switch {
	case !foreign && ch.Queue == "":
		r.name, err = e.TopicName(ch)
		return r, err
	case !foreign:
		r.name, err = e.QueueName(ch)
		return r, err
	case ch.Queue == "":
		t, err := e.Topics.Mapped(ctx, as)
		if err != nil {
			return r, err
		}
		address = t.ARN
	default:
		q, err := e.Queues.Mapped(ctx, ch, as)
		if err != nil {
			return r, err
		}
		address = q.ARN()
	}
	a, _ := estate.ParseARN(address)
	id, err := e.Account.WhoAmI(ctx)
	if err != nil {
		return r, err
	}
	if a.Account != id.Account {
		return r, client.Permanent("channel %s: %s is in account %s, whose CloudWatch counts it", ch, address, a.Account)
	}
	r.name = a.Name
	if a.Region != id.Region {
		r.region = a.Region
	}
	return r, nil
}

// unknown makes all numbers of a channel unknown.
func unknown(a *driver.Activity, err error) {
	n := driver.Reading[int64]{Err: err}
	a.Sent, a.SentBytes, a.Received, a.EmptyReceives, a.Deleted = n, n, n, n, n
	a.Delivered, a.Failed, a.Consumers = n, n, n
	a.Oldest = driver.Reading[time.Duration]{Err: err}
}

// reader reads the activity of several channels.
type reader struct {
	e         *estate.Estate
	period    time.Duration
	sized     bool // the sizes of messages are asked for
	from, to  time.Time
	resources []meteredResource // by channel; without a name if that is not known
	all       []driver.Activity
}

// regions are the regions of the resources.
func (r *reader) regions() (all []string) {
	seen := map[string]bool{}
	for _, one := range r.resources {
		if one.name != "" && !seen[one.region] {
			seen[one.region] = true
			all = append(all, one.region)
		}
	}
	return all
}

// count is a number of a channel that a query answers.
type count struct {
	channel int
	to      *driver.Reading[int64]
}

// read reads the numbers of a region.
func (r *reader) read(ctx context.Context, region string) {
	var queries, ages []metricQuery
	var counts []count
	var aged []*driver.Activity
	for i, resource := range r.resources {
		if resource.name == "" || resource.region != region {
			continue
		}
		a := &r.all[i]
		none := driver.Reading[int64]{Err: &driver.Error{Class: driver.Permanent, Err: driver.ErrNotCounted}}
		a.Consumers, a.SentBytes = none, none
		wanted := map[string]*driver.Reading[int64]{
			"NumberOfMessagesSent": &a.Sent, "NumberOfMessagesReceived": &a.Received,
			alwaysCounted: &a.EmptyReceives, "NumberOfMessagesDeleted": &a.Deleted,
		}
		sizes := "SentMessageSize"
		if resource.namespace == topicMetrics {
			wanted = map[string]*driver.Reading[int64]{
				alwaysPublished: &a.Sent, "NumberOfNotificationsDelivered": &a.Delivered,
				"NumberOfNotificationsFailed": &a.Failed,
			}
			sizes = "PublishSize"
			a.Received, a.EmptyReceives, a.Deleted, a.Oldest.Err = none, none, none, none.Err
		} else {
			a.Delivered, a.Failed = none, none
			aged = append(aged, a)
			ages = append(ages,
				metricQuery{resource, "ApproximateAgeOfOldestMessage", "Maximum", time.Minute},
				metricQuery{resource, "ApproximateNumberOfMessagesVisible", "Maximum", time.Minute})
		}
		if r.sized {
			wanted[sizes] = &a.SentBytes
		}
		for metric, to := range wanted {
			queries = append(queries, metricQuery{resource, metric, "Sum", r.period})
			counts = append(counts, count{i, to})
		}
	}
	answers := metricData(ctx, r.e, region, queries, r.from, r.to)
	for i, err := range r.gaps(ctx, region, queries, answers) {
		*counts[i].to = driver.Reading[int64]{Value: int64(answers[i].sum()), Err: err}
	}
	answers = metricData(ctx, r.e, region, ages, r.to.Add(-wakes-time.Minute), r.to)
	for i, a := range aged {
		a.Oldest = oldest(&answers[2*i], &answers[2*i+1])
	}
}

// gaps returns why each answer is unknown. An answer without points is known if CloudWatch has counted anything of the
// service in the region.
func (r *reader) gaps(ctx context.Context, region string, qs []metricQuery, answers []metricAnswer) []error {
	errs := make([]error, len(answers))
	counted := map[string]bool{}
	for i := range answers {
		counted[qs[i].resource.namespace] = counted[qs[i].resource.namespace] || len(answers[i].values) > 0
	}
	why := map[string]error{}
	for i := range answers {
		namespace := qs[i].resource.namespace
		if errs[i] = answers[i].err; errs[i] != nil || counted[namespace] {
			continue
		}
		if _, asked := why[namespace]; !asked {
			why[namespace] = r.countsAny(ctx, region, namespace)
		}
		errs[i] = why[namespace]
	}
	return errs
}

// countsAny returns an error unless CloudWatch has points of any queue, or of any topic, in the region in this time.
func (r *reader) countsAny(ctx context.Context, region, namespace string) error {
	for _, recent := range []types.RecentlyActive{types.RecentlyActivePt3h, ""} {
		metric := alwaysCounted
		if namespace == topicMetrics {
			metric = alwaysPublished
		}
		out, err := r.e.Clients.CloudWatch.ListMetrics(ctx, &cloudwatch.ListMetricsInput{
			Namespace: &namespace, MetricName: &metric, RecentlyActive: recent,
		}, inRegion(region))
		if err != nil {
			return fmt.Errorf("list the metrics of %s: %w", namespace, client.Failed(err, "cloudwatch:ListMetrics"))
		}
		if len(out.Metrics) > 0 && recent != "" && r.to.Sub(r.from) >= lists {
			return nil
		}
		var queries []metricQuery
		for _, m := range out.Metrics[:min(len(out.Metrics), maxQueries)] {
			if len(m.Dimensions) == 1 {
				resource := meteredResource{
					namespace: namespace, dimension: aws.ToString(m.Dimensions[0].Name),
					name: aws.ToString(m.Dimensions[0].Value),
				}
				queries = append(queries, metricQuery{resource, metric, "Sum", r.period})
			}
		}
		for _, a := range metricData(ctx, r.e, region, queries, r.from, r.to) {
			switch {
			case a.err != nil:
				return a.err
			case len(a.values) > 0:
				return nil
			}
		}
	}
	return client.NotFound("CloudWatch has counted nothing of %s in region %s "+
		"since %s: nothing was called in this time, or CloudWatch is not that of the queues", namespace,
		cmp.Or(region, r.e.Clients.Region), r.from.Format(time.RFC3339))
}

// oldest is the age of a queue's oldest message. CloudWatch has an age only while there is a message that it counts for
// it. That there is none is known only from a minute in which it has counted the queue.
func oldest(age, visible *metricAnswer) (r driver.Reading[time.Duration]) {
	switch {
	case age.err != nil:
		r.Err = age.err
	case visible.err != nil:
		r.Err = visible.err
	case len(visible.values) == 0:
		r.Err = client.NotFound("CloudWatch has not counted the queue within "+
			"the last %v: it is not used, or was not for long", wakes)
	case len(age.values) > 0 && !age.times[0].Before(visible.times[0]):
		r.Value = time.Duration(age.values[0]) * time.Second
	}
	return r
}
