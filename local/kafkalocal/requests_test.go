package kafkalocal_test

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/godwitmq/godwit/local/kafkalocal"
)

// prefixed returns a request with its length.
func prefixed(body ...[]byte) []byte {
	whole := bytes.Join(body, nil)
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(whole))), whole...)
}

// head returns the head of a request without a client id.
func head(key kmsg.Key, version int16) []byte {
	b := binary.BigEndian.AppendUint16(nil, uint16(key))
	b = binary.BigEndian.AppendUint16(b, uint16(version))
	return append(b, 0, 0, 0, 7, 0xff, 0xff)
}

// ended reports whether the server ends a connection on which it got some bytes, and what it answers before.
func ended(t *testing.T, addr string, sent []byte) []byte {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Write(sent); err != nil {
		t.Fatal(err)
	}
	answer, err := io.ReadAll(c)
	if ne, is := err.(net.Error); is && ne.Timeout() {
		t.Error("the connection has not ended")
	}
	return answer
}

// What is not a request ends its connection without an answer: it takes no memory, no time, and does not end the
// server.
func TestWhatIsNoRequestEndsItsConnection(t *testing.T) {
	addr := serve(t, &kafkalocal.ServerOptions{Addr: "127.0.0.1:0"}).Addr()
	for name, sent := range map[string][]byte{
		"a web browser":       []byte("POST / HTTP/1.1\r\nHost: localhost:9092\r\n\r\n"),
		"curl with TLS":       {0x16, 0x03, 0x01, 0x02, 0x00, 0x01},
		"100 MiB and a byte":  {0x06, 0x40, 0x00, 0x01},
		"a negative length":   {0xff, 0xff, 0xff, 0xff},
		"nothing":             {0, 0, 0, 0},
		"an unknown key":      prefixed(head(9999, 0)),
		"a negative key":      prefixed(head(-1, 0)),
		"a client id":         prefixed(head(kmsg.Metadata, 1)[:8], []byte{0x7f, 0xff}),
		"tags in the head":    prefixed(head(kmsg.Metadata, 12), []byte{0xff, 0xff, 0xff, 0xff, 0x0f}),
		"a tag without value": prefixed(head(kmsg.Metadata, 12), []byte{1, 0, 0x7f}),
		"half a number":       prefixed(head(kmsg.Metadata, 12), []byte{0x80}),
	} {
		t.Run(name, func(t *testing.T) {
			began := time.Now()
			if answer := ended(t, addr, sent); len(answer) > 0 {
				t.Errorf("the answer is %x", answer)
			}
			if took := time.Since(began); took > 5*time.Second {
				t.Errorf("it took %v", took)
			}
		})
	}
	create(t, client(t, []kgo.Opt{kgo.SeedBrokers(addr)}), unique()) // the server lives
}

// Clients that announce the largest requests, as six calls of curl do, take no memory for what they do not send.
func TestAnnouncedRequestsTakeNoMemory(t *testing.T) {
	s := serve(t, nil)
	heap := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapInuse)
	}
	before := heap()
	for range 6 {
		c, err := s.Dial(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		// A pipe without a buffer: when Write returns, the server has read the length, and begun to read the request.
		if _, err := c.Write(append([]byte{0x06, 0x40, 0, 0}, head(kmsg.Produce, 3)...)); err != nil {
			t.Fatal(err)
		}
	}
	grown := heap() - before
	t.Logf("the heap grew by %d KiB", grown>>10)
	if grown > 64<<20 {
		t.Errorf("the heap grew by %d MiB", grown>>20)
	}
}

// A request that pauses, and a connection without requests, end; a slow request does not.
func TestSilentConnectionsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := kafkalocal.NewServer(nil)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		whole := prefixed(head(kmsg.ApiVersions, 0))
		open := func(pause time.Duration) (answered bool, lived time.Duration) {
			c, err := s.Dial(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			began := time.Now()
			gone := make(chan bool)
			go func() {
				answer, _ := io.ReadAll(c)
				gone <- len(answer) > 0
			}()
			for _, b := range whole {
				time.Sleep(pause)
				if _, err := c.Write([]byte{b}); err != nil {
					break
				}
			}
			return <-gone, time.Since(began)
		}
		if answered, lived := open(9 * time.Second); !answered || lived != 14*9*time.Second+10*time.Minute {
			t.Errorf("a slow request: answered %v, its connection lived %v", answered, lived)
		}
		if answered, lived := open(11 * time.Second); answered || lived > time.Minute {
			t.Errorf("a request that pauses: answered %v, its connection lived %v", answered, lived)
		}
	})
}

