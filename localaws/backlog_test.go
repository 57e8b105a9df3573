package localaws_test

import (
	"crypto/md5"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/godwitmq/godwit/internal/fullrun"
	"github.com/godwitmq/godwit/localaws"
	"github.com/godwitmq/godwit/localaws/disk"
	"github.com/godwitmq/godwit/localaws/sqs/queue"
)

// keptBacklog is a server with a queue whose messages of 1 KiB are in a folder.
func keptBacklog(t testing.TB, dir string) (server *localaws.Server, store *disk.Store, closeAll func()) {
	t.Helper()
	store, err := disk.Open(dir, &disk.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	server, err = localaws.New(&localaws.Options{Store: store})
	if err != nil {
		t.Fatal(err)
	}
	return server, store, func() {
		server.Close()
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	}
}

// fillBacklog sends messages of 1 KiB to a queue.
func fillBacklog(t testing.TB, server *localaws.Server, messages int) {
	t.Helper()
	seed := filepath.Join(t.TempDir(), "seed.json")
	if err := os.WriteFile(seed, []byte(`{"queues": [{"name": "backlog"}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := server.Plant(t.Context(), seed); err != nil {
		t.Fatal(err)
	}
	model := server.SQS().Queue("backlog").Model()
	const batch = 10
	for i := 0; i < messages; i += batch {
		var puts []queue.Put
		for j := range batch {
			id := make([]byte, 16)
			_, _ = rand.Read(id)
			body := fmt.Sprintf("%07d", i+j) + strings.Repeat("x", 1017)
			puts = append(puts, queue.Put{Delay: queue.Default, Message: &queue.Message{
				ID: hex.EncodeToString(id), Body: body, Sender: "AIDA",
				MD5: md5.Sum([]byte(body)),
			}})
		}
		if _, err := model.Put(puts...); err != nil {
			t.Fatal(err)
		}
	}
}

// A backlog is on disk: beyond 16 MiB of messages, each takes at most 300 bytes of the heap, while it is sent and after
// the next start.
func TestABacklogIsOnDisk(t *testing.T) {
	messages := fullrun.Pick(60_000, 1_000_000)
	const window = 16 << 20
	dir := t.TempDir()
	before := live()
	check := func(when string, server *localaws.Server) {
		each := (live() - before - window) / int64(messages)
		t.Logf("%s: %d bytes a message", when, each)
		if each > 300 {
			t.Errorf("%s: %d bytes of the heap a message, want at most 300", when, each)
		}
		runtime.KeepAlive(server)
	}
	server, store, closeAll := keptBacklog(t, dir)
	fillBacklog(t, server, messages)
	if err := store.Sync(); err != nil {
		t.Fatal(err)
	}
	check("sent", server)
	closeAll()
	server, _, closeAll = keptBacklog(t, dir)
	defer closeAll()
	check("opened", server)
	c := callFrom(t, server, "key", virginia)
	url := aws.String("http://localhost/" + defaultAccount + "/backlog")
	seen := 0
	for range 30 {
		got := ok(c.sqs.ReceiveMessage(c.ctx, &sqs.ReceiveMessageInput{QueueUrl: url, MaxNumberOfMessages: 10}))(t)
		for _, m := range got.Messages {
			if len(*m.Body) != 1024 {
				t.Errorf("a body of %d bytes", len(*m.Body))
			}
			seen++
		}
	}
	if seen != 300 {
		t.Errorf("%d messages received, want 300", seen)
	}
}

// BenchmarkOpenBacklog measures the start of a server with a million messages of 1 KiB, and its first receive.
func BenchmarkOpenBacklog(b *testing.B) {
	dir := b.TempDir()
	server, _, closeAll := keptBacklog(b, dir)
	fillBacklog(b, server, 1_000_000)
	closeAll()
	var first time.Duration
	for b.Loop() {
		server, _, closeAll := keptBacklog(b, dir)
		model := server.SQS().Queue("backlog").Model()
		began := time.Now()
		got, err := model.Receive(b.Context(), queue.Receive{Max: 10, Visibility: queue.Default})
		if first = time.Since(began); err != nil || len(got) != 10 {
			b.Fatal(len(got), err)
		}
		closeAll()
	}
	b.ReportMetric(float64(first.Milliseconds()), "ms/first-receive")
}
