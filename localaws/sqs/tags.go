package sqs

import (
	"maps"
	"slices"
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
	for _, key := range slices.Sorted(maps.Keys(added)) {
		value := added[key]
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

// TagQueueInput is the input of TagQueue.
type TagQueueInput struct {
	QueueURL string `json:"QueueUrl"`
	// The SDK for Java v1 writes Tags.1.Key.
	Tags map[string]string `json:"Tags" query:"Tag,or=Tags,flat,key=Key,value=Value"`
}

// tagQueue adds tags, and replaces those with the same key; 50 are allowed in all (AWS's API reference, TagQueue).
func tagQueue(_ call, q *Queue, in *TagQueueInput) (*Empty, error) {
	if len(in.Tags) == 0 {
		return nil, missing("Tags")
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if bad := checkTags(q.name, q.tags, in.Tags); bad != nil {
		return nil, bad
	}
	maps.Copy(q.tags, in.Tags)
	q.keep()
	return &Empty{}, nil
}

// UntagQueueInput is the input of UntagQueue.
type UntagQueueInput struct {
	QueueURL string   `json:"QueueUrl"`
	TagKeys  []string `json:"TagKeys" query:"TagKey,flat"`
}

// untagQueue removes tags; keys that the queue does not have are ignored (AWS's API reference, UntagQueue).
func untagQueue(c call, q *Queue, in *UntagQueueInput) (*Empty, error) {
	switch {
	case in.TagKeys == nil && c.Protocol == wire.JSON:
		return nil, missing("TagKeys")
	case len(in.TagKeys) == 0:
		return nil, badTagKey()
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, key := range in.TagKeys {
		delete(q.tags, key)
	}
	q.keep()
	return &Empty{}, nil
}

// ListQueueTagsOutput is the output of ListQueueTags.
type ListQueueTagsOutput struct {
	Tags map[string]string `json:"Tags" query:"Tag,flat,key=Key,value=Value"`
}

// listQueueTags omits the member Tags if the queue has none (recorded on AWS).
func listQueueTags(_ call, q *Queue, _ *QueueInput) (*ListQueueTagsOutput, error) {
	out := &ListQueueTagsOutput{}
	if tags := q.Tags(); len(tags) > 0 { // AWS omits Tags if the queue has none
		out.Tags = tags
	}
	return out, nil
}
