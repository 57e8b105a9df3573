package snssqs_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/localaws"
	"github.com/godwitmq/godwit/snssqs"
)

// subscribed makes a topic and a queue of another program, with a subscription without raw delivery, and returns the
// topic's ARN.
func (w *world) subscribedQueue(topic, queue string) string {
	w.Helper()
	made, err := w.sns.CreateTopic(w.Context(), &sns.CreateTopicInput{Name: &topic})
	if err != nil {
		w.Fatal(err)
	}
	if _, err := w.sqs.CreateQueue(w.Context(), &sqs.CreateQueueInput{QueueName: &queue}); err != nil {
		w.Fatal(err)
	}
	w.set(queue, map[string]string{"Policy": `{"Statement":[{"Effect":"Allow","Principal":{"Service":"sns.amazonaws.com"},` +
		`"Action":"sqs:SendMessage","Resource":"` + queueARN + queue + `","Condition":{"ArnLike":{"aws:SourceArn":"` +
		*made.TopicArn + `"}}}]}`})
	if _, err := w.sns.Subscribe(w.Context(), &sns.SubscribeInput{
		TopicArn: made.TopicArn, Protocol: aws.String("sqs"), Endpoint: aws.String(queueARN + queue),
	}); err != nil {
		w.Fatal(err)
	}
	return *made.TopicArn
}

func (w *world) publish(topic, text string) {
	w.Helper()
	if _, err := w.sns.Publish(w.Context(), &sns.PublishInput{TopicArn: &topic, Message: &text}); err != nil {
		w.Fatal(err)
	}
}

// forged is JSON that says to be of a topic of SNS.
func forged(topic, text string) string {
	out, _ := json.Marshal(map[string]string{
		"Type": "Notification", "MessageId": "1", "TopicArn": topic, "Message": text,
		"Timestamp": "2026-01-01T00:00:00.000Z", "SignatureVersion": "1",
	})
	return string(out)
}

// logs is a logger that counts the lines with a text.
type logs struct {
	slog.Handler
	text  string
	lines int
}

func (*logs) Enabled(context.Context, slog.Level) bool { return true }

func (l *logs) Handle(_ context.Context, r slog.Record) error {
	if strings.Contains(r.Message, l.text) {
		l.lines++
	}
	return nil
}

// A mapped queue opens the JSON of the topics that its policy lets in. The rest is the body as it came: counted, and
// logged once. A dead letter is opened as the message was.
func TestTheJSONOfTrustedTopicsIsOpened(t *testing.T) {
	inWorld(t, localaws.Options{}, func(w *world) {
		topic := w.subscribedQueue("News", "Legacy")
		if _, err := w.sqs.CreateQueue(w.Context(), &sqs.CreateQueueInput{QueueName: aws.String("Dead")}); err != nil {
			t.Fatal(err)
		}
		log := &logs{Handler: slog.DiscardHandler, text: "EnvelopesFrom"}
		names := map[string]snssqs.Resource{"orders": {Queue: queueARN + "Legacy", DeadLetters: queueARN + "Dead"}}
		other := topicARN + "Other"
		for name, c := range map[string]struct {
			from          map[string][]string
			trusted, rest bool // the JSON of the trusted and of the other topic is opened
		}{
			"by policy": {nil, true, false},
			"all":       {map[string][]string{"orders": {"*"}}, true, true},
			"never":     {map[string][]string{"orders": {}}, false, false},
			"a list":    {map[string][]string{"orders": {other}}, false, true},
		} {
			log.lines = 0
			w.b = w.open(snssqs.Options{Names: names, EnvelopesFrom: c.from, Logger: slog.New(log)})
			unopened := 0
			r, err := w.b.Receiver(w.Context(), orders, driver.ReceiverOptions{
				Concurrency: 10, Wait: time.Second, Events: driver.Events{Unopened: func(n int) { unopened += n }},
			})
			if err != nil {
				t.Fatal(err)
			}
			w.receivers = append(w.receivers, r)
			want := 0
			for text, opened := range map[string]bool{"trusted": c.trusted, "rest": c.rest} {
				if text == "trusted" {
					w.publish(topic, text)
				} else {
					w.foreign("Legacy", forged(other, text), nil)
				}
				d := w.receive(r, 1)[0]
				if got := string(d.Body) == text; got != opened || d.Err != nil {
					t.Errorf("%s, %s: the body is %q, %v", name, text, d.Body, d.Err)
				}
				if !opened && !strings.HasPrefix(string(d.Body), "{") {
					t.Errorf("%s, %s: the body is not the JSON: %q", name, text, d.Body)
				}
				w.reject(r, "no", d)
				letters := w.receiver(dead(orders), driver.Filter{})
				letter := w.receive(letters, 1)[0]
				if got := string(letter.Body) == text; got != opened || letter.Origin.Death.Error != "no" {
					t.Errorf("%s, %s: the dead letter is %q, %+v", name, text, letter.Body, letter.Origin)
				}
				if err := letters.Settle(w.Context(), []driver.Settlement{{Handle: letter.Handle}}); err != nil {
					t.Error(err)
				}
				if !opened {
					want++
				}
			}
			if unopened != want || log.lines != min(want, 1) {
				t.Errorf("%s: %d messages were counted and %d warnings logged, want %d and %d", name, unopened, log.lines,
					want, min(want, 1))
			}
		}
	})
}

