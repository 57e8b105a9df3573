package client

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/godwitmq/godwit/driver"
)

// answer is a transport that answers every request in the same way, or with an error.
type answer struct {
	status int
	header map[string]string
	body   string
	err    error
}

func (a answer) RoundTrip(r *http.Request) (*http.Response, error) {
	if a.err != nil {
		return nil, a.err
	}
	h := http.Header{}
	for name, value := range a.header {
		h.Set(name, value)
	}
	return &http.Response{
		StatusCode: a.status, Header: h, Body: io.NopCloser(strings.NewReader(a.body)),
		Request: r,
	}, nil
}

// ask sends one request and returns its error as the core sees it.
func (a answer) ask(t *testing.T, service string) error {
	t.Helper()
	conf := aws.Config{
		Region: "us-east-1", BaseEndpoint: aws.String("http://localaws.internal"),
		HTTPClient: &http.Client{Transport: a},
		Credentials: credentials.NewStaticCredentialsProvider("k", "s",
			""), Retryer: func() aws.Retryer { return aws.NopRetryer{} },
	}
	var err error
	if service == "sqs" {
		_, err = sqs.NewFromConfig(conf).SendMessage(t.Context(),
			&sqs.SendMessageInput{QueueUrl: aws.String("http://localaws.internal/0/q"), MessageBody: aws.String("x")})
	} else {
		_, err = sns.NewFromConfig(conf).Publish(t.Context(),
			&sns.PublishInput{TopicArn: aws.String("arn:aws:sns:us-east-1:0:t"), Message: aws.String("x")})
	}
	return Classify(err)
}

// inJSON and inXML return an error code as SQS and as SNS send it.
func inJSON(status int, code, query string) answer {
	a := answer{status: status, body: fmt.Sprintf(`{"__type":"com.amazonaws.sqs#%s","message":"text"}`, code)}
	if query != "" {
		a.header = map[string]string{"x-amzn-query-error": query + ";Sender"}
	}
	return a
}

func inXML(status int, code string) answer {
	return answer{
		status: status,
		body:   fmt.Sprintf(`<ErrorResponse><Error><Type>Sender</Type><Code>%s</Code><Message>text</Message></Error><RequestId>r</RequestId></ErrorResponse>`, code),
	}
}

