package sqs

import (
	"maps"
	"strings"

	"github.com/godwitmq/godwit/localaws/wire"
)

// Limits of tags, as AWS documents them.
const (
	maxTags     = 50
	maxTagKey   = 128
	maxTagValue = 256
)

// checkTags checks whether tags may be added to a queue's tags.
func checkTags(queue string, have, added map[string]string) *wire.Error {
	total := len(have)
	for key, value := range added {
		switch {
		case key == "" || len([]rune(key)) > maxTagKey:
			return badTagKey()
		case len([]rune(value)) > maxTagValue:
			return invalidParameter("Tag values must be between 0 and %d characters in length.", maxTagValue)
		case strings.HasPrefix(strings.ToLower(key), "aws:"):
			return invalidParameter("Tag keys must not start with aws:. This prefix is reserved for AWS use.")
		}
		if _, there := have[key]; !there {
			total++
		}
	}
	if total > maxTags {
		return invalidParameter("Too many tags added for queue %s.", queue)
	}
	return nil
}

func badTagKey() *wire.Error {
	return invalidParameter("Tag keys must be between 1 and %d characters in length.", maxTagKey)
}

// Tags returns a copy of the queue's tags.
func (q *Queue) Tags() map[string]string {
	q.mu.Lock()
	defer q.mu.Unlock()
	return maps.Clone(q.tags)
}
