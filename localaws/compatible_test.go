package localaws_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/godwitmq/godwit/localaws"
)

// fetch returns the status and the body of a page.
func fetch(t *testing.T, s *localaws.Server, method, path string, header ...string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, "http://localhost"+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	answer, err := s.Transport().RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(body)
}

// Tools that wait for LocalStack find the pages that they ask; a bucket named health stays reachable.
func TestHealthAsOfLocalStack(t *testing.T) {
	s, err := localaws.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, path := range []string{"/_localstack/health", "/health"} {
		if status, body := fetch(t, s, "GET", path); status != 200 || !strings.Contains(body, `"sqs": "running"`) {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
	if status, body := fetch(t, s, "GET", "/health?list-type=2"); status != 404 ||
		!strings.Contains(body, "NoSuchBucket") {
		t.Errorf("a list of a bucket that does not exist: %d %s", status, body)
	}
	if status, body := fetch(t, s, "PUT", "/health"); status != 200 {
		t.Fatalf("create the bucket: %d %s", status, body)
	}
	if status, body := fetch(t, s, "GET", "/health"); status != 200 || !strings.Contains(body, "<ListBucketResult") {
		t.Errorf("the bucket: %d %s", status, body)
	}
}

// Pages about SNS and about the server, as LocalStack has them. Other paths that begin with an underscore name no
// bucket.
func TestPagesAsOfLocalStack(t *testing.T) {
	scripts := []localaws.Script{
		{Stage: "BOOT", Name: "a.json", State: "SUCCESSFUL"},
		{Stage: "READY", Name: "b.sh", State: "RUNNING"},
	}
	f := newFixture(t, &localaws.Options{Scripts: func() ([]localaws.Script, bool) { return scripts, false }})
	path := seedFile(t, `{"topics": [{"name": "events", "subscriptions": [{"endpoint": "+4912345", "protocol": "sms"},
		{"endpoint": "a@example.com", "protocol": "email"}]}]}`)
	if err := f.server.Plant(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	publish(t, f.server, "events", "Hello")
	pending := f.server.SNS().Pending()
	if len(pending) != 1 {
		t.Fatalf("pending subscriptions: %+v", pending)
	}
	for _, c := range []struct {
		page   string
		status int
		want   string
	}{
		{"/_localstack/info", 200, `"edition": "godwit"`},
		{"/_localstack/init", 200, `"READY": false`},
		{"/_localstack/init", 200, `"name": "a.json"`},
		{"/_localstack/init/ready", 200, `"completed": false`},
		{"/_localstack/init/READY", 200, `"state": "RUNNING"`},
		{"/_localstack/init/shutdown", 200, `"scripts": []`},
		{"/_localstack/init/never", 404, "no such stage never"},
		{"/_aws/sns/sms-messages", 200, `"Message": "Hello"`},
		{"/_aws/sns/sms-messages?phoneNumber=%2B4912345", 200, `"PhoneNumber": "+4912345"`},
		{"/_aws/sns/sms-messages?region=eu-west-1", 200, `"sms_messages": {}`},
		{"/_aws/sns/platform-endpoint-messages", 200, `"platform_endpoint_messages": {}`},
		{"/_aws/sns/subscription-tokens/" + pending[0].ARN, 200, pending[0].Token},
		{"/_aws/sns/subscription-tokens/arn:aws:sns:us-east-1:000000000000:events:none", 404, "no subscription"},
		{"/_aws/ses", 404, "/_aws/sqs/messages"},
		{"/_localstack/diagnose", 404, "there is no page /_localstack/diagnose"},
	} {
		if status, body := fetch(t, f.server, "GET", c.page); status != c.status || !strings.Contains(body, c.want) {
			t.Errorf("%s: %d %s", c.page, status, body)
		}
	}
	if status, body := fetch(t, f.server, "POST", "/_localstack/info"); status != 405 {
		t.Errorf("POST: %d %s", status, body)
	}
}

// /_aws/sqs/messages lists messages as ReceiveMessage would, and receives none: by parameter, by path, in JSON, and for
// an unmodified client.
func TestMessagesAsOfLocalStack(t *testing.T) {
	s, err := localaws.New(&localaws.Options{Seed: testSeed})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	client := func(base string) *sqs.Client {
		return sqs.New(sqs.Options{
			Region: "us-east-1", BaseEndpoint: aws.String("http://localhost" + base),
			Credentials: credentials.NewStaticCredentialsProvider("k", "s", ""),
			HTTPClient:  &http.Client{Transport: s.Transport()},
		})
	}
	q, err := client("").CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: aws.String("q")})
	if err != nil {
		t.Fatal(err)
	}
	send := func(body string, delay int32) {
		if _, err := client("").SendMessage(t.Context(), &sqs.SendMessageInput{
			QueueUrl: q.QueueUrl, MessageBody: &body, DelaySeconds: delay,
			MessageAttributes: map[string]types.MessageAttributeValue{
				"a": {DataType: aws.String("String"), StringValue: aws.String("v")},
			},
		}); err != nil {
			t.Fatal(err)
		}
	}
	send("one", 0)
	if _, err := client("").ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{QueueUrl: q.QueueUrl}); err != nil {
		t.Fatal(err)
	}
	send("two", 0)
	send("three", 60)
	const path = "/_aws/sqs/messages"
	for _, c := range []struct{ at, accept, want string }{
		{path + "?QueueUrl=" + *q.QueueUrl, "", "two"},
		{path + "/us-east-1/000000000000/q", "", "two"},
		{path + "/us-east-1/000000000000/q?ShowInvisible=true", "", "one two"},
		{path + "/us-east-1/000000000000/q?ShowDelayed=1", "", "two three"},
		{path + "/us-east-1/000000000000/q?ShowDelayed=true&ShowInvisible=True", "application/json", "one two three"},
		{path + "/eu-west-1/000000000000/q", "", ""},
	} {
		status, body := fetch(t, s, "GET", c.at, "Accept", c.accept)
		for _, text := range []string{"one", "two", "three"} {
			if strings.Contains(body, text) != strings.Contains(c.want, text) {
				t.Errorf("%s: %d %s, want %s", c.at, status, body, c.want)
			}
		}
		if strings.HasPrefix(body, "{") != (c.accept != "") {
			t.Errorf("%s, Accept %s: %s", c.at, c.accept, body)
		}
	}
	for range 2 {
		out, err := client(path).ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{QueueUrl: q.QueueUrl})
		if err != nil {
			t.Fatal(err)
		}
		if len(out.Messages) != 1 || *out.Messages[0].Body != "two" ||
			*out.Messages[0].MessageAttributes["a"].StringValue != "v" {
			t.Fatalf("a client: %+v", out.Messages)
		}
	}
	if status, body := fetch(t, s, "GET", path+"/us-east-1/000000000000/none"); status != 400 ||
		!strings.Contains(body, "NonExistentQueue") {
		t.Errorf("no queue: %d %s", status, body)
	}
	if n := s.SQS().Queue("q").Model().Stats(); n.Visible != 1 || n.InFlight != 1 || n.Delayed != 1 {
		t.Errorf("%+v", n)
	}
	s.Advance(time.Minute)
}

