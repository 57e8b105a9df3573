package sim

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"github.com/godwitmq/godwit/s3store"
	"github.com/godwitmq/godwit/snssqs"
)

// wireTap is the network of one process. It passes requests and answers to the checkers. It can be cut off: calls in
// flight then lose their answers, and further calls fail.
type wireTap struct {
	w    *world
	name string
	next http.RoundTripper

	mu    sync.Mutex
	cut   bool
	calls map[*http.Request]context.CancelFunc
}

var errCut = errors.New("the process has crashed")

func (w *world) tap(name string) *wireTap {
	return &wireTap{w: w, name: name, next: w.server.Transport(), calls: map[*http.Request]context.CancelFunc{}}
}

// backend opens the backend of a process. The access key is the process's name, so that the server knows the caller.
func (t *wireTap) backend(waitPolls bool) (*snssqs.Backend, error) {
	conf := aws.Config{
		Region: "us-east-1", BaseEndpoint: aws.String("http://localaws.internal"),
		Credentials: credentials.NewStaticCredentialsProvider(t.name, "secret", ""),
	}
	o := &snssqs.Options{AWS: &conf, Transport: t, CancelPolls: !waitPolls}
	if t.w.plan.store {
		store, err := s3store.Open(context.Background(), &s3store.Options{Bucket: bucket, AWS: &conf, Transport: t})
		if err != nil {
			return nil, err
		}
		o.Store, o.Large.Above = store, largeAbove
	}
	if t.w.plan.decides {
		decisions, err := s3store.OpenDecisions(context.Background(), &s3store.Options{
			Bucket: decidedIn, Prefix: "d/", AWS: &conf, Transport: t,
		})
		if err != nil {
			return nil, err
		}
		o.Decisions = decisions
	}
	return snssqs.Open(context.Background(), o)
}

// sever cuts the process off permanently.
func (t *wireTap) sever() {
	t.mu.Lock()
	t.cut = true
	var cancels []context.CancelFunc
	for _, cancel := range t.calls {
		cancels = append(cancels, cancel)
	}
	t.mu.Unlock()
	for _, cancel := range cancels {
		cancel()
	}
}

func (t *wireTap) begin(r *http.Request, cancel context.CancelFunc) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.cut {
		t.calls[r] = cancel
	}
	return !t.cut
}

func (t *wireTap) end(r *http.Request) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.calls, r)
	return !t.cut
}

func (t *wireTap) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	if !t.begin(r, cancel) {
		return nil, errCut
	}
	if err := t.w.note(r); err != nil {
		t.end(r)
		return nil, err
	}
	action := r.Header.Get("X-Amz-Target")
	action = action[strings.LastIndexByte(action, '.')+1:]
	ask, err := t.outgoing(r, action)
	if err != nil {
		t.end(r)
		return nil, err
	}
	answer, err := t.next.RoundTrip(r.WithContext(ctx))
	if !t.end(r) {
		return nil, errCut
	}
	if err == nil && answer.StatusCode == http.StatusOK {
		err = t.incoming(action, ask, answer)
	}
	return answer, err
}

// request has the fields of requests that the checkers read.
type request struct {
	QueueURL string `json:"QueueUrl"`
	Entries  []struct {
		ID      string `json:"Id"`
		Handle  string `json:"ReceiptHandle"`
		Body    string `json:"MessageBody"`
		Timeout int    `json:"VisibilityTimeout"` // in seconds
	}
}

func (r *request) queue() string { return r.QueueURL[strings.LastIndexByte(r.QueueURL, '/')+1:] }

// response has the fields of answers that the checkers read.
type response struct {
	Messages []struct {
		MessageID  string `json:"MessageId"`
		Handle     string `json:"ReceiptHandle"`
		Body       string
		Attributes struct {
			Count int   `json:"ApproximateReceiveCount,string"`
			Sent  int64 `json:"SentTimestamp,string"`
		}
	}
	Successful []struct {
		ID string `json:"Id"`
	}
}

func (t *wireTap) outgoing(r *http.Request, action string) (*request, error) {
	if action != actSend && action != actRecv && action != actDelete && action != actChange {
		return nil, nil
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	ask := &request{}
	if err := json.Unmarshal(body, ask); err != nil {
		return nil, err
	}
	for _, b := range t.w.checkers {
		b.asked(t.name, action, ask)
	}
	return ask, nil
}

func (t *wireTap) incoming(action string, ask *request, answer *http.Response) error {
	if ask == nil {
		return nil
	}
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		return err
	}
	answer.Body = io.NopCloser(bytes.NewReader(body))
	got := &response{}
	if err := json.Unmarshal(body, got); err != nil {
		return err
	}
	for _, b := range t.w.checkers {
		b.answered(t.name, action, ask, got)
	}
	return nil
}