// A client that is gone leaves no work behind, whatever it waits for, and however many requests it has sent: here for
// records, for an hour. A client that takes no answer, because it is frozen for example, loses its connection after a
// minute.
func TestClientsThatAreGoneLeaveNothing(t *testing.T) {
	for name, c := range map[string]struct {
		sent   int // how many requests follow
		closes bool
		ends   time.Duration
	}{
		"alone":              {0, true, time.Second},
		"with more requests": {20, true, time.Second},
		"frozen":             {0, false, 2 * time.Hour}, // an hour, a minute, and what the server does without a client
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, err := kafkalocal.NewServer(nil)
				if err != nil {
					t.Fatal(err)
				}
				defer s.Close()
				topic := unique()
				admin, err := kgo.NewClient(s.Reach()...)
				if err != nil {
					t.Fatal(err)
				}
				create(t, admin, topic)
				admin.Close()
				time.Sleep(time.Minute)
				if n := work(); n > 0 {
					t.Fatalf("%d goroutines of clients before the first one", n)
				}
				conn, err := s.Dial(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				defer conn.Close()
				fetch := kmsg.NewPtrFetchRequest()
				fetch.Version, fetch.MinBytes, fetch.MaxWaitMillis = 4, 1, int32(time.Hour.Milliseconds())
				part := kmsg.NewFetchRequestTopicPartition()
				part.PartitionMaxBytes = 1
				of := kmsg.NewFetchRequestTopic()
				of.Topic, of.Partitions = topic, []kmsg.FetchRequestTopicPartition{part}
				fetch.Topics = append(fetch.Topics, of)
				waits := kmsg.NewRequestFormatter().AppendRequest(nil, fetch, 1)
				for range 1 + c.sent {
					if _, err := conn.Write(waits); err != nil {
						t.Fatal(err)
					}
				}
				synctest.Wait()
				if work() == 0 {
					t.Error("the server has no work")
				}
				if c.closes {
					_ = conn.Close()
				}
				time.Sleep(c.ends)
				synctest.Wait()
				if n := work(); n > 0 {
					t.Errorf("%d goroutines are left", n)
				}
			})
		})
	}
}

// work is the number of goroutines that serve clients.
func work() int {
	stacks := make([]byte, 4<<20)
	return bytes.Count(stacks[:runtime.Stack(stacks, true)], []byte("kfake.(*clientConn)."))
}

// Requests that a client sends without waiting for answers are answered in their order. Records without an
// acknowledgement have no answer.
func TestRequestsWithoutWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := kafkalocal.NewServer(nil)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		conn, err := s.Dial(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		var all []byte
		for n := range int32(30) {
			var req kmsg.Request = kmsg.NewPtrApiVersionsRequest()
			if n%3 == 0 {
				records := kmsg.NewPtrProduceRequest()
				records.TransactionID = map[bool]*string{true: new("t")}[n%2 == 0]
				req = records
			}
			req.SetVersion([]int16{3, 2, 0, 9, 2, 0}[n%6])
			all = append(all, kmsg.NewRequestFormatter().AppendRequest(nil, req, n)...)
		}
		go func() { _, _ = conn.Write(all) }()
		if err := conn.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		for n := range uint32(30) {
			if n%3 == 0 {
				continue
			}
			var size [4]byte
			if _, err := io.ReadFull(conn, size[:]); err != nil {
				t.Fatalf("answer %d: %v", n, err)
			}
			answer := make([]byte, binary.BigEndian.Uint32(size[:]))
			if _, err := io.ReadFull(conn, answer); err != nil {
				t.Fatal(err)
			}
			if got := binary.BigEndian.Uint32(answer); got != n {
				t.Fatalf("answer %d comes where that of request %d is expected", got, n)
			}
		}
	})
}
