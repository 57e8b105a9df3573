package sqs

import (
	"errors"
	"slices"

	"github.com/godwitmq/godwit/localaws/wire"
)

// maxEntries is the most entries in a batch.
const maxEntries = 10

// failedEntry is an entry of a batch that failed.
type failedEntry struct {
	ID          string `json:"Id"`
	SenderFault bool   `json:"SenderFault"`
	Code        string `json:"Code"`
	Message     string `json:"Message"`
}

func failed(id string, e *wire.Error) failedEntry {
	return failedEntry{ID: id, SenderFault: !e.Fault, Code: e.QueryCode(), Message: e.Message}
}

// checkBatch checks the rules for a batch as a whole. id returns an entry's id. In the query protocol an empty list
// cannot be distinguished from a missing one.
func checkBatch(c *wire.Call, none bool, n int, id func(int) string) *wire.Error {
	if none && c.Protocol == wire.JSON {
		return missing("Entries")
	}
	if n == 0 {
		return refusal("EmptyBatchRequest", "There should be at least one %sRequestEntry in the request.", c.Action)
	}
	if n > maxEntries {
		return refusal("TooManyEntriesInBatchRequest",
			"Maximum number of entries per request are %d. You have sent %d.", maxEntries, n)
	}
	var ids [maxEntries]string
	for i := range n {
		ids[i] = id(i)
		if len(ids[i]) > 80 || !plainName(ids[i]) {
			return refusal("InvalidBatchEntryId",
				"A batch entry id can only contain alphanumeric characters, hyphens and underscores. It can be at "+
					"most 80 letters long.")
		}
		if slices.Contains(ids[:i], ids[i]) {
			return refusal("BatchEntryIdsNotDistinct", "Id %s repeated.", ids[i])
		}
	}
	return nil
}

// entryError turns an error of an action into the failure of an entry.
func entryError(err error) *wire.Error {
	var e *wire.Error
	if errors.As(err, &e) {
		return e
	}
	return &wire.Error{Code: "InternalError", Message: err.Error(), Fault: true}
}
