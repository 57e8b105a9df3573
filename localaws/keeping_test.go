package localaws_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	cwtypes "github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	snstypes "github.com/aws/aws-sdk-go-v2/service/sns/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/godwitmq/godwit/internal/fullrun"
	"github.com/godwitmq/godwit/localaws"
	"github.com/godwitmq/godwit/localaws/disk"
	"github.com/godwitmq/godwit/localaws/keep"
)

// kept is a server whose data are in a folder.
type kept struct {
	*fixture
	dir   string
	store *disk.Store
}

// keptIn starts a server on a folder.
func keptIn(t *testing.T, dir string) *kept {
	t.Helper()
	store, err := disk.Open(dir, &disk.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Errorf("close the store: %v", err)
		}
	})
	return &kept{newFixture(t, &localaws.Options{Seed: testSeed, Store: store}), dir, store}
}

func newKept(t *testing.T) *kept {
	t.Helper()
	return keptIn(t, filepath.Join(t.TempDir(), "data"))
}

// crashed returns a server on a copy of the folder as it is now: what a kill of the process would leave. Receives,
// which are not waited for, are there.
func (k *kept) crashed() *kept {
	k.Helper()
	if err := k.store.Sync(); err != nil {
		k.Fatal(err)
	}
	return keptIn(k.T, k.copied())
}

func (k *kept) copied() string {
	k.Helper()
	dir := filepath.Join(k.TempDir(), "copy")
	if err := os.CopyFS(dir, os.DirFS(k.dir)); err != nil {
		k.Fatal(err)
	}
	return dir
}

// page returns one of the server's own pages as text, without fields that a restart may change.
func (k *kept) page(path string, without ...string) string {
	k.Helper()
	r, err := http.NewRequestWithContext(k.ctx, http.MethodGet, "http://aws/_localaws/"+path, nil)
	if err != nil {
		k.Fatal(err)
	}
	answer, err := k.server.Transport().RoundTrip(r)
	if err != nil {
		k.Fatal(err)
	}
	defer answer.Body.Close()
	var content any
	if err := json.NewDecoder(answer.Body).Decode(&content); err != nil {
		k.Fatal(err)
	}
	strip(content, without)
	text, err := json.MarshalIndent(content, "", " ")
	if err != nil {
		k.Fatal(err)
	}
	return string(text)
}

// strip removes fields.
func strip(v any, names []string) {
	switch v := v.(type) {
	case map[string]any:
		for _, name := range names {
			delete(v, name)
		}
		for _, e := range v {
			strip(e, names)
		}
	case []any:
		for _, e := range v {
			strip(e, names)
		}
	}
}

// same compares pages of two servers.
func (k *kept) same(other *kept, paths ...string) {
	k.Helper()
	for _, path := range paths {
		if diff := cmp.Diff(k.page(path, "receives"), other.page(path, "receives")); diff != "" {
			k.Errorf("%s before and after the restart (-before +after):\n%s", path, diff)
		}
	}
}

func (k *kept) shown(u *string) map[string]string {
	k.Helper()
	out, err := k.client.GetQueueAttributes(k.ctx, &sqs.GetQueueAttributesInput{
		QueueUrl: u, AttributeNames: []types.QueueAttributeName{types.QueueAttributeNameAll},
	})
	if err != nil {
		k.Fatal(err)
	}
	tags, err := k.client.ListQueueTags(k.ctx, &sqs.ListQueueTagsInput{QueueUrl: u})
	if err != nil {
		k.Fatal(err)
	}
	for name, value := range tags.Tags {
		out.Attributes["tag "+name] = value
	}
	return out.Attributes
}

// done ends the test if a call has failed.
func done[T any](k *fixture) func(T, error) T {
	return func(v T, err error) T {
		k.Helper()
		if err != nil {
			k.Fatal(err)
		}
		return v
	}
}

