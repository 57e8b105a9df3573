package localaws_test

import (
	"fmt"
	"net/http"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/google/go-cmp/cmp"

	"github.com/godwitmq/godwit/internal/fullrun"
	"github.com/godwitmq/godwit/localaws"
	"github.com/godwitmq/godwit/localaws/cloudwatch/metric"
)

// meters reads metrics of queues.
type meters struct {
	*testing.T
	server *localaws.Server
	sqs    *sqs.Client
	start  time.Time
}

func newMeters(t *testing.T, server *localaws.Server) *meters {
	return &meters{T: t, server: server, start: server.Now(), sqs: sqs.New(sqs.Options{
		Region: "us-east-1", BaseEndpoint: aws.String("http://localaws"),
		HTTPClient:  &http.Client{Transport: server.Transport()},
		Credentials: credentials.NewStaticCredentialsProvider("key", "secret", ""), RetryMaxAttempts: 1,
	})}
}

// publish publishes a message to a topic.
func publish(t *testing.T, server *localaws.Server, topic, message string) {
	t.Helper()
	c := sns.New(sns.Options{
		Region: "us-east-1", BaseEndpoint: aws.String("http://localaws"),
		HTTPClient:  &http.Client{Transport: server.Transport()},
		Credentials: credentials.NewStaticCredentialsProvider("key", "secret", ""), RetryMaxAttempts: 1,
	})
	if _, err := c.Publish(t.Context(), &sns.PublishInput{
		TopicArn: aws.String("arn:aws:sns:us-east-1:000000000000:" + topic), Message: &message,
	}); err != nil {
		t.Fatal(err)
	}
}

func (m *meters) queue(name string, attributes map[string]string) *string {
	m.Helper()
	out, err := m.sqs.CreateQueue(m.Context(), &sqs.CreateQueueInput{QueueName: &name, Attributes: attributes})
	if err != nil {
		m.Fatal(err)
	}
	return out.QueueUrl
}

func (m *meters) send(url *string, body string) {
	m.Helper()
	if _, err := m.sqs.SendMessage(m.Context(), &sqs.SendMessageInput{QueueUrl: url, MessageBody: &body}); err != nil {
		m.Fatal(err)
	}
}

// receive receives up to ten messages and returns their handles.
func (m *meters) receive(url *string) []string {
	m.Helper()
	out, err := m.sqs.ReceiveMessage(m.Context(), &sqs.ReceiveMessageInput{QueueUrl: url, MaxNumberOfMessages: 10})
	if err != nil {
		m.Fatal(err)
	}
	var handles []string
	for _, got := range out.Messages {
		handles = append(handles, *got.ReceiptHandle)
	}
	return handles
}

// sums returns the sums of a queue's metric, by minutes since the start.
func (m *meters) sums(queue, name string) map[int]float64 {
	id := metric.ID{
		Namespace: "AWS/SQS", Name: name, Dimensions: []metric.Dimension{{Name: "QueueName", Value: queue}},
	}
	sums := map[int]float64{}
	for _, points := range m.server.CloudWatch().Points(id, m.start, m.server.Now().Add(time.Hour), time.Minute) {
		for _, p := range points {
			sums[int(p.At.Sub(m.start)/time.Minute)] = p.Stats.Sum
		}
	}
	return sums
}

func (m *meters) want(queue, name string, want map[int]float64) {
	m.Helper()
	if diff := cmp.Diff(want, m.sums(queue, name)); diff != "" {
		m.Errorf("%s of %s by minutes (-want +got):\n%s", name, queue, diff)
	}
}

// TestQueueMetrics: counts and gauges of a queue, with AWS's gaps.
func TestQueueMetrics(t *testing.T) {
	bubble(t, func(t *testing.T, server *localaws.Server, _ *cloudwatch.Client) {
		m := newMeters(t, server)
		url := m.queue("orders", map[string]string{"VisibilityTimeout": "90"})
		m.send(url, "Hello")
		m.send(url, "Hi")
		server.Advance(time.Minute) // minute 0
		got := m.receive(url)
		m.receive(url)
		server.Advance(time.Minute) // minute 1
		if _, err := m.sqs.DeleteMessage(t.Context(), &sqs.DeleteMessageInput{
			QueueUrl: url, ReceiptHandle: &got[0],
		}); err != nil {
			t.Fatal(err)
		}
		server.Advance(2 * time.Minute) // minutes 2 and 3
		m.want("orders", "NumberOfMessagesSent", map[int]float64{0: 2, 1: 0, 2: 0, 3: 0})
		m.want("orders", "SentMessageSize", map[int]float64{0: 7})
		m.want("orders", "NumberOfMessagesReceived", map[int]float64{0: 0, 1: 2, 2: 0, 3: 0})
		m.want("orders", "NumberOfEmptyReceives", map[int]float64{0: 0, 1: 1, 2: 0, 3: 0})
		m.want("orders", "NumberOfMessagesDeleted", map[int]float64{0: 0, 1: 0, 2: 1, 3: 0})
		m.want("orders", "ApproximateNumberOfMessagesVisible", map[int]float64{0: 2, 1: 0, 2: 1, 3: 1})
		m.want("orders", "ApproximateNumberOfMessagesNotVisible", map[int]float64{1: 2})
		m.want("orders", "ApproximateNumberOfMessagesDelayed", map[int]float64{})
		m.want("orders", "ApproximateAgeOfOldestMessage", map[int]float64{0: 60, 1: 120, 2: 180, 3: 240})
		m.want("orders", "NumberOfDeduplicatedSentMessages", map[int]float64{})
	})
}

