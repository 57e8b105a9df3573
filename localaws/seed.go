package localaws

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/godwitmq/godwit/localaws/cloudwatch"
	"github.com/godwitmq/godwit/localaws/s3"
	"github.com/godwitmq/godwit/localaws/sns"
	"github.com/godwitmq/godwit/localaws/wire"
)

// seedPlace is the place of a resource in a seed file. "" means the server's options.
type seedPlace struct {
	Account string `json:"account"`
	Region  string `json:"region"`
}

// seedQueue is a queue in a seed file.
type seedQueue struct {
	seedPlace
	Name       string            `json:"name"`
	Attributes seedAttributes    `json:"attributes"`
	Tags       map[string]string `json:"tags"`
	// DeadLetterQueue is the name of a queue, in this file or existing. Together with MaxReceiveCount it replaces a
	// RedrivePolicy.
	DeadLetterQueue string `json:"deadLetterQueue"`
	MaxReceiveCount int    `json:"maxReceiveCount"`
}

// seedTopic is a topic in a seed file, with its subscriptions.
type seedTopic struct {
	seedPlace
	Name          string             `json:"name"`
	Attributes    seedAttributes     `json:"attributes"`
	Tags          map[string]string  `json:"tags"`
	Subscriptions []seedSubscription `json:"subscriptions"`
}

type seedSubscription struct {
	Queue      string         `json:"queue"`
	Endpoint   string         `json:"endpoint"`
	Protocol   string         `json:"protocol"` // "": the protocol of the endpoint's URL
	Attributes seedAttributes `json:"attributes"`
}

// seedBucket is a bucket in a seed file.
type seedBucket struct {
	seedPlace
	Name          string             `json:"name"`
	Tags          map[string]string  `json:"tags"`
	Notifications []seedNotification `json:"notifications"`
}

type seedNotification struct {
	Queue  string   `json:"queue"`
	Topic  string   `json:"topic"`
	Events []string `json:"events"`
	Prefix string   `json:"prefix"`
	Suffix string   `json:"suffix"`
}

// Plant creates what a seed file describes: JSON with queues, topics and the topics' subscriptions, buckets with their
// notifications, and alarms. An existing resource is accepted if its attributes agree; an existing alarm gets the new
// configuration.
//
//	{
//	  "queues": [
//	    {"name": "orders", "attributes": {"VisibilityTimeout": 60}, "tags": {"team": "a"},
//	     "deadLetterQueue": "orders-dlq", "maxReceiveCount": 5},
//	    {"name": "orders-dlq"},
//	    {"name": "audit.fifo", "attributes": {"ContentBasedDeduplication": true}}
//	  ],
//	  "topics": [
//	    {"name": "events", "subscriptions": [
//	      {"queue": "orders", "attributes": {"RawMessageDelivery": true, "FilterPolicy": {"kind": ["order"]}}}
//	    ]}
//	  ],
//	  "buckets": [
//	    {"name": "uploads", "tags": {"team": "a"}, "notifications": [
//	      {"queue": "orders", "events": ["s3:ObjectCreated:*"], "prefix": "in/", "suffix": ".csv"}
//	    ]}
//	  ],
//	  "alarms": [
//	    {"name": "backlog", "topics": ["events"], "attributes": {
//	      "Namespace": "AWS/SQS", "MetricName": "ApproximateNumberOfMessagesVisible", "Statistic": "Maximum",
//	      "Dimensions": [{"Name": "QueueName", "Value": "orders"}], "Period": 60, "EvaluationPeriods": 3,
//	      "Threshold": 1000, "ComparisonOperator": "GreaterThanThreshold"}}
//	  ]
//	}
//
// Attributes are AWS's own. Their values may be strings, numbers, booleans, or JSON where AWS expects JSON in a string.
// A name that ends in .fifo creates a FIFO queue or topic. Queues are created first, in any order, then topics, then
// buckets, then alarms. A subscription has a queue or an endpoint, which is a URL, or that of a protocol ("protocol":
// "email"). Endpoints of subscriptions confirm at the first address that Listen opened. A queue that subscriptions
// and notifications name, and that has no policy of its own, gets one that lets these topics and buckets send to it;
// so does a topic of notifications. Each of them may have an account and a region; without, they are those of the
// options. Names in it mean the same account and region; a queue or topic elsewhere is named by its ARN. The
// attributes of an alarm are the parameters of PutMetricAlarm, with the types of its JSON; topics are those that it
// publishes to when it becomes ALARM. An error names the line and the field.
//
// POST /_localaws/reset?seed=1 reads the file again. A field kafka is for `godwit local --kafka`; Plant ignores it.
func (s *Server) Plant(ctx context.Context, path string) error {
	if err := errors.Join(newPlanter(s).plant(ctx, path), s.keeping.sync()); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Contains(s.planted, path) {
		s.planted = append(slices.Clip(s.planted), path)
	}
	return nil
}

// planter creates what seed files describe.
type planter struct {
	places  *places
	s3      *s3.Service
	baseURL string // for confirmations
}

func newPlanter(s *Server) *planter { return &planter{s.places, s.s3, s.baseURL()} }

