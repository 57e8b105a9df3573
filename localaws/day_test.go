package localaws_test

import (
	"io/fs"
	"log/slog"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/godwitmq/godwit/internal/fullrun"
	"github.com/godwitmq/godwit/localaws"
	"github.com/godwitmq/godwit/localaws/disk"
)

// stream is a load on one queue with a backlog of one second.
type stream struct {
	*kept
	url  *string
	body string
	sent int
}

// burst is a load of a thousand messages of 1 KiB a second for a while: the streams in turn send batches of ten, and
// receive and delete as many messages.
func burst(streams []*stream, d time.Duration) {
	const each = 10 * time.Millisecond
	for i := range int(d / each) {
		s, began := streams[i%len(streams)], time.Now()
		s.send()
		if s.sent > int(10*time.Second/each)/len(streams) {
			s.receive()
		}
		time.Sleep(each - time.Since(began))
	}
}

// send sends a batch, in a FIFO queue of a hundred groups.
func (s *stream) send() {
	s.Helper()
	in := &sqs.SendMessageBatchInput{QueueUrl: s.url}
	for i := range 10 {
		e := types.SendMessageBatchRequestEntry{
			Id: aws.String(strconv.Itoa(i)), MessageBody: aws.String(strconv.Itoa(s.sent) + s.body),
		}
		if strings.HasSuffix(*s.url, ".fifo") {
			e.MessageGroupId = aws.String(strconv.Itoa(s.sent % 100))
			e.MessageDeduplicationId = aws.String(strconv.Itoa(s.sent))
		}
		in.Entries = append(in.Entries, e)
		s.sent++
	}
	if out, err := s.client.SendMessageBatch(s.ctx, in); err != nil || len(out.Failed) > 0 {
		s.Fatal(out, err)
	}
}

// receive receives ten messages and deletes them.
func (s *stream) receive() {
	s.Helper()
	for left := 10; left > 0; {
		out, err := s.client.ReceiveMessage(s.ctx, &sqs.ReceiveMessageInput{
			QueueUrl: s.url, MaxNumberOfMessages: int32(left),
		})
		if err != nil || len(out.Messages) == 0 {
			s.Fatal("received nothing of a backlog", err)
		}
		in := &sqs.DeleteMessageBatchInput{QueueUrl: s.url}
		for i, m := range out.Messages {
			in.Entries = append(in.Entries, types.DeleteMessageBatchRequestEntry{
				Id: aws.String(strconv.Itoa(i)), ReceiptHandle: m.ReceiptHandle,
			})
		}
		if out, err := s.client.DeleteMessageBatch(s.ctx, in); err != nil || len(out.Failed) > 0 {
			s.Fatal(out, err)
		}
		left -= len(out.Messages)
	}
}

// bytesIn is the size of all files below a folder.
func bytesIn(t *testing.T, dir string) (all int64) {
	t.Helper()
	if err := filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		if err == nil {
			all += info.Size()
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return all
}

// A server that runs for a day at a thousand messages a second with a short backlog keeps its folder below 1 GiB, and
// the folder does not grow from hour to hour.
//
// The day is thinned in time and not in rate. The load comes at its full rate, so that compaction has to keep up with
// it, for a fifth of a second every twelve seconds: one second of each minute, with pauses that are too short for the
// compaction of a store that nobody uses. What grows with the hours is there as a whole: 1,440 minutes of metrics. What
// grows with the minutes before is there as a whole at noon: the load is there all the time for six minutes, longer
// than a FIFO queue remembers what it has accepted. Every call waits for the disk, as it does for a client. The gate
// leaves the day to disk's TestCompaction.
func TestADayOnDisk(t *testing.T) {
	if !fullrun.On() {
		t.Skip("takes minutes: only in the full run")
	}
	const (
		minutes = 24 * 60
		whole   = 6 // minutes at noon that have the load all the time
		most    = 1 << 30
	)
	dir := filepath.Join(t.TempDir(), "data")
	synctest.Test(t, func(t *testing.T) {
		store, err := disk.Open(dir, &disk.Options{Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		k := &kept{newFixture(t, &localaws.Options{Seed: testSeed, Store: store}), dir, store}
		defer k.server.Close()
		body := strings.Repeat("b", 1015)
		streams := []*stream{
			{kept: k, url: k.create("plain", nil), body: body},
			{kept: k, url: k.create("ordered.fifo", map[string]string{"FifoQueue": "true"}), body: body},
		}
		var largest, early, late int64 // of the second hour, and of the last one
		for minute := range minutes {
			const pause = 12 * time.Second
			full := minute >= minutes/2 && minute < minutes/2+whole
			for range time.Minute / pause {
				end, d := time.Now().Add(pause), time.Second/5
				if full {
					d = pause
				}
				burst(streams, d)
				time.Sleep(time.Until(end))
			}
			size := bytesIn(t, dir)
			largest = max(largest, size)
			switch {
			case minute >= minutes-60:
				late = max(late, size)
			case minute >= 60 && minute < 120:
				early = max(early, size)
			}
			if minute%60 == 59 || full || minute == minutes-1 {
				t.Logf("minute %d: %.1f MiB, at most %.1f MiB before", minute, mib(size), mib(largest))
			}
		}
		t.Logf("%d messages, at most %.1f MiB", streams[0].sent+streams[1].sent, mib(largest))
		if largest > most {
			t.Errorf("the folder had %.1f MiB, want at most %.1f MiB", mib(largest), mib(most))
		}
		if late > early+early/4 {
			t.Errorf("the folder had at most %.1f MiB in the second hour, and %.1f MiB in the last one", mib(early), mib(late))
		}
	})
}

func mib(n int64) float64 { return float64(n) / (1 << 20) }
