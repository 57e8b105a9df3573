package snssqs_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/google/go-cmp/cmp"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/localaws"
	"github.com/godwitmq/godwit/snssqs"
)

// listing is what Catalog returns, in one line for each channel.
func (w *world) listing(b *snssqs.Backend) (lines []string) {
	w.Helper()
	all, err := b.Catalog(w.Context())
	if err != nil {
		w.Fatal(err)
	}
	for _, c := range all {
		line := fmt.Sprintf("%v %v", c.Channel, c.Channel.Role())
		if c.Channel.Ordered {
			line += " ordered"
		}
		if c.Mapped {
			line += " mapped"
		} else if c.Tags == nil {
			line += " untagged"
		}
		lines = append(lines, line)
		if dated := !c.Created.IsZero(); dated != strings.Contains(c.Address, ":sqs:") {
			w.Errorf("%s: created %v", c.Address, c.Created)
		}
	}
	return lines
}

// several creates the same channels in two namespaces, and what another program has, and returns the second backend.
func (w *world) several() (prod *snssqs.Backend) {
	w.Helper()
	prod = w.open(snssqs.Options{Namespace: "prod"})
	for _, b := range []*snssqs.Backend{w.b, prod} {
		for _, ch := range []driver.Channel{orders, {Queue: "bills", Ordered: true}, audit} {
			if err := b.Ensure(w.Context(), owner(ch)); err != nil {
				w.Fatal(err)
			}
		}
	}
	for name, attributes := range map[string]map[string]string{"foreign": nil, "reports.fifo": {"FifoQueue": "true"}} {
		in := &sqs.CreateQueueInput{QueueName: &name, Attributes: attributes}
		if _, err := w.sqs.CreateQueue(w.Context(), in); err != nil {
			w.Fatal(err)
		}
	}
	if _, err := w.sns.CreateTopic(w.Context(), &sns.CreateTopicInput{Name: aws.String("news")}); err != nil {
		w.Fatal(err)
	}
	return prod
}

var several = []string{
	"bills queue ordered", "bills@dlq dead-letters ordered", "orders queue", "orders@dlq dead-letters",
	"wishlist_events.* exchange", "wishlist_events.audit_log queue", "wishlist_events.audit_log@dlq dead-letters",
}

// Every channel of the namespace is listed, and nothing of another namespace or program, also if tag:GetResources is
// denied. If reading tags is denied, too, the names decide.
func TestCatalog(t *testing.T) {
	inWorld(t, localaws.Options{}, func(w *world) {
		prod := w.several()
		compare := func(name string, b *snssqs.Backend, want []string) {
			if diff := cmp.Diff(want, w.listing(b)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", name, diff)
			}
		}
		compare("no namespace", w.b, several)
		compare("a namespace", prod, several)
		w.deny("tagging.GetResources")
		compare("no namespace, by names", w.b, several)
		compare("a namespace, by names", prod, several)
		w.deny("sqs.ListQueueTags")
		w.deny("sns.ListTagsForResource")
		var untagged []string
		for _, line := range several {
			untagged = append(untagged, line+" untagged")
		}
		compare("a namespace, without tags", prod, untagged)
	})
}

// The channels of Options.Names are listed if they exist, beside those with tags.
func TestCatalogOfMappedChannels(t *testing.T) {
	inWorld(t, localaws.Options{}, func(w *world) {
		w.several()
		b := w.open(snssqs.Options{Names: map[string]snssqs.Resource{
			"reports": {Queue: queueARN + "reports.fifo", DeadLetters: queueARN + "foreign"},
			"news.*":  {Topic: topicARN + "news"}, "gone": {Queue: queueARN + "gone"},
		}})
		var got []string
		for _, line := range w.listing(b) {
			if strings.HasSuffix(line, " mapped") {
				got = append(got, line)
			}
		}
		want := []string{
			"news.* exchange mapped", "reports queue ordered mapped", "reports@dlq dead-letters mapped",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// A catalog that is denied names the permissions.
func TestCatalogDenied(t *testing.T) {
	inWorld(t, localaws.Options{}, func(w *world) {
		w.deny("tagging.GetResources")
		w.deny("sqs.ListQueues")
		_, err := w.b.Catalog(w.Context())
		w.denied(err, "list", "tag:GetResources or sqs:ListQueues")
	})
}
