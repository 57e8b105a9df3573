package main

import (
	"bufio"
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/godwitmq/godwit/internal/fullrun"
)

// servedAWS starts the test binary as `godwit local` with these arguments, and returns it with its address.
func servedAWS(t *testing.T, args ...string) (*exec.Cmd, string) {
	t.Helper()
	cmd := exec.Command(os.Args[0], append([]string{"local", "--addr", "127.0.0.1:0"}, args...)...)
	cmd.Env = append(os.Environ(), actAsCommand+"=1")
	var errOut bytes.Buffer
	cmd.Stderr = &errOut
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // unless it has ended
		_ = cmd.Wait()
	})
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if addr, ok := strings.CutPrefix(lines.Text(), "export AWS_ENDPOINT_URL="); ok {
			go func() { _, _ = io.Copy(io.Discard, out) }()
			return cmd, addr
		}
	}
	_ = cmd.Wait()
	t.Fatalf("no address was printed: %s", &errOut)
	return nil, ""
}

// survivors is what the loads of all lives of the server know.
type survivors struct {
	*testing.T
	rand   *rand.Rand
	killed atomic.Int64 // acknowledged changes until the next kill
	kill   func()

	mu      sync.Mutex
	sent    map[string]bool // acknowledged, by body
	deleted map[string]bool // acknowledged
	unclear map[string]bool // a deletion that was not answered
	next    map[string]int  // of each group: the number that is sent next
	last    map[string]int  // of each group: the newest number whose deletion was acknowledged
	events  map[string]bool // acknowledged publishes, by body
	objects map[string]int  // the acknowledged version of each object; odd ones are above 64 KiB
}

// acknowledged counts a change, and kills the server when enough were acknowledged in its life.
func (s *survivors) acknowledged() {
	if s.killed.Add(-1) == 0 {
		s.kill()
	}
}

// life is one life of the server.
type life struct {
	*survivors
	ctx    context.Context
	sqs    *sqs.Client
	sns    *sns.Client
	s3     *s3.Client
	url    string
	groups string
}

func (s *survivors) live(addr string) *life {
	keys := credentials.NewStaticCredentialsProvider("k", "s", "")
	return &life{
		survivors: s, ctx: s.Context(),
		sqs: sqs.New(sqs.Options{
			Region: "us-east-1", BaseEndpoint: &addr, RetryMaxAttempts: 1, Credentials: keys,
		}),
		sns: sns.New(sns.Options{
			Region: "us-east-1", BaseEndpoint: &addr, RetryMaxAttempts: 1, Credentials: keys,
		}),
		s3: s3.New(s3.Options{
			Region: "us-east-1", BaseEndpoint: &addr, RetryMaxAttempts: 1, Credentials: keys, UsePathStyle: true,
		}),
		url: addr + "/000000000000/plain", groups: addr + "/000000000000/groups.fifo",
	}
}

// send sends batches until the server is gone.
func (l *life) send(cycle int) {
	for n := 0; ; n++ {
		in := &sqs.SendMessageBatchInput{QueueUrl: &l.url}
		var bodies []string
		for i := range 3 {
			bodies = append(bodies, fmt.Sprintf("%d-%d-%d", cycle, n, i))
			in.Entries = append(in.Entries, types.SendMessageBatchRequestEntry{
				Id: aws.String(strconv.Itoa(i)), MessageBody: &bodies[i],
			})
		}
		if _, err := l.sqs.SendMessageBatch(l.ctx, in); err != nil {
			return
		}
		l.mu.Lock()
		for _, body := range bodies {
			l.sent[body] = true
		}
		l.mu.Unlock()
		l.acknowledged()
	}
}

