package localaws_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/godwitmq/godwit/internal/fullrun"
)

// The operations on one group of a FIFO queue, as porcupine sees them.
type (
	sending   struct{ value string }
	receiving struct{} // of whatever group has something
	deleting  struct{ value string }
	restart   struct{} // the server is killed, and the clock of the next one moved beyond every lease
)

// outcome is the answer to an operation.
type outcome struct {
	known bool   // false: the server was killed before it answered
	value string // that was received
}

// groupState is a group: what waits, in order, whether its first message is in flight, and what was ever accepted.
type groupState struct {
	waiting  string // values, each followed by a comma
	inFlight bool
	accepted string // the same
}

func (s groupState) head() string {
	head, _, _ := strings.Cut(s.waiting, ",")
	return head
}

// groupModel is a group of a FIFO queue that keeps everything it acknowledged. An operation without an answer has
// happened, or has not, before the restart.
var groupModel = porcupine.NondeterministicModel{
	Init: func() []any { return []any{groupState{}} },
	Step: func(state, input, output any) []any {
		s, out := state.(groupState), output.(outcome)
		after := s
		possible := true
		switch in := input.(type) {
		case sending:
			if !strings.Contains(","+s.accepted, ","+in.value+",") { // else it is a duplicate, which is accepted
				after.waiting += in.value + ","
				after.accepted += in.value + ","
			}
		case receiving:
			after.inFlight = true
			possible = s.waiting != "" && !s.inFlight && (!out.known || s.head() == out.value)
		case deleting:
			after.waiting = strings.TrimPrefix(s.waiting, in.value+",")
			after.inFlight = false
			possible = s.head() == in.value && s.inFlight
		case restart:
			after.inFlight = false
		}
		switch {
		case !out.known && possible:
			return []any{s, after}
		case !out.known:
			return []any{s}
		case possible:
			return []any{after}
		default:
			return nil
		}
	},
	Equal:             func(a, b any) bool { return a == b },
	DescribeOperation: func(input, output any) string { return fmt.Sprintf("%+v → %+v", input, output) },
}

// histories records the operations of clients by group.
type histories struct {
	began time.Time

	mu      sync.Mutex
	of      map[string][]porcupine.Operation
	clients int
}

func (h *histories) now() int64 { return time.Since(h.began).Nanoseconds() }

// client returns the number of a client that does one thing at a time.
func (h *histories) client() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.clients++
	return h.clients
}

// add records an operation of a group, or of every group.
func (h *histories) add(o porcupine.Operation, groups ...string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, g := range groups {
		h.of[g] = append(h.of[g], o)
	}
}

// life is one process of the server, with the clients that use it.
type life struct {
	*kept
	url    *string
	h      *histories
	groups []string

	kill chan struct{} // closed when the process is killed

	mu   sync.Mutex
	left int // how many calls are answered before the kill
	lost []func(until int64)
}

// do makes a call, and records it. What is answered after the kill is not known.
func (l *life) do(client int, in any, groups []string, call func() (outcome, []string)) (out outcome, alive bool) {
	began := l.h.now()
	out, of := call()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.left == 0 {
		l.lost = append(l.lost, func(until int64) {
			l.h.add(porcupine.Operation{
				ClientId: client, Input: in, Call: began, Output: outcome{}, Return: until,
			}, groups...)
		})
		return outcome{}, false
	}
	if l.left--; l.left == 0 {
		close(l.kill)
	}
	out.known = true
	l.h.add(porcupine.Operation{ClientId: client, Input: in, Call: began, Output: out, Return: l.h.now()}, of...)
	return out, true
}

// produce sends to a group until the server is killed. It returns what was not answered, which is sent again to the
// next process.
func (l *life) produce(group string, next int) (unanswered int) {
	client := l.h.client()
	for {
		value := fmt.Sprint(next)
		_, alive := l.do(client, sending{value}, []string{group}, func() (outcome, []string) {
			_, err := l.client.SendMessage(l.ctx, &sqs.SendMessageInput{
				QueueUrl: l.url, MessageBody: aws.String(group + "/" + value), MessageGroupId: &group,
				MessageDeduplicationId: aws.String(group + "/" + value),
			})
			if err != nil {
				l.Error(err)
			}
			return outcome{}, []string{group}
		})
		if !alive {
			return next
		}
		next++
	}
}

