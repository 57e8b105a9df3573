package snssqs_test

import (
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/google/go-cmp/cmp"

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
		"orders": {}, "a": {Queue: "orders!"}, "b": {Queue: topicARN + "x"}, "c": {Topic: queueARN + "x"},
		"d":          {DeadLetters: "x y"},
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
		if _, err := r.Receive(t.Context(), driver.Ask{Max: 1}, nil); err != nil {
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

// A mapped queue keeps its lease, retention, delay and encryption. What the options ask for otherwise is logged once.
func TestSettingsOfMappedQueues(t *testing.T) {
	inWorld(t, localaws.Options{}, func(w *world) {
		for name, attributes := range map[string]map[string]string{
			"Legacy": {"VisibilityTimeout": "77", "DelaySeconds": "7", "MessageRetentionPeriod": "86400"},
			"Hasty":  {"VisibilityTimeout": "6"},
			"None":   {"VisibilityTimeout": "0"},
		} {
			if _, err := w.sqs.CreateQueue(w.Context(),
				&sqs.CreateQueueInput{QueueName: &name, Attributes: attributes}); err != nil {
				t.Fatal(err)
			}
		}
		log := &logs{Handler: slog.DiscardHandler, text: "VisibilityTimeout of the queue is 1m17s (this consumer receives " +
			"with its Lease); Retention is 48h0m0s, and MessageRetentionPeriod of the queue is 24h0m0s; Delay is 1m0s, " +
			"and DelaySeconds of the queue is 7s; Encryption is \"alias/mine\", and KmsMasterKeyId of the queue is \"\""}
		w.b = w.open(snssqs.Options{Logger: slog.New(log), Names: map[string]snssqs.Resource{
			"orders": {Queue: "Legacy"}, "hasty": {Queue: "Hasty"}, "none": {Queue: "None"},
		}})
		spec := driver.ChannelSpec{Channel: orders, Owner: true, NoDeadLetters: true}
		w.ensure(spec)
		if log.lines > 0 {
			t.Error("a consumer without options was warned")
		}
		spec.Delay, spec.Lease, spec.Encryption, spec.Retention = time.Minute, time.Hour, "alias/mine", 48*time.Hour
		w.ensure(spec)
		w.ensure(spec)
		if log.lines != 1 {
			t.Errorf("%d warnings", log.lines)
		}
		for channel, want := range map[string]struct {
			asked, lease, poll time.Duration
		}{
			"orders": {0, 77 * time.Second, 20 * time.Second},
			"hasty":  {0, 6 * time.Second, 3 * time.Second},
			"none":   {0, 30 * time.Second, 20 * time.Second},
		} {
			r, err := w.b.Receiver(w.Context(), driver.Channel{Queue: channel},
				driver.ReceiverOptions{Wait: 20 * time.Second, Lease: want.asked})
			if err != nil {
				t.Fatal(err)
			}
			w.receivers = append(w.receivers, r)
			asked := time.Now()
			if _, err := r.Receive(w.Context(), driver.Ask{Max: 1}, nil); err != nil {
				t.Fatal(err)
			}
			if poll := time.Since(asked); r.Limits().Lease != want.lease || poll != want.poll {
				t.Errorf("%s: a lease of %v and a poll of %v", channel, r.Limits().Lease, poll)
			}
		}
		w.send(w.sender(orders), driver.Message{Body: []byte("x")})
		r := w.receiver(orders, driver.Filter{})
		sent := time.Now()
		w.receive(r, 1)
		if waited := time.Since(sent); waited < 7*time.Second || waited > 9*time.Second {
			t.Errorf("the message waited for %v", waited)
		}
	})
}

// A queue and a topic can be mapped by their names, in the backend's own account and region.
func TestResourcesByName(t *testing.T) {
	inWorld(t, localaws.Options{}, func(w *world) {
		topic := w.subscribedQueue("News_Topic", "Legacy_Queue")
		for _, name := range []string{"Legacy_Dead", "Ordered.fifo"} {
			in := &sqs.CreateQueueInput{QueueName: &name}
			if strings.HasSuffix(name, ".fifo") {
				in.Attributes = map[string]string{"FifoQueue": "true"}
			}
			if _, err := w.sqs.CreateQueue(w.Context(), in); err != nil {
				t.Fatal(err)
			}
		}
		w.b = w.open(snssqs.Options{Names: map[string]snssqs.Resource{
			"news.*":    {Topic: "News_Topic"},
			"news.mine": {Queue: "Legacy_Queue", DeadLetters: "Legacy_Dead"},
			"sorted":    {Queue: "Ordered.fifo"}, "lost": {Queue: "Nowhere"},
		}})
		mine := driver.Channel{Exchange: "news", Queue: "mine"}
		w.ensure(owner(mine))
		w.send(w.sender(driver.Channel{Exchange: "news"}), driver.Message{Body: []byte("x")})
		r := w.receiver(mine, driver.Filter{})
		d := w.receive(r, 1)[0]
		if string(d.Body) != "x" {
			t.Errorf("received %q", d.Body)
		}
		w.reject(r, "no", d)
		w.receive(w.receiver(dead(mine), driver.Filter{}), 1)
		w.ensure(driver.ChannelSpec{Channel: driver.Channel{Queue: "sorted", Ordered: true}})
		for ch, part := range map[driver.Channel]string{
			{Queue: "sorted"}: "Ordered is false", {Queue: "lost"}: "Nowhere",
		} {
			if err := w.b.Ensure(w.Context(), driver.ChannelSpec{Channel: ch}); err == nil ||
				!strings.Contains(err.Error(), part) {
				t.Errorf("%v: %v", ch, err)
			}
		}
		all, err := w.b.Catalog(w.Context())
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(all, func(c driver.ChannelInfo) bool { return c.Address == topic }) {
			t.Errorf("the topic is not listed: %+v", all)
		}
	})
}

// The calls about a resource are signed for its region, by its credentials.
func TestResourcesOfOtherAccountsAndRegions(t *testing.T) {
	inWorld(t, localaws.Options{}, func(w *world) {
		signed := &signers{next: w.server.Transport(), by: map[string]int{}}
		theirs := credentials.NewStaticCredentialsProvider("theirs", "s", "")
		const far = "arn:aws:sqs:eu-west-3:123456789012:"
		b, err := snssqs.Open(w.Context(), &snssqs.Options{
			AWS: &w.conf, CancelPolls: true, Transport: signed,
			Names: map[string]snssqs.Resource{
				"orders": {Queue: far + "Legacy", Credentials: theirs},
				"news.*": {Topic: "arn:aws:sns:ap-south-1:123456789012:News", Credentials: theirs},
				"own":    {Queue: "Own"},
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, ch := range []driver.Channel{orders, {Exchange: "news"}, {Queue: "own"}} {
			_ = b.Ensure(w.Context(), driver.ChannelSpec{Channel: ch}) // none of them exists
		}
		want := map[string]int{"theirs eu-west-3 sqs": 1, "theirs ap-south-1 sns": 1, "k us-east-1 sqs": 1}
		if diff := cmp.Diff(want, signed.by); diff != "" {
			t.Errorf("calls by key, region and service (-want +got):\n%s", diff)
		}
	})
}

// signers counts the calls by key, region and service of their signatures.
type signers struct {
	next http.RoundTripper
	mu   sync.Mutex
	by   map[string]int
}

func (s *signers) RoundTrip(r *http.Request) (*http.Response, error) {
	_, scope, _ := strings.Cut(r.Header.Get("Authorization"), "Credential=")
	parts := strings.Split(scope, "/") // key, day, region, service
	s.mu.Lock()
	s.by[parts[0]+" "+parts[2]+" "+parts[3]]++
	s.mu.Unlock()
	return s.next.RoundTrip(r)
}
