package kafkalocal

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Positions in a batch of records on the wire.
const (
	batchCounted  = 12 // the length counts from here
	batchCRC      = 17
	batchCovered  = 21 // the CRC covers the bytes from here
	batchMaxTime  = 35
	batchProducer = 43
	batchEpoch    = 51
	batchHeader   = 61

	codecBits        = 0x7 // of the attributes
	transactionalBit = 0x10
)

// stamped returns the batch with the time now in every record. A batch that cannot be parsed is returned unchanged, so
// that kfake refuses it. The attribute for the timestamp type is unchanged, otherwise kfake would set the times again
// without the CRC.
func stamped(batch []byte, now time.Time) []byte {
	var b kmsg.RecordBatch
	if b.ReadFrom(batch) != nil {
		return batch
	}
	records, err := kfake.BatchRecords(b)
	if err != nil {
		return batch
	}
	var plain []byte
	for i := range records {
		rec := &records[i]
		rec.TimestampDelta, rec.TimestampDelta64 = 0, 0
		rec.Length = 0
		rec.Length = int32(len(rec.AppendTo(nil)) - 1) // the length itself, which is 0 here, takes one byte
		plain = rec.AppendTo(plain)
	}
	packed, codec, err := compressed(plain, kgo.CompressionCodecType(b.Attributes&codecBits))
	if err != nil {
		return batch
	}
	b.Attributes = b.Attributes&^codecBits | int16(codec)
	b.FirstTimestamp, b.MaxTimestamp = now.UnixMilli(), now.UnixMilli()
	b.Records = packed
	return sealed(b)
}

// compressed compresses the records with their original codec, because the batch must not exceed its topic's limit
// here.
func compressed(plain []byte, codec kgo.CompressionCodecType) ([]byte, kgo.CompressionCodecType, error) {
	var codecs []kgo.CompressionCodec
	switch codec {
	case kgo.CodecGzip:
		codecs = append(codecs, kgo.GzipCompression())
	case kgo.CodecSnappy:
		codecs = append(codecs, kgo.SnappyCompression())
	case kgo.CodecLz4:
		codecs = append(codecs, kgo.Lz4Compression())
	case kgo.CodecZstd:
		codecs = append(codecs, kgo.ZstdCompression())
	}
	c, err := kgo.DefaultCompressor(codecs...)
	if c == nil || err != nil {
		return plain, kgo.CodecNone, err
	}
	packed, used := c.Compress(new(bytes.Buffer), plain)
	return packed, used, nil
}

// sealed returns the batch in its wire form, with correct length and CRC.
func sealed(b kmsg.RecordBatch) []byte {
	batch := b.AppendTo(nil)
	binary.BigEndian.PutUint32(batch[8:], uint32(len(batch)-batchCounted))
	crc := crc32.Checksum(batch[batchCovered:], crc32.MakeTable(crc32.Castagnoli))
	binary.BigEndian.PutUint32(batch[batchCRC:], crc)
	return batch
}
