package kafkalocal

import (
	"errors"
	"unicode/utf16"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	// metadataMax is the broker's offset.metadata.max.bytes, which counts UTF-16 units, not bytes.
	metadataMax = 4096
	// stringMax is the longest string that a broker can read; above it, the broker closes the connection.
	stringMax = 1<<15 - 1
)

var errUnreadable = errors.New("commit metadata is longer than the broker can read")

func (r *refuser) offsetCommit(req *kmsg.OffsetCommitRequest) answer {
	for i := range req.Topics {
		t := &req.Topics[i]
		var refused []int32
		for j := range t.Partitions {
			p := &t.Partitions[j]
			switch metadataFits(&p.Metadata) {
			case unreadable:
				return hangUp(errUnreadable)
			case tooLong:
				refused = append(refused, p.Partition)
			}
		}
		if refused != nil {
			r.fail(req, kerr.OffsetMetadataTooLarge,
				kfake.Fault{Topic: t.Topic, TopicID: t.TopicID, Partitions: refused})
		}
	}
	return answer{}
}

// txnOffsetCommit answers for the whole request, because the transaction cannot commit. A real broker would accept the
// other partitions.
func (r *refuser) txnOffsetCommit(req *kmsg.TxnOffsetCommitRequest) answer {
	worst := fits
	for i := range req.Topics {
		for j := range req.Topics[i].Partitions {
			worst = max(worst, metadataFits(&req.Topics[i].Partitions[j].Metadata))
		}
	}
	switch worst {
	case unreadable:
		return hangUp(errUnreadable)
	case tooLong:
		return answered(refuseTxnCommit(req))
	}
	return answer{}
}

func refuseTxnCommit(req *kmsg.TxnOffsetCommitRequest) kmsg.Response {
	resp := req.ResponseKind().(*kmsg.TxnOffsetCommitResponse)
	for i := range req.Topics {
		t := &req.Topics[i]
		st := kmsg.NewTxnOffsetCommitResponseTopic()
		st.Topic, st.TopicID = t.Topic, t.TopicID
		for j := range t.Partitions {
			sp := kmsg.NewTxnOffsetCommitResponseTopicPartition()
			sp.Partition, sp.ErrorCode = t.Partitions[j].Partition, kerr.OffsetMetadataTooLarge.Code
			st.Partitions = append(st.Partitions, sp)
		}
		resp.Topics = append(resp.Topics, st)
	}
	return resp
}

// fit is a broker's reaction to commit metadata.
type fit uint8

const (
	fits fit = iota
	tooLong
	unreadable
)

// metadataFits also changes the metadata as a broker does: bytes that are not UTF-8 become U+FFFD.
func metadataFits(metadata **string) fit {
	if *metadata == nil {
		return fits
	}
	if len(**metadata) > stringMax {
		return unreadable
	}
	units := utf16.Encode([]rune(**metadata))
	if len(units) > metadataMax {
		return tooLong
	}
	mended := string(utf16.Decode(units))
	*metadata = &mended
	return fits
}
