package godwit_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/driver"
)

// A message that a backend discards is counted in the report, reported to the hook, and logged: at once for the first,
// then once a minute with the sum, and the rest at the end. If it is expected, it is logged at debug level.
func TestDiscardedMessagesAreCountedReportedAndLogged(t *testing.T) {
	for _, expected := range []bool{false, true} {
		level := map[bool]string{false: "level=WARN", true: "level=DEBUG"}[expected]
		l := newLog(driver.ReceiveLimits{})
		var log logged
		var mu sync.Mutex
		var told []godwit.Discarded
		var report godwit.Report
		o := &godwit.ConsumerOptions{
			Logger: slog.New(slog.NewTextHandler(&log,
				&slog.HandlerOptions{Level: slog.LevelDebug})),
			Hooks: godwit.Hooks{Discarded: func(d godwit.Discarded) {
				mu.Lock()
				defer mu.Unlock()
				told = append(told, d)
			}},
		}
		run := func(ctx context.Context, c *godwit.Consumer) (_ godwit.Report, err error) {
			report, err = c.Run(ctx, func(context.Context, *godwit.Delivery) error { return nil })
			return report, err
		}
		said := func(reason string, counts ...int) {
			t.Helper()
			lines := log.lines(reason)
			for i, line := range lines {
				if i >= len(counts) || !strings.Contains(line, level) ||
					!strings.Contains(line, fmt.Sprintf("count=%d ", counts[i])) {
					t.Errorf("expected %v: the log says %q, want counts %v", expected, lines, counts)
				}
			}
			if len(lines) != len(counts) {
				t.Errorf("expected %v: the log says %q, want counts %v", expected, lines, counts)
			}
		}
		whileRunning(t, l, o, run, func(*godwit.Consumer) {
			discard := func(why driver.DiscardReason, n int, ids ...string) {
				l.events.Discarded(driver.Discarded{Reason: why, Count: n, IDs: ids, Expected: expected})
			}
			time.Sleep(time.Second)
			discard(driver.DiscardFiltered, 2, "a", "b")
			said("filter does not select", 2)
			for range 50 {
				time.Sleep(time.Second)
				discard(driver.DiscardFiltered, 3, "c", "d", "e")
			}
			discard(driver.DiscardFinished, 7)
			said("filter does not select", 2)
			said("had been handled", 7)
			time.Sleep(10 * time.Second)
			discard(driver.DiscardFiltered, 1, "f")
			said("filter does not select", 2, 151)
			discard(driver.DiscardFiltered, 4)
			l.put(0, "ada") // a poll with a message
			time.Sleep(time.Minute)
			l.put(1, "ada")
			time.Sleep(time.Second)
			said("filter does not select", 2, 151, 4)
			discard(driver.DiscardFiltered, 5)
		})
		said("filter does not select", 2, 151, 4, 5)
		said("had been handled", 7)
		if report.Filtered != 162 || report.Redelivered != 7 || report.Received != 2 {
			t.Errorf("expected %v: reported %+v", expected, report)
		}
		if len(told) != 55 || told[0].Reason != godwit.DiscardFiltered ||
			!slices.Equal(told[0].IDs, []string{"a", "b"}) || told[0].Expected != expected ||
			told[51].Reason != godwit.DiscardFinished || told[51].Count != 7 {
			t.Errorf("expected %v: the hook was called %d times, first with %+v", expected, len(told), told[0])
		}
	}
}

// A backlog that the filter does not select is deleted as fast as it is received.
func TestAFilteredBacklogIsDeletedWithoutPauses(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		c := w.consumer("events.mine", &godwit.ConsumerOptions{Filter: godwit.Filter{Exact: []string{"A"}}})
		client, url := sqs.NewFromConfig(w.sdk()), "http://localaws.internal/000000000000/events--mine"
		for range 500 {
			if _, err := client.SendMessage(w.Context(), &sqs.SendMessageInput{
				QueueUrl:    &url,
				MessageBody: aws.String("x"),
			}); err != nil {
				t.Fatal(err)
			}
		}
		r := w.run(c, func(context.Context, *godwit.Delivery) error { return nil })
		time.Sleep(time.Second)
		w.visible("events--mine", 0)
		if report := r.stop(); report.Filtered != 500 {
			t.Errorf("reported %+v", report)
		}
	})
}

// Messages in an envelope that was not opened are reported to the hook.
func TestUnopenedEnvelopesAreReported(t *testing.T) {
	l := newLog(driver.ReceiveLimits{})
	told := 0
	o := &godwit.ConsumerOptions{Hooks: godwit.Hooks{Unopened: func(n int) { told += n }}}
	run := func(ctx context.Context, c *godwit.Consumer) (godwit.Report, error) {
		return c.Run(ctx, func(context.Context, *godwit.Delivery) error { return nil })
	}
	whileRunning(t, l, o, run, func(*godwit.Consumer) {
		time.Sleep(time.Second)
		l.events.Unopened(2)
		l.events.Unopened(1)
	})
	if told != 3 {
		t.Errorf("the hook was told of %d messages", told)
	}
}
