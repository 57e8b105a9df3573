package localaws_test

import (
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/godwitmq/godwit/localaws"
)

// TestAnswersRepeat: with one seed, a request with several faults is always refused for the same one.
func TestAnswersRepeat(t *testing.T) {
	f := newFixture(t, &localaws.Options{Seed: testSeed})
	f.create("q", nil)
	const form = "application/x-www-form-urlencoded"
	ids := regexp.MustCompile(`<(RequestId|HostId)>[^<]*`)
	for name, request := range map[string]struct {
		method, path, body string
		headers            []string
	}{
		"attributes of a queue": {
			"POST", "/", `{"QueueName":"r","Attributes":{"A":"1","B":"2","C":"3","D":"4"}}`,
			[]string{"X-Amz-Target", "AmazonSQS.CreateQueue"},
		},
		"tags of a queue": {
			"POST", "/", `{"QueueName":"r","tags":{"aws:a":"","` + strings.Repeat("k", 129) + `":"","v":"` +
				strings.Repeat("v", 257) + `"}}`,
			[]string{"X-Amz-Target", "AmazonSQS.CreateQueue"},
		},
		"system attributes of a message": {
			"POST", "/", `{"QueueUrl":"http://h/000000000000/q","MessageBody":"b","MessageSystemAttributes":` +
				`{"A":{"DataType":"String"},"B":{"DataType":"String"},"AWSTraceHeader":{"DataType":"X"}}}`,
			[]string{"X-Amz-Target", "AmazonSQS.SendMessage"},
		},
		"a permission of a topic": {
			"POST", "/", "Action=AddPermission&Version=2010-03-31&TopicArn=arn:aws:sns:us-east-1:000000000000:t",
			[]string{"Content-Type", form},
		},
		"alarms of a metric": {
			"POST", "/", "Action=DescribeAlarmsForMetric&Version=2010-08-01", []string{"Content-Type", form},
		},
		"actions of an alarm": {
			"POST", "/", `{"AlarmName":"a","MetricName":"m","Namespace":"n","OKActions":["x"],"AlarmActions":["y"],` +
				`"InsufficientDataActions":["z"]}`,
			[]string{"X-Amz-Target", "GraniteServiceVersion20100801.PutMetricAlarm"},
		},
		"headers of S3": {
			"GET", "/b?location", "", []string{"X-Amz-Acl", "private", "X-Amz-Tagging", "a=b", "X-Amz-Nothing", "1"},
		},
	} {
		first := ""
		for range 30 {
			r, err := http.NewRequest(request.method, "http://localhost"+request.path, strings.NewReader(request.body))
			if err != nil {
				t.Fatal(err)
			}
			for i := 0; i < len(request.headers); i += 2 {
				r.Header.Set(request.headers[i], request.headers[i+1])
			}
			answer, err := f.server.Transport().RoundTrip(r)
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(answer.Body)
			_ = answer.Body.Close()
			if err != nil || answer.StatusCode < 400 {
				t.Fatalf("%s: %d %s %v", name, answer.StatusCode, body, err)
			}
			text := ids.ReplaceAllString(string(body), "")
			if first == "" {
				first = text
			}
			if text != first {
				t.Errorf("%s: refused once for\n%s\nand once for\n%s", name, first, text)
				break
			}
		}
	}
}