// A reset with seed=1 creates again what the seed file describes, as the file is now.
func TestResetToSeed(t *testing.T) {
	s, err := localaws.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if status, body := fetch(t, s, "POST", "/_localaws/reset?seed=1"); status != 409 {
		t.Errorf("without a seed file: %d %s", status, body)
	}
	path := filepath.Join(t.TempDir(), "seed.json")
	write := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(`{"queues": [{"name": "a"}], "kafka": [{"name": "orders"}]}`)
	if err := s.Plant(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	if _, err := s.SQS().Create("other", nil, nil); err != nil {
		t.Fatal(err)
	}
	write(`{"queues": [{"name": "a"}, {"name": "b"}]}`)
	if status, body := fetch(t, s, "POST", "/_localaws/reset?seed=1"); status != 200 ||
		!strings.Contains(body, "seeded") {
		t.Fatalf("%d %s", status, body)
	}
	if s.SQS().Queue("a") == nil || s.SQS().Queue("b") == nil || s.SQS().Queue("other") != nil {
		t.Errorf("queues %v", s.SQS().Queues())
	}
	write(`{"queues": [{"nmae": "a"}]}`)
	if status, body := fetch(t, s, "POST", "/_localaws/reset?seed=1"); status != 500 ||
		!strings.Contains(body, "seed.json:1") {
		t.Errorf("a wrong file: %d %s", status, body)
	}
	if status, body := fetch(t, s, "POST", "/_localaws/reset?seed=yes"); status != 400 {
		t.Errorf("seed=yes: %d %s", status, body)
	}
}

// A call to a REST API of a service that is not there names the service, and what this server has.
func TestAbsentServiceIsNamed(t *testing.T) {
	f := newFixture(t, nil)
	for path, service := range map[string]string{
		"/2015-03-31/functions/": "lambda", "/2015-03-31/event-source-mappings": "lambda", "/2017-10-30/": "cloudfront",
	} {
		r := httptest.NewRequest(http.MethodGet, "http://localhost"+path, nil)
		r.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=key/20260101/us-east-1/"+service+
			"/aws4_request, SignedHeaders=host, Signature=0")
		w := httptest.NewRecorder()
		f.server.Handler().ServeHTTP(w, r)
		if w.Code != http.StatusNotImplemented || w.Header().Get("X-Amzn-Errortype") != "NotImplementedException" ||
			!strings.Contains(w.Body.String(), "This server has no "+service+": it has sqs, sns, s3") {
			t.Errorf("%s: %d %v %s", path, w.Code, w.Header(), w.Body)
		}
	}
}