// receive receives and deletes until the server is gone or, if the queue is drained, there is nothing more.
func (l *life) receive(drain bool) {
	for {
		wait := int32(1)
		if drain {
			wait = 0
		}
		out, err := l.sqs.ReceiveMessage(l.ctx, &sqs.ReceiveMessageInput{
			QueueUrl: &l.url, MaxNumberOfMessages: 10, WaitTimeSeconds: wait,
		})
		if err != nil || drain && len(out.Messages) == 0 {
			return
		}
		for _, m := range out.Messages {
			l.mu.Lock()
			if l.deleted[*m.Body] {
				l.Errorf("%s was deleted, and is received", *m.Body)
			}
			l.unclear[*m.Body] = true
			l.mu.Unlock()
			if _, err := l.sqs.DeleteMessage(l.ctx, &sqs.DeleteMessageInput{
				QueueUrl: &l.url, ReceiptHandle: m.ReceiptHandle,
			}); err != nil {
				return
			}
			l.mu.Lock()
			l.deleted[*m.Body] = true
			l.mu.Unlock()
			l.acknowledged()
		}
	}
}

// sendGroup sends numbers, each again until it is acknowledged. It begins with numbers that were acknowledged in an
// earlier life: they are duplicates.
func (l *life) sendGroup(group string) {
	l.mu.Lock()
	acknowledged := l.next[group]
	l.mu.Unlock()
	for n := max(0, acknowledged-20); ; n++ {
		body := strconv.Itoa(n)
		if _, err := l.sqs.SendMessage(l.ctx, &sqs.SendMessageInput{
			QueueUrl: &l.groups, MessageBody: &body, MessageGroupId: &group,
			MessageDeduplicationId: aws.String(group + "-" + body),
		}); err != nil {
			return
		}
		l.mu.Lock()
		l.next[group] = max(l.next[group], n+1)
		l.mu.Unlock()
		l.acknowledged()
	}
}

// receiveGroups receives and deletes in order.
func (l *life) receiveGroups(drain bool) {
	for {
		wait := int32(1)
		if drain {
			wait = 0
		}
		out, err := l.sqs.ReceiveMessage(l.ctx, &sqs.ReceiveMessageInput{
			QueueUrl: &l.groups, MaxNumberOfMessages: 10, WaitTimeSeconds: wait,
			MessageSystemAttributeNames: []types.MessageSystemAttributeName{"MessageGroupId"},
		})
		if err != nil || drain && len(out.Messages) == 0 {
			return
		}
		for _, m := range out.Messages {
			group := m.Attributes["MessageGroupId"]
			n, _ := strconv.Atoi(*m.Body)
			l.mu.Lock()
			last := l.last[group]
			l.mu.Unlock()
			// The deletion of the number before may have taken effect without an answer, but only that of the last one.
			if n != last+1 && n != last+2 {
				l.Errorf("group %s: received %d after the deletion of %d", group, n, last)
			}
			if _, err := l.sqs.DeleteMessage(l.ctx, &sqs.DeleteMessageInput{
				QueueUrl: &l.groups, ReceiptHandle: m.ReceiptHandle,
			}); err != nil {
				return
			}
			l.mu.Lock()
			l.last[group] = n
			l.mu.Unlock()
			l.acknowledged()
		}
	}
}

// create creates what the loads use.
func (l *life) create() {
	policy := map[string]string{"Policy": `{"Statement":{"Effect":"Allow","Principal":"*","Action":"sqs:SendMessage",` +
		`"Resource":"*"}}`}
	for name, attributes := range map[string]map[string]string{
		"plain": nil, "groups.fifo": {"FifoQueue": "true"}, "fan-a": policy, "fan-b": policy,
	} {
		if _, err := l.sqs.CreateQueue(l.ctx, &sqs.CreateQueueInput{
			QueueName: &name, Attributes: attributes,
		}); err != nil {
			l.Fatal(err)
		}
	}
	if _, err := l.s3.CreateBucket(l.ctx, &s3.CreateBucketInput{Bucket: aws.String("kept")}); err != nil {
		l.Fatal(err)
	}
	topic, err := l.sns.CreateTopic(l.ctx, &sns.CreateTopicInput{Name: aws.String("events")})
	if err != nil {
		l.Fatal(err)
	}
	for _, name := range []string{"fan-a", "fan-b"} {
		if _, err := l.sns.Subscribe(l.ctx, &sns.SubscribeInput{
			TopicArn: topic.TopicArn, Protocol: aws.String("sqs"),
			Endpoint:   aws.String("arn:aws:sqs:us-east-1:000000000000:" + name),
			Attributes: map[string]string{"RawMessageDelivery": "true"},
		}); err != nil {
			l.Fatal(err)
		}
	}
}