func (p *planter) plant(ctx context.Context, path string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("localaws: seed file: %w", err)
	}
	f := seedReader{path: path, data: data}
	content, err := f.read()
	if err != nil {
		return err
	}
	queues, topics := content.queues, content.topics
	for _, q := range queues {
		if err := p.plantQueue(q.value); err != nil {
			return f.at(q.offset, "queue %q: %w", q.value.Name, err)
		}
	}
	for _, q := range queues {
		if err := p.plantDeadLetters(q.value); err != nil {
			return f.at(q.offset, "queue %q: %w", q.value.Name, err)
		}
	}
	if err := content.admitGuests(p.places); err != nil {
		return fmt.Errorf("localaws: %s: %w", path, err)
	}
	for _, t := range topics {
		in, err := p.places.seeded(t.value.seedPlace)
		if err != nil {
			return f.at(t.offset, "topic %q: %w", t.value.Name, err)
		}
		if err := in.sns.Plant(ctx, t.value.seed(), p.baseURL); err != nil {
			return f.at(t.offset, "%w", err)
		}
	}
	for _, b := range content.buckets {
		if err := p.plantBucket(b.value); err != nil {
			return f.at(b.offset, "bucket %q: %w", b.value.Name, err)
		}
	}
	for _, a := range content.alarms {
		in, err := p.places.seeded(a.value.seedPlace)
		if err == nil {
			err = in.cloudwatch.Plant(a.value.seed(in.at))
		}
		if err != nil {
			return f.at(a.offset, "alarm %q: %w", a.value.Name, err)
		}
	}
	return nil
}

func (p *planter) plantBucket(b seedBucket) error {
	if _, err := p.places.seeded(seedPlace{Account: b.Account}); err != nil {
		return err
	}
	seed := s3.Seed{Account: b.Account, Name: b.Name, Region: b.Region, Tags: b.Tags}
	if len(b.Notifications) == 0 {
		return p.s3.Plant(seed)
	}
	in, err := p.places.seeded(b.seedPlace)
	if err != nil {
		return err
	}
	for i, n := range b.Notifications {
		destination, err := p.destination(n, in, s3.ARN(in.at.Region, b.Name))
		if err != nil {
			return fmt.Errorf("notifications[%d]: %w", i, err)
		}
		seed.Notifications = append(seed.Notifications, s3.SeedNotification{
			Destination: destination, Events: n.Events, Prefix: n.Prefix, Suffix: n.Suffix,
		})
	}
	return p.s3.Plant(seed)
}

// destination returns the ARN of a notification's queue or topic, and gives a topic a policy if it has none of its own.
// A name means the bucket's place.
func (p *planter) destination(n seedNotification, in *services, bucketARN string) (string, error) {
	switch {
	case (n.Queue == "") == (n.Topic == ""):
		return "", errors.New("a notification has either queue or topic")
	case n.Topic != "":
		arn := n.Topic
		if !strings.HasPrefix(arn, "arn:") {
			arn = in.at.ARN("sns", arn)
		}
		return arn, p.places.named(arn).sns.AdmitByDefault(arn,
			policyOf(permission{s3Principal, "sns:Publish", arn, []string{bucketARN}}))
	}
	if strings.HasPrefix(n.Queue, "arn:") {
		in = p.places.named(n.Queue)
	}
	q := in.sqs.Queue(n.Queue)
	if q == nil {
		return "", fmt.Errorf("queue %q does not exist", n.Queue)
	}
	return q.ARN(), nil
}

// seedAlarm is an alarm in a seed file.
type seedAlarm struct {
	seedPlace
	Name       string          `json:"name"`
	Topics     []string        `json:"topics"`
	Attributes json.RawMessage `json:"attributes"`
}

// seed returns the alarm with the ARNs of its topics.
func (a seedAlarm) seed(at wire.Place) cloudwatch.Seed {
	seed := cloudwatch.Seed{Name: a.Name, Parameters: a.Attributes}
	for _, topic := range a.Topics {
		if !strings.HasPrefix(topic, "arn:") {
			topic = at.ARN("sns", topic)
		}
		seed.Topics = append(seed.Topics, topic)
	}
	return seed
}

// redriveName is the attribute that may name a queue which comes later in the file.
const redriveName = "RedrivePolicy"

// plantQueue creates a queue without its dead letters, because their queue may come later.
func (p *planter) plantQueue(q seedQueue) error {
	attributes := seedAttributes{}
	for name, v := range q.Attributes {
		if name != redriveName {
			attributes[name] = v
		}
	}
	if strings.HasSuffix(q.Name, ".fifo") {
		attributes["FifoQueue"] = "true"
	}
	in, err := p.places.seeded(q.seedPlace)
	if err == nil {
		_, err = in.sqs.Create(q.Name, attributes, q.Tags)
	}
	return err
}

