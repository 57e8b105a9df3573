package send

import (
	"errors"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/godwitmq/godwit/driver"
)

// A prepared message is a record of the sender's topic. Messages that Kafka could not carry are refused before a send.
func TestPreparedMessages(t *testing.T) {
	plain := &Sender{Of: &Senders{}, Topic: "orders", Most: 1000}
	inOrder := &Sender{Of: &Senders{}, Topic: "orders", Most: 1000, keyless: true}
	for _, c := range []struct {
		name string
		s    *Sender
		m    driver.Message
		key  []byte
	}{
		{"a key", plain, driver.Message{OrderKey: "k"}, []byte("k")},
		{"no key and no order", plain, driver.Message{}, nil},
		{"no key in order", inOrder, driver.Message{}, []byte{}},
		{"a time that is over", plain, driver.Message{At: time.Now().Add(-time.Second)}, nil},
	} {
		p, err := c.s.Prepare(t.Context(), &c.m)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		r := p.Wire.(*kgo.Record)
		if r.Topic != "orders" || string(r.Key) != string(c.key) || (r.Key == nil) != (c.key == nil) || p.Size == 0 {
			t.Errorf("%s: the record is %+v with %d bytes", c.name, r, p.Size)
		}
	}
	for _, c := range []struct {
		name string
		m    driver.Message
		want driver.Class
	}{
		{"a delay of eleven years", driver.Message{Delay: 11 * 365 * day}, driver.Permanent},
		{"too large", driver.Message{Body: make([]byte, 1000)}, driver.TooLarge},
		{"a bad header", driver.Message{Header: []driver.Header{{}}}, driver.Permanent},
	} {
		if _, err := plain.Prepare(t.Context(), &c.m); err == nil || driver.ClassOf(err) != c.want {
			t.Errorf("%s: %v, want an error of class %s", c.name, err, c.want)
		}
	}
}

// The error for a message that is too large can be found as Kafka's own.
func TestTooLargeIsKafkasError(t *testing.T) {
	s := Sender{Of: &Senders{}, Topic: "orders", Most: 10}
	if _, err := s.Prepare(t.Context(), &driver.Message{}); !errors.Is(err, kerr.MessageTooLarge) {
		t.Errorf("the error is %v", err)
	}
}

// A receipt has the position of the record, which is the id of its deliveries.
func TestReceipts(t *testing.T) {
	var receipt driver.Receipt
	fill(&receipt, &kgo.Record{Topic: "orders", Partition: 2, Offset: 9})
	fill(nil, &kgo.Record{})
	if receipt.ID != "orders/2/9" {
		t.Errorf("the id is %q", receipt.ID)
	}
}

// Post to a closed sender answers each message at once.
func TestPostToAClosedSender(t *testing.T) {
	s := Sender{Of: &Senders{}, Topic: "orders"}
	s.closed.Store(true)
	answers := map[int]error{}
	s.Post(t.Context(), []driver.Prepared{{Wire: &kgo.Record{}}, {Wire: &kgo.Record{}}},
		func(i int, err error) { answers[i] = err })
	if len(answers) != 2 || !errors.Is(answers[1], driver.ErrClosed) {
		t.Errorf("the answers are %v", answers)
	}
}
