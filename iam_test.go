package godwit_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	gocmp "github.com/google/go-cmp/cmp"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/internal/permissions"
	"github.com/godwitmq/godwit/localaws"
	"github.com/godwitmq/godwit/localaws/wire"
	"github.com/godwitmq/godwit/s3store"
	"github.com/godwitmq/godwit/snssqs"
)

var updateIAM = flag.Bool("update", false, "rewrite docs/iam.md")

// iamPage is the page whose statements this test writes, and iamMark begins and ends them.
const (
	iamPage = "docs/iam.md"
	iamMark = "<!-- The rest is written by `go test -run TestIAM . -update`. -->\n"
)

// TestIAM runs each kind of program on a server that records the calls, and compares the statements of docs/iam.md with
// them. Then it denies one action after another: what the program can do without is optional.
func TestIAM(t *testing.T) {
	var page strings.Builder
	for _, p := range programs() {
		fmt.Fprintf(&page, "## %s\n\n%s", p.title, lines(p.about))
		used := p.run(t, permissions.Permission{})
		if used.err != nil {
			t.Fatalf("%s: %v", p.title, used.err)
		}
		required, optional := map[string][]string{}, map[string][]string{}
		for _, one := range used.sorted() {
			if p.run(t, one).err != nil {
				required[one.Resource] = append(required[one.Resource], one.Action)
			} else {
				of := one.Action
				if strings.HasSuffix(one.Resource, "--later") {
					of += ofLater
				} else if strings.HasSuffix(one.Resource, "--ticks.fifo") {
					of += ofTicks
				}
				optional[of] = append(optional[of], "`"+one.Resource+"`")
			}
		}
		page.WriteString(policyOf(required))
		for _, action := range slices.Sorted(maps.Keys(optional)) {
			why, known := withoutIt[action]
			if !known {
				t.Errorf("%s: %s on %v can be denied, and withoutIt does not say what is lost", p.title, action,
					optional[action])
			}
			where := strings.Join(optional[action], " and ")
			page.WriteString(lines(fmt.Sprintf("Optional: `%s` on %s. %s", strings.Fields(action)[0], where,
				why)))
		}
	}
	was, err := os.ReadFile(iamPage)
	if err != nil {
		t.Fatal(err)
	}
	head, _, found := strings.Cut(string(was), iamMark)
	if !found {
		t.Fatalf("%s has no line %s", iamPage, iamMark)
	}
	now := head + iamMark + "\n" + strings.TrimSuffix(page.String(), "\n")
	if *updateIAM {
		if err := os.WriteFile(iamPage, []byte(now), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := gocmp.Diff(string(was), now); diff != "" {
		t.Errorf("%s differs from the calls; -update rewrites it (-page +calls):\n%s", iamPage, diff)
	}
}

const otherKind = "Without it, a channel that exists already as another kind (ordered or not, a queue or an exchange) is " +
	"not noticed."

const oneByOne = "Without it, names are looked up one by one, so that opening a channel that exists takes more calls."

// ofLater marks actions on the queue of delayed messages.
const ofLater = " later"

// ofTicks marks those on the queue of messages of schedules.
const ofTicks = " ticks"

// withoutIt says what a program loses without an optional action.
var withoutIt = map[string]string{
	"sns:GetTopicAttributes": otherKind,
	"sqs:GetQueueUrl":        otherKind,
	"sns:ListSubscriptionsByTopic": "Without it, a producer does not wait for queues that were deleted with their topic, " +
		"and a consumer may need one call more when it is made.",
	"sqs:GetQueueUrl" + ofLater: "Without it, the consumer does not send on messages that wait for their time " +
		"([Later](later.md)); a warning says so. It needs this and what \"A consumer of delayed messages\" lists only if " +
		"the channel gets some.",
	"sqs:GetQueueUrl" + ofTicks: "Without it, the consumer does not send on messages of schedules ([Schedules]" +
		"(later.md#schedules)); a warning says so. Besides, it then needs `sqs:ReceiveMessage`, `sqs:DeleteMessage` and " +
		"`sqs:ChangeMessageVisibility` on that queue, and `sqs:SendMessage` on its channel or `sns:Publish` on its topic.",
	"sqs:ChangeMessageVisibility" + ofLater: "Without it, delayed messages are received every 30 seconds until they are " +
		"due.",
	"sns:ListTopics":  oneByOne,
	"sqs:ListQueues":  oneByOne,
	"s3:DeleteObject": "Without it, bodies of handled messages stay until the bucket's lifecycle deletes them.",
}

// lines is a paragraph in lines of the page's length.
func lines(text string) string {
	var out strings.Builder
	at := 0
	for word := range strings.FieldsSeq(text) {
		switch {
		case at == 0:
		case at+1+len(word) > 120:
			out.WriteByte('\n')
			at = 0
		default:
			out.WriteByte(' ')
			at++
		}
		out.WriteString(word)
		at += len(word)
	}
	return out.String() + "\n\n"
}

// policyOf is a policy of IAM that allows actions, by their resources.
func policyOf(actions map[string][]string) string {
	type statement struct {
		Effect, Resource string
		Action           []string
	}
	var all []statement
	for _, at := range slices.Sorted(maps.Keys(actions)) {
		slices.Sort(actions[at])
		all = append(all, statement{"Allow", at, actions[at]})
	}
	var text bytes.Buffer
	text.WriteString("```json\n{\n  \"Version\": \"2012-10-17\",\n  \"Statement\": [\n")
	for i, s := range all {
		list, _ := json.Marshal(s.Action)
		fmt.Fprintf(&text, "    {\n      \"Effect\": \"Allow\",\n      \"Resource\": %q,\n      \"Action\": %s\n    }%s\n",
			s.Resource, strings.ReplaceAll(string(list), `","`, `", "`),
			map[bool]string{true: ",", false: ""}[i < len(all)-1])
	}
	text.WriteString("  ]\n}\n```\n\n")
	return text.String()
}

// program is a kind of program that needs permissions.
type program struct {
	title, about string
	options      func(s *iamServer) snssqs.Options
	before       func(s *iamServer, b godwit.Backend) error // by someone who may do everything
	do           func(s *iamServer, b godwit.Backend) error
	besides      []string // the beginnings of actions that are not counted, because another section has them
}

// usage is the permissions that one run needed.
type usage struct {
	mu   sync.Mutex
	made map[permissions.Permission]bool
	err  error
}

func (u *usage) sorted() []permissions.Permission {
	return slices.SortedFunc(maps.Keys(u.made), func(a, b permissions.Permission) int {
		return cmp.Or(cmp.Compare(a.Action, b.Action), cmp.Compare(a.Resource, b.Resource))
	})
}

func (u *usage) add(p permissions.Permission) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.made[p] = true
}

// run runs a program on a new server, which denies a permission.
func (p *program) run(t *testing.T, denied permissions.Permission) *usage {
	t.Helper()
	used := &usage{made: map[permissions.Permission]bool{}}
	synctest.Test(t, func(t *testing.T) {
		server, err := localaws.New(&localaws.Options{Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = server.Close() }()
		s := &iamServer{T: t, Server: server}
		open := func(o snssqs.Options) godwit.Backend {
			o.AWS, o.Transport, o.CancelPolls = s.conf(), server.Transport(), true
			o.Logger = slog.New(slog.DiscardHandler)
			b, err := snssqs.Open(t.Context(), &o)
			if err != nil {
				t.Fatal(err)
			}
			return b
		}
		var o snssqs.Options
		if p.options != nil {
			o = p.options(s)
		}
		if p.before != nil {
			if err := p.before(s, open(o)); err != nil {
				t.Fatal(err)
			}
		}
		stop := server.Control("*", func(_ context.Context, r *localaws.Request) localaws.Outcome {
			for _, one := range permissions.Of(r.Service, r.Action, r.Input) {
				begins := func(other string) bool { return strings.HasPrefix(one.Action, other) }
				if slices.ContainsFunc(p.besides, begins) {
					continue
				}
				used.add(one)
				if one == denied {
					return localaws.Outcome{Err: &wire.Error{Code: "AccessDenied", Message: "denied", Status: 403}}
				}
			}
			return localaws.Outcome{}
		})
		used.err = p.do(s, open(o))
		stop()
	})
	return used
}

// iamServer is a server in virtual time.
type iamServer struct {
	*testing.T
	*localaws.Server
}

func (s *iamServer) conf() *aws.Config {
	return &aws.Config{
		Region: "us-east-1", BaseEndpoint: aws.String("http://localaws.internal"),
		Credentials: credentials.NewStaticCredentialsProvider("k", "s", ""),
		HTTPClient:  &http.Client{Transport: s.Transport()},
	}
}

// sendsThree sends three messages to a channel.
func sendsThree(channel string, o godwit.ProducerOptions, body int) func(*iamServer, godwit.Backend) error {
	return func(s *iamServer, b godwit.Backend) error {
		o.RetryFor = time.Minute
		p, err := godwit.NewProducer(s.Context(), b, channel, &o)
		if err != nil {
			return err
		}
		defer func() { _ = p.Close(context.Background()) }()
		for range 3 {
			if err := p.Send(s.Context(), godwit.Message{Body: bytes.Repeat([]byte("x"), body)}); err != nil {
				return err
			}
			time.Sleep(2 * time.Minute) // a producer looks at the subscriptions once a minute
		}
		return nil
	}
}

// sendsLater sends a message that is due in an hour.
func sendsLater(channel string, o godwit.ProducerOptions) func(*iamServer, godwit.Backend) error {
	return sendsDelayed(channel, o, nil)
}

// sendsCancellable is sendsLater of a message that can be cancelled, and is not.
func sendsCancellable(channel string, o godwit.ProducerOptions) func(*iamServer, godwit.Backend) error {
	return sendsDelayed(channel, o, func(context.Context, *godwit.Producer, string) error { return nil })
}

// cancelsLater sends a message, cancels it, and is told so again.
func cancelsLater(channel string, o godwit.ProducerOptions) func(*iamServer, godwit.Backend) error {
	return sendsDelayed(channel, o, func(ctx context.Context, p *godwit.Producer, id string) error {
		for range 2 {
			if cancelled, err := p.Cancel(ctx, id); err != nil || !cancelled {
				return cmp.Or(err, errors.New("it was not cancelled"))
			}
		}
		return nil
	})
}

func sendsDelayed(channel string, o godwit.ProducerOptions,
	cancel func(ctx context.Context, p *godwit.Producer, id string) error,
) func(*iamServer, godwit.Backend) error {
	return func(s *iamServer, b godwit.Backend) error {
		o.RetryFor = time.Minute
		p, err := godwit.NewProducer(s.Context(), b, channel, &o)
		if err != nil {
			return err
		}
		defer func() { _ = p.Close(context.Background()) }()
		var r godwit.Receipt
		m := godwit.Message{Type: "good", Delay: time.Hour, Cancellable: cancel != nil, Receipt: &r}
		if err := p.Send(s.Context(), m); err != nil || cancel == nil {
			return err
		}
		return cancel(s.Context(), p, r.ID)
	}
}

// wakes consumes the message of sendsLater.
func wakes(channel string, o godwit.ConsumerOptions) func(*iamServer, godwit.Backend) error {
	return func(s *iamServer, b godwit.Backend) error {
		o.Logger = slog.New(slog.DiscardHandler)
		c, err := godwit.NewConsumer(s.Context(), b, channel, &o)
		if err != nil {
			return err
		}
		ctx, stop := context.WithTimeout(s.Context(), 61*time.Minute)
		defer stop()
		report, err := c.Run(ctx, func(context.Context, *godwit.Delivery) error { return nil })
		of, _, _ := strings.Cut(channel, ".")
		left := len(s.SQS().Queue(of + "--later").Model().Messages())
		if err == nil && (report.Handled != 1 || left != 0) {
			err = fmt.Errorf("handled %d, and %d messages are left", report.Handled, left)
		}
		return err
	}
}

// fill sends one message of each kind that handles handles.
func fill(s *iamServer, b godwit.Backend, channel string, body int) error {
	p, err := godwit.NewProducer(s.Context(), b, channel, nil)
	if err != nil {
		return err
	}
	defer func() { _ = p.Close(context.Background()) }()
	for _, kind := range []string{"good", "slow", "soon", "later", "bad"} {
		m := godwit.Message{Type: kind, Body: bytes.Repeat([]byte("x"), body)}
		if err := p.Send(s.Context(), m); err != nil {
			return err
		}
	}
	return nil
}

// handles consumes the messages of fill: one is handled at once, one outlasts its lease, one is tried again by the
// consumer and one by the service, and one is a dead letter.
func handles(channel string, o godwit.ConsumerOptions) func(*iamServer, godwit.Backend) error {
	return func(s *iamServer, b godwit.Backend) error {
		o.Policy = func(d *godwit.Delivery, _ error) godwit.Verdict { return verdictOf(d) }
		o.Logger = slog.New(slog.DiscardHandler)
		c, err := godwit.NewConsumer(s.Context(), b, channel, &o)
		if err != nil {
			return err
		}
		ctx, stop := context.WithTimeout(s.Context(), 13*time.Minute)
		defer stop()
		var mu sync.Mutex
		handled := map[string]bool{}
		report, err := c.Run(ctx, func(ctx context.Context, d *godwit.Delivery) error {
			if d.Type == "slow" {
				select {
				case <-time.After(2 * time.Minute):
				case <-ctx.Done():
					return context.Cause(ctx)
				}
			}
			if d.Type == "bad" || d.Attempt == 1 && (d.Type == "soon" || d.Type == "later") {
				return errors.New("not now")
			}
			mu.Lock()
			defer mu.Unlock()
			if handled[d.Type] {
				return nil
			}
			handled[d.Type] = true
			return nil
		})
		switch {
		case err != nil:
			return err
		case len(handled) != 4 || report.Rejected != 1 || report.Handled != 4 || report.Retried != 2:
			return fmt.Errorf("handled %v: %+v", handled, report)
		}
		return nil
	}
}

// legacy makes a queue, dead letters and a topic that are not Godwit's.
func legacy(s *iamServer, _ godwit.Backend) error {
	q, n := sqs.NewFromConfig(*s.conf()), sns.NewFromConfig(*s.conf())
	_, err := q.CreateQueue(s.Context(), &sqs.CreateQueueInput{QueueName: aws.String("Legacy_Dead")})
	if err != nil {
		return err
	}
	if _, err = q.CreateQueue(s.Context(), &sqs.CreateQueueInput{
		QueueName: aws.String("Legacy"), Attributes: map[string]string{
			"RedrivePolicy": `{"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:Legacy_Dead","maxReceiveCount":50}`,
		},
	}); err != nil {
		return err
	}
	_, err = n.CreateTopic(s.Context(), &sns.CreateTopicInput{Name: aws.String("Legacy_Topic")})
	return err
}

func verdictOf(d *godwit.Delivery) godwit.Verdict {
	switch d.Type {
	case "bad":
		return godwit.Verdict{Action: godwit.ActionReject}
	case "later":
		return godwit.Verdict{Action: godwit.ActionRetry, After: 10 * time.Minute}
	}
	return godwit.Verdict{Action: godwit.ActionRetry, After: time.Second}
}

// programs are the kinds of programs on the page.
func programs() []program {
	const queue, exchange, mobile = "orders", "wishlist_events.*", "wishlist_events.mobile"
	const legacyQueue, legacyTopic = "orders", "news.*"
	mapped := func(*iamServer) snssqs.Options {
		return snssqs.Options{Names: map[string]snssqs.Resource{
			legacyQueue: {Queue: "arn:aws:sqs:us-east-1:000000000000:Legacy"},
			legacyTopic: {Topic: "arn:aws:sns:us-east-1:000000000000:Legacy_Topic"},
		}}
	}
	stored := func(s *iamServer) snssqs.Options {
		store, err := s3store.Open(s.Context(), &s3store.Options{
			Bucket: "payloads", AWS: s.conf(), Transport: s.Transport(),
		})
		if err != nil {
			s.Fatal(err)
		}
		return snssqs.Options{Store: store, Large: snssqs.Large{Above: 1000}}
	}
	decided := func(s *iamServer) snssqs.Options {
		decisions, err := s3store.OpenDecisions(s.Context(), &s3store.Options{
			Bucket: "payloads", Prefix: "decisions/", AWS: s.conf(), Transport: s.Transport(),
		})
		if err != nil {
			s.Fatal(err)
		}
		return snssqs.Options{Decisions: decisions}
	}
	never := godwit.ConsumerOptions{Provision: godwit.ProvisionNever}
	toNever := godwit.ProducerOptions{Provision: godwit.ProvisionNever}
	made := func(channels ...string) func(*iamServer, godwit.Backend) error {
		return func(s *iamServer, b godwit.Backend) error {
			for _, channel := range channels {
				c, err := godwit.NewConsumer(s.Context(), b, channel, silent())
				if err != nil {
					return err
				}
				if _, err := c.Close(context.Background()); err != nil {
					return err
				}
			}
			return nil
		}
	}
	filled := func(channel, to string, body int) func(*iamServer, godwit.Backend) error {
		return func(s *iamServer, b godwit.Backend) error {
			if err := made(channel)(s, b); err != nil {
				return err
			}
			return fill(s, b, to, body)
		}
	}
	return []program{
		{
			title:  "A producer of a queue",
			about:  "Of the channel `orders`, with `ProvisionNever`.",
			before: made(queue), do: sendsThree(queue, toNever, 1),
		},
		{
			title:  "A producer of an exchange",
			about:  "Of the channel `wishlist_events.*`, with `ProvisionNever`.",
			before: made(mobile), do: sendsThree(exchange, toNever, 1),
		},
		{
			title: "A consumer",
			about: "Of the channel `orders`, with `ProvisionNever`. A queue of an exchange needs the same " +
				"with its names.",
			before: filled(queue, queue, 1), do: handles(queue, never),
		},
		{
			title: "A consumer of dead letters",
			about: "Of the channel `orders@dlq`, in every mode.",
			before: func(s *iamServer, b godwit.Backend) error {
				if err := filled(queue, queue, 1)(s, b); err != nil {
					return err
				}
				return handles(queue, never)(s, b)
			},
			do: empties(queue + "@dlq"),
		},
		{
			title: "A producer of delayed messages",
			about: "Of the channel `orders`, with a delay of more than 15 minutes, the first one: `orders@later` does not exist. " +
				"Later ones need what \"A producer of a queue\" needs, on both queues.",
			before: made(queue), do: sendsLater(queue, godwit.ProducerOptions{}),
		},
		{
			title: "A consumer of delayed messages",
			about: "Of the channel `orders`, with `ProvisionNever`, on which one delayed message is due. It also needs the " +
				"statements of \"A consumer\" and, for delays of more than a week or more than 80,000 messages that wait, " +
				"`sqs:SendMessage` on `orders--later`, and `s3:PutObject` on the bucket of a store.",
			before: func(s *iamServer, b godwit.Backend) error {
				return cmp.Or(made(queue)(s, b), sendsLater(queue, godwit.ProducerOptions{})(s, b))
			},
			do: wakes(queue, never),
		},
		{
			title: "A consumer of delayed messages of an exchange",
			about: "Of the channel `wishlist_events.mobile`, with `ProvisionNever`, and one delayed message of the exchange " +
				"that is due. It also needs the statements of \"A consumer\".",
			before: func(s *iamServer, b godwit.Backend) error {
				return cmp.Or(made(mobile)(s, b), sendsLater(exchange, godwit.ProducerOptions{})(s, b))
			},
			do: wakes(mobile, never),
		},
		{
			title: "A producer of messages that can be cancelled",
			about: "What `Message.Cancellable` and `Producer.Cancel` add, with `ProvisionNever`. A bucket for decisions that is " +
				"provisioned needs what \"A store that is provisioned\" lists.",
			options: decided, besides: []string{"sqs:"},
			before: func(s *iamServer, b godwit.Backend) error {
				return cmp.Or(made(queue)(s, b), sendsLater(queue, godwit.ProducerOptions{})(s, b))
			},
			do: cancelsLater(queue, toNever),
		},
		{
			title:   "A consumer of messages that can be cancelled",
			about:   "What they add to \"A consumer of delayed messages\", with `ProvisionNever`.",
			options: decided, besides: []string{"sqs:"},
			before: func(s *iamServer, b godwit.Backend) error {
				return cmp.Or(made(queue)(s, b), sendsCancellable(queue, godwit.ProducerOptions{})(s, b))
			},
			do: wakes(queue, never),
		},
		{
			title: "A producer of a queue that provisions",
			about: "Of the channel `orders`, whose queue does not exist.",
			do:    sendsThree(queue, godwit.ProducerOptions{}, 1),
		},
		{
			title: "A producer of an exchange that provisions",
			about: "Of the channel `wishlist_events.*`, whose topic does " +
				"not exist; a queue of it does.",
			before: without("wishlist_events", made(mobile)), do: sendsThree(exchange, godwit.ProducerOptions{}, 1),
		},
		{
			title: "A consumer that provisions",
			about: "Of the channel `orders`, whose queues do not exist. These statements " +
				"are those of provisioning; a consumer also needs those of \"A consumer\".",
			do: made(queue),
		},
		{
			title: "A consumer of an exchange that provisions",
			about: "Of the channel `wishlist_events.mobile`: nothing " +
				"exists, then it begins again, and looks after its subscription. These statements are those of " +
				"provisioning; a consumer also needs those of \"A consumer\".",
			do: tends(mobile), besides: []string{"sqs:ReceiveMessage"},
		},
		{
			title: "A producer of a mapped queue",
			about: "`Options.Names` maps `orders` to the queue `Legacy` by its ARN. " +
				"With its URL, `sqs:GetQueueUrl` is not needed.",
			options: mapped, before: legacy, do: sendsThree(legacyQueue, godwit.ProducerOptions{}, 1),
		},
		{
			title:   "A producer of a mapped topic",
			about:   "`Options.Names` maps `news.*` to the topic `Legacy_Topic`.",
			options: mapped, before: legacy, do: sendsThree(legacyTopic, godwit.ProducerOptions{}, 1),
		},
		{
			title: "A consumer of a mapped queue",
			about: "`Options.Names` maps `orders` to the queue `Legacy`, whose " +
				"redrive policy names `Legacy_Dead`.",
			options: mapped,
			before: func(s *iamServer, b godwit.Backend) error {
				if err := legacy(s, b); err != nil {
					return err
				}
				return fill(s, b, legacyQueue, 1)
			},
			do: handles(legacyQueue, godwit.ConsumerOptions{}),
		},
		{
			title:   "A producer with a store",
			about:   "What large bodies add, with `ProvisionNever`.",
			options: stored, before: made(queue), do: sendsThree(queue, toNever, 2000), besides: []string{"sqs:"},
		},
		{
			title:   "A consumer with a store",
			about:   "What large bodies add, with `ProvisionNever`.",
			options: stored, before: filled(queue, queue, 2000), do: handles(queue, never),
			besides: []string{"sqs:"},
		},
		{
			title: "A store that is provisioned",
			about: "What the bucket adds to a producer or a consumer that provisions, " +
				"if it does not exist.",
			options: stored, besides: []string{"sqs:", "sns:"},
			do: func(s *iamServer, b godwit.Backend) error {
				p, err := godwit.NewProducer(s.Context(), b, queue, nil)
				if err == nil {
					err = p.Close(context.Background())
				}
				return err
			},
		},
	}
}

func silent() *godwit.ConsumerOptions {
	return &godwit.ConsumerOptions{Logger: slog.New(slog.DiscardHandler)}
}

// empties handles the messages of a channel for a minute.
func empties(channel string) func(*iamServer, godwit.Backend) error {
	return func(s *iamServer, b godwit.Backend) error {
		c, err := godwit.NewConsumer(s.Context(), b, channel, silent())
		if err != nil {
			return err
		}
		ctx, stop := context.WithTimeout(s.Context(), time.Minute)
		defer stop()
		report, err := c.Run(ctx, func(_ context.Context, d *godwit.Delivery) error {
			if d.Attempt == 1 {
				return errors.New("not now")
			}
			return nil
		})
		if err == nil && report.Handled == 0 {
			err = fmt.Errorf("nothing was handled: %+v", report)
		}
		return err
	}
}

// tends provisions a channel twice, and consumes it.
func tends(channel string) func(*iamServer, godwit.Backend) error {
	return func(s *iamServer, b godwit.Backend) error {
		for range 2 {
			c, err := godwit.NewConsumer(s.Context(), b, channel, silent())
			if err != nil {
				return err
			}
			ctx, stop := context.WithTimeout(s.Context(), 11*time.Minute) // two checks of the subscription
			_, err = c.Run(ctx, func(context.Context, *godwit.Delivery) error { return nil })
			stop()
			if err != nil {
				return err
			}
		}
		return nil
	}
}

// without deletes a topic afterwards.
func without(topic string, f func(*iamServer, godwit.Backend) error) func(*iamServer, godwit.Backend) error {
	return func(s *iamServer, b godwit.Backend) error {
		if err := f(s, b); err != nil {
			return err
		}
		arn := "arn:aws:sns:us-east-1:000000000000:" + topic
		_, err := sns.NewFromConfig(*s.conf()).DeleteTopic(s.Context(), &sns.DeleteTopicInput{TopicArn: &arn})
		return err
	}
}