func (p *planter) plantDeadLetters(q seedQueue) error {
	in, err := p.places.seeded(q.seedPlace)
	if err != nil {
		return err
	}
	policy := q.Attributes[redriveName]
	switch {
	case q.DeadLetterQueue == "" && q.MaxReceiveCount != 0:
		return errors.New("maxReceiveCount needs deadLetterQueue")
	case q.DeadLetterQueue != "" && policy != "":
		return errors.New("deadLetterQueue and the attribute RedrivePolicy have the same meaning; set one of them")
	case q.DeadLetterQueue != "":
		target := in.sqs.Queue(q.DeadLetterQueue)
		if target == nil {
			return fmt.Errorf("deadLetterQueue %q does not exist", q.DeadLetterQueue)
		}
		policy = fmt.Sprintf(`{"deadLetterTargetArn":"%s","maxReceiveCount":%d}`, target.ARN(), q.MaxReceiveCount)
	case policy == "":
		return nil
	}
	return in.sqs.Configure(q.Name, map[string]string{redriveName: policy})
}

func (t seedTopic) seed() sns.Seed {
	seed := sns.Seed{Name: t.Name, Attributes: t.Attributes, Tags: t.Tags}
	if strings.HasSuffix(t.Name, ".fifo") && seed.Attributes["FifoTopic"] == "" {
		seed.Attributes = map[string]string{"FifoTopic": "true"}
		maps.Copy(seed.Attributes, t.Attributes)
	}
	for _, sub := range t.Subscriptions {
		seed.Subscriptions = append(seed.Subscriptions, sns.SeedSubscription{
			Queue: sub.Queue, Endpoint: sub.Endpoint, Protocol: sub.Protocol, Attributes: sub.Attributes,
		})
	}
	return seed
}

// seedAttributes are attributes whose values may be any JSON.
type seedAttributes map[string]string

// UnmarshalJSON turns every value into a string.
func (a *seedAttributes) UnmarshalJSON(b []byte) error {
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(b, &raw); err != nil {
		return err
	}
	*a = seedAttributes{}
	for name, v := range raw {
		var text string
		if json.Unmarshal(v, &text) == nil {
			(*a)[name] = text
			continue
		}
		var compact bytes.Buffer
		if err := json.Compact(&compact, v); err != nil {
			return err
		}
		(*a)[name] = compact.String()
	}
	return nil
}

// seedReader reads a seed file, and keeps positions for error texts.
type seedReader struct {
	path string
	data []byte
}

// placed is an element of a list, with its position.
type placed[T any] struct {
	value  T
	offset int64
}

// seedContent is what a seed file has.
type seedContent struct {
	queues  []placed[seedQueue]
	topics  []placed[seedTopic]
	buckets []placed[seedBucket]
	alarms  []placed[seedAlarm]
}

func (f *seedReader) read() (content seedContent, err error) {
	var whole any
	if err := json.Unmarshal(f.data, &whole); err != nil {
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			return content, f.at(syntax.Offset, "%w", err)
		}
		return content, f.at(0, "%w", err)
	}
	d := json.NewDecoder(bytes.NewReader(f.data)) // because it reports its position
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return content, f.at(d.InputOffset(), "expected an object with queues, topics, buckets and alarms")
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return content, f.at(d.InputOffset(), "%w", err)
		}
		switch name {
		case "queues":
			content.queues, err = elements[seedQueue](f, d, "queues")
		case "topics":
			content.topics, err = elements[seedTopic](f, d, "topics")
		case "buckets":
			content.buckets, err = elements[seedBucket](f, d, "buckets")
		case "alarms":
			content.alarms, err = elements[seedAlarm](f, d, "alarms")
		case "kafka": // of `godwit local`
			var skipped json.RawMessage
			err = d.Decode(&skipped)
		default:
			return content, f.at(d.InputOffset(), "unknown field %q; there are queues, topics, buckets, alarms and kafka",
				name)
		}
		if err != nil {
			return content, err
		}
	}
	return content, nil
}

// elements decodes a list, strictly.
func elements[T any](f *seedReader, d *json.Decoder, name string) ([]placed[T], error) {
	if t, err := d.Token(); err != nil || t != json.Delim('[') {
		return nil, f.at(d.InputOffset(), "%s is not a list", name)
	}
	var all []placed[T]
	for d.More() {
		var raw json.RawMessage
		if err := d.Decode(&raw); err != nil {
			return nil, f.at(d.InputOffset(), "%w", err)
		}
		e := placed[T]{offset: d.InputOffset() - int64(len(raw))}
		strict := json.NewDecoder(bytes.NewReader(raw))
		strict.DisallowUnknownFields()
		if err := strict.Decode(&e.value); err != nil {
			return nil, f.at(e.offset, "%s[%d]: %s", name, len(all), strings.TrimPrefix(err.Error(), "json: "))
		}
		all = append(all, e)
	}
	if _, err := d.Token(); err != nil {
		return nil, f.at(d.InputOffset(), "%w", err)
	}
	return all, nil
}

// at adds file and line to an error.
func (f *seedReader) at(offset int64, format string, args ...any) error {
	before := f.data[:min(offset, int64(len(f.data)))]
	line := 1 + bytes.Count(before, []byte("\n"))
	args = slices.Concat([]any{f.path, line}, args)
	return fmt.Errorf("localaws: %s:%d: "+format, args...)
}