func TestErrorsAreClassified(t *testing.T) {
	for name, c := range map[string]struct {
		service string
		answer  answer
		want    driver.Class
	}{
		"no such queue": {
			"sqs",
			inJSON(400, "QueueDoesNotExist", "AWS.SimpleQueueService.NonExistentQueue"), driver.NotFound,
		},
		"no such queue, query error": {"sqs", inJSON(400, "QueueDoesNotExist", ""), driver.NotFound},
		"throttled queue":            {"sqs", inJSON(400, "RequestThrottled", "RequestThrottled"), driver.Throttled},
		"throttled by the front":     {"sqs", inJSON(400, "ThrottlingException", ""), driver.Throttled},
		"throttled key": {
			"sqs", inJSON(400, "KmsThrottled", "KMS.ThrottlingException"),
			driver.Throttled,
		},
		"too many in flight":         {"sqs", inJSON(403, "OverLimit", "OverLimit"), driver.Throttled},
		"too many requests, no code": {"sqs", answer{status: 429}, driver.Throttled},
		"denied queue":               {"sqs", inJSON(403, "AccessDeniedException", "AccessDenied"), driver.Denied},
		"denied, no code":            {"sqs", answer{status: 403}, driver.Denied},
		"unknown client":             {"sqs", inJSON(403, "UnrecognizedClientException", ""), driver.Denied},
		"old token":                  {"sqs", inJSON(403, "ExpiredTokenException", ""), driver.Denied},
		"denied key":                 {"sqs", inJSON(400, "KmsAccessDenied", ""), driver.Denied},
		"disabled key":               {"sqs", inJSON(400, "KmsDisabled", ""), driver.Permanent},
		"bad characters":             {"sqs", inJSON(400, "InvalidMessageContents", ""), driver.Permanent},
		"bad parameter": {
			"sqs", inJSON(400, "InvalidParameterValueException", "InvalidParameterValue"),
			driver.Permanent,
		},
		"batch too long": {
			"sqs",
			inJSON(400, "BatchRequestTooLong", "AWS.SimpleQueueService.BatchRequestTooLong"), driver.TooLarge,
		},
		"request too large, no code":  {"sqs", answer{status: 413}, driver.TooLarge},
		"internal":                    {"sqs", inJSON(500, "InternalFailure", ""), driver.Transient},
		"unknown code, 500":           {"sqs", inJSON(500, "Mystery", ""), driver.Transient},
		"unknown code, 400":           {"sqs", inJSON(400, "Mystery", ""), driver.Permanent},
		"500 without body":            {"sqs", answer{status: 500}, driver.Transient},
		"502 of a proxy":              {"sqs", answer{status: 502, body: "<html>bad gateway"}, driver.Transient},
		"503":                         {"sqs", answer{status: 503}, driver.Transient},
		"504":                         {"sqs", answer{status: 504}, driver.Transient},
		"408":                         {"sqs", answer{status: 408}, driver.Transient},
		"200 that cannot be read":     {"sqs", answer{status: 200, body: "<html>welcome"}, driver.Transient},
		"200 cut off":                 {"sqs", answer{status: 200, body: `{"MessageId":"`}, driver.Transient},
		"connection refused":          {"sqs", answer{err: errors.New("connection refused")}, driver.Transient},
		"cut while reading":           {"sqs", answer{err: io.ErrUnexpectedEOF}, driver.Transient},
		"no such topic":               {"sns", inXML(404, "NotFound"), driver.NotFound},
		"no such topic with tags":     {"sns", inXML(404, "ResourceNotFound"), driver.NotFound},
		"throttled topic":             {"sns", inXML(400, "Throttling"), driver.Throttled},
		"throttled topic, other code": {"sns", inXML(400, "Throttled"), driver.Throttled},
		"throttled key of a topic":    {"sns", inXML(400, "KMSThrottling"), driver.Throttled},
		"denied topic":                {"sns", inXML(403, "AuthorizationError"), driver.Denied},
		"bad token":                   {"sns", inXML(403, "InvalidClientTokenId"), driver.Denied},
		"bad signature":               {"sns", inXML(403, "SignatureDoesNotMatch"), driver.Denied},
		"bad parameter of a topic":    {"sns", inXML(400, "InvalidParameter"), driver.Permanent},
		"internal of SNS":             {"sns", inXML(500, "InternalError"), driver.Transient},
		"SNS's batch too long":        {"sns", inXML(400, "BatchRequestTooLong"), driver.TooLarge},
		"tags at once":                {"sns", inXML(400, "ConcurrentAccess"), driver.Transient},
		"503 of SNS":                  {"sns", answer{status: 503, body: "busy"}, driver.Transient},
		"200 that is no XML":          {"sns", answer{status: 200, body: "nonsense <"}, driver.Transient},
		"SNS refused":                 {"sns", answer{err: errors.New("connection refused")}, driver.Transient},
	} {
		err := c.answer.ask(t, c.service)
		if got := driver.ClassOf(err); err == nil || got != c.want {
			t.Errorf("%s: %v is of class %s, want %s", name, err, got, c.want)
		}
	}
}

// A request that is invalid before it is sent will be invalid when repeated.
func TestARequestThatCannotLeave(t *testing.T) {
	_, err := sqs.New(sqs.Options{Region: "us-east-1"}).SendMessage(t.Context(), &sqs.SendMessageInput{})
	if got := driver.ClassOf(Classify(err)); err == nil || got != driver.Permanent {
		t.Errorf("%v is of class %s, want permanent", err, got)
	}
}

func TestTheServicesErrorStaysReachable(t *testing.T) {
	err := inJSON(400, "QueueDoesNotExist", "AWS.SimpleQueueService.NonExistentQueue").ask(t, "sqs")
	var api interface{ ErrorCode() string }
	if !errors.As(err, &api) || !strings.Contains(api.ErrorCode(), "Queue") || Classify(err) != err {
		t.Errorf("%v: %v", err, api)
	}
}
