package snssqs_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/localaws"
	"github.com/godwitmq/godwit/snssqs"
)

// rewriting changes the answers to some actions, as other servers do.
type rewriting struct {
	next http.RoundTripper
	mu   sync.Mutex // the receiver asks also while nothing is received
	edit map[string]func(answer map[string]any)
}

// change sets how the answers to an action are changed; nil: not any more.
func (rw *rewriting) change(action string, edit func(answer map[string]any)) {
	rw.mu.Lock()
	defer rw.mu.Unlock()
	rw.edit[action] = edit
}

func (rw *rewriting) RoundTrip(r *http.Request) (*http.Response, error) {
	out, err := rw.next.RoundTrip(r)
	target := r.Header.Get("X-Amz-Target")
	rw.mu.Lock()
	edit := rw.edit[target[strings.LastIndexByte(target, '.')+1:]]
	rw.mu.Unlock()
	if err != nil || edit == nil || out.StatusCode != http.StatusOK {
		return out, err
	}
	var answer map[string]any
	if err := json.NewDecoder(out.Body).Decode(&answer); err != nil {
		return nil, err
	}
	edit(answer)
	body, err := json.Marshal(answer)
	out.Body, out.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	out.Header.Set("Content-Length", "")
	return out, err
}

// without removes a field from the entries of a list.
func without(list, field string, which ...int) func(map[string]any) {
	return func(answer map[string]any) {
		entries, _ := answer[list].([]any)
		for _, i := range which {
			if i < len(entries) {
				delete(entries[i].(map[string]any), field)
			}
		}
	}
}

// A message without a receipt handle cannot be settled, and does not affect others. It is delivered again, and is not
// handled a second time.
func TestAMessageWithoutAReceiptHandleFailsAlone(t *testing.T) {
	inWorld(t, localaws.Options{}, func(w *world) {
		rw := &rewriting{
			next: w.server.Transport(),
			edit: map[string]func(map[string]any){"ReceiveMessage": without("Messages", "ReceiptHandle", 1)},
		}
		w.b = w.open(snssqs.Options{Transport: rw})
		w.ensure(owner(orders))
		r := w.receiver(orders, driver.Filter{})
		for range 3 {
			w.foreign("orders", "x", nil)
		}
		ds, err := r.Receive(w.Context(), driver.Ask{Max: 10}, nil)
		if err != nil || len(ds) != 3 {
			t.Fatalf("received %d, %v", len(ds), err)
		}
		hs := make([]driver.Handle, len(ds))
		done := make([]driver.Settlement, len(ds))
		for i := range ds {
			hs[i], done[i] = ds[i].Handle, driver.Settlement{Handle: ds[i].Handle}
		}
		_, err = r.(driver.Extender).Extend(w.Context(), hs, time.Minute)
		w.alone("extend", err, 1)
		w.alone("delete", r.Settle(w.Context(), done), 1)
		rw.change("ReceiveMessage", nil)
		time.Sleep(time.Minute)
		if ds, err := r.Receive(w.Context(), driver.Ask{Max: 10}, nil); err != nil || len(ds) > 0 ||
			w.attributes("orders")["ApproximateNumberOfMessages"] != "0" {
			t.Errorf("received %d again, %v", len(ds), err)
		}
	})
}

// alone checks that one entry of a batch failed, permanently and because of its handle.
func (w *world) alone(what string, err error, i int) {
	w.Helper()
	var batch *driver.BatchError
	if !errors.As(err, &batch) || len(batch.Errs) != 1 || batch.Errs[i] == nil {
		w.Errorf("%s: %v, want entry %d alone to fail", what, err, i)
	} else if e := batch.Errs[i]; driver.ClassOf(e) != driver.Permanent ||
		!strings.Contains(e.Error(), "receipt handle") {
		w.Errorf("%s: %v, of class %s", what, e, driver.ClassOf(e))
	}
}

