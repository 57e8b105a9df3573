package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sns"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/lambdaruntime"
	"github.com/godwitmq/godwit/local"
	"github.com/godwitmq/godwit/localaws"
)

const (
	bucket = "acme-godwit"
	secret = "s3cr3t-of-sixteen-bytes"
)

// The command, when the test has started it as a function.
func TestMain(m *testing.M) {
	if os.Getenv("AWS_LAMBDA_RUNTIME_API") != "" {
		main()
	}
	os.Exit(m.Run())
}

// world is an account with a bucket for states, and a topic for people.
type world struct {
	testing.TB
	*local.Backend
	s3    *s3.Client
	sns   *sns.Client
	conf  aws.Config
	topic string // the ARN

	mu     sync.Mutex
	called map[string]bool // what functions have called, as the names of permissions
}

func newWorld(t testing.TB, namespace string) *world {
	t.Helper()
	b, err := local.Open(t.Context(), &local.Options{Namespace: namespace, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{TB: t, Backend: b, called: map[string]bool{}}
	t.Cleanup(w.close) // functions that are started later are stopped before
	w.conf = aws.Config{
		Region: "us-east-1", BaseEndpoint: aws.String("http://localaws.internal"),
		Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""),
		HTTPClient:  &http.Client{Transport: b.Server().Transport()},
	}
	w.s3 = s3.NewFromConfig(w.conf, func(o *s3.Options) { o.UsePathStyle = true })
	w.sns = sns.NewFromConfig(w.conf)
	if _, err := w.s3.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: aws.String(bucket)}); err != nil {
		t.Fatal(err)
	}
	out, err := w.sns.CreateTopic(t.Context(), &sns.CreateTopicInput{Name: aws.String("people")})
	if err != nil {
		t.Fatal(err)
	}
	w.topic = *out.TopicArn
	return w
}

func (w *world) close() {
	if err := w.Close(context.Background()); err != nil {
		w.Error(err)
	}
	w.documented()
}

// record notes what is called until stop.
func (w *world) record() (stop func()) {
	return w.Server().Control("*", func(_ context.Context, r *localaws.Request) localaws.Outcome {
		service := r.Service
		if service == "tagging" {
			service = "tag"
		}
		w.mu.Lock()
		w.called[service+":"+r.Action] = true
		w.mu.Unlock()
		return localaws.Outcome{}
	})
}

// documented fails the test if docs/lambda.md has no permission for what was called.
func (w *world) documented() {
	text, err := os.ReadFile("../../docs/lambda.md")
	if err != nil {
		w.Fatal(err)
	}
	_, runs, _ := strings.Cut(string(text), "## Scheduled runs")
	listed := regexp.MustCompile(`[a-z0-9]+:[A-Z][A-Za-z]+`).FindAllString(runs, -1)
	w.mu.Lock()
	defer w.mu.Unlock()
	for action := range w.called {
		if action == "s3:HeadObject" {
			action = "s3:GetObject"
		}
		if action != "sts:GetCallerIdentity" && !slices.Contains(listed, action) { // the exception is always permitted
			w.Errorf("docs/lambda.md does not list the permission %s", action)
		}
	}
}

func channelOf(name string) (ch driver.Channel) {
	name, ch.DeadLetter = strings.CutSuffix(name, "@dlq")
	ch.Queue = name
	if exchange, queue, many := strings.Cut(name, "."); many {
		ch.Exchange, ch.Queue = exchange, queue
		if queue == "*" {
			ch.Queue = ""
		}
	}
	return ch
}

// make makes a channel of the owner shop, whose alert begins at two messages.
func (w *world) make(name string) {
	w.Helper()
	err := w.Ensure(w.Context(), driver.ChannelSpec{
		Channel: channelOf(name), Owner: true, MaxReceives: 30,
		Tags: map[string]string{"owner": "shop", "critical": "true", "alarm-depth": "2"},
	})
	if err != nil {
		w.Fatal(err)
	}
}

func (w *world) put(name string, bodies ...string) {
	w.Helper()
	s, err := w.Sender(w.Context(), channelOf(name))
	if err != nil {
		w.Fatal(err)
	}
	for _, body := range bodies {
		p, e := s.Prepare(w.Context(), &driver.Message{Body: []byte(body), RoutingKey: "all"})
		if err = errors.Join(err, e); e == nil {
			err = errors.Join(err, s.Send(w.Context(), []driver.Prepared{p}))
		}
	}
	if err = errors.Join(err, s.Close(w.Context())); err != nil {
		w.Fatal(err)
	}
}

// names are the channels that exist.
func (w *world) names() (all []string) {
	w.Helper()
	infos, err := w.Catalog(w.Context())
	if err != nil {
		w.Fatal(err)
	}
	for i := range infos {
		all = append(all, infos[i].Channel.String())
	}
	return all
}

// object is the text of an object.
func (w *world) object(key string) []byte {
	w.Helper()
	out, err := w.s3.GetObject(w.Context(), &s3.GetObjectInput{Bucket: aws.String(bucket), Key: &key})
	if err != nil {
		w.Fatal(err)
	}
	text, err := io.ReadAll(out.Body)
	if err = errors.Join(err, out.Body.Close()); err != nil {
		w.Fatal(err)
	}
	return text
}

// edit changes a state.
func (w *world) edit(key string, f func(state map[string]any)) {
	w.Helper()
	state := map[string]any{}
	err := json.Unmarshal(w.object(key), &state)
	if err != nil {
		w.Fatal(err)
	}
	f(state)
	text, err := json.Marshal(state)
	if err == nil {
		_, err = w.s3.PutObject(w.Context(), &s3.PutObjectInput{
			Bucket: aws.String(bucket), Key: &key, Body: bytes.NewReader(text),
		})
	}
	if err != nil {
		w.Fatal(err)
	}
}

// start starts the command as a function, with these variables.
func (w *world) start(t testing.TB, variables map[string]string) *lambdaruntime.Function {
	w.Helper()
	address, err := w.Server().Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{
		"AWS_ENDPOINT_URL": "http://" + address.String(), "AWS_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "k",
		"AWS_SECRET_ACCESS_KEY": "s", "GODWIT_STATE": "s3://" + bucket + "/states", "GODWIT_NAMESPACE": "",
		"GODWIT_OWNER": "shop", "GODWIT_ALERT_OWNERS": "", "GODWIT_SLACK_URL": "", "GODWIT_WEBHOOK_URL": "",
		"GODWIT_WEBHOOK_SECRET": "", "GODWIT_SNS_TOPIC": "",
	}
	maps.Copy(all, variables)
	var env []string
	for name, value := range all {
		env = append(env, name+"="+value)
	}
	return lambdaruntime.Start(t, exec.Command(os.Args[0]), env...)
}
