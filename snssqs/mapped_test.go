package snssqs_test

import (
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/localaws"
	"github.com/godwitmq/godwit/snssqs"
)

// Mapped resources are used, and never changed or tagged, whatever an owner asks for.
func TestMappedResourcesAreNeverChanged(t *testing.T) {
	inWorld(t, localaws.Options{}, func(w *world) {
		for _, q := range []string{"Legacy_Queue", "_odd--name--of--old_", "Legacy_Dead"} {
			if _, err := w.sqs.CreateQueue(w.Context(),
				&sqs.CreateQueueInput{
					QueueName:  &q,
					Attributes: map[string]string{"VisibilityTimeout": "77"},
				}); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := w.sns.CreateTopic(w.Context(),
			&sns.CreateTopicInput{Name: aws.String("Legacy_Topic")}); err != nil {
			t.Fatal(err)
		}
		w.b = w.open(snssqs.Options{Names: map[string]snssqs.Resource{
			"orders":    {Queue: w.url("Legacy_Queue"), DeadLetters: queueARN + "Legacy_Dead"},
			"invoices":  {Queue: queueARN + "_odd--name--of--old_"},
			"news.*":    {Topic: topicARN + "Legacy_Topic"},
			"news.mine": {Queue: w.url("Legacy_Queue"), DeadLetters: w.url("Legacy_Dead")},
		}})
		invoices, news := driver.Channel{Queue: "invoices"}, driver.Channel{Exchange: "news"}
		mine := driver.Channel{Exchange: "news", Queue: "mine"}
		made := w.calls(func() {
			for _, ch := range []driver.Channel{orders, invoices, mine, dead(orders)} {
				s := owner(ch)
				s.Delay, s.Lease, s.Encryption = time.Minute, time.Hour, "alias/mine"
				s.Tags = map[string]string{"owner": "me"}
				s.NoDeadLetters = ch == invoices
				if ch.Exchange != "" {
					s.Filter = mobile
				}
				w.ensure(s)
				w.ensure(driver.ChannelSpec{Channel: ch})
			}
			w.ensure(driver.ChannelSpec{Channel: news})
			for _, ch := range []driver.Channel{orders, invoices} {
				w.send(w.sender(ch), driver.Message{Body: []byte("x")})
			}
			r := w.receiver(orders, driver.Filter{})
			w.reject(r, "no", w.receive(r, 1)...)
			w.receive(w.receiver(dead(orders), driver.Filter{}), 1)
			w.receive(w.receiver(invoices, driver.Filter{}), 1)
			w.send(w.sender(news), driver.Message{Body: []byte("x")})
			w.receiver(mine, driver.Filter{})
			time.Sleep(time.Hour)
		})
		for action := range changing(made) {
			switch action {
			case "sqs.SendMessageBatch", "sqs.DeleteMessageBatch", "sns.PublishBatch":
			default:
				t.Errorf("foreign resources saw %s", action)
			}
		}
	})
}

// A queue of ours can subscribe to a foreign topic without changing the topic.
func TestAForeignTopic(t *testing.T) {
	inWorld(t, localaws.Options{}, func(w *world) {
		if _, err := w.sns.CreateTopic(w.Context(),
			&sns.CreateTopicInput{Name: aws.String("Legacy_Topic")}); err != nil {
			t.Fatal(err)
		}
		w.b = w.open(snssqs.Options{Names: map[string]snssqs.Resource{"news.*": {Topic: topicARN + "Legacy_Topic"}}})
		ch := driver.Channel{Exchange: "news", Queue: "ours"}
		made := w.calls(func() { w.ensure(filtered(ch)) })
		if made["sns.SetTopicAttributes"]+made["sns.TagResource"]+made["sns.CreateTopic"] > 0 {
			t.Errorf("made %v", made)
		}
		w.subscribed("Legacy_Topic", "news--ours", mobilePolicy)
		w.send(w.sender(driver.Channel{Exchange: "news"}), driver.Message{Body: []byte("x"), RoutingKey: "MOBILE.X"})
		w.receive(w.receiver(ch, mobile), 1)
	})
}

func TestMappedResourcesThatDoNotFit(t *testing.T) {
	for name, r := range map[string]snssqs.Resource{
		"orders": {}, "a": {Queue: "orders"}, "b": {Queue: topicARN + "x"}, "c": {Topic: queueARN + "x"},
		"d":          {DeadLetters: "x"},
		"orders@dlq": {Queue: queueARN + "x"}, "orders.fifo": {Queue: queueARN + "x"}, "a.b.c": {Queue: queueARN + "x"},
		"events.": {Topic: topicARN + "x"},
		"events":  {Topic: topicARN + "x"}, "events.*": {Queue: queueARN + "x"},
		"news.*": {DeadLetters: queueARN + "x"},
	} {
		if _, err := snssqs.Open(t.Context(),
			&snssqs.Options{
				AWS:   &aws.Config{Region: "eu-west-1"},
				Names: map[string]snssqs.Resource{name: r},
			}); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s as %+v: %v, want an error that names it", name, r, err)
		}
	}
	inWorld(t, localaws.Options{}, func(w *world) {
		if _, err := w.sqs.CreateQueue(w.Context(), &sqs.CreateQueueInput{QueueName: aws.String("x")}); err != nil {
			t.Fatal(err)
		}
		w.b = w.open(snssqs.Options{Names: map[string]snssqs.Resource{
			"orders": {Queue: w.url("x")},
			"lost":   {Queue: queueARN + "nowhere"}, "e.*": {Topic: topicARN + "t.fifo"},
		}})
		for _, ch := range []driver.Channel{{Queue: "orders", Ordered: true}, {Exchange: "e"}} {
			if err := w.b.Ensure(w.Context(),
				driver.ChannelSpec{Channel: ch}); driver.ClassOf(err) != driver.Permanent || err == nil ||
				!strings.Contains(err.Error(), "Ordered") {
				t.Errorf("%s: %v, want it to say that the ordering differs", ch, err)
			}
		}
		if err := w.b.Ensure(w.Context(),
			owner(driver.Channel{Queue: "lost"})); driver.ClassOf(err) != driver.NotFound || err == nil {
			t.Errorf("a mapped queue that does not exist: %v", err)
		}
		r := w.receiver(orders, driver.Filter{})
		w.foreign("x", "x", nil)
		err := r.Settle(w.Context(), []driver.Settlement{{Handle: w.receive(r, 1)[0].Handle, Action: driver.Reject}})
		if err == nil || !strings.Contains(err.Error(), "orders@dlq") {
			t.Errorf("rejecting without mapped dead letters: %v", err)
		}
	})
}

