package sqs

import (
	"errors"
	"slices"

	"github.com/godwitmq/godwit/localaws/wire"
)

// maxEntries is the most entries of a batch.
const maxEntries = 10

// failedEntry is one entry of a batch that did not work.
type failedEntry struct {
	ID          string `json:"Id"`
	SenderFault bool   `json:"SenderFault"`
	Code        string `json:"Code"`
	Message     string `json:"Message"`
}

func failed(id string, e *wire.Error) failedEntry {
	return failedEntry{ID: id, SenderFault: !e.Fault, Code: e.QueryCode(), Message: e.Message}
}

// checkBatch holds the rules that a batch as a whole must keep. id gives the
// entries' ids. In the query protocol an empty list cannot be told from none.
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

// entryError makes an entry's failure of whatever an operation returned.
func entryError(err error) *wire.Error {
	var e *wire.Error
	if errors.As(err, &e) {
		return e
	}
	return &wire.Error{Code: "InternalError", Message: err.Error(), Fault: true}
}