// TestQueueSleeps: six hours after the last call, of any kind, an empty queue has no points; one with messages has.
func TestQueueSleeps(t *testing.T) {
	bubble(t, func(t *testing.T, server *localaws.Server, _ *cloudwatch.Client) {
		m := newMeters(t, server)
		empty, full := m.queue("empty", nil), m.queue("full", nil)
		m.send(full, "x")
		last := func() int {
			latest := -1
			for minute := range m.sums("empty", "ApproximateNumberOfMessagesVisible") {
				latest = max(latest, minute)
			}
			return latest
		}
		server.Advance(5 * time.Hour)
		// A refused call counts, too.
		if _, err := m.sqs.ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{
			QueueUrl: empty, MaxNumberOfMessages: 11,
		}); err == nil {
			t.Fatal("11 messages are not refused")
		}
		server.Advance(10 * time.Hour)
		if got := last(); got != 11*60-2 {
			t.Errorf("the last point is of minute %d, want that before %d", got, 11*60-1)
		}
		if got := len(m.sums("full", "ApproximateNumberOfMessagesVisible")); got != 15*60 {
			t.Errorf("the queue with a message has %d points, want %d", got, 15*60)
		}
		if _, err := m.sqs.GetQueueAttributes(t.Context(), &sqs.GetQueueAttributesInput{QueueUrl: empty}); err != nil {
			t.Fatal(err)
		}
		server.Advance(time.Minute)
		if got := last(); got != 15*60 {
			t.Errorf("after a call, the last point is of minute %d, want %d", got, 15*60)
		}
	})
}

// TestQueueWakesLate: with realistic waits, the first points come after 15 minutes, with their own times.
func TestQueueWakesLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, err := localaws.New(&localaws.Options{Seed: testSeed, RealisticWaits: true})
		if err != nil {
			t.Fatal(err)
		}
		defer server.Close()
		m := newMeters(t, server)
		m.send(m.queue("orders", nil), "x")
		server.Advance(14 * time.Minute)
		m.want("orders", "NumberOfMessagesSent", map[int]float64{})
		server.Advance(2 * time.Minute)
		if got := m.sums("orders", "NumberOfMessagesSent"); len(got) != 16 || got[0] != 1 {
			t.Errorf("after 16 minutes: %v", got)
		}
	})
}

// TestDeadLettersInMetrics: a message that the redrive policy moves is not counted as sent, its age starts again, and a
// message that was received three times does not count for the age.
func TestDeadLettersInMetrics(t *testing.T) {
	bubble(t, func(t *testing.T, server *localaws.Server, _ *cloudwatch.Client) {
		m := newMeters(t, server)
		m.queue("dead", nil)
		url := m.queue("orders", map[string]string{
			"VisibilityTimeout": "0",
			"RedrivePolicy": `{"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:dead",` +
				`"maxReceiveCount":4}`,
		})
		m.send(url, "poison")
		server.Advance(30 * time.Second)
		for range 3 {
			m.receive(url)
		}
		m.send(url, "good")
		server.Advance(30 * time.Second) // minute 0: the second message is the oldest that counts
		m.receive(url)
		m.receive(url) // moves the first one, and receives the second the second time
		server.Advance(time.Minute)
		m.want("orders", "ApproximateAgeOfOldestMessage", map[int]float64{0: 30, 1: 90})
		m.want("dead", "ApproximateAgeOfOldestMessage", map[int]float64{1: 60})
		m.want("dead", "ApproximateNumberOfMessagesVisible", map[int]float64{0: 0, 1: 1})
		m.want("dead", "NumberOfMessagesSent", map[int]float64{0: 0, 1: 0})
	})
}

// TestMetricsOfFIFO: duplicates, and groups with messages in flight.
func TestMetricsOfFIFO(t *testing.T) {
	bubble(t, func(t *testing.T, server *localaws.Server, _ *cloudwatch.Client) {
		m := newMeters(t, server)
		url := m.queue("o.fifo", map[string]string{
			"FifoQueue": "true", "ContentBasedDeduplication": "true", "VisibilityTimeout": "90",
		})
		for i := range 4 {
			for _, group := range []string{"a", "b"} {
				if _, err := m.sqs.SendMessage(t.Context(), &sqs.SendMessageInput{
					QueueUrl: url, MessageBody: aws.String(group + fmt.Sprint(i%2)), MessageGroupId: &group,
				}); err != nil {
					t.Fatal(err)
				}
			}
		}
		m.receive(url)
		server.Advance(time.Minute)
		m.want("o.fifo", "NumberOfMessagesSent", map[int]float64{0: 4})
		m.want("o.fifo", "NumberOfDeduplicatedSentMessages", map[int]float64{0: 4})
		m.want("o.fifo", "ApproximateNumberOfGroupsWithInflightMessages", map[int]float64{0: 2})
		server.Advance(time.Minute)
		m.want("o.fifo", "ApproximateNumberOfGroupsWithInflightMessages", map[int]float64{0: 2, 1: 0})
	})
}

