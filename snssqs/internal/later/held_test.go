package later

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/godwitmq/godwit/snssqs/internal/wire"
)

func itemOf(id string, due time.Time, sequence int64, bytes int) item {
	body := string(make([]byte, bytes))
	return item{
		Waiting: wire.Waiting{
			Message: &wire.Message{Message: types.Message{Body: &body}}, ID: id, Due: due, Sequence: sequence,
		},
		due: due,
	}
}

// Messages leave in the order of their times, and of their sends where these are equal.
func TestHeldMessagesLeaveInOrder(t *testing.T) {
	now := time.Now()
	h := newHeld()
	if items, wait := h.due(now); len(items) > 0 || wait < time.Minute {
		t.Errorf("%d items are due, the next one in %v", len(items), wait)
	}
	h.add(itemOf("c", now.Add(time.Second), 1, 1), itemOf("b", now, 7, 1))
	h.add(itemOf("a", now, 3, 1))
	select {
	case <-h.changed:
	default:
		t.Error("nobody is told of new messages")
	}
	items, _ := h.due(now)
	if len(items) != 2 || items[0].ID != "a" || items[1].ID != "b" {
		t.Errorf("%d items are due", len(items))
	}
	if items, wait := h.due(now); len(items) > 0 || wait != time.Second {
		t.Errorf("%d items are due, the next one in %v", len(items), wait)
	}
	if rest := h.rest(); len(rest) != 1 || rest[0].ID != "c" || len(h.rest()) > 0 {
		t.Errorf("the rest is %d items", len(rest))
	}
}

// The error of a machine's clock, which each receive finds a little different, changes no order.
func TestHeldMessagesOfAWrongClockLeaveInOrder(t *testing.T) {
	now := time.Now()
	first, second := itemOf("a", now, 1, 1), itemOf("b", now, 2, 1)
	first.due = now.Add(300 * time.Millisecond)
	h := newHeld()
	h.add(second)
	h.add(first)
	if items, wait := h.due(now); len(items) > 0 || wait != 300*time.Millisecond {
		t.Errorf("%d items are due, the next one in %v", len(items), wait)
	}
	if items, _ := h.due(first.due); len(items) != 2 || items[0].ID != "a" {
		t.Errorf("%d items are due", len(items))
	}
}

// The number of messages that are held is bounded, and the memory of their bodies.
func TestHeldMessagesAreBounded(t *testing.T) {
	for _, bytes := range []int{0, maxHeldBytes / 4} {
		synctest.Test(t, func(t *testing.T) {
			h := newHeld()
			n := maxHeld
			if bytes > 0 {
				n = 4
			}
			for range n - 1 {
				h.add(itemOf("x", time.Now(), 1, bytes))
			}
			if !h.room(t.Context()) {
				t.Error("no room below the bound")
			}
			h.add(itemOf("x", time.Now(), 1, bytes))
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			if h.room(ctx) {
				t.Error("room at the bound")
			}
			go func() {
				time.Sleep(time.Minute)
				h.due(time.Now())
			}()
			if !h.room(t.Context()) {
				t.Error("no room after the messages have left")
			}
			if h.bytes != 0 {
				t.Errorf("%d bytes are counted", h.bytes)
			}
		})
	}
}
