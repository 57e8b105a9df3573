package topology_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	gocmp "github.com/google/go-cmp/cmp"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/permissions"
	"github.com/godwitmq/godwit/local"
	"github.com/godwitmq/godwit/localaws"
	"github.com/godwitmq/godwit/s3store"
	"github.com/godwitmq/godwit/snssqs"
	"github.com/godwitmq/godwit/topology"
)

// used returns the permissions that the calls of some work need, as lines of a policy.
func (w *world) used(work func()) []string {
	var mu sync.Mutex
	var all []string
	stop := w.b.Server().Control("*", func(_ context.Context, r *localaws.Request) localaws.Outcome {
		if w.quiet.Load() {
			return localaws.Outcome{}
		}
		mu.Lock()
		defer mu.Unlock()
		for _, p := range permissions.Of(r.Service, r.Action, r.Input) {
			all = append(all, p.Resource+" "+p.Action)
		}
		return localaws.Outcome{}
	})
	work()
	stop()
	slices.Sort(all)
	return slices.Compact(all)
}

// quietly does what the policy is not about.
func (w *world) quietly(work func()) {
	w.quiet.Store(true)
	defer w.quiet.Store(false)
	work()
}

// granted are the permissions of a role, as lines.
func granted(t *testing.T, s *topology.Spec, role, channel string) (all []string) {
	t.Helper()
	return grantedWith(t, s, nil, role, channel)
}

