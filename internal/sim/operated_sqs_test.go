package sim

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/localaws"
	"github.com/godwitmq/godwit/localaws/sqs"
	"github.com/godwitmq/godwit/localaws/wire"
	"github.com/godwitmq/godwit/s3store"
	"github.com/godwitmq/godwit/snssqs"
)

// sqsCarrier is an operated world on the embedded server.
type sqsCarrier struct {
	o      *operated
	server *localaws.Server
	calls  sync.WaitGroup

	storedBodies
}

func newSQSCarrier(o *operated) (carrier, error) {
	server, err := localaws.New(&localaws.Options{Seed: uint64(o.rng)})
	if err != nil {
		return nil, err
	}
	server.Control("sqs.ReceiveMessage", func(context.Context, *localaws.Request) localaws.Outcome {
		return localaws.Outcome{Delay: 10 * time.Millisecond}
	})
	server.Control("sqs.SendMessageBatch", func(_ context.Context, r *localaws.Request) localaws.Outcome {
		in, ok := r.Input.(*sqs.SendMessageBatchInput)
		if !ok || !strings.HasPrefix(r.Caller, "operator") {
			return localaws.Outcome{}
		}
		return localaws.Outcome{FailEntries: func(id string) *wire.Error { return o.refuses(r.Caller, in, id) }}
	})
	return &sqsCarrier{o: o, server: server}, nil
}

// refuses refuses some messages of a requeue for good.
func (o *operated) refuses(operator string, in *sqs.SendMessageBatchInput, id string) *wire.Error {
	for i := range in.Entries {
		if in.Entries[i].ID == id && o.about("refused", operator, in.Entries[i].MessageBody).chance(0.05) {
			o.tally.add(seenRefusedRequeue, 1)
			return &wire.Error{Code: "InvalidMessageContents", Message: "not this one"}
		}
	}
	return nil
}

func (c *sqsCarrier) join(name string) (driver.Backend, connections, error) {
	net := &slowNetwork{c: c, name: name, gone: make(chan struct{})}
	conf := aws.Config{
		Region: "us-east-1", BaseEndpoint: aws.String("http://localaws.internal"),
		Credentials: credentials.NewStaticCredentialsProvider(name, "secret", ""),
	}
	o := &snssqs.Options{AWS: &conf, Transport: net}
	if c.o.store {
		store, err := s3store.Open(context.Background(), &s3store.Options{Bucket: bucket, AWS: &conf, Transport: net})
		if err != nil {
			return nil, nil, err
		}
		o.Store, o.Large.Above = store, largeAbove
	}
	b, err := snssqs.Open(context.Background(), o)
	return b, net, err
}

func (c *sqsCarrier) queue() string {
	if c.o.ordered {
		return "orders.fifo"
	}
	return "orders"
}

// left says which messages a stopped process has left in flight.
func (c *sqsCarrier) left(p *worker) (wrong []string) {
	for _, v := range c.server.SQS().Queue(c.queue()).Model().Messages() {
		label := c.labelOf(v.Body)
		by := ""
		if n := len(v.Receives); n > 0 {
			by = v.Receives[n-1].By
		}
		// A retry, a release of a breaker, and a release near the queue's own limit have a delay.
		delayed := c.o.ledger.due(label).After(time.Now()) || c.o.down.to > 0 || v.Count >= 15
		if v.State.String() == "in flight" && by == p.name && !delayed && time.Until(v.Until) > 12*time.Second {
			wrong = append(wrong, fmt.Sprintf("%s is invisible for another %v", label, time.Until(v.Until)))
		}
	}
	return wrong
}

func (c *sqsCarrier) results() (map[string]int, error) { return nil, nil }

func (c *sqsCarrier) close() error {
	c.calls.Wait()
	return c.server.Close()
}

// slowNetwork is the network of a process. The server notices a while later that a client has gone.
type slowNetwork struct {
	c    *sqsCarrier
	name string
	gone chan struct{}
	once sync.Once
}

func (n *slowNetwork) cut() { n.once.Do(func() { close(n.gone) }) }

func (n *slowNetwork) mend() { panic("a process of SQS is cut off for good") }

func (n *slowNetwork) RoundTrip(r *http.Request) (*http.Response, error) {
	select {
	case <-n.gone:
		return nil, errCut
	default:
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.Context()))
	sent := r.Clone(ctx)
	var body []byte
	if r.Body != nil {
		var err error
		if body, err = io.ReadAll(r.Body); err != nil {
			cancel()
			return nil, err
		}
		sent.Body = io.NopCloser(bytes.NewReader(body))
	}
	if err := n.c.note(sent); err != nil {
		cancel()
		return nil, err
	}
	type result struct {
		answer *http.Response
		err    error
	}
	answered := make(chan result, 1)
	n.c.calls.Go(func() {
		defer cancel()
		answer, err := n.c.server.Transport().RoundTrip(sent)
		if err == nil {
			var text []byte
			text, err = io.ReadAll(answer.Body)
			answer.Body = io.NopCloser(bytes.NewReader(text))
		}
		answered <- result{answer, err}
	})
	notices := n.c.o.about("notices", n.name, n.c.o.now()).between(0, 300*time.Millisecond)
	select {
	case got := <-answered:
		if got.err == nil {
			n.receives(r, body, got.answer)
		}
		return got.answer, got.err
	case <-r.Context().Done():
		time.AfterFunc(notices, cancel)
		return nil, r.Context().Err()
	case <-n.gone:
		time.AfterFunc(notices, cancel)
		return nil, errCut
	}
}

// receives tells the ledger what a poll has returned.
func (n *slowNetwork) receives(r *http.Request, asked []byte, answer *http.Response) {
	if !strings.HasSuffix(r.Header.Get("X-Amz-Target"), "."+actRecv) || answer.StatusCode != http.StatusOK {
		return
	}
	text, _ := io.ReadAll(answer.Body) // from memory
	answer.Body = io.NopCloser(bytes.NewReader(text))
	var ask request
	var got response
	if json.Unmarshal(asked, &ask) != nil || json.Unmarshal(text, &got) != nil || ask.queue() != n.c.queue() {
		return
	}
	for _, m := range got.Messages {
		label := n.c.labelOf(m.Body)
		n.c.o.trace.note("%s receives %s", n.name, label)
		n.c.o.ledger.received(n.name, label, m.Handle)
	}
}