// publish publishes until the server is gone.
func (l *life) publish(cycle int) {
	for n := 0; ; n++ {
		body := fmt.Sprintf("event-%d-%d", cycle, n)
		if _, err := l.sns.Publish(l.ctx, &sns.PublishInput{
			TopicArn: aws.String("arn:aws:sns:us-east-1:000000000000:events"), Message: &body,
		}); err != nil {
			return
		}
		l.mu.Lock()
		l.events[body] = true
		l.mu.Unlock()
		l.acknowledged()
	}
}

// write writes objects again and again, until the server is gone.
func (l *life) write(cycle int) {
	for n := cycle * 1_000_000; ; n++ {
		key := strconv.Itoa(n % 7)
		if _, err := l.s3.PutObject(l.ctx, &s3.PutObjectInput{
			Bucket: aws.String("kept"), Key: &key, Body: strings.NewReader(objectOf(n)),
		}); err != nil {
			return
		}
		l.mu.Lock()
		l.objects[key] = n
		l.mu.Unlock()
		l.acknowledged()
	}
}

// objectOf returns the content of a version of an object.
func objectOf(n int) string {
	return strings.Repeat(fmt.Sprintf("%010d", n), 1+n%2*7000)
}

// read checks that every object has the version that was acknowledged last, or a later one as a whole.
func (l *life) read() {
	for key, n := range l.objects {
		out, err := l.s3.GetObject(l.ctx, &s3.GetObjectInput{Bucket: aws.String("kept"), Key: &key})
		if err != nil {
			l.Errorf("object %s: %v", key, err)
			continue
		}
		body, err := io.ReadAll(out.Body)
		out.Body.Close()
		got := 0
		if len(body) >= 10 {
			got, _ = strconv.Atoi(string(body[:10]))
		}
		if err != nil || got < n || string(body) != objectOf(got) {
			l.Errorf("object %s: version %d, %d bytes, %v, want %d or later", key, got, len(body), err, n)
		}
	}
}

// fanned receives everything of a queue of the topic.
func (l *life) fanned(addr, name string) map[string]bool {
	all := map[string]bool{}
	for {
		out, err := l.sqs.ReceiveMessage(l.ctx, &sqs.ReceiveMessageInput{
			QueueUrl: aws.String(addr + "/000000000000/" + name), MaxNumberOfMessages: 10, VisibilityTimeout: 600,
		})
		if err != nil {
			l.Fatal(err)
		}
		if len(out.Messages) == 0 {
			return all
		}
		for _, m := range out.Messages {
			all[*m.Body] = true
		}
	}
}

// advance lets what was in flight when the server was killed be visible again.
func (l *life) advance(addr string) {
	answer, err := http.Post(addr+"/_localaws/advance?d=31s", "", nil)
	if err != nil {
		l.Fatal(err)
	}
	answer.Body.Close()
}

var dataKills = flag.Int("data-kills", 20, "how often the server with --data is killed")

