package operate

import (
	"context"
	"encoding/base64"
	"encoding/json"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/snssqs/internal/client"
	"github.com/godwitmq/godwit/snssqs/internal/estate"
)

const (
	// maxMoveRate is the highest rate of a task.
	maxMoveRate = 500
	// maxMoves is how many tasks SQS lists.
	maxMoves = 10
	// moveRunning and moveEnding are the states of a task that is not over.
	moveRunning, moveEnding = "RUNNING", "CANCELLING"
)

// Move starts a task of SQS.
func Move(ctx context.Context, e *estate.Estate, from, to driver.Channel, perSecond int) error {
	if err := e.Clients.Open(); err != nil {
		return err
	}
	if perSecond < 0 || perSecond > maxMoveRate {
		return client.Permanent("move the messages of %s: %d messages a second: SQS moves between 1 and %d, and 0 is as fast as it "+
			"likes", from, perSecond, maxMoveRate)
	}
	if to.Queue == "" {
		return client.Permanent("move the messages of %s: a task of SQS moves messages to a queue, and %s is an exchange", from, to)
	}
	source, err := e.Queues.Of(ctx, from)
	if err != nil {
		return err
	}
	target, err := e.Queues.Of(ctx, to)
	if err != nil {
		return err
	}
	in := &sqs.StartMessageMoveTaskInput{SourceArn: aws.String(source.ARN()), DestinationArn: aws.String(target.ARN())}
	if perSecond > 0 {
		in.MaxNumberOfMessagesPerSecond = aws.Int32(int32(perSecond))
	}
	if _, err = e.Clients.SQS.StartMessageMoveTask(ctx, in, source.At()); err != nil {
		return client.Failed(err, "sqs:StartMessageMoveTask, and sqs:ReceiveMessage, sqs:DeleteMessage and "+
			"sqs:GetQueueAttributes on the source and sqs:SendMessage on the destination")
	}
	return nil
}

// Moves lists the last tasks of a queue.
func Moves(ctx context.Context, e *estate.Estate, from driver.Channel) ([]driver.MoveTask, error) {
	if err := e.Clients.Open(); err != nil {
		return nil, err
	}
	source, err := e.Queues.Of(ctx, from)
	if err != nil {
		return nil, err
	}
	in := &sqs.ListMessageMoveTasksInput{SourceArn: aws.String(source.ARN()), MaxResults: aws.Int32(maxMoves)}
	out, err := e.Clients.SQS.ListMessageMoveTasks(ctx, in, source.At())
	if err != nil {
		return nil, client.Failed(err, "sqs:ListMessageMoveTasks")
	}
	tasks := make([]driver.MoveTask, len(out.Results))
	for i, r := range out.Results {
		tasks[i] = driver.MoveTask{
			ID: aws.ToString(r.TaskHandle), Status: aws.ToString(r.Status), Failure: aws.ToString(r.FailureReason),
			Moved: r.ApproximateNumberOfMessagesMoved,
		}
		tasks[i].Running = tasks[i].Status == moveRunning || tasks[i].Status == moveEnding
		if n := r.ApproximateNumberOfMessagesToMove; n != nil {
			tasks[i].Total = *n
		}
	}
	return tasks, nil
}

// CancelMove ends a task.
func CancelMove(ctx context.Context, e *estate.Estate, task string) error {
	if err := e.Clients.Open(); err != nil {
		return err
	}
	source := &estate.Queue{Region: regionOfTask(task)}
	_, err := e.Clients.SQS.CancelMessageMoveTask(ctx, &sqs.CancelMessageMoveTaskInput{TaskHandle: &task}, source.At())
	return client.Failed(err, "sqs:CancelMessageMoveTask")
}

// regionOfTask returns the region of a task's queue, whose ARN is in the task's handle. "": the handle has another
// form.
func regionOfTask(task string) string {
	text, err := base64.StdEncoding.DecodeString(task)
	if err != nil {
		return ""
	}
	var handle struct {
		Source string `json:"sourceArn"`
	}
	if json.Unmarshal(text, &handle) != nil {
		return ""
	}
	source, _ := estate.ParseARN(handle.Source)
	return source.Region
}

// Home is the queue to which dead letters return: that of their own channel.
func Home(ctx context.Context, e *estate.Estate, dead driver.Channel) (home driver.Channel, q *estate.Queue,
	err error,
) {
	if err := e.Clients.Open(); err != nil {
		return dead, nil, err
	}
	home = dead
	home.DeadLetter = false
	if home.Queue == "" {
		return home, nil, client.Permanent("channel %s: an exchange has no dead letters: name one of its queues", dead)
	}
	if q, err = e.Queues.Of(ctx, home); err == nil {
		err = onlySource(ctx, e, home, q)
	}
	return home, q, err
}

// onlySource returns an error if the dead letters of a mapped queue are also those of other queues: a message does not
// say from which of them it is. Without the permission to list them, there is no error.
func onlySource(ctx context.Context, e *estate.Estate, home driver.Channel, q *estate.Queue) error {
	if !q.Foreign {
		return nil
	}
	letters, err := e.Queues.Of(ctx, estate.DeadLettersOf(home))
	if err != nil {
		return err
	}
	sources, err := e.Queues.Sources(ctx, letters)
	if err != nil {
		return client.Ignore(err, driver.Denied)
	}
	for _, url := range sources {
		if url != q.URL {
			return client.Permanent("the dead letters of %s are also those of queue %s, and a message does not say from which "+
				"it is: name the destination of all of them", home, url)
		}
	}
	return nil
}
