package console_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/godwitmq/godwit/console"
	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/local/kafkalocal"
)

// A look at a log with several partitions sees more than a page of each.
func TestMessagesOfPartitions(t *testing.T) {
	b, err := kafkalocal.Open(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = b.Close(context.Background()) }()
	if err := b.Ensure(t.Context(), driver.ChannelSpec{Channel: orders, Owner: true}); err != nil {
		t.Fatal(err)
	}
	s, err := b.Sender(t.Context(), orders)
	if err != nil {
		t.Fatal(err)
	}
	const n = 1100
	batch := make([]driver.Prepared, n)
	for i := range batch {
		m := driver.Message{Body: fmt.Appendf(nil, "%d", i), OrderKey: fmt.Sprint(i % 50)}
		if batch[i], err = s.Prepare(t.Context(), &m); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Send(t.Context(), batch); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	c, err := console.New(b, &console.Options{Level: console.LevelBodies})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close(context.Background()) }()
	for query, want := range map[string]string{
		"": "100 messages looked at, which is all there are", "?filter=body:99": "20 messages of 1",
	} {
		r := httptest.NewRequest("GET", "http://127.0.0.1/channel/orders/messages"+query, nil)
		r.RemoteAddr = "127.0.0.1:1"
		answer := httptest.NewRecorder()
		c.ServeHTTP(answer, r)
		if page := answer.Body.String(); answer.Code != 200 || !strings.Contains(page, want) {
			at := max(0, strings.Index(page, "looked at")-60)
			t.Errorf("%s: %d, %.200s; want %s", query, answer.Code, page[at:], want)
		}
	}
}