// An entry of Options.Names that fits no channel is usually a typing error. Nothing is created for it.
func TestNothingIsMadeBesideAMistypedName(t *testing.T) {
	inWorld(t, localaws.Options{}, func(w *world) {
		w.b = w.open(snssqs.Options{Names: map[string]snssqs.Resource{
			"ordres": {Queue: queueARN + "x"}, "event.*": {Topic: topicARN + "x"}, "wishes": {Queue: queueARN + "x"},
			"audit1":      {Queue: queueARN + "x"},
			"news.mobile": {Queue: queueARN + "x"},
		}})
		// The name of this exchange's queue is similar to news.mobile.
		w.ensure(driver.ChannelSpec{Channel: driver.Channel{Exchange: "new"}})
		for name, specs := range map[string][]driver.ChannelSpec{
			"ordres": {owner(orders), {Channel: orders}},
			"event.*": {
				{Channel: driver.Channel{Exchange: "events"}},
				owner(driver.Channel{Exchange: "events", Queue: "audit"}),
			},
			"wishes":      {{Channel: driver.Channel{Exchange: "wishes"}}},
			"news.mobile": {owner(driver.Channel{Exchange: "new", Queue: "mobil"})},
		} {
			for _, s := range specs {
				var err error
				made := changing(w.calls(func() { err = w.b.Ensure(w.Context(), s) }))
				if err == nil || !strings.Contains(err.Error(), name) || driver.ClassOf(err) != driver.Permanent ||
					len(made) > 0 {
					t.Errorf("%s, owner %v: %v, made %v; want an error that names %s", s.Channel, s.Owner, err, made,
						name)
				}
			}
		}
		w.ensure(owner(driver.Channel{Queue: "audit2"})) // names that differ by digits are different on purpose
		w.ensure(owner(driver.Channel{Queue: "invoices"}))
		if _, err := w.sqs.CreateQueue(w.Context(),
			&sqs.CreateQueueInput{QueueName: aws.String("orders")}); err != nil {
			t.Fatal(err)
		}
		w.ensure(driver.ChannelSpec{Channel: orders}) // it exists, so it is intended
	})
}