// An entry is unanswered if the answer to its batch has no entry with its id.
func TestAnswersWithoutIDs(t *testing.T) {
	inWorld(t, localaws.Options{}, func(w *world) {
		noID := without("Successful", "Id", 0)
		rw := &rewriting{
			next: w.server.Transport(),
			edit: map[string]func(map[string]any){"SendMessageBatch": noID, "DeleteMessageBatch": noID},
		}
		w.b = w.open(snssqs.Options{Transport: rw})
		w.ensure(owner(orders))
		s, r := w.sender(orders), w.receiver(orders, driver.Filter{})
		p, err := s.Prepare(w.Context(), &driver.Message{Body: []byte("x")})
		if err != nil {
			t.Fatal(err)
		}
		unanswered := func(what string, err error) {
			t.Helper()
			if e := entry(err); e == nil || driver.ClassOf(e) != driver.Transient ||
				!strings.Contains(e.Error(), "mentions the entry neither") {
				t.Errorf("%s: %v, of class %s", what, e, driver.ClassOf(e))
			}
		}
		unanswered("send", s.Send(w.Context(), []driver.Prepared{p}))
		unanswered("delete", r.Settle(w.Context(), []driver.Settlement{{Handle: w.receive(r, 1)[0].Handle}}))
	})
}

// A body that was altered in transit fails alone: the others of its batch are sent and received.
func TestAnAlteredBodyFailsAlone(t *testing.T) {
	inWorld(t, localaws.Options{}, func(w *world) {
		rw := &rewriting{next: w.server.Transport(), edit: map[string]func(map[string]any){
			"SendMessageBatch": func(answer map[string]any) {
				answer["Successful"].([]any)[0].(map[string]any)["MD5OfMessageBody"] = "0"
			},
			"ReceiveMessage": func(answer map[string]any) {
				if messages, _ := answer["Messages"].([]any); len(messages) > 0 {
					messages[0].(map[string]any)["Body"] = "altered"
				}
			},
		}}
		w.b = w.open(snssqs.Options{Transport: rw})
		w.ensure(owner(orders))
		s, r := w.sender(orders), w.receiver(orders, driver.Filter{})
		var ps []driver.Prepared
		for _, body := range []string{"a", "b"} {
			p, err := s.Prepare(w.Context(), &driver.Message{Body: []byte(body)})
			if err != nil {
				t.Fatal(err)
			}
			ps = append(ps, p)
		}
		var batch *driver.BatchError
		if err := s.Send(w.Context(), ps); !errors.As(err, &batch) || len(batch.Errs) != 1 ||
			driver.ClassOf(batch.Errs[0]) != driver.Transient {
			t.Errorf("send: %v, want the first entry to fail in passing", err)
		}
		ds, err := r.Receive(w.Context(), driver.Ask{Max: 10}, nil)
		if len(ds) != 1 || string(ds[0].Body) == "altered" || driver.ClassOf(err) != driver.Transient || err == nil ||
			!strings.Contains(err.Error(), "MD5") {
			t.Errorf("received %d, %v; want the one that is whole, and an error for the other", len(ds), err)
		}
		rw.change("ReceiveMessage", nil)
		time.Sleep(time.Minute)
		w.receive(r, 2)
	})
}

// No message of the same key overtakes an altered message.
func TestAnAlteredBodyIsNotOvertaken(t *testing.T) {
	inWorld(t, localaws.Options{}, func(w *world) {
		rw := &rewriting{next: w.server.Transport(), edit: map[string]func(map[string]any){}}
		w.b = w.open(snssqs.Options{Transport: rw})
		ch := driver.Channel{Queue: "orders", Ordered: true}
		w.ensure(owner(ch))
		r := w.receiver(ch, driver.Filter{})
		w.send(w.sender(ch), driver.Message{Body: []byte("1"), OrderKey: "ada"},
			driver.Message{Body: []byte("2"), OrderKey: "ada"})
		rw.change("ReceiveMessage", func(answer map[string]any) {
			answer["Messages"].([]any)[0].(map[string]any)["Body"] = "altered"
		})
		if ds, err := r.Receive(w.Context(), driver.Ask{Max: 10}, nil); len(ds) > 0 || err == nil {
			t.Errorf("received %d, %v", len(ds), err)
		}
		rw.change("ReceiveMessage", nil)
		time.Sleep(time.Minute)
		if ds := w.receive(r, 2); string(ds[0].Body) != "1" || string(ds[1].Body) != "2" {
			t.Errorf("received %q, %q", ds[0].Body, ds[1].Body)
		}
	})
}
