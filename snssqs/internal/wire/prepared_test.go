package wire

import (
	"fmt"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/google/go-cmp/cmp"
)

// Messages share a map of attributes only if all its values are theirs, also with concurrent senders.
func TestAttributesAreThoseOfTheirMessage(t *testing.T) {
	var c attributeCache[types.MessageAttributeValue]
	var wg sync.WaitGroup
	for sender := range 4 {
		wg.Go(func() {
			for i := range 200 {
				w := &prepared{routing: RoutingAttribute, envelope: fmt.Sprint("e", (i+sender)%3)}
				want := map[string]string{EnvelopeAttribute: w.envelope}
				if key := (i / 3) % 3; key > 0 {
					w.routingKey = fmt.Sprint("k", key)
					want[RoutingAttribute] = w.routingKey
				}
				got := map[string]string{}
				for name, v := range c.of(w, queueAttribute, queueAttributes) {
					got[name] = aws.ToString(v.StringValue)
					if aws.ToString(v.DataType) != stringType {
						t.Errorf("attribute %s has type %q", name, aws.ToString(v.DataType))
					}
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("attributes (-want +got):\n%s", diff)
				}
			}
		})
	}
	wg.Wait()
}

func TestAttributesOfEqualMessagesAreMadeOnce(t *testing.T) {
	var c attributeCache[types.MessageAttributeValue]
	w := &prepared{routing: RoutingAttribute, envelope: `{"v":1}`, routingKey: "k"}
	c.of(w, queueAttribute, queueAttributes)
	if n := testing.AllocsPerRun(100, func() { c.of(w, queueAttribute, queueAttributes) }); n > 0 {
		t.Errorf("%v allocations for attributes that are known", n)
	}
}
