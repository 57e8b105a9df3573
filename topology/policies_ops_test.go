package topology_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	gocmp "github.com/google/go-cmp/cmp"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/local"
	"github.com/godwitmq/godwit/ops"
	"github.com/godwitmq/godwit/ops/describe"
	"github.com/godwitmq/godwit/ops/doctor"
	"github.com/godwitmq/godwit/s3store"
	"github.com/godwitmq/godwit/snssqs"
	"github.com/godwitmq/godwit/topology"
)

// asOnAWS returns the backend as it is on AWS, where messages can be looked at only by receiving them.
func (w *world) asOnAWS() driver.Backend {
	w.Helper()
	conf := aws.Config{
		Region: "us-east-1", BaseEndpoint: aws.String("http://localaws.amazonaws.com"),
		Credentials: credentials.NewStaticCredentialsProvider("k", "s", ""),
	}
	transport := w.b.Server().Transport()
	inside := conf
	inside.BaseEndpoint = aws.String("http://localaws")
	store, err := s3store.Open(w.Context(), &s3store.Options{Bucket: local.Bucket, AWS: &inside, Transport: transport})
	if err != nil {
		w.Fatal(err)
	}
	b, err := snssqs.Open(w.Context(), &snssqs.Options{
		Store: store, Namespace: "prod", AWS: &conf, Transport: transport, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		w.Fatal(err)
	}
	return b
}

// deadLetters sends small and large messages to a channel, and rejects all of them.
func (w *world) deadLetters(s *topology.Spec, channel string) {
	w.Helper()
	to := channel
	if exchange, _, many := strings.Cut(channel, "."); many {
		to = exchange + ".*"
	}
	producer, err := s.Producer(to)
	if err != nil {
		w.Fatal(err)
	}
	p, err := godwit.NewProducer(w.Context(), w.b, to, producer)
	for i := range 6 {
		if err == nil {
			err = p.Send(w.Context(), godwit.Message{
				RoutingKey: "MOBILE.A", OrderKey: "k", Body: bytes.Repeat([]byte{'a' + byte(i)}, 1+i%2*300_000),
			})
		}
	}
	consumer, err2 := s.Consumer(channel)
	if err := errors.Join(err, err2, p.Close(w.Context())); err != nil {
		w.Fatal(err)
	}
	consumer.Logger = slog.New(slog.DiscardHandler)
	ctx, stop := context.WithTimeout(w.Context(), time.Hour)
	defer stop()
	c, err := godwit.NewConsumer(ctx, w.b, channel, consumer)
	if err != nil {
		w.Fatal(err)
	}
	var rejected atomic.Int32
	if _, err = c.Run(ctx, func(context.Context, *godwit.Delivery) error {
		if rejected.Add(1) == 6 {
			stop()
		}
		return godwit.Permanent(errors.New("no"))
	}); err != nil || rejected.Load() < 6 {
		w.Fatal(channel, rejected.Load(), err)
	}
}

// must ends the test with the error of one of an operator's steps.
func must[T any](w *world) func(what T, err error) T {
	return func(what T, err error) T {
		w.Helper()
		if err != nil {
			w.Fatal(err)
		}
		return what
	}
}

// The policy of an operator has exactly the permissions that the operations of package ops need, on channels of every
// kind, with small and large messages.
func TestPolicyOfAnOperator(t *testing.T) {
	inWorld(t, func(w *world) {
		s := shop(t)
		s.Payloads.Bucket = local.Bucket
		for name, c := range s.Channels {
			c.Delay = 0
			s.Channels[name] = c
		}
		w.apply(s, nil)
		for _, channel := range s.ChannelNames() {
			if !s.Channels[channel].NoDeadLetters {
				w.deadLetters(s, channel)
			}
		}
		b, ctx := w.asOnAWS(), w.Context()
		used := w.used(func() {
			must[[]ops.Listed](w)(ops.List(ctx, b, nil))
			must[[]ops.ChannelDemand](w)(ops.Demand(ctx, b, nil))
			every := func(driver.Channel) bool { return true }
			must[[]*describe.Channel](w)(describe.All(ctx, b, every))
			must[*doctor.Report](w)(doctor.Examine(ctx, b, nil))
			alerts := must[*ops.Alerts](w)(ops.NewAlerts(b, &ops.AlertsOptions{
				Routes: []ops.Route{{Name: "r", To: ops.NewWriterNotifier(new(bytes.Buffer))}},
			}))
			must[*ops.AlertReport](w)(alerts.Once(ctx, ops.LookAll))
			must[[]topology.Resource](w)(topology.Resources(ctx, b, nil))
			for _, channel := range s.ChannelNames() {
				w.operate(b, channel, s.Channels[channel].NoDeadLetters)
			}
			for _, exchange := range s.ExchangeNames() {
				must[ops.ImportResult](w)(ops.Import(ctx, b, exchange+".*", strings.NewReader(oneMessage), nil))
			}
		})
		if diff := gocmp.Diff(used, granted(t, s, "operator", "")); diff != "" {
			t.Errorf("(-used +granted):\n%s", diff)
		}
	})
}

// oneMessage is a file to import.
const oneMessage = `{"id":"1","raw":{"format":"sqs","body":"x"}}`

// operate does with one channel all that package ops can do, but removing it.
func (w *world) operate(b driver.Backend, channel string, noDeadLetters bool) {
	w.Helper()
	ctx := w.Context()
	must[ops.PauseResult](w)(ops.Pause(ctx, b, channel, nil))
	must[ops.PauseResult](w)(ops.Resume(ctx, b, channel, nil))
	if !noDeadLetters {
		dead := channel + "@dlq"
		must[[]ops.Entry](w)(ops.Peek(ctx, b, dead, &ops.PeekOptions{Receive: true}))
		var file bytes.Buffer
		must[int](w)(ops.Export(ctx, b, dead, &file, &ops.ExportOptions{Receive: true}))
		time.Sleep(time.Hour)
		must[*ops.RequeueResult](w)(ops.Requeue(ctx, b, dead, &ops.RequeueOptions{
			Most: 4, Edit: func(body []byte) ([]byte, error) { return append(body, 'y'), nil },
		}))
		time.Sleep(time.Hour)
		must[*ops.DiscardResult](w)(ops.Discard(ctx, b, dead, &ops.DiscardOptions{
			Select: ops.Selection{Kinds: []string{"permanent"}},
		}))
		time.Sleep(time.Hour)
		must[*ops.RequeueResult](w)(ops.Requeue(ctx, b, dead, nil))
		must[ops.ImportResult](w)(ops.Import(ctx, b, dead, &file, nil))
		must[ops.PurgeResult](w)(ops.Purge(ctx, b, dead, nil))
	}
	must[ops.ImportResult](w)(ops.Import(ctx, b, channel, strings.NewReader(oneMessage), nil))
	must[[]ops.Entry](w)(ops.Peek(ctx, b, channel, &ops.PeekOptions{Receive: true}))
	time.Sleep(time.Hour)
	must[*ops.DiscardResult](w)(ops.Discard(ctx, b, channel, &ops.DiscardOptions{
		Select: ops.Selection{OlderThan: time.Minute}, Most: 1,
	}))
	must[ops.PurgeResult](w)(ops.Purge(ctx, b, channel, nil))
}

// The policy of a sweeper has exactly the permissions that a sweep and its undo need, on all resources of the
// namespace.
func TestPolicyOfASweeper(t *testing.T) {
	inWorld(t, func(w *world) {
		s := shop(t)
		for _, c := range []string{"idle", "news.idle", "busy.events"} {
			if _, err := godwit.NewConsumer(w.Context(), w.b, c, &godwit.ConsumerOptions{
				Ownership: godwit.Ownership{Owner: "team-shop"},
			}); err != nil {
				t.Fatal(err)
			}
		}
		p, err := godwit.NewProducer(w.Context(), w.b, "busy.*", nil)
		if err != nil {
			t.Fatal(err)
		}
		b, ctx := w.asOnAWS(), w.Context()
		deleted := 0
		used := w.used(func() {
			time.Sleep(10 * 24 * time.Hour) // nothing was counted for days: is it the right CloudWatch?
			must[*ops.SweepReport](w)(ops.Sweep(ctx, b, nil))
			for range 4 { // the first sweeps wake what is not used, so that the service counts it
				for range 5 {
					time.Sleep(24 * time.Hour)
					w.quietly(func() { // CloudWatch counts topics only where something is published
						if err := p.Send(ctx, godwit.Message{}); err != nil {
							t.Error(err)
						}
					})
				}
				journal := filepath.Join(t.TempDir(), "journal")
				r := must[*ops.SweepReport](w)(ops.Sweep(ctx, b, &ops.SweepOptions{
					Owner: "team-shop", Yes: true, Journal: ops.FileJournal(journal),
				}))
				if r.Journal == "" {
					continue
				}
				text, err := os.ReadFile(journal)
				if err != nil {
					t.Fatal(err)
				}
				deleted += len(must[[]ops.UndoResult](w)(ops.Undo(ctx, b, text)))
			}
		})
		if err := p.Close(ctx); err != nil || deleted < 5 {
			t.Errorf("%d resources were deleted and made again, %v", deleted, err)
		}
		var lines []string
		for _, line := range used {
			resource, action, _ := strings.Cut(line, " ")
			if i := strings.Index(resource, "prod---"); i >= 0 {
				resource = resource[:i] + "prod---*"
			}
			lines = append(lines, resource+" "+action)
		}
		slices.Sort(lines)
		if diff := gocmp.Diff(slices.Compact(lines), granted(t, s, "sweeper", "")); diff != "" {
			t.Errorf("(-used +granted):\n%s", diff)
		}
	})
}
