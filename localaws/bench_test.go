package localaws_test

import (
	"bufio"
	"bytes"
	"crypto/md5"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/godwitmq/godwit/localaws"
	"github.com/godwitmq/godwit/localaws/disk"
)

// BenchmarkNew measures how long a server takes to be ready.
func BenchmarkNew(b *testing.B) {
	for b.Loop() {
		s, err := localaws.New(&localaws.Options{Seed: testSeed})
		if err != nil {
			b.Fatal(err)
		}
		s.Close()
	}
}

// BenchmarkLoopback sends, receives and deletes batches of ten messages of 1 KiB, with sixteen real clients over
// loopback, against this server and against a handler that reads the request and returns constant JSON. Each runs in a
// process of its own, so that its CPU time can be measured.
func BenchmarkLoopback(b *testing.B) {
	for _, kind := range []string{"canned", "localaws"} {
		b.Run(kind, func(b *testing.B) {
			addr, stop := serveElsewhere(b, kind)
			transport := &http.Transport{MaxIdleConnsPerHost: 64}
			defer transport.CloseIdleConnections()
			c := client("http://"+addr, inMemory{transport})
			name := "bench"
			out, err := c.CreateQueue(b.Context(), &sqs.CreateQueueInput{QueueName: &name})
			if err != nil {
				b.Fatal(err)
			}
			b.ResetTimer()
			drive(b, c, out.QueueUrl)
			b.StopTimer()
			cpu := stop()
			messages := float64(b.N) * 10
			b.ReportMetric(messages/b.Elapsed().Seconds(), "messages/s")
			b.ReportMetric(float64(cpu.Microseconds())/messages, "server-µs/message")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// inMemory passes request bodies to net/http as byte readers. With the SDK's own body type, net/http may close the
// connection of a server that answers fast, and drop the answer after its status 200.
type inMemory struct{ next http.RoundTripper }

func (t inMemory) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	r = r.Clone(r.Context())
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return t.next.RoundTrip(r)
}

// drive distributes b.N rounds over sixteen clients.
func drive(b *testing.B, c *sqs.Client, url *string) {
	var left atomic.Int64
	left.Store(int64(b.N))
	var clients sync.WaitGroup
	for range 16 {
		clients.Go(func() {
			for left.Add(-1) >= 0 {
				if err := round(b, c, url); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	clients.Wait()
}

func round(b *testing.B, c *sqs.Client, url *string) error {
	ctx, body := b.Context(), benchBody()
	send := &sqs.SendMessageBatchInput{QueueUrl: url}
	for i := range 10 {
		id := strconv.Itoa(i)
		send.Entries = append(send.Entries, types.SendMessageBatchRequestEntry{Id: &id, MessageBody: &body})
	}
	if _, err := c.SendMessageBatch(ctx, send); err != nil {
		return err
	}
	got, err := c.ReceiveMessage(ctx,
		&sqs.ReceiveMessageInput{QueueUrl: url, MaxNumberOfMessages: 10, WaitTimeSeconds: 20})
	if err != nil {
		return err
	}
	remove := &sqs.DeleteMessageBatchInput{QueueUrl: url}
	for i, m := range got.Messages {
		id := strconv.Itoa(i)
		remove.Entries = append(remove.Entries,
			types.DeleteMessageBatchRequestEntry{Id: &id, ReceiptHandle: m.ReceiptHandle})
	}
	_, err = c.DeleteMessageBatch(ctx, remove)
	return err
}

func benchBody() string {
	return strings.Repeat(`{"order":"7f3c1a52-8f0e-4d1b-9c55-2f1f3a1c0d9e","amount":1999.5}`, 16)
}

// serveElsewhere starts this test binary as a server and returns its address; stop ends it and returns its CPU time.
func serveElsewhere(b testing.TB, kind string) (addr string, stop func() time.Duration) {
	b.Helper()
	cmd := exec.Command(os.Args[0], "-test.run", "^TestServeForBenchmark$", "-test.v=false")
	cmd.Env = append(os.Environ(), "LOCALAWS_BENCH_SERVER="+kind)
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	if !lines.Scan() {
		b.Fatal("the server printed no address")
	}
	return lines.Text(), func() time.Duration {
		in.Close()
		_, _ = io.Copy(io.Discard, out)
		if err := cmd.Wait(); err != nil {
			b.Fatal(err)
		}
		return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	}
}

// TestServeForBenchmark is the server process of BenchmarkLoopback.
func TestServeForBenchmark(t *testing.T) {
	kind := os.Getenv("LOCALAWS_BENCH_SERVER")
	if kind == "" {
		t.Skip("only for BenchmarkLoopback")
	}
	handler := http.Handler(canned())
	if kind == "canned-objects" {
		handler = cannedObjects()
	}
	if kind == "localaws" || kind == "localaws-kept" {
		o := &localaws.Options{Seed: testSeed}
		if kind == "localaws-kept" {
			store, err := disk.Open(filepath.Join(t.TempDir(), "data"), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer store.Close()
			o.Store = store
		}
		server, err := localaws.New(o)
		if err != nil {
			t.Fatal(err)
		}
		handler = server.Handler()
	}
	socket, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println(socket.Addr())
	server := &http.Server{Handler: handler}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		server.Close()
	}()
	if err := server.Serve(socket); err != http.ErrServerClosed {
		t.Fatal(err)
	}
}

// canned answers every action of the benchmark with the same JSON as the real server, prepared in advance.
func canned() http.HandlerFunc {
	body := benchBody()
	sum := fmt.Sprintf("%x", md5.Sum([]byte(body)))
	var sent, received, deleted []map[string]string
	for i := range 10 {
		id := strconv.Itoa(i)
		sent = append(sent,
			map[string]string{"Id": id, "MessageId": "00000000-0000-4000-8000-000000000000", "MD5OfMessageBody": sum})
		received = append(received, map[string]string{
			"MessageId":     "00000000-0000-4000-8000-000000000000",
			"ReceiptHandle": strings.Repeat("x", 32), "MD5OfBody": sum, "Body": body,
		})
		deleted = append(deleted, map[string]string{"Id": id})
	}
	answers := map[string][]byte{
		"AmazonSQS.CreateQueue":        marshal(map[string]any{"QueueUrl": "http://localhost/000000000000/bench"}),
		"AmazonSQS.SendMessageBatch":   marshal(map[string]any{"Successful": sent}),
		"AmazonSQS.ReceiveMessage":     marshal(map[string]any{"Messages": received}),
		"AmazonSQS.DeleteMessageBatch": marshal(map[string]any{"Successful": deleted}),
	}
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/x-amz-json-1.0")
		_, _ = w.Write(answers[r.Header.Get("X-Amz-Target")])
	}
}

func marshal(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}

// BenchmarkWakeUp measures the time from a send to the answer of a waiting poll, over loopback.
func BenchmarkWakeUp(b *testing.B) {
	server, err := localaws.New(&localaws.Options{Seed: testSeed})
	if err != nil {
		b.Fatal(err)
	}
	defer server.Close()
	addr, err := server.Listen("127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	transport := &http.Transport{MaxIdleConnsPerHost: 4}
	defer transport.CloseIdleConnections()
	c := client("http://"+addr.String(), transport)
	name, body := "wake", "x"
	out, err := c.CreateQueue(b.Context(), &sqs.CreateQueueInput{QueueName: &name})
	if err != nil {
		b.Fatal(err)
	}
	model := server.SQS().Queue(name).Model()
	got := make(chan error)
	for b.Loop() {
		b.StopTimer()
		go func() {
			_, err := c.ReceiveMessage(b.Context(),
				&sqs.ReceiveMessageInput{QueueUrl: out.QueueUrl, WaitTimeSeconds: 20})
			got <- err
		}()
		if err := model.Await(b.Context(), waiting(1)); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
		if _, err := c.SendMessage(b.Context(),
			&sqs.SendMessageInput{QueueUrl: out.QueueUrl, MessageBody: &body}); err != nil {
			b.Fatal(err)
		}
		if err := <-got; err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkHandler measures the same round without client and socket, which is the cost of the server itself.
func BenchmarkHandler(b *testing.B) {
	server, err := localaws.New(&localaws.Options{Seed: testSeed})
	if err != nil {
		b.Fatal(err)
	}
	defer server.Close()
	h := server.Handler()
	call := func(action string, in any) []byte {
		r, err := http.NewRequest("POST", "http://localhost/", bytes.NewReader(marshal(in)))
		if err != nil {
			b.Fatal(err)
		}
		r.Header.Set("X-Amz-Target", "AmazonSQS."+action)
		w := &answer{header: http.Header{}}
		h.ServeHTTP(w, r)
		if w.status != http.StatusOK {
			b.Fatal(action, w.body.String())
		}
		return w.body.Bytes()
	}
	call("CreateQueue", map[string]string{"QueueName": "bench"})
	const url = "http://localhost/000000000000/bench"
	var entries []map[string]string
	for i := range 10 {
		entries = append(entries, map[string]string{"Id": strconv.Itoa(i), "MessageBody": benchBody()})
	}
	b.ReportAllocs()
	for b.Loop() {
		call("SendMessageBatch", map[string]any{"QueueUrl": url, "Entries": entries})
		call("ReceiveMessage", map[string]any{"QueueUrl": url, "MaxNumberOfMessages": 10})
		b.StopTimer()
		var remove []map[string]string
		for i, v := range server.SQS().Queue("bench").Model().Messages() {
			remove = append(remove, map[string]string{"Id": strconv.Itoa(i), "ReceiptHandle": v.Handle})
		}
		b.StartTimer()
		call("DeleteMessageBatch", map[string]any{"QueueUrl": url, "Entries": remove})
	}
}

// answer records what a handler writes.
type answer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (w *answer) Header() http.Header         { return w.header }
func (w *answer) WriteHeader(status int)      { w.status = status }
func (w *answer) Write(b []byte) (int, error) { return w.body.Write(b) }
