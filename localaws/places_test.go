package localaws_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	cwtypes "github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"
	"github.com/aws/aws-sdk-go-v2/service/resourcegroupstaggingapi"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go"

	"github.com/godwitmq/godwit/localaws"
)

const (
	ours, theirs   = "111111111111", "222222222222"
	defaultAccount = "000000000000"
	virginia       = "us-east-1"
	ireland        = "eu-west-1"
	noQueue        = "AWS.SimpleQueueService.NonExistentQueue"
)

// caller is a user of one account and region: the real clients, signed for them.
type caller struct {
	*testing.T
	ctx             context.Context
	server          *localaws.Server
	account, region string
	sqs             *sqs.Client
	sns             *sns.Client
	s3              *s3.Client
	cloudwatch      *cloudwatch.Client
	tagging         *resourcegroupstaggingapi.Client
	sts             *sts.Client
}

// callFrom returns a caller with an access key.
func callFrom(t *testing.T, server *localaws.Server, key, region string) *caller {
	conf := aws.Config{
		Region: region, BaseEndpoint: aws.String("http://localhost"), RetryMaxAttempts: 1,
		Credentials: credentials.NewStaticCredentialsProvider(key, "secret", ""),
		HTTPClient:  &http.Client{Transport: server.Transport()},
	}
	c := &caller{
		T: t, ctx: t.Context(), server: server, account: defaultAccount, region: region,
		sqs: sqs.NewFromConfig(conf), sns: sns.NewFromConfig(conf), cloudwatch: cloudwatch.NewFromConfig(conf),
		tagging: resourcegroupstaggingapi.NewFromConfig(conf), sts: sts.NewFromConfig(conf),
		s3: s3.NewFromConfig(conf, func(o *s3.Options) { o.UsePathStyle = true }),
	}
	if len(key) == len(defaultAccount) {
		c.account = key
	}
	return c
}

