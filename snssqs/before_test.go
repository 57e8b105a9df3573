package snssqs_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	snstypes "github.com/aws/aws-sdk-go-v2/service/sns/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/localaws"
	"github.com/godwitmq/godwit/snssqs"
)

// A hook changes requests before they are sent: requests of new messages, and of dead letters. What it changes is not
// in other requests.
func TestBeforeSend(t *testing.T) {
	inWorld(t, localaws.Options{}, func(w *world) {
		var seen []string
		w.b = w.open(snssqs.Options{
			BeforeSend: func(_ context.Context, in *sqs.SendMessageBatchInput) error {
				seen = append(seen, lastOf(*in.QueueUrl))
				for i := range in.Entries {
					e := &in.Entries[i]
					e.MessageSystemAttributes = map[string]types.MessageSystemAttributeValue{
						"AWSTraceHeader": {DataType: aws.String("String"), StringValue: aws.String(xray)},
					}
					if *e.MessageBody == "a" {
						e.MessageAttributes["mine"] = text("a")
					}
					*e.MessageBody += "!"
				}
				return nil
			},
			BeforePublish: func(_ context.Context, in *sns.PublishBatchInput) error {
				in.PublishBatchRequestEntries[0].MessageAttributes["mine"] = snstypes.MessageAttributeValue{
					DataType: aws.String("String"), StringValue: aws.String("published"),
				}
				return nil
			},
		})
		w.ensure(owner(orders))
		s := w.sender(orders)
		for _, body := range []string{"a", "b"} {
			w.send(s, driver.Message{Body: []byte(body)})
			r := w.receiver(orders, driver.Filter{})
			d := w.receive(r, 1)[0]
			var at driver.Provenance
			r.As(d.Handle, &at)
			if string(d.Body) != body+"!" || (headers(d)["mine"] != "") != (body == "a") || at.Trace != xray {
				t.Errorf("received %q with %v and trace %q", d.Body, headers(d), at.Trace)
			}
			if body == "b" { // its dead letter is sent twice, because the queue must be made again
				if _, err := w.sqs.DeleteQueue(w.Context(), &sqs.DeleteQueueInput{
					QueueUrl: aws.String(w.url("orders--dlq")),
				}); err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Minute)
			}
			w.reject(r, "no", d)
		}
		if d := w.receive(w.receiver(dead(orders), driver.Filter{}), 1)[0]; string(d.Body) != "b!!" {
			t.Errorf("the dead letter is %q", d.Body)
		}
		if got := strings.Join(seen, " "); got != "orders orders--dlq orders orders--dlq orders--dlq" {
			t.Errorf("the hook saw %s", got)
		}
		mine := driver.Channel{Exchange: "news", Queue: "mine"}
		w.ensure(owner(mine))
		w.send(w.sender(driver.Channel{Exchange: "news"}), driver.Message{Body: []byte("x")})
		if d := w.receive(w.receiver(mine, driver.Filter{}), 1)[0]; headers(d)["mine"] != "published" {
			t.Errorf("received %v", headers(d))
		}
	})
}

func lastOf(url string) string { return url[strings.LastIndexByte(url, '/')+1:] }

// What a hook must not do is an error of the send, which names the option.
func TestBeforeSendGoesWrong(t *testing.T) {
	inWorld(t, localaws.Options{}, func(w *world) {
		w.ensure(owner(orders))
		for name, c := range map[string]struct {
			f     func(in *sqs.SendMessageBatchInput) error
			class driver.Class
			part  string
		}{
			"an error": {
				func(*sqs.SendMessageBatchInput) error { return errors.New("mine") }, driver.Permanent, "mine",
			},
			"a passing error": {func(*sqs.SendMessageBatchInput) error {
				return &driver.Error{Class: driver.Throttled, Err: errors.New("mine")}
			}, driver.Throttled, "mine"},
			"a panic": {
				func(*sqs.SendMessageBatchInput) error { panic("oops") }, driver.Permanent, "panicked: oops",
			},
			"an entry less": {func(in *sqs.SendMessageBatchInput) error {
				in.Entries = nil
				return nil
			}, driver.Permanent, "left 0 of 1 entries"},
			"another id": {func(in *sqs.SendMessageBatchInput) error {
				in.Entries[0].Id = aws.String("mine")
				return nil
			}, driver.Permanent, `from "0" to "mine"`},
		} {
			w.b = w.open(snssqs.Options{
				BeforeSend: func(_ context.Context, in *sqs.SendMessageBatchInput) error { return c.f(in) },
			})
			s := w.sender(orders)
			p, err := s.Prepare(w.Context(), &driver.Message{Body: []byte("x")})
			if err != nil {
				t.Fatal(err)
			}
			err = s.Send(w.Context(), []driver.Prepared{p})
			if driver.ClassOf(err) != c.class || !strings.Contains(err.Error(), c.part) ||
				!strings.Contains(err.Error(), "BeforeSend") {
				t.Errorf("%s: %v, %v", name, driver.ClassOf(err), err)
			}
		}
	})
}
