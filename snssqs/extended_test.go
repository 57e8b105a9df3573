package snssqs_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/localaws"
	"github.com/godwitmq/godwit/s3store"
	"github.com/godwitmq/godwit/snssqs"
)

var (
	extendedClient = flag.String("extended", "", "a command for TestExtendedClients: localaws/interop/python/extended.py "+
		"or a program that understands the same, with its arguments")
	extendedTopics = flag.Bool("extended-topics", false, "-extended can publish to topics")
	extendedQueues = flag.Bool("extended-queues", true, "-extended can send to queues, and receive")
	extendedLegacy = flag.Bool("extended-legacy", false, "-extended knows only the first format")
)

// extended is a server with an address, and a program with Amazon's extended clients.
type extended struct {
	*world
	endpoint string
	command  []string
}

// request is what the program reads.
type request struct {
	Bucket     string   `json:"bucket"`
	Bodies     []string `json:"bodies,omitempty"`
	Attributes int      `json:"attributes,omitempty"`
	Legacy     bool     `json:"legacy,omitempty"`
	Always     bool     `json:"always,omitempty"`
	Count      int      `json:"count,omitempty"`
	Names      []string `json:"names"`
}

func newExtended(t *testing.T, command ...string) *extended {
	t.Helper()
	server, err := localaws.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	address, err := server.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	e := &extended{world: &world{T: t, server: server}, endpoint: "http://" + address.String(), command: command}
	t.Cleanup(e.close)
	e.conf = aws.Config{
		Region: "us-east-1", BaseEndpoint: &e.endpoint,
		Credentials: credentials.NewStaticCredentialsProvider("key", "secret", ""),
	}
	e.sqs, e.sns = sqs.NewFromConfig(e.conf), sns.NewFromConfig(e.conf)
	client := s3.NewFromConfig(e.conf, func(o *s3.Options) { o.UsePathStyle = true })
	if _, err := client.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: aws.String("theirs")}); err != nil {
		t.Fatal(err)
	}
	return e
}

// ask runs the program.
func (e *extended) ask(verb, target string, r request) (answer []string) {
	e.Helper()
	r.Bucket = "theirs"
	in, err := json.Marshal(r)
	if err != nil {
		e.Fatal(err)
	}
	cmd := exec.CommandContext(e.Context(), e.command[0], append(e.command[1:], verb, target)...)
	cmd.Env = append(os.Environ(), "AWS_ENDPOINT_URL="+e.endpoint, "AWS_REGION=us-east-1",
		"AWS_DEFAULT_REGION=us-east-1", "AWS_ACCESS_KEY_ID=key", "AWS_SECRET_ACCESS_KEY=secret",
		"AWS_CONFIG_FILE="+os.DevNull)
	var out, complaints bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(in), &out, &complaints
	if err := cmd.Run(); err != nil {
		e.Fatalf("%s: %v: %s", verb, err, complaints.String())
	}
	if out.Len() > 0 {
		if err := json.Unmarshal(out.Bytes(), &answer); err != nil {
			e.Fatalf("%s: %v in %s", verb, err, out.String())
		}
	}
	return answer
}

// left counts what is in a bucket.
func (e *extended) left(bucket string) int {
	n, _ := e.server.S3().Bucket(bucket).Count()
	return n
}

// foreignBodies are small and large, plain and not, at the threshold and above, with so many attributes.
func foreignBodies(attributes int) []string {
	room := 262_144 - attributes*len("a0"+"String"+"x")
	return []string{
		"small", strings.Repeat("x", room), strings.Repeat("y", room+1),
		strings.Repeat("ü☃", 60_000), strings.Repeat("z", 400_000), "tiny",
	}
}

