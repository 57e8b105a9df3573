package localaws_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/godwitmq/godwit/localaws"
	"github.com/godwitmq/godwit/localaws/sqs/queue"
	"github.com/godwitmq/godwit/localaws/wire"
)

// fixture is a server with the real client, in process.
type fixture struct {
	*testing.T
	server *localaws.Server
	client *sqs.Client
	ctx    context.Context
}

// testSeed gives tests the same ids, receipt handles and chaos in every run.
const testSeed = 1

func newFixture(t *testing.T, o *localaws.Options) *fixture {
	t.Helper()
	if o == nil {
		o = &localaws.Options{Seed: testSeed}
	}
	server, err := localaws.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return &fixture{T: t, server: server, client: client("http://aws", server.Transport()), ctx: t.Context()}
}

func client(endpoint string, transport http.RoundTripper) *sqs.Client {
	return sqs.New(sqs.Options{
		Region: "us-east-1", BaseEndpoint: aws.String(endpoint), HTTPClient: &http.Client{Transport: transport},
		Credentials: credentials.NewStaticCredentialsProvider("key", "secret", ""), RetryMaxAttempts: 1,
	})
}

func (f *fixture) create(name string, attributes map[string]string) *string {
	f.Helper()
	out, err := f.client.CreateQueue(f.ctx, &sqs.CreateQueueInput{QueueName: &name, Attributes: attributes})
	if err != nil {
		f.Fatal(err)
	}
	return out.QueueUrl
}

func (f *fixture) send(url *string, body string) {
	f.Helper()
	if _, err := f.client.SendMessage(f.ctx, &sqs.SendMessageInput{QueueUrl: url, MessageBody: &body}); err != nil {
		f.Fatal(err)
	}
}

func (f *fixture) receive(url *string, wait int32) []types.Message {
	f.Helper()
	out, err := f.client.ReceiveMessage(f.ctx, &sqs.ReceiveMessageInput{
		QueueUrl: url, WaitTimeSeconds: wait, MaxNumberOfMessages: 10,
	})
	if err != nil {
		f.Fatal(err)
	}
	return out.Messages
}

func TestOneMessageAllTheWayInVirtualTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, nil)
		url := f.create("orders", map[string]string{"VisibilityTimeout": "60"})
		go func() {
			time.Sleep(7 * time.Second)
			f.send(url, "one")
		}()
		began := time.Now()
		got := f.receive(url, 20)
		if waited := time.Since(began); len(got) != 1 || waited != 7*time.Second {
			t.Fatalf("%d messages after %v, want one after 7s", len(got), waited)
		}
		if _, err := f.client.ChangeMessageVisibility(f.ctx, &sqs.ChangeMessageVisibilityInput{
			QueueUrl: url, ReceiptHandle: got[0].ReceiptHandle, VisibilityTimeout: 3,
		}); err != nil {
			t.Fatal(err)
		}
		began = time.Now()
		got = f.receive(url, 20)
		if waited := time.Since(began); len(got) != 1 || waited != 3*time.Second {
			t.Fatalf("%d messages after %v, want one after 3s", len(got), waited)
		}
		if _, err := f.client.DeleteMessage(f.ctx,
			&sqs.DeleteMessageInput{QueueUrl: url, ReceiptHandle: got[0].ReceiptHandle}); err != nil {
			t.Fatal(err)
		}
		began = time.Now()
		if got = f.receive(url, 20); len(got) != 0 || time.Since(began) != 20*time.Second {
			t.Fatalf("%d messages after %v, want none after 20s", len(got), time.Since(began))
		}
	})
}

// A new server must not repeat the ids of an earlier one: clients that remember ids would take new messages for
// finished ones. A given seed repeats a run, including ids and receipt handles.
func TestOnlyAGivenSeedRepeatsIDs(t *testing.T) {
	drawn := func(o *localaws.Options) (seed uint64, id, handle string) {
		f := newFixture(t, o)
		url := f.create("orders", nil)
		f.send(url, "x")
		m := f.receive(url, 0)[0]
		return f.server.Seed(), *m.MessageId, *m.ReceiptHandle
	}
	seed, id, handle := drawn(&localaws.Options{})
	otherSeed, otherID, otherHandle := drawn(&localaws.Options{})
	if seed == 0 || seed == otherSeed || id == otherID || handle == otherHandle {
		t.Errorf("two servers without a seed: seeds %d and %d, ids %s and %s, want different ones", seed, otherSeed, id,
			otherID)
	}
	if s, i, h := drawn(&localaws.Options{Seed: seed}); s != seed || i != id || h != handle {
		t.Errorf("seed %d again: seed %d, id %s, want id %s and the same receipt handle", seed, s, i, id)
	}
}

