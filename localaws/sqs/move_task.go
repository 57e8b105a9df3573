package sqs

import (
	"encoding/base64"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"github.com/godwitmq/godwit/localaws/wire"
)

// States of a move task.
const (
	taskRunning   = "RUNNING"
	taskCompleted = "COMPLETED"
	taskCancelled = "CANCELLED"
	taskFailed    = "FAILED"
)

// Reasons for the failure of a move task.
const (
	reasonNoQueue  = "AWS.SimpleQueueService.NonExistentQueue"
	reasonNoSource = "CouldNotDetermineMessageSource"
)

// task moves the messages of a dead-letter queue to another queue.
type task struct {
	id          string
	source      *Queue
	destination string // ARN; "": each message goes to its source queue
	rate        int32  // messages a second; 0: no limit
	started     time.Time

	mu      sync.Mutex
	state   string
	failure string
	moved   int
	total   int
	stop    func() // stops the timer of the next step
}

// tasks holds the move tasks by the ARN of their source, newest first.
type tasks struct {
	mu       sync.Mutex
	bySource map[string][]*task
}

// maxTasks is how many tasks of a source are kept: the most that a list may show.
const maxTasks = 10

// taskHandle identifies a task for clients, encoded as AWS does.
type taskHandle struct {
	TaskID    string `json:"taskId"`
	SourceARN string `json:"sourceArn"`
}

func (t *task) handle() string {
	b, err := json.Marshal(taskHandle{TaskID: t.id, SourceARN: t.source.arn})
	if err != nil { // marshalling two strings cannot fail
		return ""
	}
	return base64.StdEncoding.EncodeToString(b)
}

// add registers a task, unless its source already has a running one.
func (ts *tasks) add(t *task) *wire.Error {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if ts.bySource == nil {
		ts.bySource = map[string][]*task{}
	}
	old := ts.bySource[t.source.arn]
	if slices.ContainsFunc(old, (*task).running) {
		return invalidParameter("There is already a task running. Only one active task is allowed for a source queue " +
			"arn at a given time.")
	}
	all := append([]*task{t}, old...)
	for _, surplus := range all[min(len(all), maxTasks):] {
		surplus.forget()
	}
	ts.bySource[t.source.arn] = all[:min(len(all), maxTasks)]
	return nil
}

func (ts *tasks) of(source string) []*task {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	return ts.bySource[source]
}

// append adds a task behind those of its source.
func (ts *tasks) append(t *task) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if ts.bySource == nil {
		ts.bySource = map[string][]*task{}
	}
	ts.bySource[t.source.arn] = append(ts.bySource[t.source.arn], t)
}

// reset cancels and removes every task, and returns them.
func (ts *tasks) reset() map[string][]*task {
	ts.mu.Lock()
	old := ts.bySource
	ts.bySource = nil
	ts.mu.Unlock()
	for _, all := range old {
		for _, t := range all {
			t.cancel()
		}
	}
	return old
}

// pause returns the time between two steps.
func (t *task) pause() time.Duration {
	if t.rate == 0 {
		return 0
	}
	return time.Second / time.Duration(t.rate)
}

func (t *task) running() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.state == taskRunning
}

// cancel ends a running task; false: it was not running.
func (t *task) cancel() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.state != taskRunning {
		return false
	}
	t.state = taskCancelled
	if t.stop != nil {
		t.stop()
	}
	return true
}

// atOnce is how many messages one step of a task without a rate moves. It is large enough that a test's messages are
// moved when StartMessageMoveTask has returned, and small enough that a million messages do not block the caller.
const atOnce = 10_000

// step moves the next messages and schedules the following step.
func (s *Service) step(t *task) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.state != taskRunning {
		return
	}
	n := atOnce
	if t.rate > 0 {
		n = 1
	}
	n = min(n, t.total-t.moved)
	moved, failure := s.move(t, n)
	t.moved += moved
	defer t.keep()
	switch {
	case failure != "":
		t.state, t.failure = taskFailed, failure
	case moved < n || t.moved == t.total:
		t.state = taskCompleted
	default:
		t.stop = s.opts.Clock.AfterFunc(t.pause(), func() { s.step(t) })
	}
}

// move moves up to n messages. A message without a destination stays.
func (s *Service) move(t *task, n int) (moved int, failure string) {
	taken, err := t.source.model.TakeOut(n)
	if err != nil {
		return 0, err.Error()
	}
	for i, m := range taken {
		arn, why := t.destination, reasonNoQueue
		if arn == "" {
			arn, why = m.Source(), reasonNoSource
		}
		target := s.byARN(arn)
		if arn != "" && target == nil {
			why = reasonNoQueue
		}
		if target == nil || target.model.PutMoved(m) != nil {
			t.source.model.PutBack(taken[i:]...)
			return moved, why
		}
		moved++
	}
	return moved, ""
}

// snapshot returns the task as a list shows it.
func (t *task) snapshot() moveTaskResult {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := moveTaskResult{
		Status: t.state, SourceARN: t.source.arn, DestinationARN: t.destination, Moved: int64(t.moved),
		ToMove:        int64(t.total),
		FailureReason: t.failure, Started: t.started.UnixMilli(),
	}
	if t.rate > 0 {
		r.Rate = &t.rate
	}
	if t.state == taskRunning {
		r.TaskHandle = t.handle()
	}
	return r
}
