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
func (t *task) step(s *Service) {
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
	moved, failure := t.move(s, n)
	t.moved += moved
	defer t.keep()
	switch {
	case failure != "":
		t.state, t.failure = taskFailed, failure
	case moved < n || t.moved == t.total:
		t.state = taskCompleted
	default:
		t.stop = s.opts.Clock.AfterFunc(t.pause(), func() { t.step(s) })
	}
}

// move moves up to n messages. A message without a destination stays.
func (t *task) move(s *Service, n int) (moved int, failure string) {
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

// StartMessageMoveTaskInput is the input of StartMessageMoveTask.
type StartMessageMoveTaskInput struct {
	SourceARN      string `json:"SourceArn"`
	DestinationARN string `json:"DestinationArn"`
	Rate           *int32 `json:"MaxNumberOfMessagesPerSecond"`
}

// StartMessageMoveTaskOutput is the output of StartMessageMoveTask.
type StartMessageMoveTaskOutput struct {
	TaskHandle string `json:"TaskHandle"`
}

// maxRate is the highest rate of a task.
const maxRate = 500

// startMessageMoveTask moves what is visible from a dead-letter queue, one task a source at a time. Without a
// destination each message goes back to its source, and the answer of ListMessageMoveTasks then has none (recorded on
// AWS).
func startMessageMoveTask(c call, in *StartMessageMoveTaskInput) (*StartMessageMoveTaskOutput, error) {
	s := c.at
	t, bad := newTask(c, in)
	if bad == nil {
		bad = s.tasks.add(t)
	}
	if bad != nil {
		return nil, bad
	}
	if t.rate == 0 {
		t.step(s)
		return &StartMessageMoveTaskOutput{TaskHandle: t.handle()}, nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.keep()
	t.stop = s.opts.Clock.AfterFunc(t.pause(), func() { t.step(s) })
	return &StartMessageMoveTaskOutput{TaskHandle: t.handle()}, nil
}

func newTask(c call, in *StartMessageMoveTaskInput) (*task, *wire.Error) {
	s := c.at
	source, bad := moveSource(c, in.SourceARN)
	if bad != nil {
		return nil, bad
	}
	t := &task{
		id: s.opts.Random.UUID(), source: source, destination: in.DestinationARN, started: s.opts.Clock.Now(),
		state: taskRunning, total: source.model.Stats().Visible,
	}
	if len(sources(s, source)) == 0 {
		return nil, invalidParameter("Source queue must be configured as a Dead Letter Queue.")
	}
	if in.Rate != nil {
		if *in.Rate < 1 || *in.Rate > maxRate {
			return nil, invalidValue(*in.Rate, "MaxNumberOfMessagesPerSecond",
				"Must be between 1 and 500, if provided.")
		}
		t.rate = *in.Rate
	}
	if in.DestinationARN == "" {
		return t, nil
	}
	destination := s.byARN(in.DestinationARN)
	switch {
	case destination == nil:
		return nil, notFound("The resource that you specified for the DestinationArn parameter doesn't exist.")
	case destination == source:
		return nil, invalidParameter("Source queue arn and destination queue arn cannot be the same.")
	case destination.fifo != source.fifo:
		return nil, invalidParameter("Source queue and destination queue must be of the same type.")
	}
	return t, nil
}

// moveSource returns the queue of a SourceArn. A queue of another account is refused: only its owner may move messages.
func moveSource(c call, arn string) (*Queue, *wire.Error) {
	if arn == "" {
		return nil, missing("SourceArn")
	}
	q := c.at.byARN(arn)
	if q == nil || c.Account != c.at.opts.Account {
		return nil, notFound("The resource that you specified for the SourceArn parameter doesn't exist.")
	}
	q.model.Touch()
	return q, nil
}

// CancelMessageMoveTaskInput is the input of CancelMessageMoveTask.
type CancelMessageMoveTaskInput struct {
	TaskHandle string `json:"TaskHandle"`
}

// CancelMessageMoveTaskOutput is the output of CancelMessageMoveTask.
type CancelMessageMoveTaskOutput struct {
	Moved int64 `json:"ApproximateNumberOfMessagesMoved"`
}

// cancelMessageMoveTask stops a task. The messages that the task has moved stay in their destination. For a task that
// has ended the error is UnsupportedOperation (AWS's API reference, CancelMessageMoveTask).
func cancelMessageMoveTask(c call, in *CancelMessageMoveTaskInput) (*CancelMessageMoveTaskOutput, error) {
	if in.TaskHandle == "" {
		return nil, missing("TaskHandle")
	}
	var h taskHandle
	text, err := base64.StdEncoding.DecodeString(in.TaskHandle)
	if err != nil || json.Unmarshal(text, &h) != nil || h.TaskID == "" || h.SourceARN == "" {
		return nil, invalidParameter("Value for parameter TaskHandle is invalid.")
	}
	if _, bad := moveSource(c, h.SourceARN); bad != nil {
		return nil, bad
	}
	for _, t := range c.at.tasks.of(h.SourceARN) {
		if t.id != h.TaskID {
			continue
		}
		if !t.cancel() {
			return nil, refusal("UnsupportedOperation", "Only active tasks can be cancelled.")
		}
		t.mu.Lock()
		t.keep()
		t.mu.Unlock()
		return &CancelMessageMoveTaskOutput{Moved: t.snapshot().Moved}, nil
	}
	return nil, notFound("Task does not exist.")
}

// ListMessageMoveTasksInput is the input of ListMessageMoveTasks.
type ListMessageMoveTasksInput struct {
	SourceARN  string `json:"SourceArn"`
	MaxResults *int32 `json:"MaxResults"` // nil: 1
}

// ListMessageMoveTasksOutput is the output of ListMessageMoveTasks, newest first.
type ListMessageMoveTasksOutput struct {
	Results []moveTaskResult `json:"Results" query:"ListMessageMoveTasksResultEntry,flat"`
}

type moveTaskResult struct {
	TaskHandle     string `json:"TaskHandle"` // only of a running task
	Status         string `json:"Status"`
	SourceARN      string `json:"SourceArn"`
	DestinationARN string `json:"DestinationArn"`
	Rate           *int32 `json:"MaxNumberOfMessagesPerSecond"`
	Moved          int64  `json:"ApproximateNumberOfMessagesMoved"`
	ToMove         int64  `json:"ApproximateNumberOfMessagesToMove"`
	FailureReason  string `json:"FailureReason"`
	Started        int64  `json:"StartedTimestamp"` // milliseconds
}

// listMessageMoveTasks shows the newest task unless MaxResults asks for up to ten, and a task's handle only while it
// runs (AWS's API reference, ListMessageMoveTasks).
func listMessageMoveTasks(c call, in *ListMessageMoveTasksInput) (*ListMessageMoveTasksOutput, error) {
	q, bad := moveSource(c, in.SourceARN)
	if bad != nil {
		return nil, bad
	}
	limit := 1
	if n := in.MaxResults; n != nil {
		if *n < 1 || *n > maxTasks {
			return nil, invalidValue(*n, "MaxResults", "Must be between 1 and 10, if provided.")
		}
		limit = int(*n)
	}
	out := &ListMessageMoveTasksOutput{}
	for _, t := range c.at.tasks.of(q.arn) {
		if len(out.Results) < limit {
			out.Results = append(out.Results, t.snapshot())
		}
	}
	return out, nil
}