// TestTopicMetrics: counts of a topic, which sleeps six hours after the last call.
func TestTopicMetrics(t *testing.T) {
	bubble(t, func(t *testing.T, server *localaws.Server, c *cloudwatch.Client) {
		newAlerts(t, server, c)
		plant(t, server, `{"queues": [{"name": "closed", "attributes": {"Policy": {"Version": "2012-10-17",
			"Statement": [{"Effect": "Deny", "Principal": "*", "Action": "*", "Resource": "*"}]}}}], "topics": [{"name": "events", "subscriptions": [
			{"queue": "alerts", "attributes": {"FilterPolicy": {"kind": ["a"]}}}, {"queue": "closed"}]}]}`)
		m := newMeters(t, server)
		for range 2 {
			publish(t, server, "events", "Hello")
		}
		server.Advance(7 * time.Hour)
		sum := func(name string) (points int, sum float64) {
			id := metric.ID{
				Namespace: "AWS/SNS", Name: name,
				Dimensions: []metric.Dimension{{Name: "TopicName", Value: "events"}},
			}
			for _, unit := range server.CloudWatch().Points(id, m.start, server.Now(), time.Minute) {
				for _, p := range unit {
					points, sum = points+1, sum+p.Stats.Sum
				}
			}
			return points, sum
		}
		for name, want := range map[string][2]float64{
			"NumberOfMessagesPublished": {359, 2}, "NumberOfNotificationsDelivered": {359, 0},
			"NumberOfNotificationsFailed": {359, 2}, "NumberOfNotificationsFilteredOut": {1, 2}, "PublishSize": {1, 10},
			"NumberOfNotificationsRedrivenToDlq": {0, 0},
		} {
			points, total := sum(name)
			if diff := cmp.Diff(want, [2]float64{float64(points), total}); diff != "" {
				t.Errorf("%s: points and sum (-want +got):\n%s", name, diff)
			}
		}
	})
}

// fortnight is how long queues are watched: two weeks in the full run, and five days for every change.
func fortnight() time.Duration { return fullrun.Pick(5*24*time.Hour, 14*24*time.Hour) }

// passFortnight lets that time pass with 100 queues, ten of which get a message an hour. It returns the points of
// some metrics, by minutes since the start, and how much the heap has grown.
func passFortnight(t *testing.T, pass func(server *localaws.Server, d time.Duration),
) (points map[string]map[int]float64, heap uint64) {
	synctest.Test(t, func(t *testing.T) {
		server, err := localaws.New(&localaws.Options{Seed: testSeed})
		if err != nil {
			t.Fatal(err)
		}
		defer server.Close()
		m := newMeters(t, server)
		var urls []*string
		for i := range 100 {
			urls = append(urls, m.queue(fmt.Sprintf("q%02d", i), nil))
		}
		before := liveHeap()
		for range fortnight() / time.Hour {
			for _, url := range urls[:10] {
				m.send(url, "x")
			}
			pass(server, time.Hour)
		}
		heap = liveHeap() - min(before, liveHeap())
		points = map[string]map[int]float64{}
		for _, name := range []string{"NumberOfMessagesSent", "ApproximateAgeOfOldestMessage"} {
			for _, queue := range []string{"q00", "q50"} {
				points[queue+" "+name] = m.sums(queue, name)
			}
		}
	})
	return points, heap
}

// advance passes time by the server's clock.
func advance(server *localaws.Server, d time.Duration) { server.Advance(d) }

// TestFortnight: many days take little memory, and the points of Advance are the same as those of waiting.
func TestFortnight(t *testing.T) {
	advanced, heap := passFortnight(t, advance)
	if heap > 64<<20 {
		t.Errorf("they took %d MiB", heap>>20)
	}
	if got := len(advanced["q00 NumberOfMessagesSent"]); got != int(fortnight()/time.Minute) {
		t.Errorf("%d points of a busy queue, want %d", got, int(fortnight()/time.Minute))
	}
	waited, _ := passFortnight(t, func(_ *localaws.Server, d time.Duration) { time.Sleep(d); synctest.Wait() })
	if diff := cmp.Diff(waited, advanced); diff != "" {
		t.Errorf("waiting and Advance differ (-waiting +Advance):\n%.2000s", diff)
	}
}

func liveHeap() uint64 {
	runtime.GC()
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return s.HeapAlloc
}
