package kafkalocal

import (
	"encoding/binary"
	"sync"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// epochs knows which epoch each transactional producer was given last. What comes with an older one comes from a producer
// whose place another took, and is to be told so: after a transaction's end kfake says instead that there is none, which
// clients take for a mistake of their own and not for their end.
type epochs struct {
	mu    sync.Mutex // held to look into given only
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

// stale says whether a batch of a transaction is of a producer that was replaced.
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

// forget is for a start: a server in memory begins its epochs anew.
func (e *epochs) forget() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.given = nil
}

// endTxn fences as produce does; kfake looks for a transaction first, and the newer producer's coming ended it.
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

// fencedSince is the version of EndTxn from which clients know of fencing by name.
const fencedSince = 2