// Queues with their attributes, tags and policies, messages in every state, groups, locks, deduplication tables,
// handles and the time are there after a crash.
func TestKeepsQueues(t *testing.T) {
	k := newKept(t)
	dead := k.create("dead", nil)
	plain := k.create("plain", map[string]string{
		"VisibilityTimeout": "77", "DelaySeconds": "3", "MessageRetentionPeriod": "4000",
		"RedrivePolicy":      `{"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:dead","maxReceiveCount":4}`,
		"RedriveAllowPolicy": `{"redrivePermission":"denyAll"}`,
	})
	ordered := k.create("ordered.fifo", map[string]string{
		"FifoQueue": "true", "ContentBasedDeduplication": "true", "DeduplicationScope": "messageGroup",
		"FifoThroughputLimit": "perMessageGroupId",
	})
	gone := k.create("gone", nil)
	k.send(gone, "lost")
	done[*sqs.DeleteQueueOutput](k.fixture)(k.client.DeleteQueue(k.ctx, &sqs.DeleteQueueInput{QueueUrl: gone}))
	done[*sqs.TagQueueOutput](k.fixture)(k.client.TagQueue(k.ctx,
		&sqs.TagQueueInput{QueueUrl: plain, Tags: map[string]string{"a": "1", "b": "2"}}))
	done[*sqs.UntagQueueOutput](k.fixture)(k.client.UntagQueue(k.ctx,
		&sqs.UntagQueueInput{QueueUrl: plain, TagKeys: []string{"a"}}))
	done[*sqs.AddPermissionOutput](k.fixture)(k.client.AddPermission(k.ctx, &sqs.AddPermissionInput{
		QueueUrl: plain, Label: aws.String("l"), AWSAccountIds: []string{"111111111111"},
		Actions: []string{"SendMessage"},
	}))
	for i := range 6 {
		done[*sqs.SendMessageOutput](k.fixture)(k.client.SendMessage(k.ctx, &sqs.SendMessageInput{
			QueueUrl: plain, MessageBody: aws.String(fmt.Sprint("body", i)), DelaySeconds: int32(i / 3 * 600),
			MessageAttributes: map[string]types.MessageAttributeValue{
				"text":  {DataType: aws.String("String.x"), StringValue: aws.String("v")},
				"bytes": {DataType: aws.String("Binary"), BinaryValue: []byte{0, 1, byte(i)}},
			},
		}))
	}
	send := func(k *kept, group, body string) *sqs.SendMessageOutput {
		return done[*sqs.SendMessageOutput](k.fixture)(k.client.SendMessage(k.ctx, &sqs.SendMessageInput{
			QueueUrl: ordered, MessageBody: &body, MessageGroupId: &group,
		}))
	}
	var sent []*sqs.SendMessageOutput
	for i := range 8 {
		sent = append(sent, send(k, fmt.Sprint("g", i%3), fmt.Sprint("o", i)))
	}
	k.server.Advance(5 * time.Second)
	first := k.receive(ordered, 0)[:1]
	held := k.receive(plain, 0)
	if len(held) != 3 {
		t.Fatalf("%d messages, want the three without delay", len(held))
	}
	done[*sqs.DeleteMessageOutput](k.fixture)(k.client.DeleteMessage(k.ctx,
		&sqs.DeleteMessageInput{QueueUrl: plain, ReceiptHandle: held[0].ReceiptHandle}))
	done[*sqs.ChangeMessageVisibilityOutput](k.fixture)(k.client.ChangeMessageVisibility(k.ctx,
		&sqs.ChangeMessageVisibilityInput{QueueUrl: plain, ReceiptHandle: held[1].ReceiptHandle, VisibilityTimeout: 0}))
	done[*sqs.SendMessageOutput](k.fixture)(k.client.SendMessage(k.ctx,
		&sqs.SendMessageInput{QueueUrl: dead, MessageBody: aws.String(strings.Repeat("large", 20_000))}))
	k.server.Advance(time.Hour)

	after := k.crashed()
	k.same(after, "queues", "queues/plain/messages", "queues/dead/messages", "queues/ordered.fifo/messages",
		"queues/ordered.fifo/locks", "queues/ordered.fifo/duplicates")
	for _, u := range []*string{dead, plain, ordered} {
		if diff := cmp.Diff(k.shown(u), after.shown(u)); diff != "" {
			t.Errorf("attributes of %s (-before +after):\n%s", *u, diff)
		}
	}
	if d := after.server.Now().Sub(k.server.Now()).Abs(); d > time.Minute {
		t.Errorf("the clock differs by %v", d)
	}
	// A handle from before the crash settles; what is accepted then is behind, and in order.
	done[*sqs.DeleteMessageOutput](k.fixture)(after.client.DeleteMessage(k.ctx,
		&sqs.DeleteMessageInput{QueueUrl: plain, ReceiptHandle: held[2].ReceiptHandle}))
	if n := after.server.SQS().Queue("plain").Model().Stats().Total(); n != 4 {
		t.Errorf("%d messages after a deletion with a handle from before the crash, want 4", n)
	}
	if again := send(after, "g9", "new"); *again.SequenceNumber <= *sent[7].SequenceNumber {
		t.Errorf("sequence number %s after %s", *again.SequenceNumber, *sent[7].SequenceNumber)
	}
	if got := after.receive(ordered, 0); len(got) == 0 || *got[0].Body != *first[0].Body {
		t.Errorf("received %v, want %s first", got, *first[0].Body)
	}
	// A second crash, of what was written after the first.
	after.same(after.crashed(), "queues", "queues/plain/messages", "queues/ordered.fifo/messages",
		"queues/ordered.fifo/locks", "queues/ordered.fifo/duplicates")
}

// A message that was sent within the window is a duplicate after a crash too, also if it was deleted.
func TestKeepsDeduplication(t *testing.T) {
	k := newKept(t)
	u := k.create("q.fifo", map[string]string{"FifoQueue": "true", "ContentBasedDeduplication": "true"})
	send := func(k *kept) string {
		return *done[*sqs.SendMessageOutput](k.fixture)(k.client.SendMessage(k.ctx, &sqs.SendMessageInput{
			QueueUrl: u, MessageBody: aws.String("b"), MessageGroupId: aws.String("g"),
		})).MessageId
	}
	first := send(k)
	got := k.receive(u, 0)
	done[*sqs.DeleteMessageOutput](k.fixture)(k.client.DeleteMessage(k.ctx,
		&sqs.DeleteMessageInput{QueueUrl: u, ReceiptHandle: got[0].ReceiptHandle}))
	k = k.crashed()
	if again := send(k); again != first || len(k.receive(u, 0)) != 0 {
		t.Errorf("the duplicate has id %s, want %s, and is not delivered", again, first)
	}
	k.server.Advance(6 * time.Minute)
	k = k.crashed()
	if again := send(k); again == first || len(k.receive(u, 0)) != 1 {
		t.Errorf("six minutes later it is still a duplicate")
	}
}

