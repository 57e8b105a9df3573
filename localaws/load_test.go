package localaws_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/godwitmq/godwit/internal/fullrun"
	"github.com/godwitmq/godwit/localaws"
)

// repeated is a body of head, as many times part as fit a length, and tail. It is not in memory.
type repeated struct {
	head, part, tail string
	times            int
}

func (r repeated) length() int64 { return int64(len(r.head) + len(r.part)*r.times + len(r.tail)) }

func (r repeated) reader() io.Reader {
	all := []io.Reader{strings.NewReader(r.head)}
	const at = 1 << 10
	piece := strings.Repeat(r.part, at)
	for range r.times / at {
		all = append(all, strings.NewReader(piece))
	}
	all = append(all, strings.NewReader(strings.Repeat(r.part, r.times%at)), strings.NewReader(r.tail))
	return io.MultiReader(all...)
}

// fill returns a body of at most size bytes.
func fill(size int, head, part, tail string) repeated {
	return repeated{head: head, part: part, tail: tail, times: (size - len(head) - len(tail)) / len(part)}
}

const (
	attackBody  = 16 << 20
	attackLimit = 256 << 20
)

// attack is a large request.
type attack struct {
	name, path string
	header     map[string]string
	body       repeated
}

// send returns the status and the text of the answer.
func (a attack) send(t *testing.T, at string) (int, string) {
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, at+a.path, a.body.reader())
	if err != nil {
		t.Error(err)
		return 0, ""
	}
	r.ContentLength = a.body.length()
	for name, value := range a.header {
		r.Header.Set(name, value)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Error(err)
		return 0, ""
	}
	text, _ := io.ReadAll(answer.Body)
	_ = answer.Body.Close()
	return answer.StatusCode, string(text)
}

// Eight clients send the largest body at the same time. Each is answered, and together they take little memory,
// whatever their bodies are decoded to.
func TestLargeRequestsAreBounded(t *testing.T) {
	sqsTarget := func(action string) map[string]string {
		return map[string]string{"X-Amz-Target": "AmazonSQS." + action, "Content-Type": "application/x-amz-json-1.0"}
	}
	form := map[string]string{"Content-Type": "application/x-www-form-urlencoded"}
	cbor := map[string]string{"Smithy-Protocol": "rpc-v2-cbor", "Content-Type": "application/cbor"}
	for _, attack := range []attack{
		{"entries", "/", sqsTarget("SendMessageBatch"), fill(attackBody, `{"QueueUrl":"u","Entries":[{}`, ",{}", "]}")},
		{
			"names", "/", sqsTarget("ReceiveMessage"),
			fill(attackBody, `{"QueueUrl":"u","AttributeNames":[""`, `,""`, "]}"),
		},
		{"a text", "/", sqsTarget("SendMessage"), fill(attackBody, `{"QueueUrl":"u","MessageBody":"`, "x", `"}`)},
		{
			"a text with escapes", "/", sqsTarget("SendMessage"),
			fill(attackBody, `{"QueueUrl":"u","MessageBody":"`, `\n`, `"}`),
		},
		{"a form", "/", form, fill(attackBody, "Action=SendMessage&Version=2012-11-05", "&a=", "")},
		{"a value", "/", form, fill(attackBody, "Action=SendMessage&Version=2012-11-05&MessageBody=", "x", "")},
		{"deep names", "/", form, fill(attackBody, "Action=SendMessage&Version=2012-11-05&a", ".a", "=1")},
		{
			"maps", "/service/GraniteServiceVersion20100801/operation/PutMetricData", cbor,
			fill(attackBody, "\xbf\x6aMetricData\x9f", "\x9f"+strings.Repeat("\xa0", 1000)+"\xff", "\xff\xff"),
		},
		{"objects", "/bucket?delete", nil, fill(8<<20, "<Delete>", "<Object/>", "</Delete>")},
	} {
		t.Run(attack.name, func(t *testing.T) {
			f := newFixture(t, nil)
			addr, err := f.server.Listen("127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			most := peak(func() {
				var all sync.WaitGroup
				for range 8 {
					all.Go(func() {
						status, text := http.StatusServiceUnavailable, ""
						for status == http.StatusServiceUnavailable { // it waited too long for its turn: a busy machine
							status, text = attack.send(t, "http://"+addr.String())
						}
						if status < 400 || status >= 500 {
							t.Errorf("%d: %.300s", status, text)
						}
					})
				}
				all.Wait()
			})
			t.Logf("the heap grew by %d MiB, in %v", most>>20, time.Since(began).Round(time.Millisecond))
			if most > attackLimit {
				t.Errorf("the heap grew by %d MiB, more than %d", most>>20, attackLimit>>20)
			}
		})
	}
}

