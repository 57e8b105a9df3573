package snssqs

import (
	"context"
	"encoding/base64"
	"encoding/json"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/snssqs/internal/client"
)

const (
	// maxMoveRate is the highest rate of a task.
	maxMoveRate = 500
	// maxMoves is how many tasks SQS lists.
	maxMoves = 10
	// moveRunning and moveEnding are the states of a task that is not over.
	moveRunning, moveEnding = "RUNNING", "CANCELLING"
)

// Move is driver.Operations.Move by a task of SQS, which takes the messages of a dead-letter queue.
func (b *Backend) Move(ctx context.Context, from, to driver.Channel, perSecond int) error {
	if err := b.clients.Open(); err != nil {
		return err
	}
	if perSecond < 0 || perSecond > maxMoveRate {
		return client.Permanent("move the messages of %s: %d messages a second: SQS moves between 1 and %d, and 0 is as fast as it "+
			"likes", from, perSecond, maxMoveRate)
	}
	if to.Queue == "" {
		return client.Permanent("move the messages of %s: a task of SQS moves messages to a queue, and %s is an exchange", from, to)
	}
	source, err := b.queueOf(ctx, from)
	if err != nil {
		return err
	}
	target, err := b.queueOf(ctx, to)
	if err != nil {
		return err
	}
	in := &sqs.StartMessageMoveTaskInput{SourceArn: aws.String(source.arn()), DestinationArn: aws.String(target.arn())}
	if perSecond > 0 {
		in.MaxNumberOfMessagesPerSecond = aws.Int32(int32(perSecond))
	}
	if _, err = b.clients.SQS.StartMessageMoveTask(ctx, in, source.at()); err != nil {
		return client.Failed(err, "sqs:StartMessageMoveTask, and sqs:ReceiveMessage, sqs:DeleteMessage and "+
			"sqs:GetQueueAttributes on the source and sqs:SendMessage on the destination")
	}
	return nil
}

// Moves is driver.Operations.Moves: the last ten tasks.
func (b *Backend) Moves(ctx context.Context, from driver.Channel) ([]driver.MoveTask, error) {
	if err := b.clients.Open(); err != nil {
		return nil, err
	}
	source, err := b.queueOf(ctx, from)
	if err != nil {
		return nil, err
	}
	in := &sqs.ListMessageMoveTasksInput{SourceArn: aws.String(source.arn()), MaxResults: aws.Int32(maxMoves)}
	out, err := b.clients.SQS.ListMessageMoveTasks(ctx, in, source.at())
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

// CancelMove is driver.Operations.CancelMove.
func (b *Backend) CancelMove(ctx context.Context, task string) error {
	if err := b.clients.Open(); err != nil {
		return err
	}
	source := &queue{region: regionOfTask(task)}
	_, err := b.clients.SQS.CancelMessageMoveTask(ctx, &sqs.CancelMessageMoveTaskInput{TaskHandle: &task}, source.at())
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
	source, _ := parseARN(handle.Source)
	return source.region
}
