package snssqs_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	snstypes "github.com/aws/aws-sdk-go-v2/service/sns/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/localaws"
	"github.com/godwitmq/godwit/localaws/wire"
	"github.com/godwitmq/godwit/snssqs"
)

// told collects the messages that a receiver reports as discarded.
type told []driver.Discarded

// ids returns the messages that were discarded for a reason.
func (t told) ids(reason driver.DiscardReason) (ids []string) {
	for _, d := range t {
		if d.Reason == reason {
			ids = append(ids, d.IDs...)
		}
	}
	slices.Sort(ids)
	return ids
}

// telling opens a receiver that records what it discards.
func (w *world) telling(ch driver.Channel, f driver.Filter) (driver.Receiver, *told) {
	w.Helper()
	t := &told{}
	r, err := w.b.Receiver(w.Context(), ch,
		driver.ReceiverOptions{Concurrency: 10, Wait: time.Second, Filter: f, Events: driver.Events{
			Discarded: func(d driver.Discarded) {
				if d.Expected || d.Count != len(d.IDs) || d.Count == 0 {
					w.Errorf("told %+v", d)
				}
				*t = append(*t, d)
			},
		}})
	if err != nil {
		w.Fatal(err)
	}
	w.receivers = append(w.receivers, r)
	return r, t
}

// sent sends foreign messages and returns their ids.
func (w *world) sent(queue string, ms map[string]map[string]types.MessageAttributeValue) map[string]string {
	w.Helper()
	ids := map[string]string{}
	for body, attributes := range ms {
		out, err := w.sqs.SendMessage(w.Context(),
			&sqs.SendMessageInput{
				QueueUrl: aws.String(w.url(queue)), MessageBody: &body,
				MessageAttributes: attributes,
			})
		if err != nil {
			w.Fatal(err)
		}
		ids[body] = *out.MessageId
	}
	return ids
}

// keyed returns a message's attributes with one attribute.
func keyed(name, value string) map[string]types.MessageAttributeValue {
	return map[string]types.MessageAttributeValue{name: text(value)}
}

// A message that the filter discards is reported with its id. On a mapped queue, whose messages come from other
// programs, a message without a routing key is returned unless RequireRoutingKey is set, and the attribute of the key
// can be chosen.
func TestWhatTheFilterDeletesIsTold(t *testing.T) {
	all := map[string]map[string]types.MessageAttributeValue{
		"wanted": keyed("routing_key", "MOBILE.X"), "unwanted": keyed("routing_key", "BOOK"), "bare": nil,
		"theirs wanted": keyed("event_type", "MOBILE.Y"), "theirs unwanted": keyed("event_type", "TOY"),
	}
	mine := driver.Channel{Exchange: "news", Queue: "mine"}
	for name, c := range map[string]struct {
		as   *snssqs.Resource // nil: the queue is ours
		key  string           // the attribute with the routing key
		want []string
	}{
		"ours":                {nil, "", []string{"wanted"}},
		"ours, own attribute": {nil, "event_type", []string{"theirs wanted"}},
		"mapped": {
			&snssqs.Resource{}, "",
			[]string{"bare", "theirs unwanted", "theirs wanted", "wanted"},
		},
		"mapped, key required": {&snssqs.Resource{RequireRoutingKey: true}, "", []string{"wanted"}},
		"mapped, own attribute": {
			&snssqs.Resource{}, "event_type",
			[]string{"bare", "theirs wanted", "unwanted", "wanted"},
		},
		"mapped, both": {
			&snssqs.Resource{RequireRoutingKey: true}, "event_type",
			[]string{"theirs wanted"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, localaws.Options{}, func(w *world) {
				w.ensure(owner(mine))
				o := snssqs.Options{AttributesOf: map[string]snssqs.Attributes{"news.mine": {RoutingKey: c.key}}}
				if c.as != nil {
					c.as.Queue = w.url("news--mine")
					o.Names = map[string]snssqs.Resource{"news.mine": *c.as}
				}
				w.b = w.open(o)
				r, told := w.telling(mine, mobile)
				ids := w.sent("news--mine", all)
				var got, gone []string
				for range 3 {
					ds, err := r.Receive(w.Context(), driver.Ask{Max: 10}, nil)
					if err != nil {
						t.Fatal(err)
					}
					for _, d := range ds {
						got = append(got, string(d.Body))
						if body := string(d.Body); (body == "theirs wanted") != (d.RoutingKey == "MOBILE.Y") &&
							c.key != "" {
							t.Errorf("%q has routing key %q", body, d.RoutingKey)
						}
					}
				}
				for body, id := range ids {
					if !slices.Contains(c.want, body) {
						gone = append(gone, id)
					}
				}
				slices.Sort(gone)
				if slices.Sort(got); !slices.Equal(got, c.want) {
					t.Errorf("received %q, want %q", got, c.want)
				}
				if ids := told.ids(driver.DiscardFiltered); !slices.Equal(ids, gone) ||
					len(told.ids(driver.DiscardFinished)) > 0 {
					t.Errorf("told %+v, want %q as filtered", *told, gone)
				}
			})
		})
	}
}

