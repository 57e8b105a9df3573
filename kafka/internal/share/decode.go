package share

import (
	"encoding/binary"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	// headSize is the size of a batch's header, which has its checksum.
	headSize = 61
	// lengthEnds is where the length of a batch ends; it counts what follows.
	lengthEnds = 12
)

// decoder reads the records of answers. A broker sends whole batches of producers, also if it has locked a few records
// of one only, so the next answer has the same batch again: the decoder remembers the last batch of each partition.
type decoder struct {
	topic string
	last  map[int32]batch
	codec kgo.Decompressor
}

// batch is a decoded batch of a producer.
type batch struct {
	head    [headSize]byte
	records []*kgo.Record
}

// records returns all records in raw, in the order of their offsets. An error means that the rest of raw could not be
// read.
func (d *decoder) records(partition int32, raw []byte) (all []*kgo.Record, err error) {
	for len(raw) >= headSize {
		size := lengthEnds + int(int32(binary.BigEndian.Uint32(raw[lengthEnds-4:])))
		if size < headSize || size > len(raw) {
			break // a broker may cut the last batch off
		}
		b, known := d.last[partition]
		if !known || [headSize]byte(raw) != b.head {
			b = batch{head: [headSize]byte(raw)}
			if b.records, err = d.read(partition, raw[:size]); err != nil {
				return all, err
			}
			d.last[partition] = b
		}
		all = append(all, b.records...)
		raw = raw[size:]
	}
	return all, nil
}

// read decodes one batch.
func (d *decoder) read(partition int32, raw []byte) ([]*kgo.Record, error) {
	p := kmsg.NewFetchResponseTopicPartition()
	p.Partition, p.RecordBatches = partition, raw
	p.HighWatermark, p.LastStableOffset, p.LogStartOffset = -1, -1, -1
	fp, _ := kgo.ProcessFetchPartition(kgo.ProcessFetchPartitionOpts{Topic: d.topic, Partition: partition}, &p, d.codec,
		nil)
	return fp.Records, fp.Err
}
