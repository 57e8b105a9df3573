package snssqs_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/localaws"
	"github.com/godwitmq/godwit/localaws/wire"
	"github.com/godwitmq/godwit/snssqs"
)

// late is a transport to a service whose clock is late.
type late struct{ by time.Duration }

func (l *late) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := http.DefaultTransport.RoundTrip(r)
	if err == nil {
		answer.Header.Set("Date", time.Now().Add(-l.by).UTC().Format(http.TimeFormat))
	}
	return answer, err
}

// The access tells who calls, when the credentials end, the time at the service, and which calls are denied. Refused
// credentials are explained.
func TestAccess(t *testing.T) {
	inner, err := localaws.New(&localaws.Options{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	addr, err := inner.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer inner.Close()
	url, clock := "http://"+addr.String(), &late{}
	expires := time.Now().Add(time.Hour)
	b, err := snssqs.Open(t.Context(), &snssqs.Options{AWS: &aws.Config{
		Region: "us-east-1", BaseEndpoint: &url,
		Credentials: aws.CredentialsProviderFunc(func(ctx context.Context) (aws.Credentials, error) {
			c, err := credentials.NewStaticCredentialsProvider("k", "s", "t").Retrieve(ctx)
			c.CanExpire, c.Expires, c.Source = true, expires, "a test"
			return c, err
		}),
	}, Transport: clock})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close(context.Background())
	access := func() driver.Access {
		t.Helper()
		a, err := b.Operations().Access(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	a := access()
	if a.Err != nil || !strings.HasPrefix(a.Identity, "arn:aws:") || a.Source != "a test" ||
		!a.Expires.Equal(expires) ||
		!a.Ahead.Known() || a.Ahead.Value.Abs() > time.Minute || len(a.Calls) != 2 {
		t.Errorf("%+v", a)
	}
	clock.by = 10 * time.Minute
	if a := access(); a.Err != nil || (a.Ahead.Value-clock.by).Abs() > time.Minute {
		t.Errorf("the clock is %v ahead (%v), want %v: %v", a.Ahead.Value, a.Ahead.Err, clock.by, a.Err)
	}
	refuse := func(action, code string) {
		inner.ControlOnce(action, func(context.Context, *localaws.Request) localaws.Outcome {
			return localaws.Outcome{Err: &wire.Error{Code: code, Message: "refused", Status: 403}}
		})
	}
	refuse("tagging.GetResources", "AccessDeniedException") // then what replaces it is tried, too
	refuse("sns.ListTopics", "AuthorizationError")
	var tried, denied string
	for _, call := range access().Calls {
		tried += call.Name + " "
		if driver.ClassOf(call.Err) == driver.Denied {
			denied += call.Name + " "
		}
	}
	if denied != "tag:GetResources sns:ListTopics " || !strings.Contains(tried, "sqs:ListQueues") {
		t.Errorf("%sare tried, and %sare denied", tried, denied)
	}
	for code, want := range map[string]string{
		"ExpiredToken": "have expired: sign in again", "InvalidClientTokenId": "the access key does not exist",
		"SignatureDoesNotMatch": "the secret key is not",
	} {
		refuse("sts.GetCallerIdentity", code)
		if a := access(); a.Err == nil || !strings.Contains(a.Err.Error(), want) || len(a.Calls) > 0 ||
			driver.ClassOf(a.Err) != driver.Denied || !a.Ahead.Known() {
			t.Errorf("%s: %+v, want %q", code, a, want)
		}
	}
}