func TestDaysOfLongPolls(t *testing.T) {
	const days = 2 // few, because of the race detector; without it fourteen take seconds
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, nil)
		url := f.create("orders", nil)
		end := time.Now().Add(days * 24 * time.Hour)
		for time.Now().Before(end) {
			if got := f.receive(url, 20); len(got) != 0 {
				t.Fatal("received a message that was not sent")
			}
		}
		if n := f.server.Calls()["sqs.ReceiveMessage"]; n != days*24*180 {
			t.Errorf("%d receives, want %d", n, days*24*180)
		}
	})
}

func TestACanceledPollTakesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, nil)
		url := f.create("orders", nil)
		ctx, cancel := context.WithCancel(f.ctx)
		done := make(chan error)
		go func() {
			_, err := f.client.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{QueueUrl: url, WaitTimeSeconds: 20})
			done <- err
		}()
		synctest.Wait()
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("the poll ended with %v", err)
		}
		f.send(url, "one")
		if got := f.receive(url, 0); len(got) != 1 {
			t.Errorf("%d messages left, want one", len(got))
		}
	})
}

func TestControlBeforeAndAfterEffect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, nil)
		url := f.create("orders", nil)
		body := "x"
		for _, test := range []struct {
			name    string
			outcome localaws.Outcome
			left    int
		}{
			{"dropped before", localaws.Outcome{Drop: true}, 0},
			{"failed before", localaws.Outcome{Err: &wire.Error{Code: "RequestThrottled", Status: 503}}, 0},
			{"response lost", localaws.Outcome{DropAfter: true}, 1},
			{"failed after", localaws.Outcome{ErrAfter: &wire.Error{Code: "InternalError", Status: 500}}, 2},
		} {
			f.server.ControlOnce("sqs.SendMessage",
				func(context.Context, *localaws.Request) localaws.Outcome { return test.outcome })
			if _, err := f.client.SendMessage(f.ctx,
				&sqs.SendMessageInput{QueueUrl: url, MessageBody: &body}); err == nil {
				t.Errorf("%s: the call succeeded", test.name)
			}
			if n := f.server.SQS().Queue("orders").Model().Stats().Visible; n != test.left {
				t.Errorf("%s: %d messages, want %d", test.name, n, test.left)
			}
		}
		began := time.Now()
		f.server.ControlOnce("sqs.*", func(context.Context, *localaws.Request) localaws.Outcome {
			return localaws.Outcome{Delay: time.Second, DelayAfter: 2 * time.Second}
		})
		f.send(url, "slow")
		if took := time.Since(began); took != 3*time.Second {
			t.Errorf("the delayed call took %v, want 3s", took)
		}
	})
}

// With Strand, a poll whose client has disconnected takes messages, as AWS sometimes does. A poll whose client waits
// answers, and on a FIFO queue a receive with the same attempt id gets the stranded messages.
func TestAStrandedPollTakesMessages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, nil)
		for name, attributes := range map[string]map[string]string{
			"orders":      nil,
			"orders.fifo": {"FifoQueue": "true", "ContentBasedDeduplication": "true"},
		} {
			url := f.create(name, attributes)
			remove := f.server.Control("sqs.ReceiveMessage",
				func(context.Context, *localaws.Request) localaws.Outcome { return localaws.Outcome{Strand: true} })
			in := &sqs.ReceiveMessageInput{QueueUrl: url, WaitTimeSeconds: 20}
			send := &sqs.SendMessageInput{QueueUrl: url, MessageBody: aws.String("one")}
			if attributes != nil {
				in.ReceiveRequestAttemptId, send.MessageGroupId = aws.String("first"), aws.String("g")
			}
			ctx, cancel := context.WithCancel(f.ctx)
			done := make(chan error)
			go func() {
				_, err := f.client.ReceiveMessage(ctx, in)
				done <- err
			}()
			synctest.Wait()
			began := time.Now()
			cancel()
			if err := <-done; err == nil || time.Since(began) != 0 {
				t.Errorf("%s: the client that went away had to wait %v: %v", name, time.Since(began), err)
			}
			time.Sleep(time.Second)
			if _, err := f.client.SendMessage(f.ctx, send); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if s := f.server.SQS().Queue(name).Model().Stats(); s.InFlight != 1 || s.Visible != 0 {
				t.Errorf("%s: %+v, want the message to be in flight", name, s)
			}
			if attributes != nil {
				if out, err := f.client.ReceiveMessage(f.ctx, in); err != nil || len(out.Messages) != 1 {
					t.Errorf("%s: the same attempt: %v, %v", name, out, err)
				}
			}
			time.Sleep(31 * time.Second)
			if got := f.receive(url, 20); len(got) != 1 {
				t.Errorf("%s: %d messages after their timeout, want one", name, len(got))
			}
			remove()
		}
	})
}