// A handle whose receive was lost in a crash settles nothing, also not the delivery of another receiver.
func TestHandlesOfLostReceives(t *testing.T) {
	for _, name := range []string{"q", "q.fifo"} {
		fifo := strings.HasSuffix(name, ".fifo")
		k := newKept(t)
		attributes, in := map[string]string(nil), &sqs.SendMessageInput{MessageBody: aws.String("b")}
		if fifo {
			attributes = map[string]string{"FifoQueue": "true"}
			in.MessageGroupId, in.MessageDeduplicationId = aws.String("g"), aws.String("d")
		}
		in.QueueUrl = k.create(name, attributes)
		done[*sqs.SendMessageOutput](k.fixture)(k.client.SendMessage(k.ctx, in))
		before := k.copied()
		lost := k.receive(in.QueueUrl, 0)[0].ReceiptHandle
		k = keptIn(t, before)
		total := func() int { return k.server.SQS().Queue(name).Model().Stats().Total() }
		settle := func(deleted, changed bool) {
			t.Helper()
			_, err := k.client.DeleteMessage(k.ctx,
				&sqs.DeleteMessageInput{QueueUrl: in.QueueUrl, ReceiptHandle: lost})
			_, err2 := k.client.ChangeMessageVisibility(k.ctx, &sqs.ChangeMessageVisibilityInput{
				QueueUrl: in.QueueUrl, ReceiptHandle: lost, VisibilityTimeout: 0,
			})
			if (err == nil) != deleted || (err2 == nil) != changed {
				t.Errorf("%s: delete %v, change %v", name, err, err2)
			}
			if total() != 1 {
				t.Fatalf("%s: the lost handle has deleted the message", name)
			}
		}
		settle(!fifo, false)
		held := k.receive(in.QueueUrl, 0)[0].ReceiptHandle
		settle(!fifo, !fifo) // as every superseded handle does
		if *held == *lost {
			t.Errorf("%s: the handle is used again", name)
		}
		done[*sqs.DeleteMessageOutput](k.fixture)(k.client.DeleteMessage(k.ctx,
			&sqs.DeleteMessageInput{QueueUrl: in.QueueUrl, ReceiptHandle: held}))
		if total() != 0 {
			t.Errorf("%s: the handle of this start does not settle", name)
		}
	}
}

// A message that moves to the dead letters, or by a move task, is in exactly one queue after a crash; a task that was
// running continues.
func TestKeepsMoves(t *testing.T) {
	k := newKept(t)
	dead := k.create("dead", nil)
	arn := "arn:aws:sqs:us-east-1:000000000000:dead"
	u := k.create("q", map[string]string{
		"VisibilityTimeout": "0", "RedrivePolicy": `{"deadLetterTargetArn":"` + arn + `","maxReceiveCount":1}`,
	})
	for i := range 5 {
		k.send(u, fmt.Sprint(i))
	}
	k.receive(u, 0)
	k.receive(u, 0)
	k.send(dead, "synced")
	k = k.crashed()
	total := func(name string) int { return k.server.SQS().Queue(name).Model().Stats().Total() }
	if total("q") != 0 || total("dead") != 6 {
		t.Fatalf("%d and %d messages, want 0 and 6", total("q"), total("dead"))
	}
	done[*sqs.StartMessageMoveTaskOutput](k.fixture)(k.client.StartMessageMoveTask(k.ctx,
		&sqs.StartMessageMoveTaskInput{
			SourceArn: &arn, DestinationArn: aws.String("arn:aws:sqs:us-east-1:000000000000:q"),
			MaxNumberOfMessagesPerSecond: aws.Int32(1),
		}))
	k.server.Advance(2 * time.Second)
	k = k.crashed()
	if total("q") != 2 || total("dead") != 4 {
		t.Errorf("%d and %d messages, want 2 and 4", total("q"), total("dead"))
	}
	k.server.Advance(time.Minute)
	k = k.crashed()
	if total("q") != 6 || total("dead") != 0 {
		t.Errorf("%d and %d messages when the task has ended, want 6 and 0", total("q"), total("dead"))
	}
	out := done[*sqs.ListMessageMoveTasksOutput](k.fixture)(k.client.ListMessageMoveTasks(k.ctx,
		&sqs.ListMessageMoveTasksInput{SourceArn: &arn}))
	if len(out.Results) != 1 || *out.Results[0].Status != "COMPLETED" ||
		out.Results[0].ApproximateNumberOfMessagesMoved != 6 {
		t.Errorf("tasks %+v", out.Results)
	}
}

