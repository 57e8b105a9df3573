package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
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
	gocmp "github.com/google/go-cmp/cmp"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/lambdaruntime"
	"github.com/godwitmq/godwit/internal/permissions"
	"github.com/godwitmq/godwit/local"
	"github.com/godwitmq/godwit/localaws"
	"github.com/godwitmq/godwit/topology"
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
	called map[permissions.Permission]bool // what functions have needed
}

func newWorld(t testing.TB, namespace string) *world {
	t.Helper()
	b, err := local.Open(t.Context(), &local.Options{Namespace: namespace, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{TB: t, Backend: b, called: map[permissions.Permission]bool{}}
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
		w.mu.Lock()
		defer w.mu.Unlock()
		for _, p := range permissions.Of(r.Service, r.Action, r.Input) {
			w.called[p] = true
		}
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
	for p := range w.called {
		if !slices.Contains(listed, p.Action) {
			w.Errorf("docs/lambda.md does not list the permission %s", p.Action)
		}
	}
}

// granted fails the test if what was called is not exactly what a function of the template of CloudFormation may call.
// rare are permissions that it has beside: counts of CloudWatch for messages that are old, metrics where nothing was
// counted for days (topology.TestPolicyOfASweeper), and the one without which S3 answers 403 for a missing object.
func (w *world) granted(function string, rare ...string) {
	w.Helper()
	text, err := topology.CloudFormation(w.Backend, &topology.Spec{Namespace: "prod", Owner: "shop"})
	var template struct {
		Resources map[string]struct {
			Properties struct{ Policies []any }
		}
	}
	if err == nil {
		err = json.Unmarshal(text, &template)
	}
	if err != nil {
		w.Fatal(err)
	}
	here := strings.NewReplacer("${AWS::Partition}", "aws", "${AWS::Region}", "REGION", "${AWS::AccountId}", "ACCOUNT",
		"${RunsStateBucket}", bucket, "${RunsStatePrefix}/", "", "AlarmTopic", "arn:aws:sns:REGION:ACCOUNT:people")
	var granted []string
	for _, policy := range template.Resources[function+"Role"].Properties.Policies {
		if one, some := policy.(map[string]any)["Fn::If"]; some {
			policy = one.([]any)[1]
		}
		doc := policy.(map[string]any)["PolicyDocument"].(map[string]any)
		for _, statement := range doc["Statement"].([]any) {
			s := statement.(map[string]any)
			resource := s["Resource"]
			if named, some := resource.(map[string]any); some {
				resource = cmp.Or(named["Fn::Sub"], named["Ref"])
			}
			for _, action := range s["Action"].([]any) {
				if slices.Contains(rare, action.(string)) {
					continue
				}
				granted = append(granted, fmt.Sprint(action, " ", here.Replace(resource.(string))))
			}
		}
	}
	var used []string
	w.mu.Lock()
	defer w.mu.Unlock()
	for p := range w.called {
		if before, _, ours := strings.Cut(p.Resource, "prod---"); ours {
			p.Resource = before + "prod---*"
		}
		used = append(used, p.Action+" "+p.Resource)
	}
	slices.Sort(granted)
	slices.Sort(used)
	if diff := gocmp.Diff(slices.Compact(used), granted); diff != "" {
		w.Errorf("%s (-used +granted):\n%s", function, diff)
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