// Amazon's extended clients and Godwit read each other's messages, and each deletes what it has handled.
func TestExtendedClients(t *testing.T) {
	if *extendedClient == "" {
		t.Skip("no -extended")
	}
	command := strings.Fields(*extendedClient)
	for _, ordered := range []bool{false, true} {
		for _, legacy := range []bool{false, true} {
			for _, n := range []int{0, 9} {
				name := fmt.Sprintf("to Godwit, ordered %v, legacy %v, %d attributes", ordered, legacy, n)
				t.Run(name, func(t *testing.T) {
					if !legacy && *extendedLegacy {
						t.Skip("it knows only the first format")
					}
					e := newExtended(t, command...)
					e.queues()
					e.b = e.open(snssqs.Options{Store: e.store(s3store.Options{
						Sources: []s3store.Source{{Bucket: "theirs", Delete: true}},
					})})
					ch := driver.Channel{Queue: "orders", Ordered: ordered}
					e.ensure(owner(ch))
					if ordered {
						e.set(nameOf(ch), map[string]string{"ContentBasedDeduplication": "true"})
					}
					bodies := foreignBodies(n)
					e.ask("send", e.url(nameOf(ch)), request{Bodies: bodies, Attributes: n, Legacy: legacy})
					if large := e.left("theirs"); large != 3 {
						t.Errorf("the client wrote %d objects", large)
					}
					e.readAll(ch, bodies)
					if rest := e.left("theirs"); rest != 0 {
						t.Errorf("%d objects are left", rest)
					}
				})
			}
		}
	}
	t.Run("every body through S3 to Godwit", func(t *testing.T) {
		e := newExtended(t, command...)
		e.queues()
		e.b = e.open(snssqs.Options{Store: e.store(s3store.Options{Sources: []s3store.Source{{Bucket: "theirs"}}})})
		ch := driver.Channel{Queue: "orders"}
		e.ensure(owner(ch))
		e.ask("send", e.url("orders"), request{
			Bodies: []string{"a", "b"}, Always: true, Legacy: *extendedLegacy,
		})
		e.readAll(ch, []string{"a", "b"})
		if rest := e.left("theirs"); rest != 2 {
			t.Errorf("%d objects are left, and the store may not delete them", rest)
		}
	})
	for _, raw := range []bool{true, false} {
		for _, ordered := range []bool{false, true} {
			for _, r := range []request{
				{Bodies: foreignBodies(0)},
				{Bodies: foreignBodies(9), Attributes: 9},
				{Bodies: []string{"a", "b"}, Always: true},
			} {
				t.Run(fmt.Sprintf("from a topic to Godwit, raw %v, ordered %v, %d attributes, always %v", raw, ordered,
					r.Attributes, r.Always), func(t *testing.T) {
					if !*extendedTopics {
						t.Skip("no -extended-topics")
					}
					newExtended(t, command...).fromTopic(raw, ordered, r)
				})
			}
		}
	}
	for _, c := range []struct {
		pointers snssqs.PointerFormat
		legacy   bool
		names    []string
	}{
		{snssqs.PointerCurrent, false, []string{}},
		{snssqs.PointerCurrent, true, []string{"All"}},
		{snssqs.PointerMixed, true, []string{}},
		{snssqs.PointerMixed, false, []string{"All"}},
		{snssqs.PointerLegacy, true, []string{}},
		{snssqs.PointerLegacy, false, []string{"All"}},
	} {
		for _, ordered := range []bool{false, true} {
			t.Run(fmt.Sprintf("from Godwit, %+v, ordered %v", c, ordered), func(t *testing.T) {
				if (c.pointers != snssqs.PointerLegacy || !c.legacy) && *extendedLegacy {
					t.Skip("it knows only the first format")
				}
				e := newExtended(t, command...)
				e.queues()
				e.b = e.open(snssqs.Options{
					Store: e.store(s3store.Options{Prefix: "big/"}), Large: snssqs.Large{Pointers: c.pointers},
				})
				ch := driver.Channel{Queue: "orders", Ordered: ordered}
				e.ensure(owner(ch))
				s := e.sender(ch)
				bodies := foreignBodies(0)
				for _, b := range bodies {
					e.send(s, driver.Message{Body: []byte(b), RoutingKey: "A"})
				}
				got := e.ask("receive", e.url(nameOf(ch)),
					request{Count: len(bodies), Legacy: c.legacy, Names: c.names})
				if diff := cmp.Diff(bodies, got, cmpopts.SortSlices(strings.Compare)); diff != "" {
					t.Errorf("the client received (-want +got):\n%.2000s", diff)
				}
				if rest := e.left(payloads); rest != 0 {
					t.Errorf("%d objects are left", rest)
				}
			})
		}
	}
}

// fromTopic publishes bodies to a topic, and receives them with Godwit.
func (e *extended) fromTopic(raw, ordered bool, r request) {
	e.Helper()
	e.b = e.open(snssqs.Options{Store: e.store(s3store.Options{Sources: []s3store.Source{{Bucket: "theirs"}}})})
	ch := driver.Channel{Exchange: "news", Queue: "a", Ordered: ordered}
	e.ensure(owner(ch))
	topic := e.server.SNS().Topics()[0]
	_, err := e.sns.SetSubscriptionAttributes(e.Context(), &sns.SetSubscriptionAttributesInput{
		SubscriptionArn: &topic.Subscriptions[0].ARN,
		AttributeName:   aws.String("RawMessageDelivery"), AttributeValue: aws.String(fmt.Sprint(raw)),
	})
	if err == nil && ordered {
		_, err = e.sns.SetTopicAttributes(e.Context(), &sns.SetTopicAttributesInput{
			TopicArn: &topic.ARN, AttributeName: aws.String("ContentBasedDeduplication"),
			AttributeValue: aws.String("true"),
		})
	}
	if err != nil {
		e.Fatal(err)
	}
	e.ask("publish", topic.ARN, r)
	want := 3
	if r.Always {
		want = len(r.Bodies)
	}
	if large := e.left("theirs"); large != want {
		e.Errorf("the client wrote %d objects, want %d", large, want)
	}
	e.readAll(ch, r.Bodies)
	if large := e.left("theirs"); large != want {
		e.Errorf("%d objects are left, and other queues may point to all of them", large)
	}
}

// queues skips a case if the program can only publish.
func (e *extended) queues() {
	e.Helper()
	if !*extendedQueues {
		e.Skip("-extended-queues=false")
	}
}

// nameOf is the name of a one-to-one channel's queue.
func nameOf(ch driver.Channel) string {
	if ch.Ordered {
		return ch.Queue + ".fifo"
	}
	return ch.Queue
}

// readAll receives messages with these bodies, and settles them.
func (e *extended) readAll(ch driver.Channel, want []string) {
	e.Helper()
	r, err := e.b.Receiver(e.Context(), ch, driver.ReceiverOptions{Concurrency: 10})
	if err != nil {
		e.Fatal(err)
	}
	var got []string
	for range 20 {
		ds, err := r.Receive(e.Context(), driver.Ask{Max: 10}, nil)
		if err != nil {
			e.Fatal(err)
		}
		for _, d := range ds {
			if d.Err != nil {
				e.Errorf("%.100q: %v", d.Body, d.Err)
				continue
			}
			got = append(got, e.body(d))
		}
		if err := e.settle(r, driver.Done, ds...); len(ds) > 0 && err != nil {
			e.Error(err)
		}
	}
	if err := r.Close(context.WithoutCancel(e.Context())); err != nil {
		e.Error(err)
	}
	if diff := cmp.Diff(want, got, cmpopts.SortSlices(strings.Compare)); diff != "" {
		e.Errorf("received (-want +got):\n%.2000s", diff)
	}
}