func grantedWith(t *testing.T, s *topology.Spec, o *topology.PoliciesOptions, role, channel string) (all []string) {
	t.Helper()
	policies, err := topology.Policies(s, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range policies {
		if p.Role != role || p.Channel != channel {
			continue
		}
		var doc struct {
			Statement []struct {
				Resource string
				Action   []string
			}
		}
		text, err := json.Marshal(p.Policy)
		if err == nil {
			err = json.Unmarshal(text, &doc)
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, one := range doc.Statement {
			for _, action := range one.Action {
				all = append(all, one.Resource+" "+action)
			}
		}
	}
	slices.Sort(all)
	return all
}

// The policies of producers and consumers have exactly the permissions that their calls need: of large and small
// messages, of one that outlasts its lease, of retries by the consumer and by the service, and of a dead letter.
func TestPoliciesOfPrograms(t *testing.T) {
	for _, channel := range []string{"orders", "invoices", "wishes.mobile", "ledger.books"} {
		inWorld(t, func(w *world) {
			s := shop(t)
			s.Payloads.Bucket = local.Bucket
			c := s.Channels[channel]
			c.Delay, c.ProcessingTimeout, c.Filter = 0, 0, topology.Filter{}
			s.Channels[channel] = c
			w.apply(s, nil)
			time.Sleep(2 * time.Minute) // so that programs do not use what the apply has found
			to := channel
			if exchange, _, many := strings.Cut(channel, "."); many {
				to = exchange + ".*"
			}
			o, err := s.Producer(to)
			if err != nil {
				t.Fatal(err)
			}
			o.Provision = godwit.ProvisionNever
			sends := func() {
				p, err := godwit.NewProducer(w.Context(), w.b, to, o)
				for i, kind := range []string{"good", "slow", "soon", "later", "bad"} {
					if err == nil {
						err = p.Send(w.Context(), godwit.Message{
							Type: kind, OrderKey: kind, Body: bytes.Repeat([]byte("x"), 1+i%2*300_000),
						})
					}
				}
				if err = errors.Join(err, p.Close(w.Context())); err != nil {
					t.Fatal(err)
				}
			}
			// A producer of an exchange also looks at its subscriptions, to wait for queues that come back. It can do
			// without (docs/iam.md).
			optional := func(line string) bool { return strings.HasSuffix(line, "sns:ListSubscriptionsByTopic") }
			used := slices.DeleteFunc(w.used(sends), optional)
			if diff := gocmp.Diff(used, granted(t, s, "producer", to)); diff != "" {
				t.Errorf("a producer of %s (-used +granted):\n%s", to, diff)
			}
			used = w.used(func() { w.handle(s, channel) })
			if diff := gocmp.Diff(used, granted(t, s, "consumer", channel)); diff != "" {
				t.Errorf("a consumer of %s (-used +granted):\n%s", channel, diff)
			}
		})
	}
}

// handle consumes the five kinds of messages.
func (w *world) handle(s *topology.Spec, channel string) {
	w.Helper()
	o, err := s.Consumer(channel)
	if err != nil {
		w.Fatal(err)
	}
	o.Provision, o.Logger, o.MaxAttempts = godwit.ProvisionNever, slog.New(slog.DiscardHandler), 0
	o.Policy = func(d *godwit.Delivery, _ error) godwit.Verdict {
		return map[string]godwit.Verdict{
			"bad":   {Action: godwit.ActionReject},
			"later": {Action: godwit.ActionRetry, After: 10 * time.Minute},
		}[cmp.Or(map[bool]string{true: d.Type}[d.Type == "bad" || d.Type == "later"], "soon")]
	}
	ctx, stop := context.WithTimeout(w.Context(), 30*time.Minute)
	defer stop()
	c, err := godwit.NewConsumer(ctx, w.b, channel, o)
	if err != nil {
		w.Fatal(err)
	}
	report, err := c.Run(ctx, func(_ context.Context, d *godwit.Delivery) error {
		switch {
		case d.Type == "slow":
			time.Sleep(2 * time.Minute)
		case d.Type == "bad", d.Attempt == 1 && d.Type != "good":
			return errors.New("not now")
		}
		return nil
	})
	if err != nil || report.Handled != 4 || report.Rejected != 1 {
		w.Fatalf("%+v, %v", report, err)
	}
}

// The policy of a provisioner has exactly the permissions that plans and applies need: of a declaration that does not
// exist, of one that does, and of one that has changed in everything.
func TestPolicyOfAProvisioner(t *testing.T) {
	inWorld(t, func(w *world) {
		s := shop(t)
		s.Payloads.Bucket = local.Bucket
		used := w.used(func() {
			w.plan(s)
			w.apply(s, nil)
			changed := shop(t)
			changed.Namespace, changed.Owner = s.Namespace, "another"
			for name, c := range changed.Channels {
				c.Lease, c.KMSKey, c.MaxAttempts, c.DeadLetterRetention = time.Hour, "alias/a", 200, 13*24*time.Hour
				c.Retention = time.Hour
				if strings.Contains(name, ".") {
					c.Filter = topology.Filter{Exact: []string{"A"}}
				}
				changed.Channels[name] = c
			}
			for name, e := range changed.Exchanges {
				e.KMSKey = "alias/a"
				changed.Exchanges[name] = e
			}
			w.apply(changed, nil)
			w.plan(changed)
		})
		if diff := gocmp.Diff(used, granted(t, s, "provisioner", "")); diff != "" {
			t.Errorf("(-used +granted):\n%s", diff)
		}
	})
}

// With PoliciesOptions.Later, producers and consumers may do what messages need that wait for their time.
func TestPoliciesOfLater(t *testing.T) {
	for channel, to := range map[string]string{"orders": "orders", "events.audit": "events.*"} {
		inWorld(t, func(w *world) {
			s := &topology.Spec{
				Namespace: "prod", Owner: "shop", Exchanges: map[string]topology.Exchange{"events": {}},
				Channels: map[string]topology.Channel{"orders": {}, "events.audit": {}},
			}
			w.apply(s, nil)
			time.Sleep(2 * time.Minute)
			send := func() {
				p, err := godwit.NewProducer(w.Context(), w.b, to, nil)
				if err == nil {
					err = p.Send(w.Context(), godwit.Message{Delay: time.Hour})
				}
				if err = errors.Join(err, p.Close(w.Context())); err != nil {
					t.Fatal(err)
				}
			}
			receive := func() {
				o, err := s.Consumer(channel)
				if err != nil {
					t.Fatal(err)
				}
				o.Provision = godwit.ProvisionNever
				c, err := godwit.NewConsumer(w.Context(), w.b, channel, o)
				if err != nil {
					t.Fatal(err)
				}
				ctx, stop := context.WithTimeout(w.Context(), 2*time.Hour)
				defer stop()
				report, err := c.Run(ctx, func(context.Context, *godwit.Delivery) error { return nil })
				if err != nil || report.Handled != 1 {
					t.Errorf("%+v, %v", report, err)
				}
			}
			with := &topology.PoliciesOptions{Later: true}
			ofLater := func(line string) bool { return !strings.Contains(line, "--later ") }
			for role, used := range map[string][]string{
				"producer " + to: slices.DeleteFunc(w.used(send), ofLater), "consumer " + channel: w.used(receive),
			} {
				role, of, _ := strings.Cut(role, " ")
				all := grantedWith(t, s, with, role, of)
				for _, line := range used {
					if !slices.Contains(all, line) && !strings.HasSuffix(line, "sns:ListSubscriptionsByTopic") {
						t.Errorf("a %s of %s may not %s", role, of, line)
					}
				}
			}
		})
	}
}

// Where the declaration says where it is decided which messages are cancelled, producers, consumers and operators may
// decide, and what messages need that wait for their time.
func TestPoliciesOfDecisions(t *testing.T) {
	inWorld(t, func(w *world) {
		s := &topology.Spec{
			Namespace: "prod", Owner: "shop", Channels: map[string]topology.Channel{"orders": {}},
			Decisions: topology.Decisions{Bucket: "decided", Prefix: "d/"},
		}
		w.apply(s, nil)
		conf := aws.Config{
			Region: "us-east-1", BaseEndpoint: aws.String("http://localaws.internal"),
			Credentials: credentials.NewStaticCredentialsProvider("k", "s", ""),
		}
		decisions, err := s3store.OpenDecisions(w.Context(), &s3store.Options{
			Bucket: "decided", Prefix: "d/", AWS: &conf, Transport: w.b.Server().Transport(),
		})
		if err == nil {
			err = decisions.Ensure(w.Context(), driver.Auto)
		}
		if err != nil {
			t.Fatal(err)
		}
		open := func() godwit.Backend {
			return must[*snssqs.Backend](w)(snssqs.Open(w.Context(), &snssqs.Options{
				Namespace: "prod", AWS: &conf, Transport: w.b.Server().Transport(), Decisions: decisions,
			}))
		}
		never := &godwit.ProducerOptions{Provision: godwit.ProvisionNever}
		first := must[*godwit.Producer](w)(godwit.NewProducer(w.Context(), open(), "orders", nil))
		var ids [2]godwit.Receipt
		for i := range ids {
			m := godwit.Message{Delay: time.Hour, Cancellable: true, Receipt: &ids[i]}
			must[bool](w)(true, first.Send(w.Context(), m))
		}
		must[bool](w)(true, first.Close(w.Context()))
		used := w.used(func() {
			p := must[*godwit.Producer](w)(godwit.NewProducer(w.Context(), open(), "orders", never))
			must[bool](w)(true, p.Send(w.Context(), godwit.Message{
				Delay: time.Hour, Cancellable: true, Receipt: new(godwit.Receipt),
			}))
			for range 2 {
				must[bool](w)(p.Cancel(w.Context(), ids[0].ID))
			}
			must[bool](w)(true, p.Close(w.Context()))
		})
		below := func(all []string) []string { // what a call needs of a bucket is known without the prefix
			for i := range all {
				all[i] = strings.ReplaceAll(all[i], "decided/*", "decided/d/*")
			}
			return all
		}
		stored := func(all []string) []string {
			return slices.DeleteFunc(all, func(line string) bool { return !strings.Contains(line, " s3:") })
		}
		if diff := gocmp.Diff(stored(below(used)), stored(granted(t, s, "producer", "orders"))); diff != "" {
			t.Errorf("a producer (-used +granted):\n%s", diff)
		}
		used = w.used(func() {
			o := must[*godwit.ConsumerOptions](w)(s.Consumer("orders"))
			o.Provision = godwit.ProvisionNever
			c := must[*godwit.Consumer](w)(godwit.NewConsumer(w.Context(), open(), "orders", o))
			ctx, stop := context.WithTimeout(w.Context(), 2*time.Hour)
			defer stop()
			r, err := c.Run(ctx, func(context.Context, *godwit.Delivery) error { return nil })
			if err != nil || r.Handled != 2 {
				t.Errorf("%+v, %v", r, err)
			}
		})
		consumer := granted(t, s, "consumer", "orders")
		for _, line := range below(used) {
			if !slices.Contains(consumer, line) {
				t.Errorf("a consumer may not %s", line)
			}
		}
		if diff := gocmp.Diff(stored(used), stored(slices.Clone(consumer))); diff != "" {
			t.Errorf("a consumer (-used +granted):\n%s", diff)
		}
		operator := granted(t, s, "operator", "")
		for _, line := range []string{
			"arn:aws:s3:::decided/d/* s3:PutObject", "arn:aws:sqs:REGION:ACCOUNT:prod---orders--later sqs:PurgeQueue",
		} {
			if !slices.Contains(operator, line) {
				t.Errorf("an operator may not %s", line)
			}
		}
	})
}

// Keys of KMS, mapped resources, and the place of the resources are in the policies. SNS may use the keys of queues to
// which its topics send.
func TestPoliciesOfOthers(t *testing.T) {
	s := new(topology.Spec)
	s.Exchanges = map[string]topology.Exchange{"e": {}, "f": {}}
	s.Channels = map[string]topology.Channel{
		"a": {KMSKey: "alias/own", Queue: "arn:aws:sqs:eu-west-1:1:legacy", NoDeadLetters: true},
		"b": {KMSKey: "1234", NoDeadLetters: true}, "e.a": {KMSKey: "1234"}, "e.b": {KMSKey: "1234"},
		"f.a": {KMSKey: "1234"}, "f.b": {},
	}
	all, err := topology.Policies(s, &topology.PoliciesOptions{Region: "eu-west-1", Account: "2", Partition: "aws-cn"})
	text, _ := json.Marshal(all)
	for _, part := range []string{
		`"arn:aws:sqs:eu-west-1:1:legacy"`, `"arn:aws-cn:sqs:eu-west-1:2:b"`, `"arn:aws-cn:kms:eu-west-1:2:key/1234"`,
		`"kms:ResourceAliases":"alias/own"`, `["kms:Decrypt","kms:GenerateDataKey"]`,
		`{"role":"key","key":"1234",`, `"Principal":{"Service":"sns.amazonaws.com"}`,
		`{"aws:SourceArn":["arn:aws-cn:sns:eu-west-1:2:e","arn:aws-cn:sns:eu-west-1:2:f"]}`,
	} {
		if err != nil || !strings.Contains(string(text), part) {
			t.Errorf("%v: no %s in %s", err, part, text)
		}
	}
	if n := strings.Count(string(text), `"role":"key"`); n != 1 {
		t.Errorf("%d policies of keys", n)
	}
	if _, err := topology.Policies(&topology.Spec{Namespace: "."}, nil); err == nil {
		t.Error(fmt.Errorf("a declaration with mistakes has policies"))
	}
}