// What is purged, and what was reset, stays away.
func TestKeepsNothingOfWhatIsRemoved(t *testing.T) {
	k := newKept(t)
	u := k.create("q.fifo", map[string]string{"FifoQueue": "true"})
	for i := range 20 {
		done[*sqs.SendMessageOutput](k.fixture)(k.client.SendMessage(k.ctx, &sqs.SendMessageInput{
			QueueUrl: u, MessageBody: aws.String("b"), MessageGroupId: aws.String("g"),
			MessageDeduplicationId: aws.String(fmt.Sprint(i)),
		}))
	}
	done[*sqs.PurgeQueueOutput](k.fixture)(k.client.PurgeQueue(k.ctx, &sqs.PurgeQueueInput{QueueUrl: u}))
	after := k.crashed()
	if n := after.server.SQS().Queue("q.fifo").Model(); n.Stats().Total() != 0 || len(n.Dedup()) != 0 {
		t.Errorf("after a purge: %+v, %d duplicates", n.Stats(), len(n.Dedup()))
	}
	k.server.Reset()
	if all := k.crashed().server.SQS().Queues(); len(all) != 0 {
		t.Errorf("after a reset: %d queues", len(all))
	}
	records := 0
	_ = k.server.Close()
	_ = k.store.Close()
	store, err := disk.Open(k.dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	_ = store.Load(func(string, []byte) error { records++; return nil })
	if records != 1 {
		t.Errorf("%d records are left, want that of the server", records)
	}
}

// Topics with their attributes, policies and tags, and subscriptions with filters and pending confirmations are there
// after a crash; a FIFO topic still knows what it accepted, and its numbers grow.
func TestKeepsTopics(t *testing.T) {
	k := newKept(t)
	clientOf := func(k *kept) *sns.Client {
		return sns.New(sns.Options{
			Region: "us-east-1", BaseEndpoint: aws.String("http://aws"), RetryMaxAttempts: 1,
			HTTPClient:  &http.Client{Transport: k.server.Transport()},
			Credentials: credentials.NewStaticCredentialsProvider("key", "secret", ""),
		})
	}
	c := clientOf(k)
	allow := map[string]string{"Policy": `{"Statement":{"Effect":"Allow","Principal":"*","Action":"sqs:SendMessage",` +
		`"Resource":"*"}}`}
	q := k.create("q", allow)
	fifo := map[string]string{"FifoQueue": "true", "Policy": allow["Policy"]}
	ordered := k.create("q.fifo", fifo)
	const arns = "arn:aws:sqs:us-east-1:000000000000:"
	topic := *done[*sns.CreateTopicOutput](k.fixture)(c.CreateTopic(k.ctx, &sns.CreateTopicInput{
		Name:       aws.String("events"),
		Attributes: map[string]string{"DisplayName": "shown", "SignatureVersion": "2"},
		Tags:       []snstypes.Tag{{Key: aws.String("a"), Value: aws.String("1")}},
	})).TopicArn
	orderedTopic := *done[*sns.CreateTopicOutput](k.fixture)(c.CreateTopic(k.ctx, &sns.CreateTopicInput{
		Name:       aws.String("events.fifo"),
		Attributes: map[string]string{"FifoTopic": "true", "ContentBasedDeduplication": "true"},
	})).TopicArn
	done[*sns.AddPermissionOutput](k.fixture)(c.AddPermission(k.ctx, &sns.AddPermissionInput{
		TopicArn: &topic, Label: aws.String("l"), AWSAccountId: []string{"111111111111"},
		ActionName: []string{"Publish"},
	}))
	subscribe := func(topic, protocol, endpoint string, attributes map[string]string) *string {
		return done[*sns.SubscribeOutput](k.fixture)(c.Subscribe(k.ctx, &sns.SubscribeInput{
			TopicArn: &topic, Protocol: &protocol, Endpoint: &endpoint, Attributes: attributes,
			ReturnSubscriptionArn: true,
		})).SubscriptionArn
	}
	subscribe(topic, "sqs", arns+"q", map[string]string{
		"RawMessageDelivery": "true", "FilterPolicyScope": "MessageBody", "FilterPolicy": `{"kind":["wanted"]}`,
		"RedrivePolicy": `{"deadLetterTargetArn":"` + arns + `q"}`,
	})
	subscribe(orderedTopic, "sqs", arns+"q.fifo", nil)
	subscribe(topic, "email", "a@example.com", nil)
	gone := subscribe(topic, "sqs", arns+"other", nil)
	done[*sns.UnsubscribeOutput](k.fixture)(c.Unsubscribe(k.ctx, &sns.UnsubscribeInput{SubscriptionArn: gone}))
	token := regexp.MustCompile(`Token=([0-9a-f]+)`).FindStringSubmatch(k.page("unsent"))
	if token == nil {
		t.Fatal(k.page("unsent"))
	}
	publish := func(k *kept, body string) *sns.PublishOutput {
		return done[*sns.PublishOutput](k.fixture)(clientOf(k).Publish(k.ctx, &sns.PublishInput{
			TopicArn: &orderedTopic, Message: &body, MessageGroupId: aws.String("g"),
		}))
	}
	first := publish(k, "once")

	after := k.crashed()
	k.same(after, "topics")
	c = clientOf(after)
	if again := publish(after, "once"); *again.MessageId != *first.MessageId {
		t.Errorf("the duplicate has id %s, want %s", *again.MessageId, *first.MessageId)
	}
	if next := publish(after, "twice"); *next.SequenceNumber <= *first.SequenceNumber {
		t.Errorf("sequence number %s after %s", *next.SequenceNumber, *first.SequenceNumber)
	}
	if got := after.receive(ordered, 0); len(got) != 2 {
		t.Errorf("%d messages in the FIFO queue, want 2", len(got))
	}
	for _, body := range []string{`{"kind":"other"}`, `{"kind":"wanted"}`} {
		done[*sns.PublishOutput](k.fixture)(c.Publish(k.ctx, &sns.PublishInput{TopicArn: &topic, Message: &body}))
	}
	if got := after.receive(q, 0); len(got) != 1 || *got[0].Body != `{"kind":"wanted"}` {
		t.Errorf("received %v, want what the filter lets pass", got)
	}
	done[*sns.ConfirmSubscriptionOutput](k.fixture)(c.ConfirmSubscription(k.ctx, &sns.ConfirmSubscriptionInput{
		TopicArn: &topic, Token: &token[1],
	}))
	again := after.crashed()
	after.same(again, "topics")
	done[*sns.DeleteTopicOutput](k.fixture)(clientOf(again).DeleteTopic(k.ctx, &sns.DeleteTopicInput{TopicArn: &topic}))
	last := again.crashed()
	if n := len(last.server.SNS().Topics()); n != 1 {
		t.Errorf("%d topics after a deletion, want 1", n)
	}
}

// Buckets with their settings, objects of every size, and uploads in progress are there after a crash; what was deleted
// is not, and takes no room.
func TestKeepsBuckets(t *testing.T) {
	k := newKept(t)
	clientOf := func(k *kept) *s3.Client {
		return s3.New(s3.Options{
			Region: "us-east-1", BaseEndpoint: aws.String("http://aws"), RetryMaxAttempts: 1, UsePathStyle: true,
			HTTPClient:  &http.Client{Transport: k.server.Transport()},
			Credentials: credentials.NewStaticCredentialsProvider("key", "secret", ""),
		})
	}
	c, name := clientOf(k), aws.String("a-bucket")
	done[*s3.CreateBucketOutput](k.fixture)(c.CreateBucket(k.ctx, &s3.CreateBucketInput{Bucket: name}))
	done[*s3.PutBucketTaggingOutput](k.fixture)(c.PutBucketTagging(k.ctx, &s3.PutBucketTaggingInput{
		Bucket: name, Tagging: &s3types.Tagging{TagSet: []s3types.Tag{{Key: aws.String("a"), Value: aws.String("1")}}},
	}))
	put := func(key, body string) {
		done[*s3.PutObjectOutput](k.fixture)(c.PutObject(k.ctx, &s3.PutObjectInput{
			Bucket: name, Key: &key, Body: strings.NewReader(body), Metadata: map[string]string{"m": key},
			Tagging: aws.String("t=1"),
		}))
	}
	large := strings.Repeat("0123456789abcdef", 9<<16) // 9 MiB, in two pieces
	bodies := map[string]string{"empty": "", "small": "s", "medium": strings.Repeat("m", 100_000), "large": large}
	for key, body := range bodies {
		put(key, body)
	}
	put("replaced", large)
	put("replaced", "new")
	put("gone", large)
	done[*s3.DeleteObjectOutput](k.fixture)(c.DeleteObject(k.ctx,
		&s3.DeleteObjectInput{Bucket: name, Key: aws.String("gone")}))
	done[*s3.CopyObjectOutput](k.fixture)(c.CopyObject(k.ctx, &s3.CopyObjectInput{
		Bucket: name, Key: aws.String("copy"), CopySource: aws.String("a-bucket/medium"),
	}))
	bodies["replaced"], bodies["copy"] = "new", bodies["medium"]
	upload := done[*s3.CreateMultipartUploadOutput](k.fixture)(c.CreateMultipartUpload(k.ctx,
		&s3.CreateMultipartUploadInput{Bucket: name, Key: aws.String("joined")})).UploadId
	part := func(k *kept, n int32, body string) s3types.CompletedPart {
		out := done[*s3.UploadPartOutput](k.fixture)(clientOf(k).UploadPart(k.ctx, &s3.UploadPartInput{
			Bucket: name, Key: aws.String("joined"), UploadId: upload, PartNumber: &n, Body: strings.NewReader(body),
		}))
		return s3types.CompletedPart{PartNumber: &n, ETag: out.ETag, ChecksumCRC32: out.ChecksumCRC32}
	}
	parts := []s3types.CompletedPart{part(k, 1, large)}
	check := func(k *kept) {
		t.Helper()
		for key, body := range bodies {
			out := done[*s3.GetObjectOutput](k.fixture)(clientOf(k).GetObject(k.ctx,
				&s3.GetObjectInput{Bucket: name, Key: &key}))
			got, err := io.ReadAll(out.Body)
			out.Body.Close()
			if err != nil || string(got) != body {
				t.Errorf("%s: %d bytes, %v, want %d", key, len(got), err, len(body))
			}
		}
	}

	after := k.crashed()
	k.same(after, "buckets", "buckets/a-bucket/objects")
	check(after)
	c = clientOf(after)
	parts = append(parts, part(after, 2, "end"))
	done[*s3.CompleteMultipartUploadOutput](k.fixture)(c.CompleteMultipartUpload(k.ctx,
		&s3.CompleteMultipartUploadInput{
			Bucket: name, Key: aws.String("joined"), UploadId: upload,
			MultipartUpload: &s3types.CompletedMultipartUpload{Parts: parts},
		}))
	bodies["joined"] = large + "end"
	again := after.crashed()
	after.same(again, "buckets", "buckets/a-bucket/objects")
	check(again)
	for key := range bodies {
		done[*s3.DeleteObjectOutput](k.fixture)(clientOf(again).DeleteObject(k.ctx,
			&s3.DeleteObjectInput{Bucket: name, Key: &key}))
	}
	done[*s3.DeleteBucketOutput](k.fixture)(clientOf(again).DeleteBucket(k.ctx, &s3.DeleteBucketInput{Bucket: name}))
	last := again.crashed()
	if n := len(last.server.S3().Buckets()); n != 0 {
		t.Errorf("%d buckets after a deletion", n)
	}
	if files, err := filepath.Glob(filepath.Join(last.dir, "attachments", "*.value")); len(files) > 0 || err != nil {
		t.Errorf("%d files of deleted objects, %v", len(files), err)
	}
}

// Metrics and alarms with their state are there after a crash; what was deleted is not.
func TestKeepsMetricsAndAlarms(t *testing.T) {
	k := newKept(t)
	clientOf := func(k *kept) *cloudwatch.Client {
		return cloudwatch.New(cloudwatch.Options{
			Region: "us-east-1", BaseEndpoint: aws.String("http://aws"), RetryMaxAttempts: 1,
			HTTPClient:  &http.Client{Transport: k.server.Transport()},
			Credentials: credentials.NewStaticCredentialsProvider("key", "secret", ""),
		})
	}
	c := clientOf(k)
	for i := range 5 {
		done[*cloudwatch.PutMetricDataOutput](k.fixture)(c.PutMetricData(k.ctx, &cloudwatch.PutMetricDataInput{
			Namespace: aws.String("own"), MetricData: []cwtypes.MetricDatum{{
				MetricName: aws.String("load"), Value: aws.Float64(float64(i)), Unit: cwtypes.StandardUnitPercent,
				Dimensions:        []cwtypes.Dimension{{Name: aws.String("d"), Value: aws.String("1")}},
				Timestamp:         aws.Time(k.server.Now().Add(-time.Duration(i) * 30 * time.Minute)),
				StorageResolution: aws.Int32(int32(1 + i%2*59)),
			}},
		}))
	}
	for _, name := range []string{"high", "gone"} {
		done[*cloudwatch.PutMetricAlarmOutput](k.fixture)(c.PutMetricAlarm(k.ctx, &cloudwatch.PutMetricAlarmInput{
			AlarmName: &name, Namespace: aws.String("own"), MetricName: aws.String("load"),
			Statistic: cwtypes.StatisticMaximum, Period: aws.Int32(60), EvaluationPeriods: aws.Int32(1),
			Threshold: aws.Float64(3), ComparisonOperator: cwtypes.ComparisonOperatorGreaterThanThreshold,
			Tags: []cwtypes.Tag{{Key: aws.String("a"), Value: aws.String("1")}},
		}))
	}
	done[*cloudwatch.SetAlarmStateOutput](k.fixture)(c.SetAlarmState(k.ctx, &cloudwatch.SetAlarmStateInput{
		AlarmName: aws.String("high"), StateValue: cwtypes.StateValueAlarm, StateReason: aws.String("a test"),
	}))
	done[*cloudwatch.DisableAlarmActionsOutput](k.fixture)(c.DisableAlarmActions(k.ctx,
		&cloudwatch.DisableAlarmActionsInput{AlarmNames: []string{"high"}}))
	done[*cloudwatch.DeleteAlarmsOutput](k.fixture)(c.DeleteAlarms(k.ctx,
		&cloudwatch.DeleteAlarmsInput{AlarmNames: []string{"gone"}}))
	read := func(k *kept) []cwtypes.Datapoint {
		now := k.server.Now()
		out := done[*cloudwatch.GetMetricStatisticsOutput](k.fixture)(clientOf(k).GetMetricStatistics(k.ctx,
			&cloudwatch.GetMetricStatisticsInput{
				Namespace: aws.String("own"), MetricName: aws.String("load"), Period: aws.Int32(3600 * 24),
				Dimensions: []cwtypes.Dimension{{Name: aws.String("d"), Value: aws.String("1")}},
				StartTime:  aws.Time(now.Add(-20 * time.Hour)), EndTime: aws.Time(now.Add(4 * time.Hour)),
				Statistics: []cwtypes.Statistic{
					cwtypes.StatisticSampleCount, cwtypes.StatisticSum, cwtypes.StatisticMaximum,
				},
			}))
		for i := range out.Datapoints {
			out.Datapoints[i].Timestamp = nil
		}
		return out.Datapoints
	}
	after := k.crashed()
	k.same(after, "alarms")
	ignore := cmpopts.IgnoreUnexported(cwtypes.Datapoint{})
	before := read(k)
	if diff := cmp.Diff(before, read(after), ignore); diff != "" || len(before) != 1 || *before[0].Sum != 10 {
		t.Errorf("points %v (-before +after):\n%s", before, diff)
	}
	after.server.Reset()
	if page := after.crashed().page("metrics"); strings.Contains(page, "load") {
		t.Errorf("after a reset: %s", page)
	}
}

// Whatever bit of a folder changes: the server starts, names what it cannot read, and serves the rest.
func TestDamagedFolder(t *testing.T) {
	k := newKept(t)
	allow := `{"Statement":{"Effect":"Allow","Principal":"*","Action":"sqs:SendMessage","Resource":"*"}}`
	k.create("dead", nil)
	u := k.create("q.fifo", map[string]string{
		"FifoQueue": "true", "ContentBasedDeduplication": "true", "Policy": allow,
	})
	for i := range 8 {
		done[*sqs.SendMessageOutput](k.fixture)(k.client.SendMessage(k.ctx, &sqs.SendMessageInput{
			QueueUrl: u, MessageBody: aws.String(fmt.Sprint(i)), MessageGroupId: aws.String(fmt.Sprint("g", i%2)),
		}))
	}
	k.receive(u, 0)
	seed := filepath.Join(t.TempDir(), "seed.json")
	if err := os.WriteFile(seed, []byte(`{"topics": [{"name": "t", "subscriptions": [{"queue": "dead"}]}],
		"buckets": [{"name": "a-bucket"}], "queues": [{"name": "dead"}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := k.server.Plant(k.ctx, seed); err != nil {
		t.Fatal(err)
	}
	if err := k.store.Sync(); err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(5, 5))
	for round := range fullrun.Pick(60, 1000) {
		dir := filepath.Join(t.TempDir(), "data")
		if err := os.CopyFS(dir, os.DirFS(k.dir)); err != nil {
			t.Fatal(err)
		}
		files, err := filepath.Glob(filepath.Join(dir, "log", "*"))
		if err != nil || len(files) == 0 {
			t.Fatal(files, err)
		}
		text, err := os.ReadFile(files[0])
		if err != nil {
			t.Fatal(err)
		}
		at := r.IntN(len(text))
		text[at] ^= 1 << r.IntN(8)
		if err := os.WriteFile(files[0], text, 0o600); err != nil {
			t.Fatal(err)
		}
		store, err := disk.Open(dir, &disk.Options{Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatalf("round %d, bit at %d: %v", round, at, err)
		}
		server, err := localaws.New(&localaws.Options{Store: store})
		if err != nil {
			t.Fatalf("round %d, bit at %d: %v", round, at, err)
		}
		if len(store.Damage()) != 1 {
			t.Errorf("round %d, bit at %d: damage %v", round, at, store.Damage())
		}
		if err := errors.Join(server.Close(), store.Close()); err != nil {
			t.Errorf("round %d: %v", round, err)
		}
	}
}

// The machine's clock went back by decades: the server's does not, so that deadlines hold, and the log says so once.
func TestClockWentBack(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	func() {
		store, err := disk.Open(dir, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		f := newFixture(t, &localaws.Options{Store: store})
		u := f.create("q", nil)
		f.send(u, "b")
		f.receive(u, 0)
		f.server.Close()
	}()
	synctest.Test(t, func(t *testing.T) { // where the year is 2000
		store, err := disk.Open(dir, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		var log strings.Builder
		f := newFixture(t, &localaws.Options{Store: store, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		defer f.server.Close()
		if n := strings.Count(log.String(), "the machine's clock went back"); n != 1 {
			t.Errorf("said %d times: %s", n, &log)
		}
		u := aws.String("http://aws/000000000000/q")
		if got := f.receive(u, 0); len(got) != 0 {
			t.Errorf("received %d messages that are in flight", len(got))
		}
		if got := f.receive(u, 20); len(got) != 0 {
			t.Errorf("received %d messages before their deadline", len(got))
		}
		if got := f.receive(u, 20); len(got) != 1 {
			t.Errorf("received %d messages at their deadline, want 1", len(got))
		}
	})
}

// failing is a store in memory that can be full.
type failing struct {
	mu     sync.Mutex
	full   error
	synced error // what Sync returns while there is room
}

func (f *failing) Load(func(string, []byte) error) error { return nil }
func (f *failing) Write(...keep.Change)                  {}
func (f *failing) Read(keys ...string) ([][]byte, error) { return make([][]byte, len(keys)), nil }
func (f *failing) Damaged() bool                         { return false }

func (f *failing) Sync() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return errors.Join(f.full, f.synced)
}

func (f *failing) Failure() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.full
}

func (f *failing) set(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.full = err
}

// While the disk is full, changes are refused with an error that says so, receives and reads go on; and changes as soon
// as there is room.
func TestFullStore(t *testing.T) {
	store := &failing{}
	f := newFixture(t, &localaws.Options{Seed: testSeed, Store: store})
	u := f.create("q", nil)
	f.send(u, "before")
	store.set(errors.New("no space left on device"))
	_, err := f.client.SendMessage(f.ctx, &sqs.SendMessageInput{QueueUrl: u, MessageBody: aws.String("refused")})
	if err == nil || !strings.Contains(err.Error(), "InternalError") ||
		!strings.Contains(err.Error(), "no space left on device") {
		t.Errorf("a send: %v", err)
	}
	if got := f.receive(u, 0); len(got) != 1 || *got[0].Body != "before" {
		t.Errorf("received %v", got)
	}
	r, err := http.NewRequestWithContext(f.ctx, http.MethodPut, "http://aws/a-bucket", nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := f.server.Transport().RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	text, _ := io.ReadAll(answer.Body)
	answer.Body.Close()
	if answer.StatusCode != http.StatusServiceUnavailable ||
		!strings.Contains(string(text), "no space left on device") {
		t.Errorf("S3 answers %s: %s", answer.Status, text)
	}
	store.set(nil)
	f.send(u, "after")
}

// gated is a store in memory whose syncs wait at a gate, if there is one.
type gated struct {
	failing
	gate chan struct{}
}

func (g *gated) Sync() error {
	if g.gate != nil {
		<-g.gate
	}
	return nil
}

// A message of an ordered queue is received when the deletion of the one before it is on disk: otherwise that one would
// return behind it after a kill. A receive of a standard queue waits for nothing.
func TestOrderedReceiveWaitsForTheDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &gated{}
		f := newFixture(t, &localaws.Options{Seed: testSeed, Store: store})
		standard := f.create("q", nil)
		ordered := f.create("q.fifo", map[string]string{"FifoQueue": "true", "ContentBasedDeduplication": "true"})
		f.send(standard, "a")
		for _, body := range []string{"first", "second"} {
			if _, err := f.client.SendMessage(f.ctx, &sqs.SendMessageInput{
				QueueUrl: ordered, MessageBody: &body, MessageGroupId: aws.String("g"),
			}); err != nil {
				t.Fatal(err)
			}
		}
		held := done[*sqs.ReceiveMessageOutput](f)(f.client.ReceiveMessage(f.ctx, &sqs.ReceiveMessageInput{
			QueueUrl: ordered, MaxNumberOfMessages: 1,
		})).Messages
		store.gate = make(chan struct{})
		var answers []string
		go func() {
			_, err := f.client.DeleteMessage(f.ctx, &sqs.DeleteMessageInput{
				QueueUrl: ordered, ReceiptHandle: held[0].ReceiptHandle,
			})
			answers = append(answers, fmt.Sprint("deleted ", err))
		}()
		synctest.Wait()
		go func() {
			for _, m := range f.receive(ordered, 0) {
				answers = append(answers, "received "+*m.Body)
			}
		}()
		synctest.Wait()
		if len(answers) > 0 {
			t.Errorf("%q while the deletion is not on disk", answers)
		}
		if got := f.receive(standard, 0); len(got) != 1 {
			t.Errorf("received %v of a standard queue", got)
		}
		store.gate <- struct{}{} // the deletion, whose sync was first
		synctest.Wait()
		close(store.gate)
		synctest.Wait()
		if want := []string{"deleted <nil>", "received second"}; !slices.Equal(answers, want) {
			t.Errorf("%q, want %q", answers, want)
		}
	})
}

// Every call that changes something is answered when its change is on disk: a delete, a visibility, attributes, tags, a
// subscription, an object, an alarm. A receive of a standard queue is not waited for, and neither is a look.
func TestChangesAreWaitedFor(t *testing.T) {
	store := &failing{}
	f := newFixture(t, &localaws.Options{Seed: testSeed, Store: store})
	over := &http.Client{Transport: f.server.Transport()}
	keys := credentials.NewStaticCredentialsProvider("key", "secret", "")
	topics := sns.New(sns.Options{
		Region: "us-east-1", BaseEndpoint: aws.String("http://aws"), RetryMaxAttempts: 1, HTTPClient: over, Credentials: keys,
	})
	buckets := s3.New(s3.Options{
		Region: "us-east-1", BaseEndpoint: aws.String("http://aws"), RetryMaxAttempts: 1, HTTPClient: over, Credentials: keys,
		UsePathStyle: true,
	})
	alarms := cloudwatch.New(cloudwatch.Options{
		Region: "us-east-1", BaseEndpoint: aws.String("http://aws"), RetryMaxAttempts: 1, HTTPClient: over, Credentials: keys,
	})
	u := f.create("q", nil)
	bucket, key, alarm := aws.String("a-bucket"), aws.String("key"), aws.String("alarm")
	done[*s3.CreateBucketOutput](f)(buckets.CreateBucket(f.ctx, &s3.CreateBucketInput{Bucket: bucket}))
	topic := done[*sns.CreateTopicOutput](f)(topics.CreateTopic(f.ctx, &sns.CreateTopicInput{Name: aws.String("t")}))
	f.send(u, "a")
	f.send(u, "b")
	held := f.receive(u, 0)
	if len(held) != 2 {
		t.Fatal(held)
	}
	store.mu.Lock()
	store.synced = errors.New("the sync is lost")
	store.mu.Unlock()
	text := func(s string) *string { return &s }
	for name, c := range map[string]struct {
		waits bool
		call  func() error
	}{
		"send": {true, func() error {
			_, err := f.client.SendMessage(f.ctx, &sqs.SendMessageInput{QueueUrl: u, MessageBody: text("c")})
			return err
		}},
		"delete": {true, func() error {
			_, err := f.client.DeleteMessage(f.ctx,
				&sqs.DeleteMessageInput{QueueUrl: u, ReceiptHandle: held[0].ReceiptHandle})
			return err
		}},
		"visibility": {true, func() error {
			_, err := f.client.ChangeMessageVisibility(f.ctx, &sqs.ChangeMessageVisibilityInput{
				QueueUrl: u, ReceiptHandle: held[1].ReceiptHandle, VisibilityTimeout: 60,
			})
			return err
		}},
		"attributes": {true, func() error {
			_, err := f.client.SetQueueAttributes(f.ctx, &sqs.SetQueueAttributesInput{
				QueueUrl: u, Attributes: map[string]string{"VisibilityTimeout": "7"},
			})
			return err
		}},
		"tags": {true, func() error {
			_, err := f.client.TagQueue(f.ctx, &sqs.TagQueueInput{QueueUrl: u, Tags: map[string]string{"a": "b"}})
			return err
		}},
		"subscription": {true, func() error {
			_, err := topics.Subscribe(f.ctx, &sns.SubscribeInput{
				TopicArn: topic.TopicArn, Protocol: text("sqs"), Endpoint: text("arn:aws:sqs:us-east-1:000000000000:q"),
			})
			return err
		}},
		"publish": {true, func() error {
			_, err := topics.Publish(f.ctx, &sns.PublishInput{TopicArn: topic.TopicArn, Message: text("m")})
			return err
		}},
		"object": {true, func() error {
			_, err := buckets.PutObject(f.ctx,
				&s3.PutObjectInput{Bucket: bucket, Key: key, Body: strings.NewReader("body")})
			return err
		}},
		"alarm": {true, func() error {
			_, err := alarms.PutMetricAlarm(f.ctx, &cloudwatch.PutMetricAlarmInput{
				AlarmName: alarm, Namespace: text("own"), MetricName: text("load"),
				Statistic: cwtypes.StatisticMaximum, Period: aws.Int32(60), EvaluationPeriods: aws.Int32(1),
				Threshold: aws.Float64(3), ComparisonOperator: cwtypes.ComparisonOperatorGreaterThanThreshold,
			})
			return err
		}},
		"receive": {false, func() error {
			_, err := f.client.ReceiveMessage(f.ctx, &sqs.ReceiveMessageInput{QueueUrl: u})
			return err
		}},
		"look": {false, func() error {
			_, err := f.client.ListQueues(f.ctx, &sqs.ListQueuesInput{})
			return err
		}},
	} {
		err := c.call()
		if (err != nil) != c.waits || c.waits && !strings.Contains(err.Error(), "the sync is lost") {
			t.Errorf("%s: %v, want an error %v", name, err, c.waits)
		}
	}
}
