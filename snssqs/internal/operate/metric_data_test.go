package operate

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/snssqs/internal/client"
)

// An answer counts only if CloudWatch says that it is complete; pages of one query are one answer.
func TestMetricPages(t *testing.T) {
	page := func(status types.StatusCode, values ...float64) *cloudwatch.GetMetricDataOutput {
		times := make([]time.Time, len(values))
		return &cloudwatch.GetMetricDataOutput{MetricDataResults: []types.MetricDataResult{
			{Id: aws.String("m1"), StatusCode: status, Values: values, Timestamps: times},
			{Id: aws.String("foreign"), StatusCode: types.StatusCodeInternalError},
		}}
	}
	for name, c := range map[string]struct {
		pages []*cloudwatch.GetMetricDataOutput
		sum   float64
		known bool
		class driver.Class
	}{
		"complete":  {[]*cloudwatch.GetMetricDataOutput{page("Complete", 1, 2)}, 3, true, 0},
		"no points": {[]*cloudwatch.GetMetricDataOutput{page("Complete")}, 0, true, 0},
		"two pages": {[]*cloudwatch.GetMetricDataOutput{page("PartialData", 1), page("Complete", 2)}, 3, true, 0},
		"a part":    {[]*cloudwatch.GetMetricDataOutput{page("PartialData", 1)}, 1, false, driver.Transient},
		"failed":    {[]*cloudwatch.GetMetricDataOutput{page("InternalError")}, 0, false, driver.Transient},
		"forbidden": {[]*cloudwatch.GetMetricDataOutput{page("Forbidden")}, 0, false, driver.Denied},
		"missing":   {[]*cloudwatch.GetMetricDataOutput{{}}, 0, false, driver.Transient},
		"unheard":   {[]*cloudwatch.GetMetricDataOutput{page("Odd")}, 0, false, driver.Transient},
	} {
		answers := make([]metricAnswer, 2)
		for _, p := range c.pages {
			if err := addPage(answers, p); err != nil {
				t.Fatal(err)
			}
		}
		err := statusError(answers[1].status)
		if answers[1].sum() != c.sum || (err == nil) != c.known || err != nil && driver.ClassOf(err) != c.class {
			t.Errorf("%s: %v, %v; want %v, known %v, class %s", name, answers[1].sum(), err, c.sum, c.known, c.class)
		}
		if statusError(answers[0].status) == nil {
			t.Errorf("%s: a query without an answer is known", name)
		}
	}
	odd := page("Complete", 1)
	odd.Messages = []types.MessageData{{Code: aws.String("Odd"), Value: aws.String("more")}}
	if err := addPage(make([]metricAnswer, 2), odd); driver.ClassOf(err) != driver.Transient || err == nil {
		t.Errorf("with a message about the whole answer: %v", err)
	}
}

// The age is 0 only if the queue was counted in a minute without an age.
func TestOldest(t *testing.T) {
	at := func(minutes ...int) metricAnswer {
		var a metricAnswer
		for _, m := range minutes { // newest first
			a.times, a.values = append(a.times, time.Unix(int64(m)*60, 0)), append(a.values, float64(m))
		}
		return a
	}
	failed := metricAnswer{err: client.Permanent("failed")}
	for name, c := range map[string]struct {
		age, visible metricAnswer
		want         time.Duration
		known        bool
	}{
		"an age":               {at(9, 8), at(9, 8, 7), 9 * time.Second, true},
		"only an old age":      {at(8), at(9, 8, 7), 0, true},
		"never an age":         {at(), at(9, 8, 7), 0, true},
		"not counted":          {at(), at(), 0, false},
		"the age has failed":   {failed, at(9), 0, false},
		"the count has failed": {at(9), failed, 0, false},
	} {
		if got := oldest(&c.age, &c.visible); got.Value != c.want || got.Known() != c.known {
			t.Errorf("%s: %+v, want %v, known %v", name, got, c.want, c.known)
		}
	}
}
