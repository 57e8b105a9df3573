package localaws_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/godwitmq/godwit/localaws"
	"github.com/godwitmq/godwit/localaws/wire"
)

// lines is a log that tests read while the server writes.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// Each call from a socket is one line with its action, resource, status and time, and with its account and region if
// they are not the server's own; also those that are refused, and those whose connection a control drops.
func TestRequestLog(t *testing.T) {
	log := &lines{}
	untimed := func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey || a.Key == slog.LevelKey {
			return slog.Attr{}
		}
		return a
	}
	s, err := localaws.New(&localaws.Options{
		Requests: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{ReplaceAttr: untimed})),
	})
	if err != nil {
		t.Fatal(err)
	}
	addr, err := s.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	at := "http://" + addr.String()
	form := func(values ...string) {
		v := url.Values{}
		for i := 0; i < len(values); i += 2 {
			v.Set(values[i], values[i+1])
		}
		if answer, err := http.PostForm(at, v); err == nil {
			answer.Body.Close()
		}
	}
	form("Action", "CreateQueue", "QueueName", "q")
	form("Action", "SendMessage", "QueueUrl", at+"/000000000000/q", "MessageBody", "m")
	form("Action", "SendMessage", "QueueUrl", at+"/000000000000/none", "MessageBody", "m")
	form("Action", "Nonsense")
	s.Control("sns.ListTopics", func(context.Context, *localaws.Request) localaws.Outcome {
		return localaws.Outcome{Drop: true}
	})
	form("Action", "ListTopics", "Version", "2010-03-31")
	if answer, err := http.Get(at + "/bucket/key"); err == nil {
		answer.Body.Close()
	}
	if answer, err := http.Get(at + "/_localaws/health"); err == nil {
		answer.Body.Close()
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, at+"/?Action=ListQueues", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=111111111111/20260101/eu-west-1/sqs/aws4_request, "+
		"SignedHeaders=host, Signature=0")
	if answer, err := http.DefaultClient.Do(r); err == nil {
		answer.Body.Close()
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(log.String()) {
		line, timed, _ := strings.Cut(strings.TrimPrefix(line, "msg=call "), " took=")
		if timed == "" {
			t.Errorf("no time: %s", line)
		}
		got = append(got, strings.ReplaceAll(line, at, "URL"))
	}
	want := []string{
		"action=sqs.CreateQueue resource=q status=200",
		"action=sqs.SendMessage resource=URL/000000000000/q status=200",
		"action=sqs.SendMessage resource=URL/000000000000/none status=400",
		"action=POST resource=/ status=400",
		"action=sns.ListTopics resource=\"\" status=0",
		"action=s3.GetObject resource=bucket/key status=404",
		"action=GET resource=/_localaws/health status=200",
		"action=sqs.ListQueues resource=\"\" account=111111111111 region=eu-west-1 status=200",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Options.Control decides what no other control decided, and stays after Reset.
func TestLastingControl(t *testing.T) {
	s, err := localaws.New(&localaws.Options{
		Control: func(_ context.Context, r *localaws.Request) localaws.Outcome {
			if r.Is("sqs.ListQueues") {
				return localaws.Outcome{Err: &wire.Error{Code: "Lasting", Message: "lasting"}}
			}
			return localaws.Outcome{}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	client := &http.Client{Transport: s.Transport()}
	call := func() string {
		answer, err := client.PostForm("http://localhost/", url.Values{"Action": {"ListQueues"}})
		if err != nil {
			return err.Error()
		}
		defer answer.Body.Close()
		var b bytes.Buffer
		_, _ = b.ReadFrom(answer.Body)
		return fmt.Sprint(answer.StatusCode, " ", b.String())
	}
	if got := call(); !strings.Contains(got, "Lasting") {
		t.Errorf("without another control: %s", got)
	}
	s.Control("sqs.*", func(context.Context, *localaws.Request) localaws.Outcome {
		return localaws.Outcome{Err: &wire.Error{Code: "Other", Message: "other"}}
	})
	if got := call(); !strings.Contains(got, "Other") {
		t.Errorf("with another control: %s", got)
	}
	s.Reset()
	if got := call(); !strings.Contains(got, "Lasting") {
		t.Errorf("after Reset: %s", got)
	}
}
