package snssqs_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/localaws"
	"github.com/godwitmq/godwit/snssqs"
)

// A send or publication that the service confirms without an id, or without the MD5 of its body, is not accepted.
func TestConfirmationsWithoutAnID(t *testing.T) {
	ok := `"Id":"0"`
	for name, c := range map[string]struct {
		to     driver.Channel
		answer string
	}{
		"no id":     {driver.Channel{Queue: "orders"}, `{"Successful":[{` + ok + `,"MD5OfMessageBody":"x"}]}`},
		"no digest": {driver.Channel{Queue: "orders"}, `{"Successful":[{` + ok + `,"MessageId":"m"}]}`},
		"publish": {driver.Channel{Exchange: "news"}, `<PublishBatchResponse ` +
			`xmlns="http://sns.amazonaws.com/doc/2010-03-31/"><PublishBatchResult><Successful><member><Id>0</Id></member></Successful></PublishBatchResult>` +
			`</PublishBatchResponse>`},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, localaws.Options{}, func(w *world) {
				w.ensure(driver.ChannelSpec{Channel: c.to, Owner: c.to.Exchange == ""})
				lying := roundTrip(func(r *http.Request) (*http.Response, error) {
					body, err := io.ReadAll(r.Body)
					if err != nil {
						return nil, err
					}
					if !strings.Contains(r.Header.Get("X-Amz-Target"), "SendMessageBatch") &&
						!strings.HasPrefix(string(body), "Action=PublishBatch&") {
						r.Body = io.NopCloser(bytes.NewReader(body))
						return w.server.Transport().RoundTrip(r)
					}
					return &http.Response{
						StatusCode: http.StatusOK, Header: http.Header{},
						Body: io.NopCloser(strings.NewReader(c.answer)), Request: r,
					}, nil
				})
				b, err := snssqs.Open(w.Context(), &snssqs.Options{AWS: &w.conf, Transport: lying})
				if err != nil {
					t.Fatal(err)
				}
				s, err := b.Sender(w.Context(), c.to)
				if err != nil {
					t.Fatal(err)
				}
				p, err := s.Prepare(w.Context(), &driver.Message{Body: []byte("x")})
				if err != nil {
					t.Fatal(err)
				}
				err = s.Send(w.Context(), []driver.Prepared{p})
				if driver.ClassOf(err) != driver.Transient || !strings.Contains(fmt.Sprint(err), "its answer has not") {
					t.Errorf("the send is confirmed without %s: %v", name, err)
				}
			})
		})
	}
}