// A body that is one byte longer than the limit is refused, announced or not.
func TestTheLimitOfABodyIsExact(t *testing.T) {
	f := newFixture(t, nil)
	addr, err := f.server.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	for size, want := range map[int]int{
		attackBody: http.StatusBadRequest, attackBody + 1: http.StatusRequestEntityTooLarge,
		attackBody + 1<<20: http.StatusRequestEntityTooLarge,
	} {
		for _, announced := range []bool{true, false} {
			body := fill(size, `{"QueueUrl":"u","MessageBody":"`, "x", `"}`)
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+addr.String(), body.reader())
			if err != nil {
				t.Fatal(err)
			}
			r.ContentLength = -1
			if announced {
				r.ContentLength = body.length()
			}
			r.Header.Set("X-Amz-Target", "AmazonSQS.SendMessage")
			answer, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Errorf("%d bytes, announced: %v: %v", size, announced, err)
				continue
			}
			_ = answer.Body.Close()
			if answer.StatusCode != want {
				t.Errorf("%d bytes, announced: %v: %s, want %d", size, announced, answer.Status, want)
			}
		}
	}
}

// Clients that announce large bodies and send nothing take no memory, and are answered after ten seconds.
func TestAnnouncedBodiesTakeNoMemory(t *testing.T) {
	f := newFixture(t, nil)
	addr, err := f.server.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	most := peak(func() {
		for range 32 {
			c, err := net.Dial("tcp", addr.String())
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = c.Close() })
			fmt.Fprintf(c, "POST / HTTP/1.1\r\nHost: localhost\r\nX-Amz-Target: AmazonSQS.SendMessage\r\nContent-Length: %d"+
				"\r\nExpect: 100-continue\r\n\r\n", attackBody)
			line := make([]byte, 12)
			if _, err := io.ReadFull(c, line); err != nil || string(line) != "HTTP/1.1 100" {
				t.Fatalf("%s, %v", line, err)
			}
		}
	})
	t.Logf("the heap grew by %d MiB", most>>20)
	if most > 16<<20 {
		t.Errorf("the heap grew by %d MiB", most>>20)
	}
}

// FIFO queues keep nothing of messages that were handled, although they remember ids and attempts for five minutes.
func TestHandledMessagesTakeNoMemory(t *testing.T) {
	for _, protocol := range []string{"awsJson", "query"} {
		t.Run(protocol, func(t *testing.T) {
			f := newFixture(t, nil)
			url := *f.create("q.fifo", map[string]string{"FifoQueue": "true"})
			body, handle := strings.Repeat("x", 500_000), regexp.MustCompile(`ReceiptHandle(>|":")([^<"]+)`)
			call := func(action string, parameters map[string]string) string {
				w := f.called(protocol, action, url, parameters)
				if w.Code != http.StatusOK {
					t.Fatalf("%s: %.300s", action, w.Body)
				}
				return w.Body.String()
			}
			before := live()
			for i := range fullrun.Pick(100, 1500) {
				id := fmt.Sprint(i)
				call("SendMessage", map[string]string{
					"MessageBody": body, "MessageGroupId": "g", "MessageDeduplicationId": id,
				})
				found := handle.FindStringSubmatch(call("ReceiveMessage",
					map[string]string{"ReceiveRequestAttemptId": id}))
				if found == nil {
					t.Fatal("no message")
				}
				call("DeleteMessage", map[string]string{"ReceiptHandle": found[2]})
			}
			grown := live() - before
			t.Logf("%d KiB are held", grown>>10)
			if grown > 8<<20 {
				t.Errorf("%d MiB are held", grown>>20)
			}
		})
	}
}

// called calls an action of SQS.
func (f *fixture) called(protocol, action, queue string, parameters map[string]string) *httptest.ResponseRecorder {
	parameters["QueueUrl"] = queue
	if protocol == "awsJson" {
		text, err := json.Marshal(parameters)
		if err != nil {
			f.Fatal(err)
		}
		return asked(f.server, "POST", "/", string(text), map[string]string{
			"X-Amz-Target": "AmazonSQS." + action,
			"Content-Type": "application/x-amz-json-1.0",
		})
	}
	form := url.Values{"Action": {action}, "Version": {"2012-11-05"}}
	for name, value := range parameters {
		form.Set(name, value)
	}
	return asked(f.server, "POST", "/", form.Encode(), nil)
}

// A server whose clients hold connections without requests ends at once and without an error.
func TestCloseDoesNotWaitForIdleClients(t *testing.T) {
	server, err := localaws.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	addr, err := server.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		c, err := net.Dial("tcp", addr.String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		if i == 0 { // one has had a request
			fmt.Fprint(c, "GET /_localaws/health HTTP/1.1\r\nHost: localhost\r\n\r\n")
			if _, err := c.Read(make([]byte, 1<<10)); err != nil {
				t.Fatal(err)
			}
		}
	}
	began := time.Now()
	if err := server.Close(); err != nil {
		t.Error(err)
	}
	if took := time.Since(began); took > 2*time.Second {
		t.Errorf("it took %v", took)
	}
}