// An owned queue opens the JSON of its exchange's topic, and no other.
func TestTheJSONOfTheExchangeIsOpened(t *testing.T) {
	inWorld(t, localaws.Options{}, func(w *world) {
		ch := driver.Channel{Exchange: "news", Queue: "mine"}
		w.ensure(owner(ch))
		r := w.receiver(ch, driver.Filter{})
		for topic, opened := range map[string]bool{"news": true, "other": false} {
			w.foreign("news--mine", forged(topicARN+topic, "x"), nil)
			if d := w.receive(r, 1)[0]; (string(d.Body) == "x") != opened {
				t.Errorf("of topic %s: %q", topic, d.Body)
			}
		}
	})
}

// The dead letters of a mapped queue can be read without the permission for the queue; then nothing is opened.
func TestDeadLettersWithoutTheirQueue(t *testing.T) {
	inWorld(t, localaws.Options{}, func(w *world) {
		if _, err := w.sqs.CreateQueue(w.Context(), &sqs.CreateQueueInput{QueueName: aws.String("Dead")}); err != nil {
			t.Fatal(err)
		}
		w.b = w.open(snssqs.Options{Names: map[string]snssqs.Resource{
			"orders": {Queue: queueARN + "Gone", DeadLetters: queueARN + "Dead"},
		}})
		json := forged(topicARN+"x", "x")
		w.foreign("Dead", json, nil)
		if d := w.receive(w.receiver(dead(orders), driver.Filter{}), 1)[0]; string(d.Body) != json {
			t.Errorf("the dead letter is %q", d.Body)
		}
	})
}

// A signature of SNS is checked before the message is opened. What another program wrote is rejected with the reason.
func TestSignatures(t *testing.T) {
	inWorld(t, localaws.Options{}, func(w *world) {
		topic := w.subscribedQueue("News", "Legacy")
		w.b = w.open(snssqs.Options{
			Names: map[string]snssqs.Resource{"orders": {Queue: queueARN + "Legacy"}}, CheckSignatures: true,
		})
		r := w.receiver(orders, driver.Filter{})
		var whole string
		for _, version := range []string{"1", "2"} {
			if _, err := w.sns.SetTopicAttributes(w.Context(), &sns.SetTopicAttributesInput{
				TopicArn: &topic, AttributeName: aws.String("SignatureVersion"), AttributeValue: &version,
			}); err != nil {
				t.Fatal(err)
			}
			if _, err := w.sns.Publish(w.Context(), &sns.PublishInput{
				TopicArn: &topic, Message: aws.String("text\n" + version), Subject: aws.String("subject"),
			}); err != nil {
				t.Fatal(err)
			}
			d := w.receive(r, 1)[0]
			if string(d.Body) != "text\n"+version || d.Err != nil {
				t.Errorf("version %s: %q, %v", version, d.Body, d.Err)
			}
			var m types.Message
			r.As(d.Handle, &m)
			whole = *m.Body
		}
		var fields map[string]string
		if err := json.Unmarshal([]byte(whole), &fields); err != nil {
			t.Fatal(err)
		}
		for field, bad := range map[string][2]string{
			"Message":          {"changed", "does not fit"},
			"Subject":          {"changed", "does not fit"},
			"Signature":        {"", "has none"},
			"SignatureVersion": {"3", "only 1 and 2"},
			"SigningCertURL":   {"https://evil.example/a.pem", "Not Found"},
		} {
			was := fields[field]
			fields[field] = bad[0]
			text, _ := json.Marshal(fields)
			fields[field] = was
			w.foreign("Legacy", string(text), nil)
			d := w.receive(r, 1)[0]
			if d.Err == nil || !strings.Contains(d.Err.Error(), bad[1]) || string(d.Body) != string(text) {
				t.Errorf("%s changed: %q, %v", field, d.Body, d.Err)
			}
		}
		w.foreign("Legacy", "plain", nil) // a message without SNS needs no signature
		if d := w.receive(r, 1)[0]; string(d.Body) != "plain" || d.Err != nil {
			t.Errorf("%q, %v", d.Body, d.Err)
		}
	})
}

// certless is a transport that answers no request for a certificate while it is on.
type certless struct {
	next http.RoundTripper
	on   atomic.Bool
}

func (c *certless) RoundTrip(r *http.Request) (*http.Response, error) {
	if c.on.Load() && r.Method == http.MethodGet {
		return nil, errors.New("no route to host")
	}
	return c.next.RoundTrip(r)
}

// While the certificate cannot be read, nothing is received, so that the wait does not count as receives. The messages
// come when it can.
func TestACertificateThatCannotBeRead(t *testing.T) {
	inWorld(t, localaws.Options{}, func(w *world) {
		topic := w.subscribedQueue("News", "Legacy")
		fetch := &certless{next: w.server.Transport()}
		w.b = w.open(snssqs.Options{
			Names: map[string]snssqs.Resource{"orders": {Queue: queueARN + "Legacy"}}, CheckSignatures: true,
			Transport: fetch,
		})
		for i := range 3 {
			w.publish(topic, fmt.Sprint(i))
		}
		r := w.receiver(orders, driver.Filter{})
		fetch.on.Store(true)
		polls := w.calls(func() {
			for range 20 {
				ds, err := r.Receive(w.Context(), driver.Ask{Max: 10}, nil)
				if len(ds) > 0 || driver.ClassOf(err) != driver.Transient ||
					!strings.Contains(err.Error(), "certificate") {
					t.Errorf("received %d messages, %v", len(ds), err)
				}
				time.Sleep(time.Minute)
			}
		})["sqs.ReceiveMessage"]
		if polls != 1 {
			t.Errorf("%d polls", polls)
		}
		fetch.on.Store(false)
		for _, d := range w.receive(r, 3) {
			if d.Err != nil || d.Received != 2 {
				t.Errorf("%q was received %d times, %v", d.Body, d.Received, d.Err)
			}
		}
	})
}
