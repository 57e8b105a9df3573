package estate

import "github.com/godwitmq/godwit/snssqs/internal/client"

// PauseSid is the statement of a queue's policy that pauses the queue. Its name is part of the interface: other
// programs may add and remove it.
const PauseSid = sidPrefix + "Pause"

// pauseOf is the statement that pauses a queue: it denies every receive, whoever makes it.
func pauseOf(queueARN string) statement {
	return statement{
		"Sid": PauseSid, "Effect": "Deny", "Principal": "*", "Action": "sqs:ReceiveMessage", "Resource": queueARN,
	}
}

func (q *Queue) PolicyWithPause(on bool) (string, error) {
	if q.Policy() == "" {
		return MergePolicy("", pauseOf(q.ARN())) // without a policy there is nothing to remove
	}
	p, err := readPolicy(q.Policy())
	if err != nil {
		return "", client.Permanent("%w: repair it first", err)
	}
	if on {
		return p.with(pauseOf(q.ARN()))
	}
	return p.without(p.pause()), nil
}

// Paused reports whether the policy of the queue has the statement of a pause.
func (q *Queue) Paused() bool {
	p, err := readPolicy(q.Policy())
	return err == nil && p.pause() >= 0
}