// The dead letters of a mapped queue are those that Options.Names names, or those of the queue's own redrive policy. If
// there are none, the consumer gets an error before it starts.
func TestDeadLettersOfAMappedQueue(t *testing.T) {
	inWorld(t, localaws.Options{}, func(w *world) {
		for _, q := range []string{"old", "old_dead", "bare"} {
			if _, err := w.sqs.CreateQueue(w.Context(), &sqs.CreateQueueInput{QueueName: &q}); err != nil {
				t.Fatal(err)
			}
		}
		w.set("old",
			map[string]string{"RedrivePolicy": `{"deadLetterTargetArn":"` + queueARN +
				`old_dead","maxReceiveCount":"5"}`})
		bare, gone := driver.Channel{Queue: "bare"}, driver.Channel{Queue: "gone"}
		w.b = w.open(snssqs.Options{Names: map[string]snssqs.Resource{
			"orders": {Queue: w.url("old")}, "bare": {Queue: queueARN + "bare"},
			"gone": {Queue: queueARN + "bare", DeadLetters: queueARN + "nowhere"},
		}})
		for ch, part := range map[driver.Channel]string{bare: "NoDeadLetters", gone: "nowhere"} {
			if err := w.b.Ensure(w.Context(), owner(ch)); driver.ClassOf(err) != driver.NotFound || err == nil ||
				!strings.Contains(err.Error(), part) {
				t.Errorf("%s without dead letters: %v, want an error with %q", ch, err, part)
			}
			s := owner(ch)
			s.NoDeadLetters = true
			w.ensure(s)
			w.ensure(driver.ChannelSpec{Channel: ch})
		}
		w.ensure(owner(orders))
		r := w.receiver(orders, driver.Filter{})
		w.foreign("old", "x", nil)
		w.reject(r, "no", w.receive(r, 1)...)
		if d := w.receive(w.receiver(dead(orders), driver.Filter{}), 1)[0]; string(d.Body) != "x" ||
			w.attributes("old_dead")["ApproximateNumberOfMessagesNotVisible"] != "1" {
			t.Errorf("the dead letter is %q, and not in the queue that the redrive policy names", d.Body)
		}
	})
}

// elsewhere answers every request itself and records its host and region.
type elsewhere struct {
	mu  sync.Mutex
	saw []string
}

func (e *elsewhere) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	region := strings.Split(r.Header.Get("Authorization"), "/")[2]
	action := r.Header.Get("X-Amz-Target")
	answer := `{}`
	switch {
	case strings.HasSuffix(action, "GetQueueUrl"):
		answer = `{"QueueUrl":"https://sqs.eu-west-1.amazonaws.com/111122223333/theirs"}`
		if !strings.Contains(string(body), "111122223333") {
			answer = `{"QueueUrl":"wrong account"}`
		}
	case strings.HasSuffix(action, "GetQueueAttributes"):
		answer = `{"Attributes":{"QueueArn":"arn:aws:sqs:eu-west-1:111122223333:theirs"}}`
	case action == "":
		action = string(body[:strings.IndexByte(string(body), '&')])
		answer = `<GetTopicAttributesResponse><GetTopicAttributesResult><Attributes/></GetTopicAttributesResult></GetTopicAttributesResponse>`
	}
	e.mu.Lock()
	e.saw = append(e.saw, r.URL.Host+" "+region+" "+action)
	e.mu.Unlock()
	return &http.Response{
		StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(answer)),
		Request: r,
	}, nil
}

// Requests for a queue or topic of another region go to that region.
func TestMappedResourcesOfAnotherRegion(t *testing.T) {
	for _, at := range []string{
		"arn:aws:sqs:eu-west-1:111122223333:theirs", "https://sqs.eu-west-1.amazonaws.com/111122223333/theirs",
		"https://eu-west-1.queue.amazonaws.com/111122223333/theirs",
		"https://vpce-1-2.sqs.eu-west-1.vpce.amazonaws.com/111122223333/theirs",
	} {
		w := &world{
			T:    t,
			conf: aws.Config{Region: "us-east-1", Credentials: aws.CredentialsProviderFunc(credentialsOfTheTest)},
		}
		e := &elsewhere{}
		w.b = w.open(snssqs.Options{Transport: e, Names: map[string]snssqs.Resource{
			"orders": {Queue: at}, "news.*": {Topic: "arn:aws:sns:eu-west-1:111122223333:t"},
		}})
		s, r := w.sender(orders), w.receiver(orders, driver.Filter{})
		p, err := s.Prepare(t.Context(), &driver.Message{})
		if err != nil {
			t.Fatal(err)
		}
		_ = s.Send(t.Context(), []driver.Prepared{p}) // the answer is empty
		if _, err := r.Receive(t.Context(), 1, nil); err != nil {
			t.Error(err)
		}
		if _, err := w.b.Sender(t.Context(), driver.Channel{Exchange: "news"}); err != nil {
			t.Error(err)
		}
		if len(e.saw) < 5 {
			t.Errorf("%s: only %v was asked", at, e.saw)
		}
		for _, saw := range e.saw {
			if !strings.Contains(saw, ".eu-west-1.amazonaws.com eu-west-1 ") {
				t.Errorf("%s: asked %s", at, saw)
			}
		}
	}
}
