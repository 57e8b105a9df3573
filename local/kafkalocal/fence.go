package kafkalocal

import (
	"encoding/binary"
	"sync"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// epochs records the latest epoch of each transactional producer. A request with an older epoch comes from a producer
// that was replaced, and must be told so. After the end of a transaction, kfake answers instead that there is no
// transaction, which clients treat as a bug of their own and not as fencing.
type epochs struct {
	mu    sync.Mutex // guards given
	given map[int64]int16
}

// give is called by the connection that carries the answer, before its client can use the epoch.
func (e *epochs) give(producer int64, epoch int16) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.given == nil {
		e.given = map[int64]int16{}
	}
	e.given[producer] = epoch
}

// stale reports whether a batch of a transaction comes from a producer that was replaced.
func (e *epochs) stale(batch []byte) bool {
	if binary.BigEndian.Uint16(batch[batchCovered:])&transactionalBit == 0 {
		return false
	}
	producer, epoch := binary.BigEndian.Uint64(batch[batchProducer:]), binary.BigEndian.Uint16(batch[batchEpoch:])
	return e.older(int64(producer), int16(epoch))
}

func (e *epochs) older(producer int64, epoch int16) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	latest, known := e.given[producer]
	return known && epoch < latest
}

// forget clears the epochs when the server starts: a server in memory begins again with the first one.
func (e *epochs) forget() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.given = nil
}

// endTxn fences in the same way as produce. kfake checks for a transaction first, and the newer producer has ended it.
func (r *refuser) endTxn(req *kmsg.EndTxnRequest) answer {
	if !r.epochs.older(req.ProducerID, req.ProducerEpoch) {
		return answer{}
	}
	resp := req.ResponseKind().(*kmsg.EndTxnResponse)
	resp.ErrorCode = kerr.ProducerFenced.Code
	if req.Version < fencedSince {
		resp.ErrorCode = kerr.InvalidProducerEpoch.Code
	}
	return answered(resp)
}

// fencedSince is the version of EndTxn from which clients know the error code for fencing.
const fencedSince = 2