// A server with --data is killed again and again under load. What was acknowledged is there, what was deleted and
// acknowledged stays away, groups are in order, and no duplicate is delivered.
func TestLocalDataSurvivesKills(t *testing.T) {
	if apart(t) {
		return
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	s := &survivors{
		T: t, rand: rand.New(rand.NewPCG(seed, 0)), sent: map[string]bool{}, deleted: map[string]bool{},
		unclear: map[string]bool{}, next: map[string]int{}, last: map[string]int{},
		events: map[string]bool{}, objects: map[string]int{},
	}
	groups := []string{"a", "b", "c"}
	for _, group := range groups {
		s.last[group] = -1
	}
	dir := filepath.Join(t.TempDir(), "data")
	for cycle := range *dataKills {
		cmd, addr := servedAWS(t, "--data", dir)
		l := s.live(addr)
		if cycle == 0 {
			l.create()
		}
		l.advance(addr)
		s.kill = func() { _ = cmd.Process.Kill() }
		s.killed.Store(50 + s.rand.Int64N(int64(fullrun.Pick(400, 2000))))
		var loads sync.WaitGroup
		loads.Go(func() { l.send(cycle) })
		loads.Go(func() { l.receive(false) })
		loads.Go(func() { l.receiveGroups(false) })
		loads.Go(func() { l.publish(cycle) })
		loads.Go(func() { l.write(cycle) })
		for _, group := range groups {
			loads.Go(func() { l.sendGroup(group) })
		}
		loads.Wait()
		_ = cmd.Wait()
	}
	cmd, addr := servedAWS(t, "--data", dir)
	l := s.live(addr)
	s.killed.Store(1 << 40)
	for range 2 {
		l.advance(addr)
		l.receive(true)
		l.receiveGroups(true)
	}
	for body := range s.sent {
		if !s.deleted[body] && !s.unclear[body] {
			t.Errorf("%s was acknowledged, and is lost", body)
		}
	}
	for _, group := range groups {
		if s.last[group] != s.next[group]-1 && s.last[group] != s.next[group] { // the last send may have no answer
			t.Errorf("group %s: %d were acknowledged, the last one received is %d", group, s.next[group], s.last[group])
		}
	}
	for _, name := range []string{"fan-a", "fan-b"} {
		received := l.fanned(addr, name)
		for body := range s.events {
			if !received[body] {
				t.Errorf("%s was acknowledged, and is not in %s", body, name)
			}
		}
	}
	l.read()
	t.Logf("%d messages, %d deletions, groups %v, %d events", len(s.sent), len(s.deleted), s.last, len(s.events))
	if err := cmd.Process.Kill(); err != nil {
		t.Error(err)
	}
}

// The data of Kafka are below the folder.
func TestLocalDataOfKafka(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	cmd, addr := served(t, "--data", dir, "--kafka", ":0")
	createTopic(t, addr)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	_, addr = served(t, "--data", dir, "--kafka", ":0")
	topics, err := kadm.NewClient(kafkaClient(t, addr)).ListTopics(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(filepath.Join(dir, "kafka"))
	if !topics.Has(topicOfTest) || len(entries) == 0 || err != nil {
		t.Errorf("the topic is missing, or is elsewhere: %v, %v", entries, err)
	}
}

// A folder in use, of another program, and a file are refused with the reason, and the process that holds the folder is
// named.
func TestLocalDataRefused(t *testing.T) {
	dir := t.TempDir()
	used, foreign, file := filepath.Join(dir, "used"), filepath.Join(dir, "foreign"), filepath.Join(dir, "file")
	cmd, _ := servedAWS(t, "--data", used)
	if err := os.Mkdir(foreign, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{file, filepath.Join(foreign, "main.c")} {
		if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string]string{
		used: fmt.Sprintf("in use by process %d", cmd.Process.Pid), foreign: "something else in it (main.c)",
		file: "is not a folder",
	} {
		var out, errOut bytes.Buffer
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		status := run(ctx, []string{"local", "--addr", "127.0.0.1:0", "--data", path}, &out, &errOut)
		cancel()
		if status != exitFailed || !strings.Contains(errOut.String(), "--data") ||
			!strings.Contains(errOut.String(), want) || out.Len() > 0 {
			t.Errorf("%s: status %d, printed %q, errors %q; want %q", path, status, &out, &errOut, want)
		}
	}
}
