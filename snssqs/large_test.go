package snssqs_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/google/go-cmp/cmp"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/localaws"
	"github.com/godwitmq/godwit/localaws/wire"
	"github.com/godwitmq/godwit/s3store"
	"github.com/godwitmq/godwit/snssqs"
)

const payloads = "payloads"

// store opens a store on the world's server, and creates its bucket.
func (w *world) store(o s3store.Options) *s3store.Store {
	w.Helper()
	o.Bucket, o.AWS = payloads, &w.conf
	s, err := s3store.Open(w.Context(), &o)
	if err == nil {
		err = s.Ensure(w.Context(), driver.Auto)
	}
	if err != nil {
		w.Fatal(err)
	}
	return s
}

// objects counts the bodies in the store.
func (w *world) objects() int {
	w.Helper()
	n, _ := w.server.S3().Bucket(payloads).Count()
	return n
}

// object makes an object of another program.
func (w *world) object(bucket, key, body string) {
	w.Helper()
	client := s3.NewFromConfig(w.conf, func(o *s3.Options) { o.UsePathStyle = true })
	if _, err := client.PutObject(w.Context(),
		&s3.PutObjectInput{Bucket: &bucket, Key: &key, Body: strings.NewReader(body)}); err != nil {
		w.Fatal(err)
	}
}

// raw receives a message as another program does.
func (w *world) raw(queue string) types.Message {
	w.Helper()
	out, err := w.sqs.ReceiveMessage(w.Context(), &sqs.ReceiveMessageInput{
		QueueUrl: aws.String(w.url(queue)), MessageAttributeNames: []string{"All"}, WaitTimeSeconds: 1,
	})
	if err != nil || len(out.Messages) != 1 {
		w.Fatalf("%v, %v", out, err)
	}
	return out.Messages[0]
}

// body reads the body of a delivery, wherever it is.
func (w *world) body(d driver.Delivery) string {
	w.Helper()
	if d.Opener == nil {
		return string(d.Body)
	}
	r, _, err := d.Opener.Open(w.Context())
	if err != nil {
		w.Fatal(err)
	}
	all, err := io.ReadAll(r)
	if err = errors.Join(err, r.Close()); err != nil {
		w.Fatal(err)
	}
	return string(all)
}

func (w *world) settle(r driver.Receiver, action driver.Action, ds ...driver.Delivery) error {
	ss := make([]driver.Settlement, len(ds))
	for i := range ds {
		ss[i] = driver.Settlement{Handle: ds[i].Handle, Action: action}
	}
	return r.Settle(context.WithoutCancel(w.Context()), ss)
}

// A body goes to the store when the message with its attributes has more bytes than the threshold, which is never above
// the queue's own limit.
func TestThreshold(t *testing.T) {
	const attributes = len("godwit"+"String"+`{"v":1}`) + len("routing_key"+"String"+"A.B")
	for _, c := range []struct {
		name  string
		large snssqs.Large
		of    map[string]snssqs.Large
		limit int
		stays int // the largest message that stays
	}{
		{name: "default", limit: 1 << 20, stays: 262_144},
		{name: "lower", large: snssqs.Large{Above: 5000}, limit: 1 << 20, stays: 5000},
		{name: "higher", large: snssqs.Large{Above: 500_000}, limit: 1 << 20, stays: 500_000},
		{name: "small queue", limit: 1024, stays: 1024},
		{name: "above the limit", large: snssqs.Large{Above: 1 << 20}, limit: 100_000, stays: 100_000},
		{
			name: "of the channel", large: snssqs.Large{Above: 5000}, limit: 1 << 20, stays: 6000,
			of: map[string]snssqs.Large{"orders": {Above: 6000}, "other": {Above: 7000}},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			inWorld(t, localaws.Options{}, func(w *world) {
				w.b = w.open(snssqs.Options{Store: w.store(s3store.Options{}), Large: c.large, LargeOf: c.of})
				ch := driver.Channel{Queue: "orders"}
				w.ensure(owner(ch))
				w.set("orders", map[string]string{"MaximumMessageSize": strconv.Itoa(c.limit)})
				s := w.sender(ch)
				for more, objects := range []int{0, 1} {
					body := bytes.Repeat([]byte("x"), c.stays-attributes+more)
					w.send(s, driver.Message{RoutingKey: "A.B", Body: body})
					if n := w.objects(); n != objects {
						t.Errorf("after a message of %d bytes there are %d objects", c.stays+more, n)
					}
				}
			})
		})
	}
}