func TestCloseEndsACallThatAControlDelays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, nil)
		url := f.create("orders", nil)
		f.server.Control("sqs.SendMessage", func(context.Context, *localaws.Request) localaws.Outcome {
			return localaws.Outcome{Delay: time.Hour}
		})
		done := make(chan error)
		go func() {
			_, err := f.client.SendMessage(f.ctx, &sqs.SendMessageInput{QueueUrl: url, MessageBody: aws.String("x")})
			done <- err
		}()
		synctest.Wait()
		began := time.Now()
		if err := f.server.Close(); err != nil {
			t.Error(err)
		}
		if err := <-done; err == nil || time.Since(began) != 0 {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
	})
}

func TestFailEntries(t *testing.T) {
	f := newFixture(t, nil)
	url := f.create("orders", nil)
	f.server.ControlOnce("sqs.SendMessageBatch", func(context.Context, *localaws.Request) localaws.Outcome {
		return localaws.Outcome{FailEntries: func(id string) *wire.Error {
			if id == "b" {
				return &wire.Error{Code: "InternalError", Message: "no", Fault: true}
			}
			return nil
		}}
	})
	out, err := f.client.SendMessageBatch(f.ctx,
		&sqs.SendMessageBatchInput{QueueUrl: url, Entries: []types.SendMessageBatchRequestEntry{
			{Id: aws.String("a"), MessageBody: aws.String("1")}, {Id: aws.String("b"), MessageBody: aws.String("2")},
		}})
	if err != nil {
		t.Fatal(err)
	}
	if len(out.Successful) != 1 || len(out.Failed) != 1 || *out.Failed[0].Id != "b" || out.Failed[0].SenderFault {
		t.Errorf("successful %v, failed %v", out.Successful, out.Failed)
	}
}

func TestAdvanceEndsVisibility(t *testing.T) {
	f := newFixture(t, nil)
	url := f.create("orders", nil)
	f.send(url, "one")
	if got := f.receive(url, 0); len(got) != 1 {
		t.Fatal("not received")
	}
	f.server.Advance(29 * time.Second)
	if got := f.receive(url, 0); len(got) != 0 {
		t.Error("visible a second early")
	}
	f.server.Advance(time.Second)
	if got := f.receive(url, 0); len(got) != 1 {
		t.Error("not visible after its time")
	}
}

// The SDK for Java v1 writes the tags of TagQueue as Tags.1.Key; other clients write Tag.1.Key.
func TestTagsAsTheOldJavaClientWritesThem(t *testing.T) {
	f := newFixture(t, nil)
	url := f.create("q", nil)
	body := strings.NewReader("Action=TagQueue&Version=2012-11-05&Tags.1.Key=k&Tags.1.Value=v")
	answer, err := (&http.Client{Transport: f.server.Transport()}).Post(*url, "application/x-www-form-urlencoded", body)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	tags, err := f.client.ListQueueTags(f.ctx, &sqs.ListQueueTagsInput{QueueUrl: url})
	if err != nil || answer.StatusCode != 200 || tags.Tags["k"] != "v" {
		t.Errorf("%s, then %v, %v", answer.Status, tags, err)
	}
}

func TestOverASocket(t *testing.T) {
	f := newFixture(t, nil)
	addr, err := f.server.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	f.client = client("http://"+addr.String(), transport)
	url := f.create("orders", nil)
	if want := "http://" + addr.String() + "/000000000000/orders"; *url != want {
		t.Errorf("URL %s, want %s", *url, want)
	}
	got := make(chan []types.Message)
	go func() { got <- f.receive(url, 20) }()
	if err := f.server.SQS().Queue("orders").Model().Await(f.ctx, waiting(1)); err != nil {
		t.Fatal(err)
	}
	f.send(url, "one")
	if m := <-got; len(m) != 1 {
		t.Errorf("%d messages", len(m))
	}
	go func() { got <- f.receive(url, 20) }()
	if err := f.server.SQS().Queue("orders").Model().Await(f.ctx, waiting(1)); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if err := f.server.Close(); err != nil {
		t.Error(err)
	}
	if m := <-got; len(m) != 0 || time.Since(began) > 5*time.Second {
		t.Errorf("close brought %d messages after %v", len(m), time.Since(began))
	}
}

func waiting(n int) func(queue.Stats) bool {
	return func(s queue.Stats) bool { return s.Waiters == n }
}

// After an Advance, answers in process have the server's time.
func TestAnswersHaveTheServersTime(t *testing.T) {
	s, err := localaws.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	s.Advance(time.Hour)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://localaws.internal/",
		strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Amz-Target", "AmazonSQS.ListQueues")
	r.Header.Set("Content-Type", "application/x-amz-json-1.0")
	answer, err := s.Transport().RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	at, err := http.ParseTime(answer.Header.Get("Date"))
	if off := s.Now().Sub(at); err != nil || off < 0 || off > 10*time.Second {
		t.Errorf("an answer with the time %q (%v)", answer.Header.Get("Date"), err)
	}
}
