package sqs

import (
	"errors"
	"slices"

	"github.com/godwitmq/godwit/localaws/wire"
)

// maxEntries is the most entries in a batch.
const maxEntries = 10

// entryID is the id by which the answer to a batch names an entry. Entries embed it.
type entryID struct {
	ID string `json:"Id"`
}

func (e *entryID) named() *entryID { return e }

// entry is a pointer to an entry of a batch.
type entry[E any] interface {
	*E
	named() *entryID
}

// failedEntry is an entry of a batch that failed.
type failedEntry struct {
	entryID
	SenderFault bool   `json:"SenderFault"`
	Code        string `json:"Code"`
	Message     string `json:"Message"`
}

func failed(id entryID, e *wire.Error) failedEntry {
	return failedEntry{entryID: id, SenderFault: !e.Fault, Code: e.QueryCode(), Message: e.Message}
}

// checkBatch checks the rules for a batch as a whole. In the query protocol an empty list cannot be distinguished from
// a missing one.
func checkBatch[E any, P entry[E]](c call, entries []E) *wire.Error {
	n := len(entries)
	if entries == nil && c.Protocol == wire.JSON {
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
	for i := range entries {
		ids[i] = P(&entries[i]).named().ID
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

// settledBatch is the output of a batch whose entries have no output but their ids.
type settledBatch struct {
	Successful []entryID
	Failed     []failedEntry
}

// settleEach settles the entries of a batch one by one.
func settleEach[E any, P entry[E]](c call, entries []E, settle func(P) error) (*settledBatch, error) {
	if bad := checkBatch[E, P](c, entries); bad != nil {
		return nil, bad
	}
	out := &settledBatch{}
	for i := range entries {
		e := P(&entries[i])
		id := *e.named()
		if bad := c.EntryFault(id.ID); bad != nil {
			out.Failed = append(out.Failed, failed(id, bad))
		} else if err := settle(e); err != nil {
			out.Failed = append(out.Failed, failed(id, entryError(err)))
		} else {
			if out.Successful == nil {
				out.Successful = make([]entryID, 0, len(entries))
			}
			out.Successful = append(out.Successful, id)
		}
	}
	return out, nil
}

// entryError turns an error of an action into the failure of an entry.
func entryError(err error) *wire.Error {
	var e *wire.Error
	if errors.As(err, &e) {
		return e
	}
	return &wire.Error{Code: "InternalError", Message: err.Error(), Fault: true}
}