// The routing attribute of a mapped topic is used when sending, filtering and receiving.
func TestTheRoutingAttributeOfAMappedTopic(t *testing.T) {
	inWorld(t, localaws.Options{}, func(w *world) {
		topic, err := w.sns.CreateTopic(w.Context(), &sns.CreateTopicInput{Name: aws.String("Legacy")})
		if err != nil {
			t.Fatal(err)
		}
		w.b = w.open(snssqs.Options{
			Names:        map[string]snssqs.Resource{"news.*": {Topic: *topic.TopicArn}},
			AttributesOf: map[string]snssqs.Attributes{"news.*": {RoutingKey: "event_type"}},
		})
		ch := driver.Channel{Exchange: "news", Queue: "ours"}
		w.ensure(filtered(ch))
		for _, key := range []string{"MOBILE.A", "BOOK"} {
			if _, err := w.sns.Publish(w.Context(), &sns.PublishInput{
				TopicArn: topic.TopicArn, Message: aws.String("theirs"),
				MessageAttributes: map[string]snstypes.MessageAttributeValue{
					"event_type": {DataType: aws.String("String"), StringValue: &key},
				},
			}); err != nil {
				t.Fatal(err)
			}
			w.send(w.sender(driver.Channel{Exchange: "news"}), driver.Message{Body: []byte("ours"), RoutingKey: key})
		}
		r, told := w.telling(ch, mobile)
		for _, d := range w.receive(r, 2) {
			if d.RoutingKey != "MOBILE.A" || len(d.Header) > 0 {
				t.Errorf("received %q with routing key %q and headers %v", d.Body, d.RoutingKey, d.Header)
			}
		}
		if ds, err := r.Receive(w.Context(), driver.Ask{Max: 10}, nil); err != nil || len(ds)+len(*told) > 0 {
			t.Errorf("the topic's filter let %d more through, %+v, %v", len(ds), *told, err)
		}
	})
}

func TestRoutingAttributesThatCannotBe(t *testing.T) {
	for _, name := range []string{"godwit", "a b", "AWS.x", "ExtendedPayloadSize"} {
		if _, err := snssqs.Open(t.Context(), &snssqs.Options{
			AWS:        &aws.Config{Region: "eu-west-1"},
			Attributes: snssqs.Attributes{RoutingKey: name},
		}); err == nil {
			t.Errorf("%q was accepted as Attributes.RoutingKey", name)
		}
	}
}

// A finished message that is delivered again is deleted and reported; another message is not, even if the server gives
// it the same id, or none.
func TestOnlyWhatIsFinishedIsDeletedAsFinished(t *testing.T) {
	for name, id := range map[string]any{"their own ids": nil, "one id for all": "7", "empty ids": "", "no ids": 0} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, localaws.Options{}, func(w *world) {
				w.b = w.open(snssqs.Options{Transport: &rewriting{
					next: w.server.Transport(),
					edit: map[string]func(map[string]any){
						"ReceiveMessage": func(answer map[string]any) {
							messages, _ := answer["Messages"].([]any)
							for _, m := range messages {
								switch m := m.(map[string]any); id {
								case nil:
								case 0:
									delete(m, "MessageId")
								default:
									m["MessageId"] = id
								}
							}
						},
					},
				}})
				w.ensure(owner(orders))
				r, told := w.telling(orders, driver.Filter{})
				handled := map[string]int{}
				var late driver.Delivery
				for i := range 20 {
					w.foreign("orders", fmt.Sprint(i), nil)
					d := w.receive(r, 1)[0]
					handled[string(d.Body)]++
					if i == 0 {
						late = d
						continue
					}
					if err := r.Settle(w.Context(), []driver.Settlement{{Handle: d.Handle}}); err != nil {
						t.Fatal(err)
					}
				}
				if len(handled) != 20 || len(*told) > 0 {
					t.Errorf("handed over %d of 20, told %+v", len(handled), *told)
				}
				// Another consumer receives the first message again before it is done, so this delete deletes nothing.
				time.Sleep(31 * time.Second)
				if ds := w.receive(w.receiver(orders, driver.Filter{}), 1); string(ds[0].Body) != "0" {
					t.Fatalf("received %q", ds[0].Body)
				}
				if err := r.Settle(w.Context(), []driver.Settlement{{Handle: late.Handle}}); err != nil {
					t.Fatal(err)
				}
				time.Sleep(31 * time.Second)
				ds, err := r.Receive(w.Context(), driver.Ask{Max: 10}, nil)
				known := id == nil || id == "7"
				if err != nil || known != (len(ds) == 0) || known != (len(told.ids(driver.DiscardFinished)) == 1) {
					t.Errorf("received %d, %v, told %+v", len(ds), err, *told)
				}
			})
		})
	}
}

// A message that could not be deleted was not discarded: it is reported with the error, and is delivered again.
func TestWhatIsNotDeletedIsToldWithTheError(t *testing.T) {
	inWorld(t, localaws.Options{}, func(w *world) {
		w.ensure(owner(audit))
		r, told := w.telling(audit, mobile)
		w.foreign("wishlist_events--audit_log", "bare", nil)
		w.server.ControlOnce("sqs.DeleteMessageBatch", func(context.Context, *localaws.Request) localaws.Outcome {
			return localaws.Outcome{Err: &wire.Error{Code: "RequestThrottled", Message: "Rate exceeded"}}
		})
		_, err := r.Receive(w.Context(), driver.Ask{Max: 10}, nil)
		if err != nil || len(*told) != 1 || driver.ClassOf((*told)[0].Err) != driver.Throttled {
			t.Errorf("told %+v, %v", *told, err)
		}
		time.Sleep(time.Minute)
		_, err = r.Receive(w.Context(), driver.Ask{Max: 10}, nil)
		if err != nil || len(*told) != 2 || (*told)[1].Err != nil {
			t.Errorf("told %+v, %v", *told, err)
		}
	})
}