// consume receives and deletes until the server is killed.
func (l *life) consume() {
	client := l.h.client()
	for {
		var got []string
		var handle *string
		_, alive := l.do(client, receiving{}, l.groups, func() (outcome, []string) {
			out, err := l.client.ReceiveMessage(l.ctx, &sqs.ReceiveMessageInput{
				QueueUrl: l.url, MaxNumberOfMessages: 1, VisibilityTimeout: 60, WaitTimeSeconds: 20,
			})
			if err != nil {
				l.Error(err)
				return outcome{}, nil
			}
			if len(out.Messages) == 0 { // says nothing about a single group
				return outcome{}, nil
			}
			group, value, _ := strings.Cut(*out.Messages[0].Body, "/")
			got, handle = []string{group, value}, out.Messages[0].ReceiptHandle
			return outcome{value: value}, []string{group}
		})
		if !alive {
			return
		}
		if got == nil {
			continue
		}
		if _, alive := l.do(client, deleting{got[1]}, got[:1], func() (outcome, []string) {
			_, err := l.client.DeleteMessage(l.ctx, &sqs.DeleteMessageInput{QueueUrl: l.url, ReceiptHandle: handle})
			if err != nil {
				l.Error(err)
			}
			return outcome{}, got[:1]
		}); !alive {
			return
		}
	}
}

// Whatever clients see of a FIFO queue whose server is killed again and again could have been seen of one that keeps
// everything it acknowledged: porcupine looks for the order of the calls that shows it.
func TestHistoriesAcrossRestarts(t *testing.T) {
	const seed = 1
	r := rand.New(rand.NewPCG(seed, 0))
	h := &histories{began: time.Now(), of: map[string][]porcupine.Operation{}}
	groups := []string{"a", "b", "c"}
	next := map[string]int{}
	server := newKept(t)
	url := server.create("q.fifo", map[string]string{"FifoQueue": "true"})
	for range fullrun.Pick(8, 60) {
		l := &life{
			kept: server, url: url, h: h, groups: groups, kill: make(chan struct{}), left: 20 + r.IntN(60),
		}
		var working sync.WaitGroup
		var mu sync.Mutex
		for _, g := range groups {
			working.Go(func() {
				mu.Lock()
				from := next[g]
				mu.Unlock()
				from = l.produce(g, from)
				mu.Lock()
				defer mu.Unlock()
				next[g] = from
			})
		}
		for range 3 {
			working.Go(l.consume)
		}
		<-l.kill
		dir := server.copied()
		_ = server.server.Close() // its polls end
		working.Wait()
		server = keptIn(t, dir)
		server.server.Advance(2 * time.Minute) // longer than a lease, shorter than the time of deduplication
		until := h.now()
		for _, lose := range l.lost {
			lose(until)
		}
		// The clients of this process have ended before, and those of the next one begin later.
		h.add(porcupine.Operation{
			Input: restart{}, Call: until, Output: outcome{known: true}, Return: h.now(),
		}, groups...)
	}
	for _, g := range groups {
		history := h.of[g]
		slices.SortStableFunc(history, func(a, b porcupine.Operation) int { return int(a.Call - b.Call) })
		t.Logf("group %s: %d operations", g, len(history))
		result := porcupine.CheckOperationsTimeout(groupModel.ToModel(), history, time.Minute)
		if result != porcupine.Ok {
			for _, o := range history {
				t.Logf("%d %s", o.Call, groupModel.DescribeOperation(o.Input, o.Output))
			}
			t.Errorf("seed %d, group %s: no order of the calls explains the answers (%s)", seed, g, result)
		}
	}
}