// A negative threshold sends every body to the store, also one of no bytes.
func TestEveryBodyToTheStore(t *testing.T) {
	inWorld(t, localaws.Options{}, func(w *world) {
		w.b = w.open(snssqs.Options{Store: w.store(s3store.Options{}), Large: snssqs.Large{Above: -1}})
		ch := driver.Channel{Queue: "orders"}
		w.ensure(owner(ch))
		s := w.sender(ch)
		w.send(s, driver.Message{}, driver.Message{Body: []byte("x")}, driver.Message{Body: []byte{0xff, 0}})
		var got []string
		for _, d := range w.receive(w.receiver(ch, driver.Filter{}), 3) {
			got = append(got, w.body(d))
		}
		if diff := cmp.Diff([]string{"", "x", "\xff\x00"}, got); diff != "" || w.objects() != 3 {
			t.Errorf("%d objects (-want +got):\n%s", w.objects(), diff)
		}
	})
}

// The message is a pointer of the configured format, below a folder of the channel.
func TestPointersThatAreSent(t *testing.T) {
	for _, c := range []struct {
		pointers         snssqs.PointerFormat
		class, attribute string
	}{
		{snssqs.PointerDefault, "software.amazon.payloadoffloading.PayloadS3Pointer", "ExtendedPayloadSize"},
		{snssqs.PointerMixed, "software.amazon.payloadoffloading.PayloadS3Pointer", "SQSLargePayloadSize"},
		{snssqs.PointerLegacy, "com.amazon.sqs.javamessaging.MessageS3Pointer", "SQSLargePayloadSize"},
	} {
		inWorld(t, localaws.Options{}, func(w *world) {
			w.b = w.open(snssqs.Options{
				Store: w.store(s3store.Options{Prefix: "big/"}), Namespace: "prod",
				LargeOf: map[string]snssqs.Large{"orders": {Pointers: c.pointers}},
			})
			ch := driver.Channel{Queue: "orders"}
			w.ensure(owner(ch))
			w.send(w.sender(ch), driver.Message{Body: make([]byte, 300_000), RoutingKey: "A"})
			m := w.raw("prod---orders")
			want := regexp.MustCompile(`^\["` + regexp.QuoteMeta(c.class) + `",\{"s3BucketName":"payloads",` +
				`"s3Key":"big/prod/queues/orders/[0-9a-f-]{36}","godwit":\{"v":1,"size":300000,"sha256":"[0-9a-f]{64}"\}\}\]$`)
			if !want.MatchString(*m.Body) {
				t.Errorf("%s: the body is %s", c.attribute, *m.Body)
			}
			size := m.MessageAttributes[c.attribute]
			if len(m.MessageAttributes) != 3 || size.DataType == nil || *size.DataType != "Number" ||
				*size.StringValue != "300000" {
				t.Errorf("the attributes are %v", m.MessageAttributes)
			}
		})
	}
}