func newPlacesServer(t *testing.T, o localaws.Options) *localaws.Server {
	t.Helper()
	o.Seed = testSeed
	server, err := localaws.New(&o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	return server
}

// ok fails the test on an error.
func ok[T any](out T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
}

// refused checks the code and a part of the text of an error.
func refused(t testing.TB, err error, code, text string) {
	t.Helper()
	var e smithy.APIError
	if !errors.As(err, &e) || e.ErrorCode() != code || !strings.Contains(e.ErrorMessage(), text) {
		t.Errorf("error %v, want %s: %s", err, code, text)
	}
}

func (c *caller) queue(name string, attributes map[string]string) *string {
	c.Helper()
	return ok(c.sqs.CreateQueue(c.ctx, &sqs.CreateQueueInput{QueueName: &name, Attributes: attributes}))(c).QueueUrl
}

func (c *caller) topic(name string) *string {
	c.Helper()
	return ok(c.sns.CreateTopic(c.ctx, &sns.CreateTopicInput{Name: &name}))(c).TopicArn
}

func (c *caller) arn(service, name string) string {
	return "arn:" + c.partition() + ":" + service + ":" + c.region + ":" + c.account + ":" + name
}

func (c *caller) partition() string {
	for begin, partition := range map[string]string{"cn-": "aws-cn", "us-gov-": "aws-us-gov"} {
		if strings.HasPrefix(c.region, begin) {
			return partition
		}
	}
	return "aws"
}

func (c *caller) send(url *string, body string) error {
	_, err := c.sqs.SendMessage(c.ctx, &sqs.SendMessageInput{QueueUrl: url, MessageBody: &body})
	return err
}

// bodies receives what a queue has.
func (c *caller) bodies(url *string) []string {
	c.Helper()
	var all []string
	for _, m := range ok(c.sqs.ReceiveMessage(c.ctx,
		&sqs.ReceiveMessageInput{QueueUrl: url, MaxNumberOfMessages: 10}))(c).Messages {
		all = append(all, *m.Body)
	}
	return all
}

// policy gives a queue a policy of one statement.
func (c *caller) policy(url *string, statement string) {
	c.Helper()
	ok(c.sqs.SetQueueAttributes(c.ctx, &sqs.SetQueueAttributesInput{QueueUrl: url, Attributes: map[string]string{
		"Policy": `{"Version":"2012-10-17","Statement":[` + statement + `]}`,
	}}))(c)
}

// fromTopic is the statement that lets a topic send to any queue.
func fromTopic(arn string) string {
	return `{"Effect":"Allow","Principal":{"Service":"sns.amazonaws.com"},"Action":"sqs:SendMessage","Resource":"*",` +
		`"Condition":{"ArnEquals":{"aws:SourceArn":"` + arn + `"},"StringEquals":{"aws:SourceAccount":"` +
		strings.Split(arn, ":")[4] + `"}}}`
}

func (c *caller) subscribe(topic *string, queueARN string) (*sns.SubscribeOutput, error) {
	return c.sns.Subscribe(c.ctx, &sns.SubscribeInput{
		TopicArn: topic, Protocol: aws.String("sqs"), Endpoint: &queueARN, ReturnSubscriptionArn: true,
		Attributes: map[string]string{"RawMessageDelivery": "true"},
	})
}

func (c *caller) publish(topic *string, text string) error {
	_, err := c.sns.Publish(c.ctx, &sns.PublishInput{TopicArn: topic, Message: &text})
	return err
}

// A request works in the region that it is signed for: queues and topics of one name are two, with their own ARNs,
// messages, attributes and lists.
func TestRegionsAreApart(t *testing.T) {
	server := newPlacesServer(t, localaws.Options{})
	for _, c := range []*caller{
		callFrom(t, server, "key", virginia), callFrom(t, server, "key", ireland), callFrom(t, server, ours, ireland),
	} {
		url := c.queue("orders", map[string]string{"VisibilityTimeout": fmt.Sprint(30 + len(server.Places()))})
		want := "http://localhost/" + c.account + "/orders"
		if c.region == ireland {
			want = "http://localhost/" + c.account + ".eu-west-1/orders"
		}
		if *url != want {
			t.Errorf("URL %s, want %s", *url, want)
		}
		attributes := ok(c.sqs.GetQueueAttributes(c.ctx, &sqs.GetQueueAttributesInput{
			QueueUrl: url, AttributeNames: []sqstypes.QueueAttributeName{"QueueArn", "ApproximateNumberOfMessages"},
		}))(t).Attributes
		if attributes["QueueArn"] != c.arn("sqs", "orders") || attributes["ApproximateNumberOfMessages"] != "0" {
			t.Errorf("attributes %v", attributes)
		}
		if err := c.send(url, c.region+c.account); err != nil {
			t.Fatal(err)
		}
		topic := c.topic("events")
		if *topic != c.arn("sns", "events") {
			t.Errorf("topic %s", *topic)
		}
		if n := len(ok(c.sqs.ListQueues(c.ctx, &sqs.ListQueuesInput{}))(t).QueueUrls); n != 1 {
			t.Errorf("%d queues in %s", n, c.region)
		}
		if n := len(ok(c.sns.ListTopics(c.ctx, &sns.ListTopicsInput{}))(t).Topics); n != 1 {
			t.Errorf("%d topics in %s", n, c.region)
		}
		if got := c.bodies(url); len(got) != 1 || got[0] != c.region+c.account {
			t.Errorf("%s has %v", c.arn("sqs", "orders"), got)
		}
	}
	if q := server.SQS().Queue("orders"); q.ARN() != "arn:aws:sqs:us-east-1:000000000000:orders" {
		t.Errorf("the default place has %s", q.ARN())
	}
	if q := server.In(ours, ireland).SQS().Queue("orders"); q.ARN() != "arn:aws:sqs:eu-west-1:111111111111:orders" {
		t.Errorf("In has %s", q.ARN())
	}
	var all []string
	for _, p := range server.Places() {
		all = append(all, p.Account()+" "+p.Region())
	}
	want := "[000000000000 eu-west-1 000000000000 us-east-1 111111111111 eu-west-1]"
	if fmt.Sprint(all) != want {
		t.Errorf("places %v, want %s", all, want)
	}
}

// A topic delivers to queues of other regions. The queue's policy decides.
func TestDeliveryAcrossRegions(t *testing.T) {
	log := &bytes.Buffer{}
	server := newPlacesServer(t, localaws.Options{Logger: slog.New(slog.NewTextHandler(log, nil))})
	here, there := callFrom(t, server, "key", virginia), callFrom(t, server, "key", ireland)
	topic, open, closed := here.topic("events"), there.queue("open", nil), there.queue("closed", nil)
	here.queue("open", nil)
	there.policy(open, fromTopic(*topic))
	for _, name := range []string{"open", "closed"} {
		out := ok(here.subscribe(topic, there.arn("sqs", name)))(t)
		if !strings.HasPrefix(*out.SubscriptionArn, *topic+":") {
			t.Errorf("subscription %s", *out.SubscriptionArn)
		}
	}
	if err := here.publish(topic, "m"); err != nil {
		t.Fatal(err)
	}
	if got := there.bodies(open); len(got) != 1 || got[0] != "m" {
		t.Errorf("the queue of the other region has %v", got)
	}
	if got := there.bodies(closed); len(got) != 0 {
		t.Errorf("the queue without a policy has %v", got)
	}
	if n := len(server.SNS().Failures()); n != 1 || !strings.Contains(log.String(), "needs the statement") {
		t.Errorf("%d failures; log:\n%s", n, log)
	}
	if n := server.SQS().Queue("open").Model().Stats().Visible; n != 0 {
		t.Errorf("the queue of the topic's own region has %d messages", n)
	}
	// The topic cannot be used in the queue's region.
	refused(t, there.publish(topic, "m"), "InvalidParameter", "Invalid parameter: TopicArn")
}

// A queue or topic that a call misses, and that is in another region, is named in the log once.
func TestMissingResourcesAreFound(t *testing.T) {
	log := &bytes.Buffer{}
	server := newPlacesServer(t, localaws.Options{Logger: slog.New(slog.NewTextHandler(log, nil))})
	here, there := callFrom(t, server, "key", virginia), callFrom(t, server, "key", ireland)
	url, topic := there.queue("orders", nil), there.topic("events")
	for range 2 {
		refused(t, here.send(url, "x"), "InvalidAddress", "The address http://localhost/ is not valid for this endpoint.")
		_, err := here.sqs.GetQueueUrl(here.ctx, &sqs.GetQueueUrlInput{QueueName: aws.String("orders")})
		refused(t, err, noQueue, "The specified queue does not exist.")
		refused(t, here.publish(topic, "x"), "InvalidParameter", "TopicArn")
		missing := here.arn("sns", "events")
		refused(t, here.publish(&missing, "x"), "NotFound", "Topic does not exist")
		refused(t, here.send(aws.String("http://localhost/000000000000/nowhere"), "x"),
			noQueue, "")
	}
	for _, name := range []string{"name=orders", "name=events"} {
		if n := strings.Count(log.String(), name); n != 1 {
			t.Errorf("the log has %s %d times:\n%s", name, n, log)
		}
	}
	if !strings.Contains(log.String(), `"it is in"="000000000000 in eu-west-1"`) ||
		!strings.Contains(log.String(), `"signed for"="000000000000 in us-east-1"`) ||
		strings.Contains(log.String(), "nowhere") {
		t.Errorf("the log is\n%s", log)
	}
}

// With SingleRegion, every request works in the region of the options.
func TestSingleRegion(t *testing.T) {
	server := newPlacesServer(t, localaws.Options{Region: "eu-central-1", SingleRegion: true})
	a, b := callFrom(t, server, "key", virginia), callFrom(t, server, "key", ireland)
	url := a.queue("orders", nil)
	if err := b.send(url, "x"); err != nil {
		t.Fatal(err)
	}
	if got := a.bodies(url); len(got) != 1 {
		t.Errorf("%d messages", len(got))
	}
	if topic := b.topic("t"); *topic != "arn:aws:sns:eu-central-1:000000000000:t" {
		t.Errorf("topic %s", *topic)
	}
	if got := own(t, server, "queues?region=eu-west-1")["queues"].([]any); len(got) != 1 {
		t.Errorf("listed %v", got)
	}
}

// A request without a signature works where the ARN or the account that it names is, and otherwise in the default
// place.
func TestUnsignedRequests(t *testing.T) {
	server := newPlacesServer(t, localaws.Options{})
	c := callFrom(t, server, ours, ireland)
	topic := c.topic("events")
	sub := ok(c.subscribe(topic, c.arn("sqs", "q")))(t).SubscriptionArn
	callFrom(t, server, ours, virginia).queue("q", nil)
	ask := func(values url.Values) (int, string) {
		return fetch(t, server, "GET", "/?"+values.Encode())
	}
	if status, body := ask(url.Values{
		"Action": {"GetTopicAttributes"}, "Version": {"2010-03-31"}, "TopicArn": {*topic},
	}); status != 200 || !strings.Contains(body, "<key>Owner</key><value>111111111111</value>") {
		t.Errorf("a topic by its ARN: %d %s", status, body)
	}
	if status, body := ask(url.Values{"Action": {"Unsubscribe"}, "SubscriptionArn": {*sub}}); status != 200 ||
		len(server.In(ours, ireland).SNS().Topics()[0].Subscriptions) != 0 {
		t.Errorf("the link of an envelope: %d %s", status, body)
	}
	send := url.Values{"Action": {"SendMessage"}, "QueueUrl": {"http://localhost/" + ours + "/q"}, "MessageBody": {"x"}}
	if status, body := ask(send); status != 200 ||
		server.In(ours, virginia).SQS().Queue("q").Model().Stats().Visible != 1 {
		t.Errorf("a queue by its URL: %d %s", status, body)
	}
	callFrom(t, server, ours, ireland).queue("q", nil)
	for i, path := range []string{"/" + ours + ".eu-west-1/q", "/queue/eu-west-1/" + ours + "/q"} {
		status, body := fetch(t, server, "GET", path+"?Action=SendMessage&MessageBody=x")
		if status != 200 || server.In(ours, ireland).SQS().Queue("q").Model().Stats().Visible != i+1 {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
	if status, body := ask(url.Values{"Action": {"CreateQueue"}, "QueueName": {"mine"}}); status != 200 ||
		server.SQS().Queue("mine") == nil {
		t.Errorf("a name: %d %s", status, body)
	}
	before := len(server.Places())
	if status, body := ask(url.Values{
		"Action": {"GetTopicAttributes"}, "Version": {"2010-03-31"},
		"TopicArn": {"arn:aws:sns:sa-east-1:333333333333:t"},
	}); status != 404 || len(server.Places()) != before {
		t.Errorf("a topic nowhere: %d %s; %d places", status, body, len(server.Places()))
	}
}

// Dead letters stay in the region and account, and so do messages that a task moves.
func TestDeadLettersStayInTheRegion(t *testing.T) {
	server := newPlacesServer(t, localaws.Options{})
	here, there := callFrom(t, server, "key", virginia), callFrom(t, server, "key", ireland)
	for _, c := range []*caller{here, there, callFrom(t, server, ours, virginia)} {
		c.queue("dead", nil)
	}
	policy := func(arn string) map[string]string {
		return map[string]string{"RedrivePolicy": `{"deadLetterTargetArn":"` + arn + `","maxReceiveCount":1}`}
	}
	for _, arn := range []string{there.arn("sqs", "dead"), "arn:aws:sqs:us-east-1:" + ours + ":dead"} {
		_, err := here.sqs.CreateQueue(here.ctx,
			&sqs.CreateQueueInput{QueueName: aws.String("q"), Attributes: policy(arn)})
		refused(t, err, "InvalidParameterValue", "Dead letter target does not exist.")
	}
	here.queue("q", policy(here.arn("sqs", "dead")))
	_, err := here.sqs.StartMessageMoveTask(here.ctx, &sqs.StartMessageMoveTaskInput{
		SourceArn: aws.String(here.arn("sqs", "dead")), DestinationArn: aws.String(there.arn("sqs", "dead")),
	})
	refused(t, err, "ResourceNotFoundException", "DestinationArn")
	_, err = callFrom(t, server, ours, virginia).sqs.StartMessageMoveTask(here.ctx,
		&sqs.StartMessageMoveTaskInput{SourceArn: aws.String(here.arn("sqs", "dead"))})
	refused(t, err, "ResourceNotFoundException", "SourceArn")
	topic := here.topic("t")
	_, err = here.sns.Subscribe(here.ctx, &sns.SubscribeInput{
		TopicArn: topic, Protocol: aws.String("sqs"), Endpoint: aws.String(here.arn("sqs", "q")),
		Attributes: map[string]string{"RedrivePolicy": `{"deadLetterTargetArn":"` + there.arn("sqs", "dead") + `"}`},
	})
	refused(t, err, "InvalidParameter", "in the account and the region of the subscription")
}

// An access key of twelve digits is an account: parallel jobs with the same names do not meet.
func TestAccountsAreApart(t *testing.T) {
	server := newPlacesServer(t, localaws.Options{Account: "999999999999"})
	for key, account := range map[string]string{ours: ours, theirs: theirs, "AKIAIOSFODNN7EXAMPLE": "999999999999"} {
		c := callFrom(t, server, key, virginia)
		c.account = account
		who := ok(c.sts.GetCallerIdentity(c.ctx, &sts.GetCallerIdentityInput{}))(t)
		if *who.Account != account || *who.Arn != "arn:aws:iam::"+account+":user/localaws" {
			t.Errorf("%s is %s, %s", key, *who.Account, *who.Arn)
		}
		url := c.queue("orders", nil)
		ok(c.sqs.TagQueue(c.ctx, &sqs.TagQueueInput{QueueUrl: url, Tags: map[string]string{"k": "v"}}))(t)
		c.topic("events")
		found := ok(c.tagging.GetResources(c.ctx, &resourcegroupstaggingapi.GetResourcesInput{}))(t).
			ResourceTagMappingList
		if len(found) != 1 || *found[0].ResourceARN != c.arn("sqs", "orders") {
			t.Errorf("tagged: %+v", found)
		}
		bucket := "bucket-" + account
		ok(c.s3.CreateBucket(c.ctx, &s3.CreateBucketInput{Bucket: &bucket}))(t)
		if all := ok(c.s3.ListBuckets(c.ctx, &s3.ListBucketsInput{}))(t).Buckets; len(all) != 1 ||
			*all[0].Name != bucket {
			t.Errorf("%s has the buckets %v", account, all)
		}
	}
	c := callFrom(t, server, ours, virginia)
	_, err := c.s3.CreateBucket(c.ctx, &s3.CreateBucketInput{Bucket: aws.String("bucket-" + theirs)})
	refused(t, err, "BucketAlreadyExists", "not available")
	_, err = c.s3.PutObject(c.ctx, &s3.PutObjectInput{Bucket: aws.String("bucket-" + theirs), Key: aws.String("k")})
	refused(t, err, "AccessDenied", "")
	_, err = c.s3.CopyObject(c.ctx, &s3.CopyObjectInput{
		Bucket: aws.String("bucket-" + ours), Key: aws.String("k"), CopySource: aws.String("bucket-" + theirs + "/k"),
	})
	refused(t, err, "AccessDenied", "")
	if status, _ := fetch(t, server, "GET", "/bucket-"+theirs); status != 200 {
		t.Errorf("a request without a signature got %d", status)
	}
}

// The policy of a queue decides what callers of other accounts may do with it.
func TestQueuesOfOtherAccounts(t *testing.T) {
	server := newPlacesServer(t, localaws.Options{})
	owner, other := callFrom(t, server, ours, virginia), callFrom(t, server, theirs, virginia)
	url := owner.queue("orders", nil)
	find := func() (*sqs.GetQueueUrlOutput, error) {
		return other.sqs.GetQueueUrl(other.ctx, &sqs.GetQueueUrlInput{
			QueueName: aws.String("orders"), QueueOwnerAWSAccountId: aws.String(ours),
		})
	}
	_, err := find()
	refused(t, err, "AccessDenied", "because no resource-based policy allows the sqs:getqueueurl action")
	refused(t, other.send(url, "x"), "AccessDenied", "User: arn:aws:iam::222222222222:user/localaws is not authorized to "+
		"perform: sqs:sendmessage on resource: arn:aws:sqs:us-east-1:111111111111:orders because no resource-based policy "+
		"allows the sqs:sendmessage action")
	ok(owner.sqs.AddPermission(owner.ctx, &sqs.AddPermissionInput{
		QueueUrl: url, Label: aws.String("l"), AWSAccountIds: []string{theirs},
		Actions: []string{"SendMessage", "GetQueueUrl"},
	}))(t)
	if found := ok(find())(t); *found.QueueUrl != *url {
		t.Errorf("found %s, want %s", *found.QueueUrl, *url)
	}
	if err := other.send(url, "x"); err != nil {
		t.Error(err)
	}
	_, err = other.sqs.ReceiveMessage(other.ctx, &sqs.ReceiveMessageInput{QueueUrl: url})
	refused(t, err, "AccessDenied", "sqs:receivemessage")
	refused(t, callFrom(t, server, "key", virginia).send(url, "x"), "AccessDenied", "")
	refused(t, callFrom(t, server, theirs, ireland).send(url, "x"), noQueue, "")
	owner.policy(url, `{"Effect":"Allow","Principal":{"AWS":"`+theirs+`"},"Action":"sqs:*","Resource":"*"}`)
	if got := other.bodies(url); len(got) != 1 {
		t.Errorf("received %v", got)
	}
	_, err = other.sqs.DeleteQueue(other.ctx, &sqs.DeleteQueueInput{QueueUrl: url})
	refused(t, err, "AccessDenied", "sqs:deletequeue") // AWS: the owner's only
	if n := len(server.In(theirs, virginia).SQS().Queues()); n != 0 {
		t.Errorf("the other account has %d queues", n)
	}
	refused(t, other.send(aws.String("http://localhost/333333333333/orders"), "x"),
		noQueue, "")
}

// The policy of a topic decides what callers of other accounts may do with it. Who subscribes a queue of another
// account waits until its owner confirms with the message that the queue gets.
func TestTopicsOfOtherAccounts(t *testing.T) {
	server := newPlacesServer(t, localaws.Options{})
	owner, other := callFrom(t, server, ours, virginia), callFrom(t, server, theirs, virginia)
	topic, url := owner.topic("events"), other.queue("q", nil)
	other.policy(url, fromTopic(*topic))
	refused(t, other.publish(topic, "x"), "AuthorizationError", "User: arn:aws:iam::222222222222:user/localaws is not "+
		"authorized to perform: SNS:Publish on resource: "+*topic)
	pending := ok(owner.subscribe(topic, other.arn("sqs", "q")))(t).SubscriptionArn
	if err := owner.publish(topic, "too early"); err != nil {
		t.Fatal(err)
	}
	letters := other.bodies(url)
	var letter map[string]string
	if len(letters) != 1 || json.Unmarshal([]byte(letters[0]), &letter) != nil ||
		letter["Type"] != "SubscriptionConfirmation" {
		t.Fatalf("the queue has %v", letters)
	}
	confirmed := ok(other.sns.ConfirmSubscription(other.ctx,
		&sns.ConfirmSubscriptionInput{TopicArn: topic, Token: aws.String(letter["Token"])}))(t)
	if *confirmed.SubscriptionArn != *pending {
		t.Errorf("confirmed %s, want %s", *confirmed.SubscriptionArn, *pending)
	}
	if err := owner.publish(topic, "m"); err != nil {
		t.Fatal(err)
	}
	if got := other.bodies(url); len(got) != 1 || got[0] != "m" {
		t.Errorf("the queue of the other account has %v", got)
	}
	ok(owner.sns.Unsubscribe(owner.ctx, &sns.UnsubscribeInput{SubscriptionArn: pending}))(t)

	ok(owner.sns.AddPermission(owner.ctx, &sns.AddPermissionInput{
		TopicArn: topic, Label: aws.String("l"), AWSAccountId: []string{theirs},
		ActionName: []string{"Publish", "Subscribe"},
	}))(t)
	sub := ok(other.subscribe(topic, other.arn("sqs", "q")))(t).SubscriptionArn
	if err := other.publish(topic, "theirs"); err != nil {
		t.Error(err)
	}
	if got := other.bodies(url); len(got) != 1 || got[0] != "theirs" {
		t.Errorf("the queue that its owner subscribed has %v", got)
	}
	listed := ok(other.sns.ListSubscriptions(other.ctx, &sns.ListSubscriptionsInput{}))(t).Subscriptions
	if len(listed) != 1 || *listed[0].SubscriptionArn != *sub || *listed[0].Owner != theirs {
		t.Errorf("the subscriber's list: %+v", listed)
	}
	if n := len(ok(owner.sns.ListSubscriptions(owner.ctx, &sns.ListSubscriptionsInput{}))(t).Subscriptions); n != 0 {
		t.Errorf("the topic's owner lists %d", n)
	}
	attributes := ok(other.sns.GetSubscriptionAttributes(other.ctx,
		&sns.GetSubscriptionAttributesInput{SubscriptionArn: sub}))(t).Attributes
	if attributes["Owner"] != theirs {
		t.Errorf("attributes %v", attributes)
	}
	_, err := callFrom(t, server, "key", virginia).sns.Unsubscribe(other.ctx,
		&sns.UnsubscribeInput{SubscriptionArn: sub})
	refused(t, err, "AuthorizationError", "SNS:Unsubscribe")
	ok(other.sns.Unsubscribe(other.ctx, &sns.UnsubscribeInput{SubscriptionArn: sub}))(t)
	_, err = other.sns.SetTopicAttributes(other.ctx, &sns.SetTopicAttributesInput{
		TopicArn: topic, AttributeName: aws.String("DisplayName"), AttributeValue: aws.String("x"),
	})
	refused(t, err, "AuthorizationError", "SNS:SetTopicAttributes")
}

// A bucket's events go to queues and topics of its own region, also of other accounts if their policies allow it.
func TestEventsOfBucketsInRegions(t *testing.T) {
	server := newPlacesServer(t, localaws.Options{})
	c, other := callFrom(t, server, ours, ireland), callFrom(t, server, theirs, ireland)
	bucket := "uploads"
	ok(c.s3.CreateBucket(c.ctx, &s3.CreateBucketInput{Bucket: &bucket, CreateBucketConfiguration: &s3types.
		CreateBucketConfiguration{LocationConstraint: ireland}}))(t)
	notify := func(queueARN string) error {
		_, err := c.s3.PutBucketNotificationConfiguration(c.ctx, &s3.PutBucketNotificationConfigurationInput{
			Bucket: &bucket, NotificationConfiguration: &s3types.NotificationConfiguration{
				QueueConfigurations: []s3types.QueueConfiguration{{
					QueueArn: &queueARN, Events: []s3types.Event{"s3:ObjectCreated:*"},
				}},
			},
		})
		return err
	}
	callFrom(t, server, ours, virginia).queue("q", nil)
	refused(t, notify("arn:aws:sqs:us-east-1:"+ours+":q"), "InvalidArgument", "region is not valid")
	url := other.queue("q", nil)
	refused(t, notify(other.arn("sqs", "q")), "InvalidArgument", "Unable to validate")
	other.policy(url, `{"Effect":"Allow","Principal":{"Service":"s3.amazonaws.com"},"Action":"sqs:SendMessage",`+
		`"Resource":"*","Condition":{"StringEquals":{"aws:SourceAccount":"`+ours+`"}}}`)
	if err := notify(other.arn("sqs", "q")); err != nil {
		t.Fatal(err)
	}
	ok(c.s3.PutObject(c.ctx, &s3.PutObjectInput{Bucket: &bucket, Key: aws.String("k")}))(t)
	got := strings.Join(other.bodies(url), "\n")
	if !strings.Contains(got, `"awsRegion":"eu-west-1"`) || !strings.Contains(got, `"principalId":"111111111111"`) {
		t.Errorf("the queue of the other account has %s", got)
	}
}

// In China and GovCloud, all ARNs have the partition of their region, and policies that compare them are met.
func TestPartitions(t *testing.T) {
	for _, region := range []string{"cn-north-1", "us-gov-west-1"} {
		server := newPlacesServer(t, localaws.Options{})
		c, other := callFrom(t, server, ours, region), callFrom(t, server, theirs, region)
		root := "arn:" + c.partition() + ":iam::"
		who := *ok(c.sts.GetCallerIdentity(c.ctx, &sts.GetCallerIdentityInput{}))(t).Arn
		if who != root+ours+":user/localaws" {
			t.Errorf("%s: the caller is %s", region, who)
		}

		url, topic := c.queue("q", nil), c.topic("t")
		c.policy(url, fromTopic(*topic))
		ok(c.subscribe(topic, c.arn("sqs", "q")))(t)
		ok(c.sqs.AddPermission(c.ctx, &sqs.AddPermissionInput{
			QueueUrl: url, Label: aws.String("send"), AWSAccountIds: []string{theirs}, Actions: []string{"SendMessage"},
		}))(t)
		ok(c.sns.AddPermission(c.ctx, &sns.AddPermissionInput{
			TopicArn: topic, Label: aws.String("send"), AWSAccountId: []string{theirs}, ActionName: []string{"Publish"},
		}))(t)
		attributes := ok(c.sqs.GetQueueAttributes(c.ctx, &sqs.GetQueueAttributesInput{
			QueueUrl: url, AttributeNames: []sqstypes.QueueAttributeName{"All"},
		}))(t).Attributes
		if *topic != c.arn("sns", "t") || attributes["QueueArn"] != c.arn("sqs", "q") ||
			!strings.Contains(attributes["Policy"], root+theirs+":root") {
			t.Errorf("%s: topic %s, queue %v", region, *topic, attributes)
		}
		for _, by := range []*caller{c, other} {
			if err := errors.Join(by.publish(topic, "published"), by.send(url, "sent")); err != nil {
				t.Errorf("%s: the account %s: %v", region, by.account, err)
			}
		}

		bucket := "uploads-" + region
		bucketARN := "arn:" + c.partition() + ":s3:::" + bucket
		created := ok(c.s3.CreateBucket(c.ctx, &s3.CreateBucketInput{
			Bucket: &bucket, CreateBucketConfiguration: &s3types.CreateBucketConfiguration{
				LocationConstraint: s3types.BucketLocationConstraint(region),
			},
		}))(t)
		if aws.ToString(created.BucketArn) != bucketARN {
			t.Errorf("%s: the bucket is %s", region, aws.ToString(created.BucketArn))
		}
		c.policy(url, `{"Effect":"Allow","Principal":{"Service":"s3.amazonaws.com"},"Action":"sqs:SendMessage",`+
			`"Resource":"*","Condition":{"ArnEquals":{"aws:SourceArn":"`+bucketARN+`"}}}`)
		ok(c.s3.PutBucketNotificationConfiguration(c.ctx, &s3.PutBucketNotificationConfigurationInput{
			Bucket: &bucket, NotificationConfiguration: &s3types.NotificationConfiguration{
				QueueConfigurations: []s3types.QueueConfiguration{{
					QueueArn: aws.String(c.arn("sqs", "q")), Events: []s3types.Event{"s3:ObjectCreated:*"},
				}},
			},
		}))(t)
		ok(c.s3.PutObject(c.ctx, &s3.PutObjectInput{Bucket: &bucket, Key: aws.String("k")}))(t)
		got := append(c.bodies(url), c.bodies(url)...)
		if len(got) < 5 || !strings.Contains(strings.Join(got, ""), `"arn":"`+bucketARN+`"`) {
			t.Errorf("%s: the queue has %q", region, got)
		}

		ok(c.cloudwatch.PutMetricAlarm(c.ctx, &cloudwatch.PutMetricAlarmInput{
			AlarmName: aws.String("backlog"), Namespace: aws.String("AWS/SQS"), Period: aws.Int32(60),
			MetricName: aws.String("NumberOfMessagesSent"), Statistic: cwtypes.StatisticSum,
			EvaluationPeriods: aws.Int32(1), Threshold: aws.Float64(0), AlarmActions: []string{*topic},
			ComparisonOperator: cwtypes.ComparisonOperatorGreaterThanThreshold,
		}))(t)
		c.policy(url, fromTopic(*topic))
		ok(c.cloudwatch.SetAlarmState(c.ctx, &cloudwatch.SetAlarmStateInput{
			AlarmName: aws.String("backlog"), StateValue: cwtypes.StateValueAlarm, StateReason: aws.String("a test"),
		}))(t)
		if said := c.bodies(url); len(said) != 1 || !strings.Contains(said[0], c.arn("cloudwatch", "alarm:backlog")) {
			t.Errorf("%s: the alarm has said %q", region, said)
		}
	}
}

// Metrics and alarms are in the account and region of their queues; an alarm publishes in its own region.
func TestMetricsOfRegions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newPlacesServer(t, localaws.Options{})
		here, there := callFrom(t, server, "key", virginia), callFrom(t, server, ours, ireland)
		here.queue("idle", nil)
		url, topic := there.queue("orders", nil), there.topic("alarms")
		inbox := there.queue("inbox", nil)
		there.policy(inbox, fromTopic(*topic))
		ok(there.subscribe(topic, there.arn("sqs", "inbox")))(t)
		alarm := func(topic string) error {
			_, err := there.cloudwatch.PutMetricAlarm(there.ctx, &cloudwatch.PutMetricAlarmInput{
				AlarmName: aws.String("backlog"), Namespace: aws.String("AWS/SQS"), Period: aws.Int32(60),
				MetricName: aws.String("NumberOfMessagesSent"), Statistic: cwtypes.StatisticSum,
				Dimensions:        []cwtypes.Dimension{{Name: aws.String("QueueName"), Value: aws.String("orders")}},
				EvaluationPeriods: aws.Int32(1), Threshold: aws.Float64(0), AlarmActions: []string{topic},
				ComparisonOperator: cwtypes.ComparisonOperatorGreaterThanThreshold,
			})
			return err
		}
		refused(t, alarm(*here.topic("alarms")), "ValidationError",
			"Invalid region us-east-1 specified. Only eu-west-1 is supported.")
		if err := alarm(*topic); err != nil {
			t.Fatal(err)
		}
		if err := there.send(url, "x"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(3 * time.Minute)
		sent := func(c *caller) int {
			return len(ok(c.cloudwatch.ListMetrics(c.ctx, &cloudwatch.ListMetricsInput{
				Dimensions: []cwtypes.DimensionFilter{{Name: aws.String("QueueName"), Value: aws.String("orders")}},
			}))(t).Metrics)
		}
		if sent(there) == 0 || sent(here) != 0 {
			t.Errorf("%d metrics in the queue's region, %d in another", sent(there), sent(here))
		}
		if got := there.bodies(inbox); len(got) != 1 || !strings.Contains(got[0], `"Region":"EU (Ireland)"`) ||
			!strings.Contains(got[0], `"AWSAccountId":"111111111111"`) {
			t.Errorf("the alarm has said %v", got)
		}
		if n := len(server.In(ours, ireland).CloudWatch().Alarms()); n != 1 || len(server.CloudWatch().Alarms()) != 0 {
			t.Errorf("%d alarms", n)
		}
	})
}

// The server's own pages list every place, and select by account and region. A queue's name alone means the default
// place's, or the only one.
func TestOwnPagesOfPlaces(t *testing.T) {
	server := newPlacesServer(t, localaws.Options{})
	here, there, others := callFrom(t, server, "key", virginia), callFrom(t, server, "key", ireland),
		callFrom(t, server, ours, ireland)
	for _, c := range []*caller{here, there, others} {
		if err := c.send(c.queue("orders", nil), c.account+c.region); err != nil {
			t.Fatal(err)
		}
		c.topic("events")
		ok(c.cloudwatch.PutMetricData(c.ctx, &cloudwatch.PutMetricDataInput{
			Namespace:  aws.String("app"),
			MetricData: []cwtypes.MetricDatum{{MetricName: aws.String("m"), Value: aws.Float64(1)}},
		}))(t)
		phone, text := "+15551234567", "x"
		ok(c.sns.Publish(c.ctx, &sns.PublishInput{PhoneNumber: &phone, Message: &text}))(t)
	}
	there.queue("lonely", nil)
	others.queue("pair", nil)
	there.queue("pair", nil)
	count := func(path, list string) int {
		t.Helper()
		got, _ := own(t, server, path)[list].([]any)
		return len(got)
	}
	for path, want := range map[string]int{
		"queues": 6, "queues?region=eu-west-1": 5, "queues?account=" + ours: 2, "queues?region=sa-east-1": 0,
		"topics": 3, "topics?account=" + ours + "&region=eu-west-1": 1, "unsent": 3, "unsent?region=us-east-1": 1,
		"metrics?namespace=app": 3, "metrics?namespace=app&region=eu-west-1": 2, "queues/orders/messages": 1,
		"queues/lonely/messages":                              0,
		"queues/" + others.arn("sqs", "orders") + "/messages": 1,
	} {
		list, _, _ := strings.Cut(path, "?")
		list = list[strings.LastIndexByte(list, '/')+1:]
		if got := count(path, list); got != want {
			t.Errorf("%s: %d elements, want %d", path, got, want)
		}
	}
	for path, want := range map[string]string{
		"queues/orders/messages":                                  defaultAccount + virginia,
		"queues/orders/messages?region=eu-west-1&account=" + ours: ours + ireland,
	} {
		if m := own(t, server, path)["messages"].([]any)[0].(map[string]any); m["body"] != want {
			t.Errorf("%s: %v, want %s", path, m["body"], want)
		}
	}
	for path, want := range map[string]string{
		"queues/pair/messages": "several queues", "queues?region=eu-west": "not of the form",
		"alarms?account=1": "twelve",
	} {
		if status, body := fetch(t, server, "GET", "/_localaws/"+path); status != 400 || !strings.Contains(body, want) {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
	var names []string // in pages of one
	for after := ""; ; {
		page := own(t, server, "metrics?namespace=app&limit=1&after="+after)
		m := page["metrics"].([]any)[0].(map[string]any)
		names = append(names, fmt.Sprint(m["account"], " ", m["region"]))
		if after, _ = page["next"].(string); after == "" {
			break
		}
	}
	if got := strings.Join(names, ", "); got !=
		"000000000000 eu-west-1, 000000000000 us-east-1, 111111111111 eu-west-1" {
		t.Errorf("pages of metrics: %s", got)
	}
	if _, body := fetch(t, server, "GET", "/_aws/sqs/messages/eu-west-1/"+ours+"/orders"); !strings.Contains(body,
		ours+ireland) {
		t.Errorf("the page of LocalStack: %s", body)
	}
}

// Calls, Control, Advance and Reset know every place.
func TestPlacesAreOneServer(t *testing.T) {
	server := newPlacesServer(t, localaws.Options{})
	c := callFrom(t, server, ours, ireland)
	url := c.queue("orders", nil)
	var saw string
	server.Control("sqs.SendMessage", func(_ context.Context, r *localaws.Request) localaws.Outcome {
		saw = r.Account + " " + r.Region
		return localaws.Outcome{}
	})
	if err := c.send(url, "x"); err != nil || saw != ours+" "+ireland {
		t.Errorf("the control saw %q, %v", saw, err)
	}
	place := server.In(ours, ireland)
	if n, all := place.Calls()["sqs.SendMessage"], server.Calls()["sqs.SendMessage"]; n != 1 || all != 1 ||
		server.In("", "").Calls()["sqs.SendMessage"] != 0 {
		t.Errorf("%d calls here, %d in all", n, all)
	}
	c.bodies(url)
	server.Advance(time.Minute)
	if got := c.bodies(url); len(got) != 1 {
		t.Error("the clock of the place has not moved")
	}
	server.Reset()
	if n := len(place.SQS().Queues()); n != 0 || len(place.Calls()) != 0 || len(server.Places()) != 2 {
		t.Errorf("%d queues after Reset, calls %v", n, place.Calls())
	}
	c.queue("again", nil)
	if place.SQS().Queue("again") == nil {
		t.Error("the place does not see what is created after Reset")
	}
}

// A client cannot fill the memory by signing for places of any name.
func TestPlacesAreBounded(t *testing.T) {
	server := newPlacesServer(t, localaws.Options{})
	const header = "AWS4-HMAC-SHA256 Credential=%012d/20260101/eu-west-1/sqs/aws4_request, SignedHeaders=host, Signature=0"
	var refusals int
	for i := range 5000 {
		status, body := fetch(t, server, "GET", "/?Action=ListQueues", "Authorization", fmt.Sprintf(header, i+1))
		if status == 403 && strings.Contains(body, "empties it") {
			refusals++
		}
	}
	if n := len(server.Places()); n != 4097 || refusals != 5000-4096 {
		t.Errorf("%d places, %d refusals", n, refusals)
	}
	server.Reset()
	if status, _ := fetch(t, server, "GET", "/?Action=ListQueues", "Authorization",
		fmt.Sprintf(header, 9000)); status != 200 {
		t.Errorf("after Reset: %d", status)
	}
}

// A seed file names the accounts and regions of its resources.
func TestSeedOfPlaces(t *testing.T) {
	server := newPlacesServer(t, localaws.Options{})
	const file = `{
	  "queues": [
	    {"name": "orders"}, {"name": "orders", "region": "eu-west-1", "deadLetterQueue": "dead", "maxReceiveCount": 3},
	    {"name": "dead", "region": "eu-west-1"}, {"name": "orders", "account": "111111111111", "region": "eu-west-1"}
	  ],
	  "topics": [
	    {"name": "events", "region": "eu-west-1", "subscriptions": [
	      {"queue": "orders"}, {"queue": "arn:aws:sqs:us-east-1:000000000000:orders"},
	      {"queue": "arn:aws:sqs:eu-west-1:111111111111:orders"}
	    ]}
	  ],
	  "buckets": [{"name": "uploads", "region": "eu-west-1", "account": "111111111111", "notifications": [
	    {"queue": "orders", "events": ["s3:ObjectCreated:*"]}
	  ]}],
	  "alarms": [{"name": "a", "region": "eu-west-1", "topics": ["events"], "attributes": {
	    "Namespace": "n", "MetricName": "m", "Statistic": "Sum", "Period": 60, "EvaluationPeriods": 1, "Threshold": 1,
	    "ComparisonOperator": "GreaterThanThreshold"}}]
	}`
	path := seedFile(t, file)
	for range 2 {
		if err := server.Plant(t.Context(), path); err != nil {
			t.Fatal(err)
		}
	}
	in := server.In("", ireland)
	if policy := in.SQS().Queue("orders").Attributes()["RedrivePolicy"]; !strings.Contains(policy, "eu-west-1") {
		t.Errorf("redrive policy %s", policy)
	}
	topics := in.SNS().Topics()
	if len(topics) != 1 || len(topics[0].Subscriptions) != 3 || len(in.SNS().Pending()) != 0 {
		t.Errorf("topics %+v", topics)
	}
	if alarms := in.CloudWatch().Alarms(); len(alarms) != 1 ||
		alarms[0].AlarmActions[0] != "arn:aws:sns:eu-west-1:000000000000:events" {
		t.Errorf("alarms %+v", alarms)
	}
	if b := server.S3().Bucket("uploads"); b.Account() != ours ||
		b.Settings().Notifications[0].Destination != "arn:aws:sqs:eu-west-1:111111111111:orders" {
		t.Errorf("bucket %+v", b.Settings())
	}
	for _, test := range []struct{ text, want string }{
		{`{"queues": [{"name": "q", "region": "eu-west"}]}`, `region "eu-west" is not of the form`},
		{`{"topics": [{"name": "t", "account": "1"}]}`, `account "1" is not twelve digits`},
		{`{"buckets": [{"name": "bbb", "account": "x"}]}`, `account "x" is not twelve digits`},
		{`{"alarms": [{"name": "a", "region": "mars", "attributes": {}}]}`, `region "mars" is not of the form`},
		{
			`{"topics": [{"name": "t", "region": "us-west-2", "subscriptions": [{"queue": "orders"}]}]}`,
			`queue "orders" does not exist`,
		},
	} {
		err := server.Plant(t.Context(), seedFile(t, test.text))
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %s", test.text, err, test.want)
		}
	}
	single := newPlacesServer(t, localaws.Options{SingleRegion: true})
	if err := single.Plant(t.Context(), path); err == nil || !strings.Contains(err.Error(), "single region us-east-1") {
		t.Errorf("a server of one region: %v", err)
	}
}

// With lenient policies, callers of other accounts may do what no policy denies, and the log says what AWS would
// refuse.
func TestLenientAccounts(t *testing.T) {
	log := &bytes.Buffer{}
	server := newPlacesServer(t, localaws.Options{
		LenientPolicies: true, Logger: slog.New(slog.NewTextHandler(log, nil)),
	})
	owner, other := callFrom(t, server, ours, virginia), callFrom(t, server, theirs, virginia)
	url, topic := owner.queue("orders", nil), owner.topic("events")
	for range 2 {
		if err := other.send(url, "x"); err != nil {
			t.Error(err)
		}
		if err := other.publish(topic, "x"); err != nil {
			t.Error(err)
		}
	}
	if n := strings.Count(log.String(), "sqs:sendmessage on resource"); n != 1 {
		t.Errorf("the log names the missing permission %d times:\n%s", n, log)
	}
	sub := ok(other.subscribe(topic, owner.arn("sqs", "orders")))(t).SubscriptionArn
	ok(other.sns.Unsubscribe(other.ctx, &sns.UnsubscribeInput{SubscriptionArn: sub}))(t)
	ok(owner.subscribe(topic, other.arn("sqs", "theirs")))(t)
	if n := len(server.In(ours, virginia).SNS().Pending()); n != 0 {
		t.Errorf("%d subscriptions are pending", n)
	}
	const deny = `{"Effect":"Deny","Principal":"*","Action":"*","Resource":"*"}`
	owner.policy(url, deny)
	refused(t, other.send(url, "x"), "AccessDenied", "explicit deny")
	ok(owner.sns.SetTopicAttributes(owner.ctx, &sns.SetTopicAttributesInput{
		TopicArn: topic, AttributeName: aws.String("Policy"),
		AttributeValue: aws.String(`{"Statement":[` + deny + `]}`),
	}))(t)
	refused(t, other.publish(topic, "x"), "AuthorizationError", "SNS:Publish")
}