// A compressed body comes back as it was, also from a dead letter, and its object is deleted. Channels choose.
func TestCompressedBodies(t *testing.T) {
	inWorld(t, localaws.Options{}, func(w *world) {
		w.b = w.open(snssqs.Options{
			Store: w.store(s3store.Options{}), Large: snssqs.Large{Compression: snssqs.CompressionZstd},
			LargeOf: map[string]snssqs.Large{"plain": {Compression: snssqs.CompressionNone}},
		})
		body := bytes.Repeat([]byte(`{"order":"4711","state":"paid"},`), 20_000)
		for _, queue := range []string{"orders", "plain"} {
			ch := driver.Channel{Queue: queue}
			w.ensure(owner(ch))
			s, r := w.sender(ch), w.receiver(ch, driver.Filter{})
			w.send(s, driver.Message{Body: body})
			w.send(s, driver.Message{Reader: iotest.HalfReader(bytes.NewReader(body)), Size: int64(len(body))})
			ds := w.receive(r, 2)
			for _, d := range ds {
				if got := w.body(d); got != string(body) || d.Size != int64(len(body)) {
					t.Errorf("%s: %d bytes, and a size of %d", queue, len(got), d.Size)
				}
			}
			_, stored := w.server.S3().Bucket(payloads).Count()
			if small := stored < int64(len(body))/5; small != (queue == "orders") {
				t.Errorf("%s: two bodies of %d bytes have %d in the store", queue, len(body), stored)
			}
			if err := r.Settle(w.Context(), []driver.Settlement{
				{Handle: ds[0].Handle},
				{Handle: ds[1].Handle, Action: driver.Reject, Death: &driver.Death{Error: "bad"}},
			}); err != nil {
				t.Fatal(err)
			}
			letters := w.receiver(dead(ch), driver.Filter{})
			d := w.receive(letters, 1)[0]
			if got := w.body(d); got != string(body) {
				t.Errorf("%s: the dead letter has %d bytes", queue, len(got))
			}
			if err := w.settle(letters, driver.Done, d); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
			if n := w.objects(); n != 0 {
				t.Errorf("%s: %d objects are left", queue, n)
			}
		}
		_, err := w.sender(driver.Channel{Queue: "orders"}).Prepare(w.Context(),
			&driver.Message{Reader: bytes.NewReader(body), Size: int64(len(body)) + 1})
		if driver.ClassOf(err) != driver.Permanent || err == nil || !strings.Contains(err.Error(), "set Size") ||
			w.objects() != 0 {
			t.Errorf("a Reader that ends early: %v, %d objects", err, w.objects())
		}
	})
}

// Without a store a large message is an error that says how to get one. With one, only the attributes can be too large,
// and then nothing is uploaded.
func TestTooLargeForEverything(t *testing.T) {
	inWorld(t, localaws.Options{}, func(w *world) {
		ch := driver.Channel{Queue: "orders"}
		w.ensure(owner(ch))
		_, err := w.sender(ch).Prepare(w.Context(), &driver.Message{Body: make([]byte, 2<<20)})
		if driver.ClassOf(err) != driver.TooLarge || !strings.Contains(err.Error(), "s3store.Open") {
			t.Errorf("without a store: %v", err)
		}
		w.b = w.open(snssqs.Options{Store: w.store(s3store.Options{})})
		_, err = w.sender(ch).Prepare(w.Context(), &driver.Message{
			Body: make([]byte, 2<<20), Header: []driver.Header{{Name: "h", Value: strings.Repeat("x", 1<<20)}},
		})
		if driver.ClassOf(err) != driver.TooLarge || strings.Contains(err.Error(), "s3store.Open") || w.objects() != 0 {
			t.Errorf("large headers: %v, %d objects", err, w.objects())
		}
	})
}

func TestImpossibleOptionsOfLargeMessages(t *testing.T) {
	inWorld(t, localaws.Options{}, func(w *world) {
		short, err := s3store.Open(w.Context(),
			&s3store.Options{Bucket: payloads, AWS: &w.conf, Lifetime: 27 * 24 * time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		store := w.store(s3store.Options{})
		for want, o := range map[string]snssqs.Options{
			"without Store":                  {Large: snssqs.Large{Above: 1}},
			"LargeOf have no effect":         {LargeOf: map[string]snssqs.Large{"orders": {}}},
			"after 27 days, and":             {Store: short},
			"can stay for 28 days":           {Store: short},
			"Options.Large.Pointers is 9":    {Store: store, Large: snssqs.Large{Pointers: 9}},
			"Options.Large.Compression is 9": {Store: store, Large: snssqs.Large{Compression: 9}},
			`Options.LargeOf["orders"] has CompressionZstd`: {
				Store: store, Large: snssqs.Large{Compression: snssqs.CompressionZstd},
				LargeOf: map[string]snssqs.Large{"orders": {Pointers: snssqs.PointerLegacy}},
			},
			`Options.LargeOf["orders.fifo"]`: {Store: store, LargeOf: map[string]snssqs.Large{"orders.fifo": {}}},
		} {
			o.AWS = &w.conf
			if _, err := snssqs.Open(w.Context(), &o); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("want %q: %v", want, err)
			}
		}
	})
}

// Pointers of other programs are read, raw and in an SNS envelope. A message with a bad one has the reason, and its
// neighbors are delivered.
func TestPointersOfOtherPrograms(t *testing.T) {
	inWorld(t, localaws.Options{}, func(w *world) {
		client := s3.NewFromConfig(w.conf, func(o *s3.Options) { o.UsePathStyle = true })
		for _, bucket := range []string{"theirs", "private"} {
			if _, err := client.CreateBucket(w.Context(), &s3.CreateBucketInput{Bucket: &bucket}); err != nil {
				t.Fatal(err)
			}
			w.object(bucket, "k", "hello")
		}
		w.b = w.open(snssqs.Options{
			Store:         w.store(s3store.Options{Sources: []s3store.Source{{Bucket: "theirs"}}}),
			EnvelopesFrom: map[string][]string{"orders": {"*"}},
		})
		ch := driver.Channel{Queue: "orders"}
		w.ensure(owner(ch))
		pointer := func(class, bucket string) string {
			return fmt.Sprintf(`["%s",{"s3BucketName":"%s","s3Key":"k"}]`, class, bucket)
		}
		size := func(name, n string) map[string]types.MessageAttributeValue {
			return map[string]types.MessageAttributeValue{
				name: {DataType: aws.String("Number"), StringValue: &n}, "user": text("x"),
			}
		}
		const class = "software.amazon.payloadoffloading.PayloadS3Pointer"
		w.foreign("orders", pointer(class, "theirs"), size("ExtendedPayloadSize", "5"))
		w.foreign("orders", pointer("com.amazon.sqs.javamessaging.MessageS3Pointer", "theirs"),
			size("SQSLargePayloadSize", "5"))
		w.foreign("orders", fmt.Sprintf(`{"Type":"Notification","TopicArn":"arn","MessageId":"1","Message":%q,`+
			`"MessageAttributes":{"ExtendedPayloadSize":{"Type":"Number","Value":"5"}}}`, pointer(class, "theirs")), nil)
		w.foreign("orders", pointer(class, "theirs"), nil)                                     // a body
		w.foreign("orders", pointer(class, "theirs"), size("ExtendedPayloadSize", "-5"))       // bad
		w.foreign("orders", pointer("evil.Class", "theirs"), size("ExtendedPayloadSize", "5")) // bad
		good, bodies, bad := 0, 0, 0
		for _, d := range w.receive(w.receiver(ch, driver.Filter{}), 6) {
			var fault *driver.PayloadError
			switch {
			case d.Err != nil:
				bad++
				if !errors.As(d.Err, &fault) || fault.Fault != driver.PayloadPointer ||
					strings.Contains(d.Err.Error(), "evil") || len(d.Body) == 0 {
					t.Errorf("%q: %v", d.Body, d.Err)
				}
			case d.Opener == nil:
				bodies++
			default:
				good++
				if got := w.body(d); got != "hello" || d.Size != 5 || headers(d)["ExtendedPayloadSize"] != "" ||
					headers(d)["SQSLargePayloadSize"] != "" {
					t.Errorf("%q of %d bytes, headers %v", got, d.Size, d.Header)
				}
			}
		}
		if good != 3 || bodies != 1 || bad != 2 {
			t.Errorf("%d pointers, %d bodies, %d bad ones", good, bodies, bad)
		}
		w.foreign("orders", pointer(class, "private"), size("ExtendedPayloadSize", "5"))
		d := w.receive(w.receiver(ch, driver.Filter{}), 1)[0]
		var fault *driver.PayloadError
		if _, _, err := d.Opener.Open(w.Context()); !errors.As(err, &fault) || fault.Fault != driver.PayloadForeign {
			t.Errorf("a bucket that is not listed: %v", err)
		}
	})
}

// The body of a message is deleted only if its own entry was deleted, and that of a rejected message never, also when
// the rejected message is delivered again and discarded.
func TestBodiesFollowTheirEntries(t *testing.T) {
	inWorld(t, localaws.Options{}, func(w *world) {
		w.b = w.open(snssqs.Options{Store: w.store(s3store.Options{})})
		ch := driver.Channel{Queue: "orders"}
		w.ensure(owner(ch))
		s := w.sender(ch)
		for range 3 {
			w.send(s, driver.Message{Body: make([]byte, 300_000)})
		}
		r := w.receiver(ch, driver.Filter{})
		ds := w.receive(r, 3)
		w.server.ControlOnce("sqs.DeleteMessageBatch", func(context.Context, *localaws.Request) localaws.Outcome {
			return localaws.Outcome{FailEntries: func(id string) *wire.Error {
				if id == "0" {
					return nil
				}
				return &wire.Error{Code: "InternalError", Message: "try again", Fault: true}
			}}
		})
		ss := []driver.Settlement{
			{Handle: ds[0].Handle},
			{Handle: ds[1].Handle},
			{Handle: ds[2].Handle, Action: driver.Reject, Death: &driver.Death{Error: "bad"}},
		}
		var entries *driver.BatchError
		if err := r.Settle(w.Context(), ss); !errors.As(err, &entries) || len(entries.Errs) != 2 {
			t.Fatalf("settle: %v", err)
		}
		time.Sleep(time.Second)
		if n := w.objects(); n != 2 {
			t.Errorf("%d objects, want those of the two entries that failed", n)
		}
		time.Sleep(time.Minute) // both are delivered again, and deleted unseen
		if got, err := r.Receive(w.Context(), driver.Ask{Max: 10}, nil); len(got) != 0 || err != nil {
			t.Errorf("%d deliveries, %v", len(got), err)
		}
		time.Sleep(time.Second)
		if n := w.objects(); n != 1 {
			t.Errorf("%d objects, want that of the dead letter", n)
		}
		d := w.receive(w.receiver(dead(ch), driver.Filter{}), 1)[0]
		if got := w.body(d); len(got) != 300_000 {
			t.Errorf("the dead letter has %d bytes", len(got))
		}
	})
}

// What came through SNS, or says that others read it, is not deleted, nor are the bodies of other programs.
func TestBodiesOfOthersStay(t *testing.T) {
	inWorld(t, localaws.Options{}, func(w *world) {
		client := s3.NewFromConfig(w.conf, func(o *s3.Options) { o.UsePathStyle = true })
		if _, err := client.CreateBucket(w.Context(), &s3.CreateBucketInput{Bucket: aws.String("theirs")}); err != nil {
			t.Fatal(err)
		}
		w.b = w.open(snssqs.Options{
			Store:         w.store(s3store.Options{Sources: []s3store.Source{{Bucket: "theirs"}}}),
			EnvelopesFrom: map[string][]string{"orders": {"*"}},
		})
		w.object("theirs", "k", "x")
		w.object(payloads, "topics/news/1", "x")
		w.object(payloads, "queues/orders/1", "x")
		ch := driver.Channel{Queue: "orders"}
		w.ensure(owner(ch))
		one := map[string]types.MessageAttributeValue{
			"ExtendedPayloadSize": {DataType: aws.String("Number"), StringValue: aws.String("1")},
		}
		pointer := func(bucket, key string) string {
			return fmt.Sprintf(`["software.amazon.payloadoffloading.PayloadS3Pointer",{"s3BucketName":%q,"s3Key":%q}]`,
				bucket, key)
		}
		w.foreign("orders", pointer("theirs", "k"), one)
		w.foreign("orders", pointer(payloads, "topics/news/1"), one)
		w.foreign("orders", fmt.Sprintf(`{"Type":"Notification","TopicArn":"arn","MessageId":"1","Message":%q,`+
			`"MessageAttributes":{"ExtendedPayloadSize":{"Type":"Number","Value":"1"}}}`,
			pointer(payloads, "queues/orders/1")), nil)
		r := w.receiver(ch, driver.Filter{})
		ds := w.receive(r, 3)
		if err := w.settle(r, driver.Done, ds...); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		for _, d := range ds {
			if got := w.body(d); got != "x" {
				t.Errorf("%q", got)
			}
		}
	})
}

// A store that does not work delays no settlement, and the objects stay for its lifecycle.
func TestSettlementsDoNotWaitForTheStore(t *testing.T) {
	inWorld(t, localaws.Options{}, func(w *world) {
		w.b = w.open(snssqs.Options{Store: w.store(s3store.Options{})})
		ch := driver.Channel{Queue: "orders"}
		w.ensure(owner(ch))
		w.send(w.sender(ch), driver.Message{Body: make([]byte, 300_000)})
		r := w.receiver(ch, driver.Filter{})
		d := w.receive(r, 1)[0]
		w.server.Control("s3.*", func(context.Context, *localaws.Request) localaws.Outcome {
			return localaws.Outcome{Delay: time.Hour}
		})
		began := time.Now()
		if err := w.settle(r, driver.Done, d); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took > time.Second {
			t.Errorf("the settlement took %v", took)
		}
		if err := r.Close(w.Context()); err != nil || time.Since(began) > 3*time.Second {
			t.Errorf("close took %v, %v", time.Since(began), err)
		}
	})
}

// A message of another program with a body in the store and nine attributes of its own has no room for Godwit's
// attribute. Its dead letter still has the body, and all of the nine.
func TestALargeDeadLetterOfTenAttributes(t *testing.T) {
	inWorld(t, localaws.Options{}, func(w *world) {
		w.b = w.open(snssqs.Options{Store: w.store(s3store.Options{})})
		w.object(payloads, "k", "hello")
		ch := driver.Channel{Queue: "orders"}
		w.ensure(owner(ch))
		attributes, want := map[string]types.MessageAttributeValue{
			"SQSLargePayloadSize": {DataType: aws.String("Number"), StringValue: aws.String("5")},
		}, map[string]string{}
		for i := range 9 {
			attributes[fmt.Sprint("a", i)], want[fmt.Sprint("a", i)] = text(fmt.Sprint(i)), fmt.Sprint(i)
		}
		w.foreign("orders", `["com.amazon.sqs.javamessaging.MessageS3Pointer",{"s3BucketName":"`+payloads+`","s3Key":"k"}]`,
			attributes)
		r := w.receiver(ch, driver.Filter{})
		w.reject(r, "no", w.receive(r, 1)...)
		letter := w.receive(w.receiver(dead(ch), driver.Filter{}), 1)[0]
		if got := w.body(letter); got != "hello" || letter.Origin.Death.Error != "no" {
			t.Errorf("%q, %+v", got, letter.Origin)
		}
		if diff := cmp.Diff(want, headers(letter)); diff != "" {
			t.Errorf("headers (-want +got):\n%s", diff)
		}
	})
}
